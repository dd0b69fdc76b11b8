/** The interface of launch targets: a target turns a request into a command or documents. */

import { answerOfSide, type BySide, type Requirement, sidesOf } from "../../lock/requirement.ts";
import type { GpuVendor } from "../../hardware/gpu-vendors.ts";
import type { HostFacts } from "../../facts/facts.ts";
import type { ImmutableReference } from "../../oci/immutable-reference.ts";
import type { GpuUnit } from "./gpu-units.ts";

/** A label of a node, without the system's prefix of the key. */
export interface NodeLabel {
  readonly key: string;
  readonly value: string;
}

/** A batch ends by itself. A service is kept running. */
export type Task = "batch" | "service";

export interface Mount {
  /** Absolute path on the host. */
  readonly source: string;
  /** Absolute path in the container. */
  readonly target: string;
  readonly readOnly: boolean;
}

/** A port of the container that others reach. */
export interface PublishedPort {
  /** On the host, or of the service. */
  readonly host: number;
  readonly container: number;
  readonly protocol: "tcp" | "udp";
}

/** The host's groups, by number: an image has no names for them. */
export interface DeviceAccess {
  /** The groups that may open the device files, unless everybody may. */
  readonly groups: readonly number[];
  /** The user who starts the launch. For others than root Podman runs rootless. */
  readonly user: number;
}

/** The devices that Kubernetes finds for a container (dynamic resource allocation). */
export interface DeviceClaim {
  /** The best first. */
  readonly alternatives: readonly DeviceAlternative[];
}

export interface DeviceAlternative {
  /** A DNS label. */
  readonly name: string;
  readonly vendor: GpuVendor;
  readonly deviceClass: string;
  readonly count: number;
  /** A condition on the device, in the Common Expression Language. */
  readonly cel: string;
}

export interface LaunchRequest {
  /** `repo:tag@sha256:…` */
  readonly reference: ImmutableReference;
  /** The image's needs. Of the alternatives only those the host meets. */
  readonly requires: Requirement;
  /** `repo:version`: the name under which each node takes its own image. */
  readonly plainTag?: string;
  /** The host that the image was picked for, with the container's GPUs. */
  readonly host: HostFacts;
  /** Arguments for the program in the image. */
  readonly args: readonly string[];
  /** Run this program of the image in place of its entrypoint. */
  readonly program?: string;
  /** The container's GPUs and MIG instances. Default: all of `host`. */
  readonly units?: readonly GpuUnit[];
  /** The devices that Kubernetes claims, in place of a number of GPUs. */
  readonly claim?: DeviceClaim;
  /** Access to the device files of the GPUs, for a launch on this machine. */
  readonly access?: DeviceAccess;
  /** Default: `batch`. */
  readonly task?: Task;
  readonly name?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  readonly ports?: readonly PublishedPort[];
  readonly cpus?: number;
  readonly memoryMiB?: number;
  /** A label that the node must advertise (`imgmatch labels`), for targets that choose the node. null: any node. */
  readonly node?: NodeLabel | null;
  /** In place of `node`, several labels of which the node must advertise one: with a value, or with any (null). */
  readonly anyNode?: readonly { readonly key: string; readonly value: string | null }[];
  /** Keep standard input open. */
  readonly interactive?: boolean;
  /** Allocate a terminal. */
  readonly tty?: boolean;
  /** Further options for the target, placed before the reference: `["-v", "/data:/data"]`. */
  readonly options?: readonly string[];
  /** Settings of one target, by name: `kind`, `schedule`, `master`. */
  readonly settings?: Readonly<Record<string, string>>;
}

const bundlesDriver: BySide<boolean> = {
  nvidia: ({ driver }) => driver.mode === "bundled",
  amd: () => false,
};

/** The image brings the GPU's user-space driver. */
export function isBundled({ requires }: Pick<LaunchRequest, "requires">): boolean {
  return sidesOf(requires).some((side) => answerOfSide(bundlesDriver, side));
}

export type LocalEngine = "docker" | "podman" | "compose";

/** The way of GPU units into a container of Docker, Podman or Compose. */
export type Handover =
  /** CDI device names, or device files. */
  | { readonly via: "cdi" | "files"; readonly devices: readonly string[]; readonly groups: readonly string[] }
  /** Docker's NVIDIA runtime, which takes indexes and uuids. */
  | { readonly via: "runtime"; readonly ids: readonly string[] };

export interface LaunchCommand {
  readonly argv: readonly [string, ...string[]];
  /** Set in addition to the caller's environment. */
  readonly env: Readonly<Record<string, string>>;
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A command to type, or documents for the system's own tool. */
export type LaunchOutput =
  | { readonly form: "command"; readonly command: LaunchCommand }
  | { readonly form: "documents"; readonly documents: readonly Json[] };

/** `shell` is a command line. */
export type LaunchFormat = "shell" | "yaml" | "json";

export interface LaunchTarget {
  readonly name: string;
  readonly description: string;
  /** The chooser of the GPUs: imgmatch names devices of this host, a scheduler gets a number. */
  readonly gpus: "imgmatch" | "scheduler";
  /** The first is the default. */
  readonly formats: readonly [LaunchFormat, ...LaunchFormat[]];
  /** The target's own settings, each with a line of help. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A program of the image starts beside the entrypoint, or in its place, and never as the entrypoint's argument. */
  readonly skipsEntrypoint?: true;
  /** The target can claim devices. */
  readonly claims?: true;
  /** Why the target publishes no ports. Absent if it does. */
  readonly noPorts?: string;
  /**
   * Writes the launch. Throws `LAUNCH_UNSUPPORTED` for options that the target cannot express, and `LAUNCH_FAILED` if the host lacks
   * something that the image needs. `format` selects the form of a target with two.
   */
  launch(request: LaunchRequest, format?: LaunchFormat): LaunchOutput;
}

/** A target whose nodes advertise the image of a fleet. */
export interface FleetTarget extends LaunchTarget {
  /** The system whose words the nodes' labels are in. */
  readonly labels: "kubernetes" | "nomad" | "docker" | "mesos";
  /** A note beside the label that the workloads ask for. */
  readonly fleetNote?: (documents: readonly Json[]) => string | null;
  /** Why the target cannot run this image of a fleet; null if it can. Absent if it can run each. */
  readonly whyNot?: (request: LaunchRequest) => string | null;
  /** One workload per image, on every node of the image. A batch runs there once. */
  fleet(launches: readonly LaunchRequest[], name: string): readonly Json[];
}

/** A target on this machine, whose command imgmatch can start. */
export interface LocalTarget extends LaunchTarget {
  /**
   * The program whose container outlives the command. It knows `run --cidfile` and `rm --force`. Absent if the container ends with the command.
   */
  readonly engine?: "docker" | "podman";
  command(request: LaunchRequest): LaunchCommand;
}

/** Adds the parts that all local targets share. */
export function localTarget(
  target: Pick<LocalTarget, "name" | "description" | "engine" | "settings" | "noPorts" | "command">,
): LocalTarget {
  return {
    ...target,
    gpus: "imgmatch",
    formats: ["shell", "json"],
    launch: (request) => ({ form: "command", command: target.command(request) }),
  };
}

export function hasFleet(target: LaunchTarget): target is FleetTarget {
  return "fleet" in target;
}
