import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { labelFormats } from "../../src/node/launch/labels/label-formats.ts";
import { nodeLabels } from "../../src/node/launch/labels/node-labels.ts";
import { nfdCompatSpecs } from "../../src/node/export-nfd-compat.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { anyHost, nvidiaLock } from "../properties/support/machines.ts";
import { timeoutMs } from "../properties/support/runs.ts";
import { gpuHost, h100, v100 } from "../resolve/support/hosts.ts";
import { cuda, image, lockOf, requirement, rocmImage } from "../resolve/support/locks.ts";
import { matchesRule, type Rule } from "./launch/support/nfd-rules.ts";

interface Spec {
  readonly version: string;
  readonly compatibilities: readonly { readonly tag: string; readonly rules: readonly Rule[] }[];
}

/** As nfd-worker reads it: name and value at the first sign of equality. */
function featureFile(host: Parameters<typeof nodeLabels>[0]) {
  const lines = labelFormats.nfd.write(nodeLabels(host)).trimEnd().split("\n");
  return Object.fromEntries(lines.map((line) => /^([^=]+)=(.*)$/.exec(line)?.slice(1) ?? []));
}

describe("an image's compatibility specification", () => {
  it("matches exactly the nodes that have what the image needs", { timeout: timeoutMs * 5 }, () => {
    let fitting = 0;
    fc.assert(
      fc.property(fc.array(anyHost, { minLength: 1, maxLength: 4 }), nvidiaLock, (hosts, lock) => {
        for (const [cell, locked] of Object.entries(lock.images)) {
          const { cuda } = locked.requires;
          // What a runtime checks, and how it treats a compatibility package, is not NFD's to say.
          const sides = cuda === null ? [] : [cuda, ...(cuda.or ?? [])];
          if (sides.some(({ require, driver }) => require !== undefined || driver.mode === "compat"))
            continue;
          const { images } = nfdCompatSpecs({ ...lock, images: { [cell]: locked } });
          if (images[0] === undefined) continue;
          const [{ tag, rules } = { tag: "", rules: [] }] = (images[0].spec as unknown as Spec)
            .compatibilities;
          expect(tag).toBe(locked.tag);
          for (const host of hosts
            // A Tegra has drivers of its own scale, of which a specification says nothing.
            .filter((host) => (viewHost(host).nvidia?.driverScale ?? "linux") === "linux")
            .map(ofItsBranch)) {
            const fits = checkFit(locked, host, { cpuOnly: cuda === null }).ok;
            const features = { "local.label": featureFile(host) };
            expect(rules.map((rule) => matchesRule(rule, features))).toEqual([fits]);
            if (fits) fitting++;
          }
        }
      }),
      { numRuns: 60 },
    );
    expect(fitting).toBeGreaterThan(20);
  });

  it("asks that all GPUs of a node run one of the image's alternatives", () => {
    const or = [cuda("12.8.1", ["sm_70"], { by: "cuda_v12" })];
    const requires = requirement(cuda("11.8.0", ["sm_90"], { by: "cuda_v11", or }));
    const [found] = nfdCompatSpecs(lockOf({ a: image({ requires }) })).images;
    const { compatibilities } = (found?.spec ?? { compatibilities: [] }) as unknown as Spec;
    const runs = (...gpus: (typeof h100)[]) => {
      const features = { "local.label": featureFile(ofItsBranch(gpuHost(gpus, "580.95.05", "13.0"))) };
      return compatibilities.flatMap(({ rules }) => rules.map((rule) => matchesRule(rule, features)));
    };
    expect([runs(h100), runs(v100), runs(h100, v100)]).toEqual([[true], [true], [false]]);
  });

  it("is there for no image that was never built, and for none whose GPUs no label tells", () => {
    const lock = lockOf({
      a: image({ digest: null, requires: requirement(null) }),
      b: rocmImage(["gfx942"]),
    });
    expect(nfdCompatSpecs(lock)).toEqual({ images: [], left: ["a", "b"] });
  });
});

/** No driver reports the CUDA version of another branch. */
function ofItsBranch({ nvidia, ...host }: HostFacts): HostFacts {
  return { ...host, nvidia: nvidia && { ...nvidia, cuda: null } };
}

it("there is one for every image that is built, and the others are named", () => {
  const lock = lockOf({ b: image(), a: image(), c: image({ digest: null }) });
  const { images, left } = nfdCompatSpecs(lock);
  expect(images.map(({ reference }) => reference.split("@")[0])).toEqual([
    `${lock.repository}:a`,
    `${lock.repository}:b`,
  ]);
  expect(images[0]).toMatchObject({ artifactType: "application/vnd.nfd.image-compatibility.v1alpha1" });
  expect(left).toEqual(["c"]);
});
