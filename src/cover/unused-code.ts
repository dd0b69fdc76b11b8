/** Counts the bytes of an image's code that none of the hosts can run on which the image fits. */

import { parseAmdTarget } from "../hardware/amd-target.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { parseCudaCode } from "../hardware/ptx-versions.ts";
import { remember, sortedEntries, sum } from "../io/collections.ts";
import { packedTargets } from "../lock/packed-targets.ts";
import type { LockedCode } from "../lock/lock.ts";
import { answerOfHost, type BySideOfHost, type HostView } from "../resolve/host-view.ts";
import { checkAmdCode } from "../resolve/rules/amd/amd-gpus.ts";
import { checkGpuCode } from "../resolve/rules/nvidia/gpu-code.ts";
import { isMisfit } from "../resolve/verdict.ts";

export interface UnusedCode {
  /** Bytes of all its code. */
  readonly bytes: number;
  /** Of `bytes`, code that none of these hosts can run, by GPU target and CPU architecture. */
  readonly unused: Readonly<Record<string, number>>;
  /** Packages with GPU code that none of these hosts can run any of, each with the bytes of the code. */
  readonly packages: Readonly<Record<string, number>>;
}

export type UnusedCodeOf = (code: LockedCode, hosts: readonly HostView[]) => UnusedCode;

/** Asks each host once for each kind of code. */
export function unusedCodeOf(): UnusedCodeOf {
  const known = new Map<HostView, Map<string, boolean | null>>();
  return (code, hosts) => {
    const isUnused = (kind: string) =>
      hosts.every((host) => {
        const answers = remember(known, host, () => new Map<string, boolean | null>());
        return remember(answers, kind, () => runs(kind, host)) === false;
      });
    const unused = new Map<string, number>();
    const packages = new Map<string, number>();
    for (const [name, sizes] of Object.entries(code)) {
      const found = Object.entries(sizes).filter(([kind]) => isUnused(kind));
      for (const [kind, bytes] of found) unused.set(kind, (unused.get(kind) ?? 0) + bytes);
      const forGpus = Object.keys(sizes).filter((kind) => !cpuCode.test(kind));
      const lost = found.filter(([kind]) => !cpuCode.test(kind));
      if (name !== "" && forGpus.length > 0 && lost.length === forGpus.length)
        packages.set(name, sum(lost.map(([, bytes]) => bytes)));
    }
    return {
      bytes: sum(Object.values(code).flatMap((sizes) => Object.values(sizes))),
      unused: Object.fromEntries(sortedEntries(Object.fromEntries(unused))),
      packages: Object.fromEntries(sortedEntries(Object.fromEntries(packages))),
    };
  };
}

const machines: Readonly<Record<string, string>> = {
  x86: "linux/amd64",
  x86_64: "linux/amd64",
  aarch64: "linux/arm64",
};

const cpuCode = /^(?:x86|x86_64|aarch64|arm|riscv|machine \d+)$/;

/** null where nothing tells. Of targets that are compressed together, a single target that runs is enough. */
function runs(kind: string, host: HostView): boolean | null {
  const platform = machines[kind];
  if (platform !== undefined) return platform === host.platform;
  const answers = packedTargets(kind).map((target) => {
    const vendor = vendorOf(target);
    if (vendor === null || host.unknownGpuFacts[vendor].length > 0) return null;
    const found = answerOfHost(runsOn, vendor, host, target);
    return host[vendor] === null ? false : found;
  });
  return answers.includes(true) ? true : answers.includes(null) ? null : false;
}

const isOf: Readonly<Record<GpuVendor, (target: string) => boolean>> = {
  nvidia: (target) => parseCudaCode(target) !== null,
  amd: (target) => parseAmdTarget(target) !== null,
};

function vendorOf(kind: string): GpuVendor | null {
  return gpuVendors.find((vendor) => packedTargets(kind).every((target) => isOf[vendor](target))) ?? null;
}

/** By the rules, for each GPU alone, whatever the driver. A state of xnack or sramecc can be changed. */
const runsOn: BySideOfHost<boolean | null, [string]> = {
  nvidia: ({ gpus, ...host }, target) =>
    some(gpus, (gpu) => {
      if (gpu.compute === null) return null;
      const found = checkGpuCode({ code: [target], toolkit: "" }, { ...host, gpus: [gpu] }, null);
      return isMisfit(found) ? (found.code === "NO_GPU_CODE" ? false : null) : true;
    }),
  amd: ({ gpus }, target) =>
    some(gpus, (gpu) => {
      if (gpu.target === null) return null;
      const code = [target.split(":")[0] ?? target];
      return !isMisfit(checkAmdCode({ code, compute: undefined, xnack: false }, [gpu]));
    }),
};

function some<Gpu>(gpus: readonly Gpu[], runs: (gpu: Gpu) => boolean | null): boolean | null {
  const answers = gpus.map(runs);
  return answers.includes(true) ? true : answers.includes(null) ? null : false;
}
