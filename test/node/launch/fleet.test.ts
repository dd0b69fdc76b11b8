import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { type FleetMember, splitNodes } from "../../../src/node/launch/fleet/split-nodes.ts";
import { type ServedGpus, splitDevices } from "../../../src/node/launch/fleet/split-devices.ts";
import { nodeLabels } from "../../../src/node/launch/labels/node-labels.ts";
import { labelNames, versionNumber } from "../../../src/node/launch/labels/vocabulary.ts";
import { nodeSelectorTerms } from "../../../src/node/launch/targets/kubernetes.ts";
import { nodeConstraints } from "../../../src/node/launch/targets/nomad.ts";
import { findAmdArchitecture } from "../../../src/hardware/amd-architectures.ts";
import { hasGpuCode } from "../../../src/hardware/requirement.ts";
import type { HostFacts } from "../../../src/host/facts.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { viewHost } from "../../../src/resolve/host-view.ts";
import { type ResolveImageOptions, resolveImage } from "../../../src/resolve/resolve-image.ts";
import { anyHost, anyLock, nvidiaLock, anyPrefer } from "../../properties/support/machines.ts";
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
/**
 * A fleet takes a thousand times as long as one image, so FLEET_RUNS counts them apart from the other properties. One of ten random fleets
 * gives a device its CPU image: ten fleets would often give none.
 */
const fleets = Number(process.env.FLEET_RUNS ?? 100);

/** null for a lock whose images are so unlike that imgmatch refuses: random ones can be. */
function membersOf(lock: Lock): readonly FleetMember[] | null {
  try {
    return splitNodes(lock).members;
  } catch (error) {
    if (error instanceof ImgmatchError && error.code === "LAUNCH_UNSUPPORTED") return null;
    throw error;
  }
}

const lockOfDevices = anyLock.map((lock) => ({
  ...lock,
  images: Object.fromEntries(Object.entries(lock.images).slice(0, 4)),
}));
const noCode = { cuda: null };

function deviceMembersOf(lock: Lock) {
  try {
    return splitDevices(lock).members;
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

/** As a ResourceSlice tells them: the GPU alone, its driver and its CUDA version. */
function publishedOf({ nvidia, amd, ...host }: HostFacts): readonly HostFacts[] {
  const { driver, cuda: reported, gpus } = nvidia ?? { driver: null, cuda: null, gpus: [] };
  const isPublished = driver !== null && reported !== null && nvidia?.driverScale === undefined;
  // Nothing that a cluster knows says that AMD's are broken.
  const problems = host.problems.filter(({ code }) => !code.startsWith("HOST_AMD_"));
  const { unknown: _, ...known } = nvidia ?? {
    gpus: [],
    driver: null,
    module: null,
    library: null,
    cuda: null,
  };
  const all = { ...host, problems, nvidia: null, amd: null };
  return [
    all,
    ...(isPublished ? gpus : [])
      .filter((gpu) => gpu.compute !== null && gpu.class !== "tegra")
      .map((gpu) => ({ ...all, ...(known && { nvidia: { ...known, gpus: [{ ...gpu, index: 0 }] } }) })),
    ...(amd?.gpus ?? []).flatMap((gpu) => {
      const architecture = gpu.target === null ? null : findAmdArchitecture(gpu.target);
      const sramecc = architecture?.sramecc === false ? false : null;
      return architecture === null || amd == null
        ? []
        : [{ ...all, amd: { driver: "6.14.14", gpus: [{ ...gpu, index: 0, sramecc }] } }];
    }),
  ];
}

describe("a fleet that claims devices", () => {
  const serves = (served: readonly ServedGpus[], { nvidia, amd }: HostFacts) => {
    const { driver, cuda } = viewHost({ ...cpuHost(), ...(nvidia && { nvidia }) }).nvidia ?? {};
    const numbers: Readonly<Record<string, number>> = {
      "driver-number": versionNumber(driver?.parts ?? []),
      "cuda-number": versionNumber(cuda?.parts ?? []),
    };
    const kind = nvidia?.gpus[0]?.compute ?? amd?.gpus[0]?.target ?? "";
    return served.some(
      ({ kinds, drivers }) =>
        kinds.includes(kind) &&
        drivers.some((term) =>
          term.every(({ key, operator, values: [value] }) => {
            const isThere = (numbers[key] ?? 0) >= Number(value);
            return operator === "AtLeast" ? isThere : !isThere;
          }),
        ),
    );
  };

  it(`gives ${fleets} random devices exactly what resolve picks for them`, { timeout: timeoutMs * 5 }, () => {
    const won = { nvidia: 0, amd: 0, cpu: 0 };
    fc.assert(
      fc.property(fc.array(anyHost, { minLength: 1, maxLength: 4 }), lockOfDevices, (hosts, lock) => {
        const members = deviceMembersOf(lock);
        for (const host of members === null ? [] : hosts.flatMap(publishedOf)) {
          const labels = nodeLabels(host);
          // A driver publishes what it drives.
          if (host.nvidia !== null && labels["gpu.usable"] !== "true") continue;
          const { match } = resolveImage(lock, host);
          const named = Object.fromEntries(
            Object.entries(labels).map(([key, value]) => [labelNames.kubernetes(key), value]),
          );
          const given = (members ?? [])
            .filter(({ terms }) => matchesAffinity(nodeSelectorTerms(terms), named))
            .filter(({ serves: served }) => served.length === 0 || serves(served, host))
            .map(({ cell }) => cell);
          const isGpuImage = match !== null && hasGpuCode(lock.images[match.cell]?.requires ?? noCode);
          // Beside images for AMD those without GPU code go by the label of resolve's own answer.
          const isTold = isGpuImage || !members?.some(({ terms }) => terms[0]?.[0]?.key.startsWith("image."));
          expect(given).toEqual(match !== null && isTold ? [match.cell] : []);
          if (match !== null && isTold) won[isGpuImage ? (host.amd === null ? "nvidia" : "amd") : "cpu"]++;
        }
      }),
      { numRuns: fleets },
    );
    expect(won.nvidia).toBeGreaterThan(0);
    expect(won.amd).toBeGreaterThan(0);
    expect(won.cpu).toBeGreaterThan(0);
  });

  it("refuses an image by name whose GPUs no attribute tells", () => {
    const cpu = image({ axes: { accel: "none" } });
    const lock = lockOf({ rocm: rocmImage(["gfx90a:sramecc+"]), cpu });
    expect(() => splitDevices(lock)).toThrow(/LAUNCH_UNSUPPORTED.*rocm: .*does not publish sramecc/s);
    expect(splitDevices(lock, { pins: { accel: "none" } }).members).toHaveLength(1);
  });

  it("sends an image without GPU code beside those for AMD to nodes that say that resolve picks it", () => {
    const cpu = splitDevices(lockOf({ rocm: rocmImage(["gfx942"]), cpu: image() })).members[0];
    expect(cpu?.terms).toEqual([[{ key: "image.cv-tf", operator: "In", values: ["cpu"] }]]);
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
