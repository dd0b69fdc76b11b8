/** The interface of launch targets: the question, the answer, and the target that answers. */

import type { GpuVendor } from "../../hardware/requirement.ts";
import type { HostFacts } from "../../host/facts.ts";
import type { Requirement } from "../../lock/lock.ts";
import type { ImmutableReference } from "../../oci/immutable-reference.ts";
import type { FleetMember } from "./fleet/split-nodes.ts";
import type { GpuUnit } from "./gpu-units.ts";
import type { NodeLabel } from "./labels/vocabulary.ts";

/** `batch` ends by itself, `service` is kept running. */
export type Task = "batch" | "service";

export interface Mount {
  /** Absolute path on the host. */
  readonly source: string;
  /** Absolute path in the container. */
  readonly target: string;
  readonly readOnly: boolean;
}

/** Images have no names for the groups of a host, so that their numbers are handed over. */
export interface DeviceAccess {
  /** Groups that may open a device file where not everybody may, by number. */
  readonly groups: readonly number[];
  /** The user who starts the launch: for him Podman runs without root. */
  readonly user: number;
}

/** Devices that Kubernetes finds for a container (dynamic resource allocation). */
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
  /** The condition on a device, in the Common Expression Language. */
  readonly cel: string;
}

export interface LaunchRequest {
  /** `repo:tag@sha256:…` */
  readonly reference: ImmutableReference;
  /** Of an image that carries several of a kind, what it needs with those that the host meets. */
  readonly requires: Requirement;
  /** `repo:version`: the image is named so, and each node takes its own. */
  readonly plainTag?: string;
  /** The host that the image was picked for, with the GPUs that the container is to get. */
  readonly host: HostFacts;
  /** Arguments for the program in the image. */
  readonly args: readonly string[];
  /** Run this program of the image in place of its entrypoint. */
  readonly program?: string;
  /** Which GPUs and MIG instances the container gets, for targets that name them; default: all of `host`. */
  readonly units?: readonly GpuUnit[];
  /** Devices that a claim of Kubernetes finds, in place of a number of GPUs. */
  readonly claim?: DeviceClaim;
  /** Access to the device files of the GPUs: only for a launch on this machine. */
  readonly access?: DeviceAccess;
  /** `batch` when absent. */
  readonly task?: Task;
  readonly name?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  readonly cpus?: number;
  readonly memoryMiB?: number;
  /** Only nodes that advertise this: see `imgmatch labels`. null: any node. For targets that choose the node. */
  readonly node?: NodeLabel | null;
  /** Keep standard input open. */
  readonly interactive?: boolean;
  /** Allocate a terminal. */
  readonly tty?: boolean;
  /** Further options for the target, placed before the reference: `["-v", "/data:/data"]`. */
  readonly options?: readonly string[];
  /** Settings of only one target, by the name of its flag: `kind`, `schedule`, `master`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface LaunchCommand {
  readonly argv: readonly [string, ...string[]];
  /** Set in addition to the caller's environment. */
  readonly env: Readonly<Record<string, string>>;
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A command to type, or documents to hand to the system's own tool. */
export type LaunchOutput =
  | { readonly form: "command"; readonly command: LaunchCommand }
  | { readonly form: "documents"; readonly documents: readonly Json[] };

/** How an answer can be written; `shell` is a command line. */
export type LaunchFormat = "shell" | "yaml" | "json";

export interface LaunchTarget {
  readonly name: string;
  readonly description: string;
  /** The chooser of the GPUs: `imgmatch` names devices of this host, a `scheduler` is told how many. */
  readonly gpus: "imgmatch" | "scheduler";
  /** The first is what it writes when nobody asks for another. */
  readonly formats: readonly [LaunchFormat, ...LaunchFormat[]];
  /** Settings that only this target takes, with the sentence for its help. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether it can claim devices. */
  readonly claims?: true;
  /**
   * Writes the launch. Throws `LAUNCH_UNSUPPORTED` for what the target has no words for, and `LAUNCH_FAILED` when this host
   * cannot give the image what it needs. `format` tells a target with two forms which one is wanted.
   */
  launch(request: LaunchRequest, format?: LaunchFormat): LaunchOutput;
}

/** One image of a fleet: its launch, and the nodes that are its own. */
export interface FleetLaunch {
  /** `name` is its own, `node` what its nodes say that resolve picks there. */
  readonly request: LaunchRequest;
  readonly member: FleetMember;
}

/** A target that can split its nodes among all images of a lock. */
export interface FleetTarget extends LaunchTarget {
  /** How its constraints tell the nodes apart, and what they cannot say. */
  readonly fleetNote: (documents: readonly Json[]) => string;
  /** One workload per image, on every node of the image; a batch runs there once. */
  fleet(launches: readonly FleetLaunch[], name: string): readonly Json[];
}

/** A target on this machine, whose command can be started at once. */
export interface LocalTarget extends LaunchTarget {
  /**
   * The program whose daemon runs the container, where ending the command leaves it running: it knows `run --cidfile` and
   * `rm --force`. Absent where the command is the container.
   */
  readonly engine?: "docker" | "podman";
  command(request: LaunchRequest): LaunchCommand;
}

/** A target with the parts that all targets on this machine share. */
export function localTarget(
  target: Pick<LocalTarget, "name" | "description" | "engine" | "settings" | "command">,
): LocalTarget {
  return {
    ...target,
    gpus: "imgmatch",
    formats: ["shell", "json"],
    launch: (request) => ({ form: "command", command: target.command(request) }),
  };
}

export function isLocal(target: LaunchTarget): target is LocalTarget {
  return "command" in target;
}

export function hasFleet(target: LaunchTarget): target is FleetTarget {
  return "fleet" in target;
}
