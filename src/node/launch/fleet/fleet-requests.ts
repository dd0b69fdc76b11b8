/** The launches of `launch --fleet`: one workload for each image of a lock, on the nodes where resolve picks it. */

import { ImgmatchError } from "../../../errors.ts";
import { needsGpus, noGpus, vendorsOf } from "../../../lock/requirement.ts";
import { type GpuVendor, gpuVendors, vendorNames } from "../../../hardware/gpu-vendors.ts";
import { unknownHost } from "../../../facts/no-facts.ts";
import type { Lock, LockedImage } from "../../../lock/lock.ts";
import { isAdopted } from "../../../lock/adopted-lock.ts";
import { neededRequirement } from "../../../lock/needed-requirement.ts";
import { isEligible } from "../../../resolve/check-fit.ts";
import { listSome } from "../../../resolve/misfit.ts";
import {
  immutableReferenceOf,
  prepareRanking,
  type ResolveImageOptions,
} from "../../../resolve/resolve-image.ts";
import { claimOf, plainWish } from "../device-claim.ts";
import type { DeviceWish } from "../device-wish.ts";
import { type GpuUnit, unknownUnits } from "../gpu-units.ts";
import { imageValue, questionKeys } from "../labels/image-labels.ts";
import { shortHash } from "../labels/vocabulary.ts";
import type { DeviceClaim, FleetTarget, LaunchRequest } from "../target.ts";
import { unsupported } from "../unsupported.ts";
import { throughGuard } from "../through-guard.ts";
import { dnsName, lastPart } from "../workload-name.ts";
import { servedDevices } from "./served-devices.ts";

export interface FleetLaunchOptions extends ResolveImageOptions {
  readonly workload: Omit<
    LaunchRequest,
    "reference" | "requires" | "host" | "units" | "claim" | "node" | "anyNode"
  >;
  /** Default: the last part of the repository. */
  readonly name?: string | undefined;
  /** The number of GPUs for each image with GPU code. Default: 1. */
  readonly gpus?: string | undefined;
  /** Claim one of these devices, the best first. An empty list claims as many as `gpus` says. */
  readonly devices?: readonly DeviceWish[] | undefined;
}

export interface FleetRequests {
  readonly name: string;
  readonly launches: readonly LaunchRequest[];
  /** The label that nodes advertise, without a system's prefix. */
  readonly label: string;
  /** Lines about images that no workload gives to a node. */
  readonly notes: readonly string[];
}

/** Throws `NO_MATCH` if the lock has no image to launch, and as `resolveImage` does. */
export function fleetRequests(target: FleetTarget, lock: Lock, options: FleetLaunchOptions): FleetRequests {
  const { workload, name, gpus: wanted, devices, ...question } = options;
  const keys = questionKeys(lock, question);
  const images = eligibleImages(lock, question);
  const [first] = images;
  if (first === undefined) throw noImage(lock);
  const fleetName = name ?? dnsName(lastPart(lock.repository));
  if (workload.settings?.image === "plain") {
    if (devices !== undefined)
      throw unsupported(
        target.name,
        "claim devices for the plain tag, which is another image on each node",
        "leave --dra and --devices out, or --set image=plain",
      );
    const launch = plainLaunch(lock, target, images, { ...options, name: fleetName });
    return { name: fleetName, launches: [launch], label: keys.image, notes: unreached(images, launch) };
  }
  const gpus = gpuUnits(wanted, target.name);
  const members =
    devices === undefined ? images : claimingMembers(lock, images, devices, gpus.length, question);
  const names = uniqueNames(
    fleetName,
    members.map(({ image }) => image.tag),
  );
  const made = members.map(({ cell, image, claim }, index) => {
    const value = imageValue(lock, cell);
    const request: LaunchRequest = {
      ...throughGuard(target, image, workload),
      task: workload.task ?? "service",
      name: names[index] ?? fleetName,
      reference: immutableReferenceOf(lock, image),
      requires: neededRequirement(image),
      host: anyNode,
      units: claim === undefined ? unitsFor(cell, image, wanted, target.name) : gpus,
      ...(claim === undefined ? {} : { claim, anyNode: keys.devices.map((key) => ({ key, value })) }),
      node: { key: keys.image, value },
    };
    return { cell, request, whyNot: target.whyNot?.(request) ?? null };
  });
  const launched = new Set(members.map(({ cell }) => cell));
  const unserved = images.map(({ cell }) => cell).filter((cell) => !launched.has(cell));
  const runs = made.filter(({ whyNot }) => whyNot === null);
  const label = devices === undefined ? keys.image : (keys.devices[0] ?? keys.image);
  const notes = [
    ...unserved.map((cell) => `left out: ${cell} serves none of these devices`),
    ...made.flatMap(({ cell, whyNot }) => (whyNot === null ? [] : [`left out: ${cell}: ${whyNot}`])),
  ];
  // Where none runs, the target refuses the first.
  const launches = (runs.length > 0 ? runs : made.slice(0, 1)).map(({ request }) => request);
  return { name: fleetName, launches, label, notes };
}

interface FleetImage {
  readonly cell: string;
  readonly image: LockedImage;
  readonly claim?: DeviceClaim;
}

/** The images that may be the answer on some node, sorted by cell. */
function eligibleImages(lock: Lock, options: ResolveImageOptions): readonly FleetImage[] {
  const { cells, judge } = prepareRanking(lock, options);
  return cells.filter(([, image]) => isEligible(image, judge)).map(([cell, image]) => ({ cell, image }));
}

/** One workload of the plain tag, for all nodes that have an image of the fleet. */
function plainLaunch(
  lock: Lock,
  target: FleetTarget,
  images: readonly FleetImage[],
  { workload, name, gpus, ...question }: FleetLaunchOptions,
): LaunchRequest {
  const withGpus = gpus !== undefined;
  const image = images.find((each) => !withGpus || needsGpus(each.image.requires))?.image;
  if (image === undefined) throw noImage(lock);
  const { requires } = image;
  const launch: LaunchRequest = {
    ...workload,
    task: workload.task ?? "service",
    ...(name === undefined ? {} : { name }),
    reference: immutableReferenceOf(lock, image),
    plainTag: `${lock.repository}:${lock.version}`,
    requires: withGpus ? neededRequirement(image) : { cpu: requires.cpu, ...noGpus },
    host: anyNode,
    units: withGpus ? gpuUnits(gpus, target.name, vendorsOf(requires)[0]) : [],
    anyNode: [{ key: questionKeys(lock, question).image, value: null }],
  };
  for (const each of withGpus ? images : []) {
    const why = target.whyNot?.({ ...launch, requires: each.image.requires }) ?? null;
    if (why === null) continue;
    const what = `run ${each.cell}, which some nodes have under the plain tag: ${why}`;
    throw unsupported(target.name, what, "leave --set image=plain out, or change --pin");
  }
  return launch;
}

/** A workload asks for GPUs of one vendor. */
function unreached(images: readonly FleetImage[], { units = [] }: LaunchRequest): readonly string[] {
  const [unit] = units;
  if (unit === undefined) return [];
  const cells = images
    .filter(({ image }) => !vendorsOf(image.requires).includes(unit.vendor))
    .map(({ cell }) => cell);
  return cells.length === 0
    ? []
    : [
        `not reached: nodes with the image ${listSome(cells, 3)}, because the workload asks for GPUs of ${vendorNames[unit.vendor]}; leave --set image=plain out for a workload of each image`,
      ];
}

function noImage(lock: Lock): ImgmatchError {
  return new ImgmatchError({
    code: "NO_MATCH",
    message: "no image of the lock is built and matches the pins",
    fix: isAdopted(lock) ? "change --pin" : "run imgmatch build, or change --pin",
  });
}

/** Leaves out images that serve none of the named devices. Throws if nobody serves one of them. */
function claimingMembers(
  lock: Lock,
  images: readonly FleetImage[],
  named: readonly DeviceWish[],
  count: number,
  options: ResolveImageOptions,
): readonly FleetImage[] {
  const served = servedDevices(lock, options);
  const wanted = (wishes: readonly DeviceWish[]) =>
    images.flatMap((each): readonly FleetImage[] => {
      const claim = claimOf(served.get(each.cell) ?? [], wishes, each.cell);
      if (claim !== null) return [{ ...each, claim }];
      return needsGpus(each.image.requires) || named.length > 0 ? [] : [each];
    });
  const unserved = named.find((wish) => wanted([wish]).length === 0);
  if (unserved === undefined) return wanted(named.length > 0 ? named : [plainWish(count)]);
  throw unsupported(
    "a fleet",
    `serve ${unserved.text}: no image of the lock has code for it`,
    "leave it out of --devices, change --pin, or add a cell for it",
  );
}

/** A resource of a scheduler is of one vendor. Throws for an image that would take those of either. */
function unitsFor(cell: string, { requires }: LockedImage, wanted: string | undefined, target: string) {
  const [vendor, other] = vendorsOf(requires);
  if (other !== undefined)
    throw unsupported(
      target,
      `ask for a number of GPUs for ${cell}, which has code for those of two vendors`,
      "claim them (kubernetes --dra), or leave that image out with --pin or --cpu",
    );
  return vendor === undefined ? [] : gpuUnits(wanted, target, vendor);
}

/** A scheduler gets a number of GPUs. Their kind is the node's. */
function gpuUnits(text = "1", target: string, vendor: GpuVendor = gpuVendors[0]): readonly GpuUnit[] {
  if (/^[1-9]\d{0,3}$/.test(text)) return unknownUnits(vendor, Number(text));
  throw unsupported(
    target,
    `ask every node for --gpus ${text}`,
    "say how many each image with GPU code gets: --gpus 1; for images without, use --cpu",
  );
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
    return `${name.slice(0, 54).replace(/-+$/, "")}-${shortHash(tag, 8)}`;
  });
}
