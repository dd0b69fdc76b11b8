/** The fix that is offered works: applied to the host or to the fleet, the reason is gone and no other has come. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { branchDrives, findArchitecture } from "../../src/hardware/gpu-architectures.ts";
import { parseComputeCapability } from "../../src/hardware/compute-capability.ts";
import type { GpuFacts, HostFacts } from "../../src/facts/facts.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { existingCells } from "../../src/resolve/find-cell.ts";
import { explainResolution } from "../../src/node/explain.ts";
import { plainPins } from "../../src/resolve/pins.ts";
import { needsGpus } from "../../src/lock/requirement.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { findMisfits } from "../../src/resolve/check-fit.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { applyToHost, applyToImage, builtWith, withGpus } from "./support/apply-remedy.ts";
import { anyHost, anyImage } from "./support/machines.ts";
import { assertSeen, checkOptions, timeoutMs } from "./support/runs.ts";
import { gpu, gpuHost } from "../resolve/support/hosts.ts";
import { digest, gpuImage, lockOf } from "../resolve/support/locks.ts";

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
              const only = "gpus" in remedy ? remedy.gpus : undefined;
              const better = only === undefined ? applyToHost(host, remedy) : withGpus(host, only);
              const other =
                remedy.kind === "take" ? lock.images[remedy.cell] : applyToImage(image, remedy, host);
              if (better === null && other == null) continue;
              seen.set(remedy.kind, (seen.get(remedy.kind) ?? 0) + 1);
              const after = codesOf(other ?? image, better ?? host);
              expect([...after], fix).not.toContain(code);
              if (better === null) continue;
              // A driver would tell what a GPU of unknown compute capability is; the random one does not.
              const known = before.has("NO_GPU_CODE") ? [...before, "FACT_UNKNOWN"] : [...before];
              // The cure says to build it.
              if (remedy.kind === "take" && other?.digest === null) known.push("NOT_BUILT");
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

/** Cards of two kinds under a driver that drives both. */
const unlikeNode: fc.Arbitrary<HostFacts> = fc
  .uniqueArray(fc.constantFrom("3.0", "3.7", "5.2", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0", "12.0"), {
    minLength: 2,
    maxLength: 2,
  })
  .chain((computes) => {
    const drivers = ["390.30", "396.44", "418.87.00", "450.80.02", "470.256.02", "535.183.01", "575.57.08"];
    const driven = drivers.filter((driver) =>
      computes.every((compute) => drives(compute, Number.parseInt(driver, 10))),
    );
    const wants = computes.map((compute) => architectureOf(compute)?.openModule);
    // No module drives both.
    if (driven.length === 0 || (wants.includes("required") && wants.includes("unsupported")))
      return fc.constant(null);
    const module = wants.includes("required") ? "open" : "proprietary";
    return fc
      .constantFrom(...driven)
      .map((driver) => gpuHost(computes.map(cardOf), driver, null, { nvidiaChange: { module } }));
  })
  .filter((host) => host !== null);

function architectureOf(compute: string) {
  const parsed = parseComputeCapability(compute);
  return parsed === null ? null : findArchitecture(parsed);
}

function drives(compute: string, branch: number): boolean {
  const architecture = architectureOf(compute);
  return architecture !== null && branchDrives(architecture, branch) === true;
}

const cardOf = (compute: string, index: number): GpuFacts => gpu({ index, name: `card ${compute}`, compute });

const oneKind: fc.Arbitrary<LockedImage> = fc
  .record({
    toolkit: fc.constantFrom("8.0.61", "9.2.148", "10.2.89", "11.8.0", "12.4.1", "13.0.2"),
    compute: fc.constantFrom("3.0", "6.0", "7.5", "8.0", "12.0"),
  })
  .map(({ toolkit, compute }) => gpuImage(builtWith(toolkit, [`sm_${compute.replace(".", "")}`])));

describe("the cure for two kinds of GPU in one node", () => {
  it("is one cell for all or the GPUs of one cell, and applied it serves the host", () => {
    const seen = new Set<string>();
    const property = fc.property(
      unlikeNode,
      fc.array(oneKind, { minLength: 1, maxLength: 4 }),
      (host, images) => {
        const lock = lockOf(Object.fromEntries(images.map((each, at) => [`cell-${at}`, each])));
        const existing = existingCells(lock);
        for (const image of images) {
          const found = findMisfits(image, viewHost(host), { existing }).find(
            ({ code }) => code === "NO_GPU_CODE",
          );
          for (const { remedy, text } of found?.cures ?? []) {
            if (remedy === null) {
              expect(text).toMatch(/ CUDA \d+\.\d+ \(driver >= [\d.]+\)/);
              continue;
            }
            const only = "gpus" in remedy ? remedy.gpus : undefined;
            const seenBy = only === undefined ? host : withGpus(host, only);
            const cured =
              remedy.kind === "take" ? lock.images[remedy.cell] : applyToImage(image, remedy, host);
            seen.add(`${remedy.kind}${only === undefined ? "" : " of some"}`);
            // Where the image's own toolkit stays, its driver is a reason of its own.
            const after = codesOf(cured ?? image, seenBy);
            const isNewToolkit = remedy.kind === "cell" && "cuda" in remedy.axes;
            const own = isNewToolkit || !codesOf(image, host).has("DRIVER_TOO_OLD") ? [] : ["DRIVER_TOO_OLD"];
            expect(
              [...after].filter((code) => !own.includes(code)),
              text,
            ).toEqual([]);
          }
        }
      },
    );
    assertSeen(property, { numRuns: Math.max(300, checkOptions.numRuns) }, () =>
      ["cell", "cell of some", "gpus of some", "take"].every((kind) => seen.has(kind)),
    );
  });

  it.each([
    // A T4 and an RTX 5090: CUDA 12.8 is the first that compiles for the second, CUDA 13 needs a newer driver.
    [
      ["7.5", "12.0"],
      "570.124.06",
      "12.4.1",
      "7.5",
      'add a cell with compute=["7.5", "12.0"] and CUDA 12.8 to 12.9: CUDA 12.4.1 does not compile for 12.0, or choose GPU 0 (--gpus device=0)',
    ],
    // A K2 and a P100.
    [
      ["3.0", "6.0"],
      "396.44",
      "11.8.0",
      "6.0",
      'add a cell with compute=["3.0", "6.0"] and CUDA 8.0 to 9.2: CUDA 11.8.0 does not compile for 3.0, or choose GPU 1 (--gpus device=1)',
    ],
    // CUDA 10.2 is the last for the first, CUDA 11.0 is the first for the second.
    [["3.0", "8.0"], "470.256.02", "10.2.89", "3.0", "choose GPU 0 (--gpus device=0)"],
    [
      ["3.0", "8.0"],
      "470.256.02",
      "11.8.0",
      "9.0",
      "add a cell with compute=8.0 and CUDA 11.0 to 11.8, and choose GPU 1 (--gpus device=1): no toolkit compiles for all",
    ],
  ] as const)("%s under %s, CUDA %s × %s", (computes, driver, toolkit, compute, fix) => {
    const image = gpuImage(builtWith(toolkit, [`sm_${compute.replace(".", "")}`]));
    const misfits = findMisfits(image, viewHost(gpuHost(computes.map(cardOf), driver)));
    expect(misfits.find(({ code }) => code === "NO_GPU_CODE")?.fix).toBe(fix);
  });
});
