/** Suggestions for random small fleets, against every other set of cells, each asked of `resolveImage` host by host. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { candidateCells } from "../../src/cover/candidate-cells.ts";
import { plannedFleet } from "../../src/cover/cover-fleet.ts";
import { plannedLock } from "../../src/cover/cover-fleet.ts";
import { coverReport } from "../../src/cover/cover-report.ts";
import type { Suggestion } from "../../src/cover/suggestion.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import type { Cell } from "../../src/fleet/cells/cell.ts";
import type { Matrix } from "../../src/fleet/matrix/matrix.ts";
import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import { rankImages, resolveImage } from "../../src/resolve/resolve-image.ts";
import { a100, cpuHost, gpuHost, h100, rtx4090 } from "../resolve/support/hosts.ts";
import { isLong } from "../support/long.ts";

/** So many fleets, and sets of so many cells; IMGMATCH_LONG=1 takes a thousand, and sets of three. */
const [fleets, largest] = isLong ? [1000, 3] : [100, 2];
const timeout = 900_000;

const rtx3090 = { ...rtx4090, name: "NVIDIA GeForce RTX 3090", compute: "8.6" };
const marches = ["x86-64-v2", "x86-64-v3", "x86-64-v4"] as const;

const anyMatrix: fc.Arbitrary<Matrix> = fc
  .record({
    toolkits: fc.subarray(["12.4.1", "12.8.1", "13.0.2"], { minLength: 1, maxLength: 2 }),
    none: fc.boolean(),
    computes: fc.subarray(['"8.0"', '"8.6"', '"9.0+ptx"', '["8.6", "8.9"]'], { minLength: 1, maxLength: 2 }),
    marches: fc.subarray([...marches], { minLength: 1, maxLength: 2 }),
  })
  .map(({ toolkits, none, computes, marches: own }) => {
    const cudas = [...toolkits.map((toolkit) => `{ toolkit: "${toolkit}" }`), ...(none ? ["none"] : [])];
    return parseMatrix(
      [
        "name: small",
        'version: "1"',
        "registry: registry.example.com/team",
        "template: app.Dockerfile.hbs",
        "axes:",
        `  cuda: [${cudas.join(", ")}]`,
        `  compute: [${computes.join(", ")}]`,
        `  march: [${own.join(", ")}]`,
        "",
      ].join("\n"),
      "matrix.yaml",
    );
  });

const anyClass: fc.Arbitrary<HostFacts> = fc
  .record({
    gpu: fc.constantFrom(null, a100, rtx3090, rtx4090, h100),
    driver: fc.constantFrom(
      ["550.54.15", "12.4"] as const,
      ["570.86.15", "12.8"] as const,
      ["580.95.05", "13.0"] as const,
    ),
    march: fc.constantFrom(...marches),
  })
  .map(({ gpu, driver, march }) => {
    const cpu = {
      vendor: "AuthenticAMD",
      model: march,
      features: findMarch(march)?.features ?? [],
      level: march,
    };
    return gpu === null ? cpuHost({ cpu }) : gpuHost([gpu], driver[0], driver[1], { cpu });
  });

const anyHosts = fc.array(fc.record({ facts: anyClass, count: fc.integer({ min: 1, max: 3 }) }), {
  minLength: 1,
  maxLength: 4,
});

/** A second statement of "native", for the image that `resolveImage` picks. */
function nearness(lock: Lock, facts: HostFacts) {
  const { match, unusedGpus } = resolveImage(lock, facts);
  if (match === null) return { served: false, native: false };
  const { ranked } = rankImages(lock, facts);
  const [first] = ranked;
  const image = lock.images[match.cell] as LockedImage;
  const level = marches.findLast((march) =>
    findMarch(march)?.features.every((each) => facts.cpu.features?.includes(each)),
  );
  const emitted = (findMarch(level ?? "")?.required ?? []).filter((each) => findMatchFeature(level, each));
  const unused = emitted.filter((each) => !image.requires.cpu.features.includes(each)).length;
  const codes = first?.fit.code ?? [];
  const isPtx = codes.some(({ kind }) => kind === "ptx");
  const minors = Math.max(0, ...codes.filter(({ kind }) => kind !== "ptx").map(({ distance }) => distance));
  const native =
    unusedGpus === undefined && unused === 0 && !isPtx && minors === 0 && match.tier === "native";
  return { served: true, native };
}

function findMatchFeature(march: string | undefined, feature: string): boolean {
  return findMarch(march ?? "")?.features.includes(feature) ?? false;
}

interface Asked {
  readonly matrix: Matrix;
  readonly hosts: readonly { readonly facts: HostFacts; readonly count: number }[];
}

function ask({ matrix, hosts }: Asked, most?: number) {
  const named = hosts.flatMap(({ facts, count }, index) =>
    Array.from({ length: count }, (_, each) => ({ name: `h${index}-${each}`, facts })),
  );
  const report = coverReport(plannedFleet(matrix), named, {
    suggest: { matrix, ...(most === undefined ? {} : { most }) },
  });
  return report.suggestion as Suggestion;
}

/** Of a set of cells: hosts with native code, and with anything. */
function worth(set: readonly Cell[], { matrix, hosts }: Asked) {
  const lock = plannedLock(matrix, set);
  const each = hosts.map(({ facts, count }) => ({ count, ...nearness(lock, facts) }));
  const sum = (holds: (one: (typeof each)[number]) => boolean) =>
    each.reduce((all, one) => all + (holds(one) ? one.count : 0), 0);
  return {
    good: each.map(({ native }) => native),
    native: sum(({ native }) => native),
    served: sum(({ served }) => served),
  };
}

/** The matrix's, and of the own values of each host that none of those alone serves natively. */
function candidatesOf(asked: Asked): ReadonlyMap<string, Cell> {
  const own = candidateCells(asked.matrix);
  const all = new Map(own);
  for (const host of asked.hosts) {
    if (isReachable(own, { ...asked, hosts: [host] })) continue;
    const computes = host.facts.nvidia?.gpus.flatMap(({ compute }) => compute ?? []) ?? [];
    const extras = { computes, marches: [host.facts.cpu.level ?? ""] };
    for (const [id, cell] of candidateCells(asked.matrix, extras)) all.set(id, cell);
  }
  return all;
}

function isReachable(cells: ReadonlyMap<string, Cell>, asked: Asked): boolean {
  return [...cells.values()].some((cell) => worth([cell], asked).good[0]);
}

function* subsets(cells: readonly Cell[], size: number, from = 0): Generator<readonly Cell[]> {
  if (size === 0) yield [];
  else
    for (const [index, cell] of cells.entries())
      if (index >= from && index <= cells.length - size)
        for (const rest of subsets(cells, size - 1, index + 1)) yield [cell, ...rest];
}

const chosenOf = ({ cells }: Suggestion, all: ReadonlyMap<string, Cell>) =>
  cells.map(({ cell }) => all.get(cell) as Cell);

it("no set of fewer cells does as well, by resolve", { timeout }, () => {
  let several = 0;
  fc.assert(
    fc.property(anyMatrix, anyHosts, (matrix, hosts) => {
      const asked = { matrix, hosts };
      const suggestion = ask(asked);
      const all = candidatesOf(asked);
      const cells = chosenOf(suggestion, all);
      const own = worth(cells, asked);
      const { proved, native, served } = suggestion;
      expect([proved, own.native, own.served]).toEqual([true, native, served]);
      // Whom a cell alone could serve natively, the set serves so.
      const reachable = hosts.map((host) => isReachable(all, { ...asked, hosts: [host] }));
      expect(own.good).toEqual(reachable);
      if (reachable.includes(false)) return;
      several += cells.length > 1 ? 1 : 0;
      for (let size = 0; size <= Math.min(cells.length, largest); size++)
        for (const set of subsets([...all.values()], size)) {
          const other = worth(set, asked);
          if (!other.good.every(Boolean)) continue;
          expect(set.length).toBe(cells.length);
        }
    }),
    { numRuns: fleets },
  );
  expect(several).toBeGreaterThan(fleets / 20);
});

it("of so many cells no others give more hosts native code, by resolve", { timeout }, () => {
  fc.assert(
    fc.property(anyMatrix, anyHosts, fc.integer({ min: 1, max: 2 }), (matrix, hosts, most) => {
      const asked = { matrix, hosts };
      const suggestion = ask(asked, most);
      const all = candidatesOf(asked);
      const cells = chosenOf(suggestion, all);
      const own = worth(cells, asked);
      const { proved, native, served } = suggestion;
      expect(cells.length).toBeLessThanOrEqual(most);
      expect([proved, own.native, own.served]).toEqual([true, native, served]);
      for (let size = 0; size <= most; size++)
        for (const set of subsets([...candidateCells(matrix).values()], size)) {
          const other = worth(set, asked);
          expect(other.native).toBeLessThanOrEqual(own.native);
          if (other.native === own.native) expect(other.served).toBeLessThanOrEqual(own.served);
        }
    }),
    { numRuns: fleets },
  );
});
