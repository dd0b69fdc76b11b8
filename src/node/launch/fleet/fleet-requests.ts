/** The launches of `launch --fleet`: one workload for each image of a lock, on the nodes where resolve picks it. */

import { createHash } from "node:crypto";
import { ImgmatchError } from "../../../errors.ts";
import { type GpuVendor, hasGpuCode } from "../../../hardware/requirement.ts";
import { unknownAmdGpu, unknownGpu, unknownHost } from "../../../host/no-facts.ts";
import type { Lock } from "../../../lock/lock.ts";
import { isAdopted } from "../../../lock/adopted-lock.ts";
import { neededRequirement } from "../../../lock/needed-requirement.ts";
import { immutableReferenceOf, type ResolveImageOptions } from "../../../resolve/resolve-image.ts";
import { claimOf, plainWish } from "../device-claim.ts";
import type { DeviceWish } from "../device-wish.ts";
import type { GpuUnit } from "../gpu-units.ts";
import { keys, resolvedLabel } from "../labels/vocabulary.ts";
import type { DeviceClaim, FleetLaunch, FleetTarget, LaunchRequest } from "../target.ts";
import { unsupported } from "../unsupported.ts";
import { dnsName, lastPart } from "../workload-name.ts";
import { splitDevices } from "./split-devices.ts";
import { eligibleImages, type FleetMember, cellsBut, splitNodes } from "./split-nodes.ts";

export interface FleetLaunchOptions extends ResolveImageOptions {
  readonly workload: Omit<LaunchRequest, "reference" | "requires" | "host" | "units" | "claim" | "node">;
  /** Default: the last part of the repository. */
  readonly name?: string | undefined;
  /** The number of GPUs for each image with GPU code. Default: 1. */
  readonly gpus?: string | undefined;
  /** Claim one of these devices, the best first. An empty list claims as many as `gpus` says. */
  readonly devices?: readonly DeviceWish[] | undefined;
}

export interface FleetRequests {
  readonly name: string;
  readonly launches: readonly FleetLaunch[];
  /** Cells that win on no node. */
  readonly shadowed: readonly string[];
  /** Cells that serve none of the wanted devices. */
  readonly unserved: readonly string[];
}

/** Throws `NO_MATCH` if the lock has no image to launch, and as `splitNodes` does. */
export function fleetRequests(
  { name: targetName }: FleetTarget,
  lock: Lock,
  { workload, name, gpus: wanted, devices, ...options }: FleetLaunchOptions,
): FleetRequests {
  const gpus = gpuUnits(wanted, targetName);
  if (workload.settings?.image === "plain") {
    if (devices !== undefined)
      throw unsupported(
        targetName,
        "claim devices for the plain tag, which is another image on each node",
        "leave --dra and --devices out, or --set image=plain",
      );
    const launch = plainLaunch(lock, targetName, { workload, name, gpus: wanted, ...options });
    return { name: launch.request.name ?? "", launches: [launch], shadowed: [], unserved: [] };
  }
  const { members, shadowed, unserved } =
    devices === undefined
      ? { ...splitNodes(lock, options), unserved: [] }
      : claimingMembers(lock, devices, gpus.length, options);
  if (members.length === 0) throw noImage(lock);
  const fleetName = name ?? dnsName(lastPart(lock.repository));
  const names = uniqueNames(
    fleetName,
    members.map(({ image }) => image.tag),
  );
  const launches = members.map((member: ClaimingMember, index): FleetLaunch => {
    const { image, claim } = member;
    const request = {
      ...workload,
      task: workload.task ?? "service",
      name: names[index] ?? fleetName,
      reference: immutableReferenceOf(lock, image),
      requires: neededRequirement(image),
      host: anyNode,
      units: hasGpuCode(image.requires) ? gpus : [],
      ...(claim === undefined ? {} : { claim }),
      node: resolvedLabel(lock.name, image.tag),
    } as const;
    return { request, member };
  });
  return { name: fleetName, launches, shadowed, unserved };
}

/** One workload of the plain tag, for all nodes that have an image of the fleet. */
function plainLaunch(
  lock: Lock,
  targetName: string,
  { workload, name, gpus, ...options }: FleetLaunchOptions,
): FleetLaunch {
  const withGpus = gpus !== undefined;
  const found = eligibleImages(lock, options).find(({ image }) => !withGpus || hasGpuCode(image.requires));
  if (found === undefined) throw noImage(lock);
  const { cell, image } = found;
  const { cpu, cuda } = image.requires;
  return {
    request: {
      ...workload,
      task: workload.task ?? "service",
      name: name ?? dnsName(lastPart(lock.repository)),
      reference: immutableReferenceOf(lock, image),
      plainTag: `${lock.repository}:${lock.version}`,
      requires: withGpus ? neededRequirement(image) : { cpu, cuda: null },
      host: anyNode,
      units: withGpus ? gpuUnits(gpus, targetName, cuda === null ? "amd" : "nvidia") : [],
    },
    member: {
      ...{ cell, image, disjointTerms: () => null },
      terms: [[{ key: keys.image(lock.name), operator: "Exists", values: [] }]],
    },
  };
}

function noImage(lock: Lock): ImgmatchError {
  return new ImgmatchError({
    code: "NO_MATCH",
    message: "no image of the lock is built and matches the pins",
    fix: isAdopted(lock) ? "change --pin" : "run imgmatch build, or change --pin",
  });
}

interface ClaimingMember extends FleetMember {
  readonly claim?: DeviceClaim;
}

/** Drops images that serve none of the named devices. Throws if nobody serves one of them. */
function claimingMembers(
  lock: Lock,
  named: readonly DeviceWish[],
  count: number,
  options: ResolveImageOptions,
) {
  const { members, shadowed } = splitDevices(lock, options);
  const wanted = (wishes: readonly DeviceWish[]) =>
    members.flatMap(({ serves, ...member }): readonly ClaimingMember[] => {
      const claim = claimOf(serves, wishes, member.cell);
      if (claim !== null) return [{ ...member, claim }];
      return serves.length === 0 && named.length === 0 ? [member] : [];
    });
  const unserved = named.find((wish) => wanted([wish]).length === 0);
  if (unserved !== undefined) {
    throw unsupported(
      "a fleet",
      `serve ${unserved.text}: no image of the lock has code for it`,
      "leave it out of --devices, change --pin, or add a cell for it",
    );
  }
  const claiming = wanted(named.length > 0 ? named : [plainWish(count)]);
  return { members: claiming, shadowed, unserved: cellsBut(members, claiming) };
}

/** A scheduler gets a number of GPUs. Their kind is the node's. */
function gpuUnits(text = "1", target: string, vendor: GpuVendor = "nvidia"): readonly GpuUnit[] {
  if (!/^[1-9]\d{0,3}$/.test(text)) {
    throw unsupported(
      target,
      `ask every node for --gpus ${text}`,
      "say how many each image with GPU code gets: --gpus 1; for images without, use --cpu",
    );
  }
  return Array.from({ length: Number(text) }, (_, index): GpuUnit => {
    const unit = { mig: null, name: String(index) };
    return vendor === "amd"
      ? { ...unit, vendor, gpu: unknownAmdGpu(index) }
      : { ...unit, vendor, gpu: unknownGpu(index) };
  });
}

/** These targets read no facts of the host. */
const anyNode = unknownHost("linux/amd64");

/** DNS names of tags. A name that is cut or meets another gets a hash. Several workloads of one tag are numbered. */
function uniqueNames(fleet: string, tags: readonly string[]): readonly string[] {
  const numbered = tags.map((tag, index) => {
    const earlier = tags.slice(0, index).filter((each) => each === tag).length;
    return earlier === 0 ? tag : `${tag}-${earlier + 1}`;
  });
  const plain = numbered.map((word) => dnsName(`${fleet}-${word}`));
  return numbered.map((tag, index) => {
    const name = plain[index] ?? fleet;
    const cut = `${fleet}-${tag}`.length > 63;
    if (!cut && plain.filter((other) => other === name).length === 1) return name;
    const hash = createHash("sha256").update(tag).digest("hex").slice(0, 8);
    return `${name.slice(0, 54).replace(/-+$/, "")}-${hash}`;
  });
}
