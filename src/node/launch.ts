/** `imgmatch launch`: writes the image that resolve picks as a command or documents of a launch target. */

import { usageError } from "../errors.ts";
import { otherHost } from "../host/probe.ts";
import { inWorld, note, type World } from "../io/world.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import { type Lock, lockPath } from "../lock/lock.ts";
import type { ResolveImageOptions } from "../resolve/resolve-image.ts";
import type { DeviceWish } from "./launch/device-wish.ts";
import type { GpuUnit } from "./launch/gpu-units.ts";
import { chooseLaunch, hostReader, joinedLines } from "./launch/choose-launch.ts";
import { type LaunchAnswer, launchAnswer } from "./launch/format-launch.ts";
import { accessTo } from "./launch/gpu-needs.ts";
import { refusedGpus } from "./launch/gpus-busy.ts";
import { launchTarget } from "./launch/launch-targets.ts";
import { labelNames } from "./launch/labels/vocabulary.ts";
import { shellWord } from "./launch/shell.ts";
import { type DeviceClaim, type FleetTarget, hasFleet, type LaunchTarget } from "./launch/target.ts";
import { throughGuard } from "./launch/through-guard.ts";
import { unsupported } from "./launch/unsupported.ts";
import { formatFor, type LaunchOptions, workloadOf } from "./launch/workload.ts";
import { readFleetQuestion, readQuestion, type NodePorts, type NodeWorld } from "./question.ts";

/**
 * Writes the command or the documents that start this host's image on a launch target, or with `fleet` the images of all nodes.
 *
 * Throws as `resolve`, `NO_MATCH`, `HOST_BROKEN`, `GPU_BUSY`, `GPU_BUSY_UNKNOWN`, `LAUNCH_UNSUPPORTED` for options that the target cannot express, `LAUNCH_FAILED`.
 *
 * @example
 * const answer = await launch({ target: "kubernetes", gpus: "2", args: ["python", "train.py"] });
 */
export type LaunchFunction = (options: LaunchOptions, world?: Partial<World>) => Promise<LaunchAnswer>;

export function launchWith(ports: NodePorts): LaunchFunction {
  return (options, given) => inWorld(options, given, (world) => launchIn(options, world), ports);
}

async function launchIn(options: LaunchOptions, world: NodeWorld): Promise<LaunchAnswer> {
  const target = launchTarget(options.target);
  const format = formatFor(target, options);
  const devices = await devicesFor(target, options);
  if (options.fleet) return launchFleet(target, { ...options, wishes: devices }, world);
  const { gpus, allowBusy, anywhere, ...questionOptions } = options;
  const question = await readQuestion(questionOptions, world, hostReader(target, gpus));
  const { lock, host } = question;
  const choice = chooseLaunch(target, lock, host, { ...question.options, gpus, allowBusy, anywhere });
  // Facts from a file are of another machine, whose processes and device files are not here.
  const isHere = otherHost(options) === null;
  if (!choice.ok) throw await refusedGpus(choice, isHere, world.env);
  const { units = [] } = choice.request;
  note(world, [...unaskedLines(choice.unasked), ...joinedLines(choice)]);
  const request = {
    ...throughGuard(target, lock.images[choice.cell], workloadOf(target, options, options)),
    ...choice.request,
    ...(isHere ? accessTo(units) : {}),
    ...(devices === undefined || (devices.length === 0 && units.length === 0)
      ? {}
      : { claim: await claimFor(lock, choice.cell, devices, units, question.options) }),
  };
  note(
    world,
    choice.problems.map(({ code, message }) => `${code}: ${message}`),
  );
  return launchAnswer(target.launch(request, format), { ...request, joined: choice.joined });
}

async function launchFleet(
  target: LaunchTarget,
  { wishes, ...options }: LaunchOptions & { readonly wishes: readonly DeviceWish[] | undefined },
  world: NodeWorld,
): Promise<LaunchAnswer> {
  if (!hasFleet(target))
    throw unsupported(target.name, "launch a fleet", "use kubernetes, nomad, swarm or marathon");
  if (otherHost(options) !== null || options.anywhere) {
    throw usageError("--fleet excludes --host, --host-type and --anywhere", "leave them out");
  }
  const question = await readFleetQuestion(options, world);
  const { fleetRequests } = await import("./launch/fleet/fleet-requests.ts");
  const { name, launches, label, notes } = fleetRequests(target, question.lock, {
    ...question.options,
    workload: workloadOf(target, options, options),
    name: options.name,
    gpus: options.gpus,
    devices: wishes,
  });
  const documents = target.fleet(launches, name);
  const more = target.fleetNote?.(documents) ?? null;
  note(world, [
    `${target.name}: for nodes that advertise ${labelNames[target.labels](label)}: ${labelsLine(target.labels, options)}`,
    ...(more === null ? [] : [`${target.name}: ${more}`]),
    ...notes,
  ]);
  return { documents };
}

/** The command that answers the same question for all nodes. An agent of Mesos has its attributes from its own flags. */
function labelsLine(system: FleetTarget["labels"], options: LaunchOptions): string {
  const { from, lock = lockPath, pin = [], cpu, requireGpu } = options;
  return [
    ...["imgmatch", "labels"],
    ...(system === "mesos" ? [] : ["--hosts", "FILE"]),
    ...(system === "kubernetes" ? [] : ["--format", system]),
    ...(from === undefined ? ["--lock", lock] : ["--from", from]),
    ...pin.flatMap((each) => ["--pin", each]),
    ...(cpu ? ["--cpu"] : []),
    ...(requireGpu ? ["--require-gpu"] : []),
  ]
    .map(shellWord)
    .join(" ");
}

/** The named devices; empty to claim any, undefined to claim none. */
async function devicesFor(
  target: LaunchTarget,
  { dra, devices, gpus }: LaunchOptions,
): Promise<readonly DeviceWish[] | undefined> {
  if (!dra && devices === undefined) return undefined;
  if (target.claims !== true)
    throw unsupported(target.name, "claim devices", "use kubernetes, or leave --dra and --devices out");
  if (devices === undefined) return [];
  if (gpus !== undefined)
    throw usageError("--devices and --gpus exclude each other", "write the setting in one place");
  const { parseDevices } = await import("./launch/device-wish.ts");
  return parseDevices(devices);
}

/** The claim for one image: any device that it serves, as the node's label selects the image. */
async function claimFor(
  { images, ...lock }: Lock,
  cell: string,
  wishes: readonly DeviceWish[],
  units: readonly GpuUnit[],
  options: ResolveImageOptions,
): Promise<DeviceClaim> {
  const [{ servedDevices }, { claimOf, wishOf }] = await Promise.all([
    import("./launch/fleet/served-devices.ts"),
    import("./launch/device-claim.ts"),
  ]);
  const image = images[cell];
  const alone = { ...lock, images: image === undefined ? {} : { [cell]: image } };
  const serves = servedDevices(alone, options).get(cell) ?? [];
  const claims = (wishes.length > 0 ? wishes : [wishOf(units)]).map((wish) => {
    const claim = claimOf(serves, [wish], cell);
    if (claim !== null) return claim;
    const fix = "leave the device out of --devices, or pin the image that serves all";
    throw unsupported("kubernetes", `claim ${wish.text} for ${cell}, which has no code for it`, fix);
  });
  return { alternatives: claims.flatMap(({ alternatives }) => alternatives) };
}
