import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GpuFacts, HostFacts, NvidiaFacts } from "../../../src/facts/facts.ts";
import { unknownNvidia } from "../../../src/facts/no-facts.ts";
import { findAmdArchitecture } from "../../../src/hardware/amd-architectures.ts";
import { cudaOfDriver } from "../../../src/hardware/cuda-toolkits.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { needsGpus, vendorsOf } from "../../../src/lock/requirement.ts";
import { fleetRequests } from "../../../src/node/launch/fleet/fleet-requests.ts";
import { type ServedGpus, servedDevices } from "../../../src/node/launch/fleet/served-devices.ts";
import {
  createLabeller,
  type LabelQuestion,
  questionKeys,
} from "../../../src/node/launch/labels/image-labels.ts";
import { nodeLabels, presentLabels } from "../../../src/node/launch/labels/node-labels.ts";
import { versionNumber } from "../../../src/node/launch/labels/vocabulary.ts";
import { kubernetes } from "../../../src/node/launch/targets/kubernetes.ts";
import { nomad } from "../../../src/node/launch/targets/nomad.ts";
import { isEligible } from "../../../src/resolve/check-fit.ts";
import { viewHost } from "../../../src/resolve/host-view.ts";
import { prepareRanking, resolveImage } from "../../../src/resolve/resolve-image.ts";
import { anyHost, anyLock, anyPrefer } from "../../properties/support/machines.ts";
import { assertSeen, timeoutMs } from "../../properties/support/runs.ts";
import { amdGpu, amdHost, cpuHost, gpu, gpuHost, h100 } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocm, rocmImage } from "../../resolve/support/locks.ts";

const runs = Number(process.env.FLEET_RUNS ?? 20);
/** So few must have images that win among them: the same nodes each time, and others where FLEET_RUNS asks for more. */
const sample = { numRuns: runs, ...(process.env.FLEET_RUNS === undefined ? { seed: 6 } : {}) };
const workload = { args: [] };
const preferringLock = anyLock.chain((lock) => anyPrefer.map((prefer) => ({ ...lock, prefer })));
/** Large ones take long and teach no more. */
const smallLock = preferringLock.map((lock) => ({
  ...lock,
  images: Object.fromEntries(Object.entries(lock.images).slice(0, 3)),
}));
const labelsOf = (lock: Lock, host: HostFacts, question: LabelQuestion = {}) =>
  presentLabels(createLabeller(lock, question)(host).labels);

/** The tags of the workloads that a scheduler would start on a node with these labels. */
function startedOn(lock: Lock, labels: Readonly<Record<string, string>>, question: LabelQuestion = {}) {
  const { launches } = fleetRequests(kubernetes, lock, { workload, ...question });
  return launches.flatMap(({ node, reference }) =>
    node != null && labels[node.key] === node.value ? [reference] : [],
  );
}

describe("a fleet", () => {
  it("starts on each random node exactly what resolve picks", { timeout: timeoutMs * 5 }, () => {
    let won = 0;
    assertSeen(
      fc.property(fc.array(anyHost, { minLength: 1, maxLength: 4 }), preferringLock, (hosts, lock) => {
        const { cells, judge } = prepareRanking(lock, {});
        if (!cells.some(([, image]) => isEligible(image, judge))) return;
        // A resource of a scheduler is of one vendor: such fleets are refused by name.
        if (cells.some(([, { requires }]) => vendorsOf(requires).length > 1)) return;
        // An image that the scheduler cannot run, as of a bundled driver, is left out and named.
        if (fleetRequests(kubernetes, lock, { workload }).notes.length > 0) return;
        for (const host of hosts) {
          const { match } = resolveImage(lock, host);
          expect(startedOn(lock, labelsOf(lock, host))).toEqual(match === null ? [] : [match.reference]);
          if (match !== null) won++;
        }
      }),
      sample,
      () => won > runs / 20,
    );
  });

  const v3 = gpuImage(cuda("12.8.1", ["sm_80"]));
  const lock = lockOf({ gpu: v3, old: gpuImage(cuda("12.4.1", ["sm_80"])), cpu: image() });
  const a100 = gpuHost([gpu({ compute: "8.0" })], "570.124.06", "12.8");

  it("of two versions and two pins has labels side by side, and each workload asks for its own", () => {
    const next = { ...lock, version: "2.0", images: { gpu: { ...v3, tag: "2.0-gpu" } } };
    const old = { pins: { cuda: "12.4" } };
    const labels = { ...labelsOf(lock, a100), ...labelsOf(next, a100), ...labelsOf(lock, a100, old) };
    expect(startedOn(lock, labels)).toEqual([expect.stringContaining(":gpu@")]);
    expect(startedOn(next, labels)).toEqual([expect.stringContaining(":2.0-gpu@")]);
    expect(startedOn(lock, labels, old)).toEqual([expect.stringContaining(":old@")]);
  });

  it("gives every question a key of its own, and the default one a plain key besides", () => {
    const questions: readonly LabelQuestion[] = [
      {},
      { pins: { cuda: "12.8" } },
      { pins: { cuda: "12.4" } },
      { cpuOnly: true },
      { requireGpu: true },
      { gpus: "none" },
      { prefer: ["toolkit"] },
    ];
    const keys = [
      ...questions.map((question) => questionKeys(lock, question)),
      questionKeys({ ...lock, version: "2.0" }),
      questionKeys({ ...lock, prefer: ["cuda=none"] }),
    ];
    expect(new Set(keys.map(({ image }) => image)).size).toBe(keys.length);
    const isPlain = keys.map(({ plain }) => plain !== null);
    expect(isPlain).toEqual([true, false, false, false, false, false, false, true, true]);
    expect(questionKeys(lock).plain).toBe("image.cv-tf");
    const pins = { cuda: "12.8", python: "3.12" };
    const turned = { python: "3.12", cuda: "12.8" };
    expect(questionKeys(lock, { pins })).toEqual(questionKeys(lock, { pins: turned }));
  });

  it("has any number of images, for AMD too, and one group each on Nomad", () => {
    const many = Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`cell-${at}`, { ...rocmImage(["gfx942"]), tag: `t-${at}` }]),
    );
    const { launches, name } = fleetRequests(kubernetes, lockOf(many), { workload });
    expect(launches).toHaveLength(300);
    const small = fleetRequests(nomad, lock, { workload });
    const [job] = nomad.fleet(small.launches, name);
    const { image: key } = questionKeys(lock);
    const meta = `meta.imgmatch_${key.replace(/[^A-Za-z0-9]/g, "_")}`;
    expect(JSON.stringify(job).split(meta)).toHaveLength(1 + small.launches.length);
  });

  it("refuses by name an image with code for GPUs of two vendors, which is claimed", () => {
    const both = lockOf({ a: { ...v3, requires: { ...v3.requires, rocm: rocm("7.2", ["gfx942"]) } } });
    expect(() => fleetRequests(kubernetes, both, { workload })).toThrow(
      /GPUs for a, which has code for those of two/,
    );
    expect(fleetRequests(kubernetes, both, { workload, devices: [] }).launches).toHaveLength(1);
  });

  it("leaves out what was never built, and refuses a lock without any image", () => {
    const part = lockOf({ a: { ...v3, digest: null }, b: image() });
    expect(fleetRequests(kubernetes, part, { workload }).launches.map(({ node }) => node?.value)).toEqual([
      "b",
    ]);
    const none = lockOf({ a: { ...v3, digest: null } });
    expect(() => fleetRequests(kubernetes, none, { workload })).toThrow(/NO_MATCH/);
  });
});

/** As a ResourceSlice tells them: one GPU alone, and its driver. */
function publishedOf({ nvidia, amd, ...host }: HostFacts): readonly HostFacts[] {
  // Nothing that a cluster knows says that AMD's are broken.
  const problems = host.problems.filter(({ code }) => !code.startsWith("HOST_AMD_"));
  const all = { ...host, problems, nvidia: null, amd: null };
  const isPublished = nvidia != null && nvidia.driver !== null && nvidia.driverScale === undefined;
  const gpus = nvidia == null || !isPublished ? [] : nvidia.gpus;
  const published = (each: GpuFacts): NvidiaFacts => ({
    ...unknownNvidia,
    driver: nvidia?.driver ?? null,
    module: nvidia?.module ?? null,
    cuda: cudaOfDriver(nvidia?.driver ?? ""),
    gpus: [{ ...each, index: 0 }],
  });
  return [
    all,
    ...gpus
      .filter((each) => each.compute !== null && each.class !== "tegra")
      .map((each) => ({ ...all, nvidia: published(each) })),
    ...(amd?.gpus ?? []).flatMap((each) => {
      const architecture = each.target === null ? null : findAmdArchitecture(each.target);
      const sramecc = architecture?.sramecc === false ? false : null;
      if (architecture === null) return [];
      return [{ ...all, amd: { driver: "6.14.14", gpus: [{ ...each, index: 0, sramecc }] } }];
    }),
  ];
}

describe("a fleet that claims devices", () => {
  const serves = (served: readonly ServedGpus[], host: HostFacts) => {
    const view = viewHost(host).nvidia;
    const driver = versionNumber(view?.driver?.parts ?? []);
    const kind = host.nvidia?.gpus[0]?.compute ?? host.amd?.gpus[0]?.target ?? "";
    return served.some(
      ({ kinds, vendor, drivers }) =>
        kinds.includes(kind) &&
        (vendor === "amd" ||
          drivers.some(({ from, before }) => driver >= from && (before === null || driver < before))),
    );
  };

  it("gives the devices of random nodes exactly what resolve picks for them", {
    timeout: timeoutMs * 5,
  }, () => {
    const won = { nvidia: 0, amd: 0 };
    assertSeen(
      fc.property(fc.array(anyHost, { minLength: 1, maxLength: 4 }), smallLock, (hosts, lock) => {
        const served = servedDevices(lock);
        const { devices } = questionKeys(lock);
        for (const host of hosts.flatMap(publishedOf)) {
          // A driver publishes what it drives.
          if (host.nvidia != null && nodeLabels(host)["gpu.usable"] !== "true") continue;
          const labels = labelsOf(lock, host);
          const given = Object.entries(lock.images)
            .filter(([, { tag }]) => devices.some((key) => labels[key] === tag))
            .filter(([cell]) => serves(served.get(cell) ?? [], host))
            .map(([cell]) => cell);
          const { match } = resolveImage(lock, host);
          const image = match === null ? undefined : lock.images[match.cell];
          const isGpuImage = image !== undefined && needsGpus(image.requires);
          expect(given).toEqual(isGpuImage ? [match?.cell] : []);
          if (isGpuImage) won[host.amd === null ? "nvidia" : "amd"]++;
        }
      }),
      // A smaller example is rarely worth the minutes that its search takes.
      { ...sample, endOnFailure: true },
      () => won.nvidia > 0 && won.amd > 0,
    );
  });

  it("serves newer drivers behind a branch that no table knows: 590 behind the 581 that follows a package", () => {
    const branches = { branches: ["535", "570"], listed: ["525", "535"] };
    const driver = { mode: "compat", package: "580.95.05", cuda: "13.0", ...branches } as const;
    const own = { mode: "host", minimum: "525.60.13" } as const;
    // 12.9.9 is in no table.
    const other = { by: "other", toolkit: "12.9.9", code: ["compute_70"], driver: own };
    const requires = cuda("12.4.1", ["compute_50"], { driver, or: [other] });
    const served = servedDevices(lockOf({ only: gpuImage(requires) })).get("only");
    const turing = served?.find(({ kinds }) => kinds.includes("7.5"));
    expect(turing?.drivers.at(-1)).toMatchObject({ before: null });
  });

  const both = { ampere: gpuImage(cuda("12.8.1", ["sm_80"])), hopper: gpuImage(cuda("12.8.1", ["sm_90"])) };
  const [a100, h] = [gpu({ index: 0, compute: "8.0" }), gpu({ ...h100, index: 1 })];
  const claimingOn = (lock: Lock, host: HostFacts) => {
    const labels = labelsOf(lock, host);
    return questionKeys(lock).devices.flatMap((key) => labels[key] ?? []);
  };

  it("gives unlike GPUs of a node each its image", () => {
    const lock = lockOf(both);
    const host = gpuHost([a100, h], "570.124.06", "12.8");
    expect(claimingOn(lock, host)).toEqual(["ampere", "hopper"]);
    expect(resolveImage(lock, host).match).toBeNull();
  });

  it("gives no GPU to an image that would also take another image's on the same node", () => {
    const lock = lockOf({ ...both, hopper: gpuImage(cuda("12.8.1", ["sm_80", "sm_90"]), { tag: "hopper" }) });
    const host = gpuHost([a100, h], "570.124.06", "12.8");
    expect(claimingOn(lock, host)).toEqual(["ampere"]);
    expect(claimingOn(lock, gpuHost([h], "570.124.06", "12.8"))).toEqual(["hopper"]);
  });

  it("never lets two images claim one device, and follows the driver", () => {
    const old = gpuImage(cuda("11.8.0", ["sm_80"], { driver: { mode: "host", minimum: "450.80.02" } }));
    const served = servedDevices(lockOf({ ...both, old }));
    const number = (...parts: number[]) => versionNumber(parts);
    const of = (cell: string) => served.get(cell)?.find(({ kinds }) => kinds.includes("8.0"))?.drivers;
    // Between the two, 12.8 runs by minor-version compatibility alone, and the driver knows all of 11.8.
    expect(of("ampere")).toEqual([{ from: number(570), before: null }]);
    expect(of("old")).toEqual([{ from: number(450, 80, 2), before: number(570) }]);
  });

  it("leaves out images whose GPUs no attribute tells", () => {
    const lock = lockOf({ rocm: rocmImage(["gfx90a:sramecc+"]), cpu: image({ axes: { accel: "none" } }) });
    const { launches, notes } = fleetRequests(kubernetes, lock, { workload, devices: [] });
    expect([launches.map(({ node }) => node?.value), notes]).toEqual([
      ["cpu"],
      ["left out: rocm serves none of these devices"],
    ]);
  });

  it("tells of AMD's GPUs by node", () => {
    const lock = lockOf({ mi300: rocmImage(["gfx942"]), cpu: image() });
    expect(claimingOn(lock, amdHost([amdGpu({ target: "gfx942" })], "6.14.14"))).toEqual(["mi300"]);
    expect(claimingOn(lock, cpuHost())).toEqual([]);
  });
});
