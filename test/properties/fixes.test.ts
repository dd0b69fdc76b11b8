/** The fix that is offered works: applied to the host or to the fleet, the reason is gone and no other has come. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findMarch, marchFeatures } from "../../src/hardware/cpu-marches.ts";
import { findArchitecture } from "../../src/hardware/gpu-architectures.ts";
import { parseComputeCapability } from "../../src/hardware/compute-capability.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { existingCells } from "../../src/resolve/find-cell.ts";
import { explainResolution } from "../../src/resolve/explain.ts";
import { plainPins } from "../../src/resolve/pins.ts";
import { needsGpus } from "../../src/lock/requirement.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { findMisfits } from "../../src/resolve/check-fit.ts";
import type { Remedy } from "../../src/resolve/verdict.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { anyHost, anyImage } from "./support/machines.ts";
import { checkOptions, timeoutMs } from "./support/runs.ts";
import { digest, lockOf } from "../resolve/support/locks.ts";

/** Cells of one fleet: what differs in hardware differs in their axes. */
const fleet: fc.Arbitrary<Lock> = fc.constantFrom("cuda", "accel").chain((axis) => fleetOf(axis));

const fleetOf = (axis: "cuda" | "accel"): fc.Arbitrary<Lock> =>
  fc
    .array(fc.record({ image: anyImage, built: fc.integer({ min: 0, max: 9 }), level: fc.boolean() }), {
      minLength: 1,
      maxLength: 8,
    })
    .map((drawn) =>
      lockOf(
        Object.fromEntries(
          drawn.map(({ image, built, level }, index) => {
            const { requires } = image;
            const march = level ? "x86-64-v3" : requires.cpu.march;
            const cpu = level ? { march, features: [] } : requires.cpu;
            const { local: _, ...pushed } = image;
            const locked = {
              ...pushed,
              tag: `t${index}`,
              digest: built === 0 ? null : digest,
              requires: { ...requires, cpu },
              axes: {
                [requires.accelerator === undefined ? axis : "accel"]:
                  requires.cuda?.toolkit ?? requires.rocm?.release ?? requires.accelerator ?? "none",
                compute: (requires.cuda ?? requires.rocm)?.code.join("_") ?? "none",
                march,
              },
            };
            return [`cell-${index}`, locked];
          }),
        ),
      ),
    );

const codesOf = (image: LockedImage, host: HostFacts, pins: Readonly<Record<string, string>> = {}) =>
  new Set(findMisfits(image, viewHost(host), { pins: plainPins(pins) }).map(({ code }) => code));

function applyToHost(host: HostFacts, remedy: Remedy): HostFacts | null {
  const { nvidia } = host;
  switch (remedy.kind) {
    case "driver":
      if (nvidia == null) return null;
      return { ...host, nvidia: { ...nvidia, driver: remedy.version, library: remedy.version, cuda: null } };
    case "features": {
      const features = [...(host.cpu.features ?? []), ...remedy.features];
      return { ...host, cpu: { ...host.cpu, features: [...new Set(features)].sort() } };
    }
    case "kernel":
      return { ...host, kernel: remedy.minimum };
    default:
      return null;
  }
}

function applyToImage(image: LockedImage, remedy: Remedy, host: HostFacts): LockedImage | null {
  const { cpu, cuda, rocm } = image.requires;
  if (remedy.kind === "build") return { ...image, digest: digest };
  if (remedy.kind === "without") {
    const found = findMarch(remedy.march);
    const features = found === null ? [] : marchFeatures(found, remedy.features);
    return { ...image, requires: { ...image.requires, cpu: { march: remedy.march, features } } };
  }
  if (remedy.kind !== "cell") return null;
  const { march, compute } = remedy.axes;
  if (remedy.axes.cuda === "none" || remedy.axes.accel === "none") {
    const { rocm: _, accelerator: __, ...others } = image.requires;
    return { ...image, requires: { ...others, cuda: null } };
  }
  if (compute?.startsWith("gfx") === true && rocm !== undefined) {
    const { or = [], ...first } = rocm;
    const [all, ...others] = [first, ...or].map((each) => ({ ...each, code: [...each.code, compute] }));
    if (all === undefined) return null;
    return {
      ...image,
      requires: { ...image.requires, rocm: { ...all, ...(others.length > 0 && { or: others }) } },
    };
  }
  if (compute !== undefined && cuda !== null) {
    const added = `sm_${compute.replace(".", "")}`;
    const { or = [], ...first } = cuda;
    // Whichever of several it was said of.
    const [all, ...others] = [first, ...or].map((each) => ({ ...each, code: [...each.code, added] }));
    if (all === undefined) return null;
    return { ...image, requires: { cpu, cuda: { ...all, ...(others.length > 0 && { or: others }) } } };
  }
  const found = march === undefined ? null : findMarch(march);
  if (march === undefined || found === null) throw new Error(JSON.stringify(remedy));
  const features = marchFeatures(found);
  // Random facts say a level that their features do not have.
  if (!features.every((feature) => host.cpu.features?.includes(feature))) return null;
  return { ...image, requires: { ...image.requires, cpu: { march, features } } };
}

/** No driver that drops a card. */
function expectDriven(host: HostFacts): void {
  const branch = Number(host.nvidia?.driver?.split(".")[0]);
  for (const { compute } of host.nvidia?.gpus ?? []) {
    const parsed = compute === null ? null : parseComputeCapability(compute);
    const last = parsed === null ? null : (findArchitecture(parsed)?.lastDriverBranch ?? null);
    if (last !== null) expect(branch).toBeLessThanOrEqual(last);
  }
}

describe("every fix that is offered", () => {
  it("takes its reason away and brings no other", { timeout: timeoutMs }, () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(anyHost, fleet, (host, lock) => {
        const existing = existingCells(lock);
        for (const image of Object.values(lock.images)) {
          const before = codesOf(image, host);
          for (const { code, cures, fix } of findMisfits(image, viewHost(host), { existing })) {
            expect(cures.length).toBeGreaterThan(0);
            for (const { remedy } of cures) {
              if (remedy === null) continue;
              if (remedy.kind === "pins") {
                seen.set("pins", (seen.get("pins") ?? 0) + 1);
                expect([...codesOf(image, host, remedy.set)], fix).not.toContain(code);
                continue;
              }
              const better = applyToHost(host, remedy);
              const other =
                remedy.kind === "take" ? lock.images[remedy.cell] : applyToImage(image, remedy, host);
              if (better === null && other == null) continue;
              seen.set(remedy.kind, (seen.get(remedy.kind) ?? 0) + 1);
              const after = codesOf(other ?? image, better ?? host);
              expect([...after], fix).not.toContain(code);
              if (better === null) continue;
              // A driver would tell what a GPU of unknown compute capability is; the random one does not.
              const known = before.has("NO_GPU_CODE") ? [...before, "FACT_UNKNOWN"] : [...before];
              expect(known, fix).toEqual(expect.arrayContaining([...after]));
              if (
                remedy.kind === "driver" &&
                host.nvidia?.driverScale === undefined &&
                code !== "NO_GPU_CODE"
              ) {
                expectDriven(better);
              }
            }
          }
        }
      }),
      // Some kinds are rare among random hosts.
      { numRuns: Math.max(500, checkOptions.numRuns) },
    );
    for (const kind of ["driver", "cell", "take", "features", "kernel", "build", "pins"])
      expect(seen.get(kind) ?? 0, kind).toBeGreaterThan(0);
  });

  it("speaks of no cell where others built the images", { timeout: timeoutMs }, () => {
    const origin = fc.constantFrom({ cpu: "estimated" } as const, { cpu: "stated" } as const);
    fc.assert(
      fc.property(anyHost, fleet, origin, (host, { images, ...rest }, adopted) => {
        const others = Object.entries(images).map(([cell, image]) => [cell, { ...image, digest, adopted }]);
        const lock: Lock = { ...rest, images: Object.fromEntries(others) };
        const { rejected } = resolveImage(lock, host);
        for (const line of [...rejected.map(({ fix }) => fix), ...explainResolution(lock, host)])
          expect(line).not.toMatch(/a cell|'s cell|build again|imgmatch build/);
      }),
      checkOptions,
    );
  });

  it("adds no cell that the fleet has", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(anyHost, fleet, (host, lock) => {
        for (const { cell, fix } of resolveImage(lock, host).rejected) {
          const own = lock.images[cell];
          const others = Object.values(lock.images).filter((other) => other !== own);
          const march = /add a cell with march=(\S+?)(,|$)/.exec(fix)?.[1];
          const there = others.some(
            ({ axes, platform }) =>
              axes.march === march &&
              platform === own?.platform &&
              axes.cuda === own.axes.cuda &&
              axes.accel === own.axes.accel &&
              axes.compute === own.axes.compute,
          );
          if (march !== undefined) expect(there, fix).toBe(false);
          if (/add a cell with (cuda|accel)=none/.test(fix))
            for (const other of others)
              if (!needsGpus(other.requires) && other.requires.accelerator === undefined)
                expect([...codesOf(other, host)]).not.toEqual([]);
        }
      }),
      checkOptions,
    );
  });
});
