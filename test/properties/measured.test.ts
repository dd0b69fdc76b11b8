/** Measuring only drops requirements: an image that fitted still fits, and every way to ask gives the same answer. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { neededRequirement } from "../../src/lock/needed-requirement.ts";
import { rankImages, resolveImage } from "../../src/resolve/resolve-image.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { anyHost, anyLock } from "./support/machines.ts";
import { checkOptions, timeoutMs } from "./support/runs.ts";

const featuresOf = (march: string): readonly string[] => {
  const found = findMarch(march);
  if (found === null) throw new Error(`no march ${march}`);
  return found.features;
};

const built = (march: string, used: readonly string[] | null): LockedImage => {
  const features = featuresOf(march);
  const declared = image({
    axes: { march },
    platform: `linux/${findMarch(march)?.architecture}`,
    requires: { cpu: { march, features }, cuda: null },
  });
  if (used === null) return declared;
  const unused = features.filter((feature) => !used.includes(feature)).sort();
  return { ...declared, measured: { rules: 1, cpu: { unused }, cuda: null } };
};

const machine = (march: string, hidden: readonly string[] = []): HostFacts => {
  const features = featuresOf(march).filter((feature) => !hidden.includes(feature));
  return cpuHost({
    platform: `linux/${findMarch(march)?.architecture}`,
    cpu: { vendor: null, model: null, features, level: null },
  });
};

const avx2 = ["avx", "avx2", "fma"];
const avx512 = [...avx2, "avx512bw", "avx512f", "avx512vl"];
const x86 = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "haswell", "skylake-avx512", "icelake-server"] as const;
const more = ["sapphirerapids", "alderlake", "znver2", "znver3", "znver4"] as const;

const withoutMeasured = (lock: Lock): Lock => ({
  ...lock,
  images: Object.fromEntries(
    Object.entries(lock.images).map(([cell, { measured: _, ...rest }]) => [cell, rest]),
  ),
});

describe("what was measured", () => {
  it("turns no fit into a misfit, and only drops", { timeout: timeoutMs }, () => {
    let gained = 0;
    fc.assert(
      fc.property(anyHost, anyLock, (host, lock) => {
        const cells = (each: Lock) => rankImages(each, host).ranked.map(({ cell }) => cell);
        const after = cells(lock);
        const before = cells(withoutMeasured(lock));
        expect(after).toEqual(expect.arrayContaining(before));
        gained += after.length - before.length;
        for (const each of Object.values(lock.images)) {
          const { cpu, ...rest } = neededRequirement(each);
          const { cpu: declared, ...others } = each.requires;
          expect(rest).toEqual(others);
          expect(declared.features).toEqual(expect.arrayContaining([...cpu.features]));
        }
      }),
      { ...checkOptions, numRuns: Math.max(1000, checkOptions.numRuns) },
    );
    expect(gained).toBeGreaterThan(0);
  });

  it("keeps the order of what fitted before", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(anyHost, anyLock, (host, lock) => {
        const before = rankImages(withoutMeasured(lock), host).ranked.map(({ cell }) => cell);
        const after = rankImages(lock, host).ranked.map(({ cell }) => cell);
        expect(after.filter((cell) => before.includes(cell))).toEqual(before);
      }),
      checkOptions,
    );
  });

  it("is not used when other rules have measured it", () => {
    const own = built("sapphirerapids", avx512);
    const other = { ...own, measured: { rules: 2, cpu: { unused: ["avx512f"] }, cuda: null } };
    expect(neededRequirement(other)).toBe(other.requires);
  });

  it("takes nothing away that every CPU of the architecture has", () => {
    const own = built("x86-64", []);
    expect(neededRequirement(own).cpu.features).toEqual(own.requires.cpu.features);
  });
});

describe("the image of the host's own CPU", () => {
  const fleet = lockOf(
    Object.fromEntries(
      [...x86, ...more].map((march) => [
        march,
        built(march, /v4|512|icelake|sapphire|znver4/.test(march) ? avx512 : avx2),
      ]),
    ),
  );
  it.each<[string, readonly string[]]>([
    ...[...x86, ...more].map((march): [string, readonly string[]] => [march, []]),
    ["sapphirerapids", ["rdpid"]],
    ["znver2", ["rdpid"]],
    ["znver3", ["rdpid"]],
  ])("%s without %j gets it, whatever else fits", (march, hidden) => {
    expect(resolveImage(fleet, machine(march, hidden)).match?.cell).toBe(march);
  });

  it.each([["neoverse-v2", ["paca", "pacg", "rng", "dit", "svebitperm"]] as const])(
    "%s without %j gets it",
    (march, hidden) => {
      const lock = lockOf({
        own: built(march, ["asimd", "fp", "atomics"]),
        n1: built("neoverse-n1", null),
        low: built("armv8.2-a", null),
      });
      expect(resolveImage(lock, machine(march, hidden)).match?.cell).toBe("own");
    },
  );

  it("says why: what was declared, and what its binaries use", () => {
    const lock = lockOf({ native: built("sapphirerapids", avx512) });
    expect(resolveImage(lock, machine("x86-64-v3")).rejected[0]?.message).toBe(
      "needs avx512bw, avx512f, avx512vl (declared sapphirerapids, its binaries use avx, avx2, avx512bw, avx512f, avx512vl, fma), which this host's CPU does not have",
    );
  });
});
