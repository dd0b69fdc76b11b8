import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { labelFormats } from "../../src/node/launch/labels/label-formats.ts";
import { nodeLabels } from "../../src/node/launch/labels/node-labels.ts";
import { nfdCompatSpecs } from "../../src/node/export-nfd-compat.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { anyHost, nvidiaLock } from "../properties/support/machines.ts";
import { timeoutMs } from "../properties/support/runs.ts";
import { image, lockOf, requirement, rocmImage } from "../resolve/support/locks.ts";
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
  it("matches exactly the nodes that the image fits", { timeout: timeoutMs * 5 }, () => {
    let fitting = 0;
    fc.assert(
      fc.property(fc.array(anyHost, { minLength: 1, maxLength: 4 }), nvidiaLock, (hosts, lock) => {
        for (const [cell, locked] of Object.entries(lock.images)) {
          const spec = specOf(
            () => nfdCompatSpecs({ ...lock, images: { [cell]: locked } }).images[0]?.spec ?? null,
          );
          if (spec === null) continue;
          const [{ tag, rules } = { tag: "", rules: [] }] = spec.compatibilities;
          expect(tag).toBe(locked.tag);
          for (const host of hosts) {
            const fits = checkFit(locked, host, { cpuOnly: locked.requires.cuda === null }).ok;
            const features = { "local.label": featureFile(host) };
            expect(rules.map((rule) => matchesRule(rule, features))).toEqual([fits]);
            if (fits) fitting++;
          }
        }
      }),
      { numRuns: 100 },
    );
    expect(fitting).toBeGreaterThan(20);
  });

  it("is there for no image that was never built, and for none whose GPUs no label tells", () => {
    const lock = lockOf({
      a: image({ digest: null, requires: requirement(null) }),
      b: rocmImage(["gfx942"]),
    });
    expect(nfdCompatSpecs(lock)).toEqual({ images: [], left: ["a", "b"] });
  });
});

/** null also for an image that imgmatch has no words for: random ones can be. */
function specOf(write: () => unknown): Spec | null {
  try {
    return write() as Spec | null;
  } catch (error) {
    if (error instanceof ImgmatchError && error.code === "LAUNCH_UNSUPPORTED") return null;
    throw error;
  }
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
