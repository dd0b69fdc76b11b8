/** Groups of flags that several commands have. Each names its heading in the help. */

import { lockPath } from "../../lock/lock.ts";
import type { Command } from "commander";
import { usageError } from "../../errors.ts";

/** Adds groups of flags, in the order of the help. */
export function withAll(command: Command, ...groups: readonly ((command: Command) => Command)[]): Command {
  return groups.reduce((each, group) => group(each), command);
}

/** Adds the flags of the connection to registries. */
export function withRegistries(command: Command): Command {
  return command
    .optionsGroup("Registry:")
    .option("--ca <file>", "Trust these PEM certificates too")
    .option("--plain-http <host>", "Speak plain http with this registry, host:port", ...many)
    .option(
      "--timeout <seconds>",
      "Stop trying a request to a registry after so long (default: 60, 300 where images are pushed)",
      positive("--timeout 60"),
    );
}

/** Adds the flags that name a host or its visible GPUs. */
export function withHost(command: Command): Command {
  return withVisibleGpus(withLaunchHost(command));
}

/** Adds `--hosts` to the flags of one host. */
export function withHosts(command: Command): Command {
  return withHost(command).option(
    "--hosts <path>",
    "Answer for many hosts, one line each: kubectl get nodes,resourceslices -o json, JSON lines, a folder of facts, - for standard input",
    ...many,
  );
}

/** Adds `--gpus`, which names GPUs. A number alone is a count, for who hands out GPUs. */
export function withVisibleGpus(command: Command): Command {
  return command
    .optionsGroup("Host:")
    .option("--gpus <list>", "See only these GPUs: 0,2, device=0, UUIDs, all or none");
}

/** Adds the flags of `withHost` without `--gpus`, which asks for GPUs in launch and run. */
export function withLaunchHost(command: Command): Command {
  return withJson(command)
    .optionsGroup("Host:")
    .option(
      "--host <file>",
      "Read a host's facts, or a Kubernetes node as JSON, from a file, - for standard input (default: this machine)",
    )
    .option("--host-type <name>", "Take a machine type in place of this machine: p5.48xlarge")
    .option("--driver <version>", driverOption, ...many)
    .option("--no-gpu", noGpu);
}

/** For commands that hand out GPUs: a number alone is a count. */
export const wantedGpus = [
  "--gpus <which>",
  "Ask for so many GPUs, such as 2, or for these: 0,2, device=0, UUIDs; all or none (default: all)",
] as const;
export const allowBusy = ["--allow-busy", "Hand out GPUs that are in use"] as const;

export const catalogOption =
  "Add all machine types of aws, azure, gcp or nvidia as hosts, one cloud or a list";
const engineHere = "(default: docker, podman where that is the only one)";
export const engineOfImages = `Look for images in this engine ${engineHere}`;
export const engineOfRun = `Run with this engine ${engineHere}`;
export const driverOption =
  "Assume this driver where the facts name none, as for machine types: 580.95.05; of two vendors: nvidia=580.95.05 and amd=6.14.14";
export const noGpu = "Assume that a host has no GPU where its facts do not tell";
export const cpuOption = "Choose only images without GPU code, also where the GPUs are broken";

/** Adds the flags that choose an image. */
export function withQuestion(command: Command): Command {
  return withRegistryFleet(
    withFrom(command)
      .option("--lock <file>", `Read this lock (default: ${lockPath})`)
      .option("--pin <axis=value>", "Fix an axis: text, a pattern with * or a version range", ...many)
      .option("--cpu", cpuOption)
      .option("--require-gpu", "Choose only images with GPU code: exit 3 rather than leave a GPU unused"),
  );
}

/** For commands that answer for one moment. */
export const noDeprecated = ["--no-deprecated", "Choose no image whose day of deprecation has come"] as const;

/** Adds `--from`, a fleet of a registry in place of a lock. */
export function withFrom(command: Command): Command {
  return command
    .optionsGroup("Options:")
    .option("--from <reference>", "Read the fleet from a registry, not from a lock: registry/repo:version");
}

/** Adds the flags that demand signatures of a registry's content. */
export function withTrust(command: Command): Command {
  return command
    .optionsGroup("Verification:")
    .option(
      "--key <file>",
      "Require a signature by this public key, or by another --key or --identity: a file or env://NAME",
      ...many,
    )
    .option(
      "--identity <name>",
      "Require a signature by this identity, or by a --key: an e-mail address or a workflow, * stands for any text",
    )
    .option("--issuer <url>", "With --identity: require this issuer of the identity")
    .option(
      "--trusted-root <file>",
      "With --identity: use this trusted_root.json (default: that of the public sigstore)",
    )
    .option(
      "--trust <file>",
      "Read from this policy who signs what (default: IMGMATCH_TRUST, then ./imgmatch.trust.yaml)",
    );
}

/** Adds the flags of the registry that a fleet is read from, and of the cache of its answers. */
export function withRegistryFleet(command: Command): Command {
  command
    .optionsGroup("Registry:")
    .option(
      "--cache <folder>",
      "Keep the registry's answer there, and use it when the registry cannot be reached",
    )
    .option("--no-downgrade", "With --cache: refuse an index that is older than one seen before");
  return withTrust(withRegistries(command));
}

export function withJson(command: Command): Command {
  return command.optionsGroup("Options:").option("--json", "Answer as JSON, errors included");
}

/** A flag that may be given several times. */
export const many: [(value: string, previous: readonly string[]) => string[], string[]] = [
  (value, previous) => [...previous, value],
  [],
];

/** A flag with a closed set of values. */
export function choice(
  command: Command,
  flags: string,
  text: string,
  names: readonly string[],
  standard?: string,
) {
  const option = command.createOption(flags, text).choices(names);
  return standard === undefined ? option : option.default(standard);
}

/** Reads a whole number above 0. */
export function positive(example: string): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (Number.isInteger(number) && number > 0) return number;
    throw usageError(`${JSON.stringify(text)} is not a whole number above 0`, `write ${example}`);
  };
}
