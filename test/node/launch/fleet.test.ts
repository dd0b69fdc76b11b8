import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { type FleetMember, splitNodes } from "../../../src/node/launch/fleet/split-nodes.ts";
import { nodeLabels } from "../../../src/node/launch/labels/node-labels.ts";
import { labelNames } from "../../../src/node/launch/labels/vocabulary.ts";
import { nodeSelectorTerms } from "../../../src/node/launch/targets/kubernetes.ts";
import { nodeConstraints } from "../../../src/node/launch/targets/nomad.ts";
import type { HostFacts } from "../../../src/host/facts.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { type ResolveImageOptions, resolveImage } from "../../../src/resolve/resolve-image.ts";
import { anyHost, nvidiaLock, anyPrefer } from "../../properties/support/machines.ts";
import { timeoutMs } from "../../properties/support/runs.ts";
import { cpuHost } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "../../resolve/support/locks.ts";
import { mixedLock } from "./support/fleet-locks.ts";
import { labelProblems, matchesAffinity } from "./support/node-affinity.ts";
import { matchesNomad } from "./support/nomad-constraints.ts";

/** Large locks take long and teach no more than small ones: three of four have four images at most. */
const lockOfFleet = fc
  .oneof(
    {
      weight: 3,
      arbitrary: nvidiaLock.map((lock) => ({
        ...lock,
        images: Object.fromEntries(Object.entries(lock.images).slice(0, 4)),
      })),
    },
    { weight: 1, arbitrary: nvidiaLock },
  )
  .chain((lock) => anyPrefer.map((prefer) => ({ ...lock, prefer })));
/** A fleet takes a thousand times as long as one image, so FLEET_RUNS counts them apart from the other properties. */
const fleets = Number(process.env.FLEET_RUNS ?? 60);

/** null for a lock whose images are so unlike that imgmatch refuses: random ones can be. */
function membersOf(lock: Lock): readonly FleetMember[] | null {
  try {
    return splitNodes(lock).members;
  } catch (error) {
    if (error instanceof ImgmatchError && error.code === "LAUNCH_UNSUPPORTED") return null;
    throw error;
  }
}

/** The cells that Kubernetes would start on this host. */
function scheduledOn(host: HostFacts, members: readonly FleetMember[]): readonly string[] {
  const labels = Object.fromEntries(
    Object.entries(nodeLabels(host)).map(([key, value]) => [labelNames.kubernetes(key), value]),
  );
  expect(labelProblems(labels)).toEqual([]);
  return members
    .filter(({ terms }) => matchesAffinity(nodeSelectorTerms(terms), labels))
    .map(({ cell }) => cell);
}

describe("a fleet on Kubernetes", () => {
  it(`schedules on ${fleets} random nodes exactly what resolve picks`, { timeout: timeoutMs * 5 }, () => {
    let won = 0;
    let tooMany = 0;
    fc.assert(
      fc.property(fc.array(anyHost, { minLength: 1, maxLength: 4 }), lockOfFleet, (hosts, lock) => {
        const members = membersOf(lock);
        if (members === null) return void tooMany++;
        for (const host of hosts) {
          const { match } = resolveImage(lock, host);
          expect(scheduledOn(host, members)).toEqual(match === null ? [] : [match.cell]);
          if (match !== null) won++;
        }
      }),
      { numRuns: fleets },
    );
    expect(won).toBeGreaterThan(fleets / 20);
    expect(tooMany).toBeLessThan(fleets / 20);
  });
});

describe("a fleet on Nomad", () => {
  it("runs on each random node one group of what resolve picks, and no other", {
    timeout: timeoutMs * 5,
  }, () => {
    let won = 0;
    fc.assert(
      fc.property(fc.array(anyHost, { minLength: 1, maxLength: 4 }), lockOfFleet, (hosts, lock) => {
        const members = membersOf(lock);
        if (members === null) return;
        const split = members.map(({ cell, disjointTerms }) => ({ cell, terms: disjointTerms(3000) }));
        // Some locks take millions of groups: those, imgmatch launches otherwise.
        if (split.some(({ terms }) => terms === null)) return;
        const groups = split.flatMap(({ cell, terms }) =>
          (terms ?? []).map((term) => ({ cell, constraints: nodeConstraints(term) })),
        );
        for (const host of hosts) {
          const meta = Object.fromEntries(
            Object.entries(nodeLabels(host)).map(([key, value]) => [labelNames.nomad(key), value]),
          );
          const placed = groups
            .filter(({ constraints }) => matchesNomad(constraints, meta))
            .map(({ cell }) => cell);
          const { match } = resolveImage(lock, host);
          expect(placed).toEqual(match === null ? [] : [match.cell]);
          if (match !== null) won++;
        }
      }),
      { numRuns: Math.max(40, fleets / 10) },
    );
    expect(won).toBeGreaterThan(0);
  });
});

describe("a fleet", () => {
  const v3 = gpuImage(cuda("12.8.1", ["sm_80"]));

  it("leaves out what never wins, and says so", () => {
    const { members, shadowed } = splitNodes(lockOf({ a: v3, b: v3 }));
    expect(members.map(({ cell }) => cell)).toEqual(["a"]);
    expect(shadowed).toEqual(["b"]);
  });

  it("obeys pins, --cpu and what the lock prefers", () => {
    const lock = lockOf({ gpu: v3, old: gpuImage(cuda("12.4.1", ["sm_80"])), cpu: image() });
    const cells = (options: ResolveImageOptions, of = lock) =>
      splitNodes(of, options).members.map(({ cell }) => cell);
    expect(cells({})).toEqual(["cpu", "gpu", "old"]);
    expect(cells({ cpuOnly: true })).toEqual(["cpu"]);
    expect(cells({ pins: { cuda: "12.4" } })).toEqual(["old"]);
    expect(cells({}, { ...lock, prefer: ["cuda=none"] })).toEqual(["cpu"]);
  });

  it("says when alternatives would be too many", () => {
    const [member] = splitNodes(lockOf({ a: v3, b: image() })).members.filter(({ cell }) => cell === "b");
    expect(member?.disjointTerms(3)).toBeNull();
    expect(member?.disjointTerms(100_000)?.length).toBeGreaterThan(3);
  });

  it("asks nothing of a label that the rest of an alternative implies", () => {
    const terms = splitNodes(mixedLock).members.flatMap((each) => each.disjointTerms(2000) ?? []);
    expect(terms.length).toBeGreaterThan(100);
    for (const term of terms) {
      const asked = term.map(({ key, operator }) => `${key} ${operator}`);
      expect(new Set(asked).size).toBe(asked.length);
      const named = term.filter(({ operator }) => operator === "In").map(({ key }) => `${key} NotIn`);
      expect(named.filter((each) => asked.includes(each))).toEqual([]);
    }
  });

  it("takes a node of which nobody has told the GPUs where the answer does not depend on them, and no other", () => {
    const untold = cpuHost({ nvidia: undefined });
    const ask = (images: Record<string, LockedImage>, options: ResolveImageOptions = {}) => {
      const lock = lockOf(images);
      const { match } = resolveImage(lock, untold, options);
      const scheduled = scheduledOn(untold, splitNodes(lock, options).members);
      expect(scheduled).toEqual(match === null ? [] : [match.cell]);
      return scheduled;
    };
    const python = (version: string, of: LockedImage) => ({ ...of, axes: { ...of.axes, python: version } });
    const both = { gpu: python("3.11", v3), cpu: python("3.12", image()) };
    expect(ask({ cpu: image() })).toEqual(["cpu"]);
    expect(ask({ cpu: image(), never: { ...v3, digest: null } })).toEqual(["cpu"]);
    expect(ask(both)).toEqual([]);
    expect(ask(both, { cpuOnly: true })).toEqual(["cpu"]);
    expect(ask(both, { pins: { python: "3.12" } })).toEqual(["cpu"]);
  });

  it("leaves out what was never built", () => {
    expect(splitNodes(lockOf({ a: { ...v3, digest: null } })).members).toEqual([]);
  });

  it("refuses images for AMD by name: no label says what their GPUs run", () => {
    const lock = lockOf({ cpu: image({ axes: { accel: "none" } }), rocm: rocmImage(["gfx942"]) });
    expect(() => splitNodes(lock)).toThrow(/says which code its AMD GPUs run, and rocm has code for gfx/);
    expect(splitNodes(lock, { pins: { accel: "none" } }).members.map(({ cell }) => cell)).toEqual(["cpu"]);
  });

  it("refuses a feature that nodes do not advertise", () => {
    const odd = { ...v3, requires: { ...v3.requires, cpu: { march: "any", features: ["avx", "made_up"] } } };
    expect(() => splitNodes(lockOf({ a: odd }))).toThrow(/made_up/);
  });
});
