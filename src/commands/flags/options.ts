/** Groups of flags that several commands have, and how their values are read. */

import { type Command, Option } from "commander";
import type { EngineName } from "../../build/engines/engine-traits.ts";
import { usageError } from "../../errors.ts";

/** What concerns a matrix. */
export function withFleet(command: Command): Command {
  return withJson(command)
    .option("--matrix <file>", "the matrix", "matrix.yaml")
    .option("--lock <file>", "the lock (default: images/imgmatch.lock.json beside the matrix)")
    .option("--only <cells>", "only these cells: axis=value,… or a cell's id; repeatable", collect, [])
    .option("--registry <host/path>", "publish there instead of the matrix's registry");
}

// Named here and not read from the table: what resolve loads knows nothing of building.
const engineNames = ["docker", "buildx", "podman", "pulumi"] as const satisfies readonly EngineName[];

/** What concerns the engine. */
export function withEngine(command: Command): Command {
  return command
    .addOption(new Option("--engine <name>", "what builds").choices(engineNames).default("docker"))
    .option("--builder <name>", "with --engine buildx: a builder of docker buildx ls, also a remote one")
    .option(
      "--cache-from <ref>",
      "take build cache from there; {cell} is the cell's id; repeatable",
      collect,
      [],
    )
    .option("--cache-to <ref>", "put build cache there, or inline; {cell} as above; repeatable", collect, [])
    .option(
      "--secret <secret>",
      "give it to steps that mount it: id=NAME,env=VARIABLE or id=NAME,src=FILE; repeatable",
      collect,
      [],
    )
    .option("--stack <name>", "with --engine pulumi: the stack (default: imgmatch)");
}

export function withBases(command: Command): Command {
  return withRegistries(command)
    .option("--replace-base <old=new>", "build with another base image; repeatable", collect, [])
    .option("--offline", "ask no registry for the digests of base images");
}

/** What concerns registries. */
export function withRegistries(command: Command): Command {
  return command
    .option("--ca <file>", "PEM certificates to trust beside the usual ones")
    .option("--plain-http <host>", "speak plain http to this registry, host:port; repeatable", collect, []);
}

/** What concerns a host. */
export function withHost(command: Command): Command {
  return withVisibleGpus(withLaunchHost(command));
}

/** What this machine alone can be asked. */
export function withVisibleGpus(command: Command): Command {
  return command.option("--gpus <list>", "see only these GPUs: 0,2, UUIDs, all or none");
}

/** `--gpus` of launch is a wish, not what is to be seen. */
export function withLaunchHost(command: Command): Command {
  return withJson(command).option(
    "--host <file>",
    "facts of a host, or a Kubernetes node as JSON, from a file, - for standard input (default: this machine)",
  );
}

/** What concerns the choice of an image. */
export function withQuestion(command: Command): Command {
  return withRegistryFleet(command)
    .option("--lock <file>", "the lock (default: images/imgmatch.lock.json)")
    .option(
      "--pin <axis=value>",
      "fix an axis: text, a pattern with * or a version range; repeatable",
      collect,
      [],
    )
    .option("--cpu", "choose among images without GPU code, also where the GPUs are broken")
    .option("--require-gpu", "choose among images with GPU code: exit 3 rather than leave a GPU unused");
}

/** The fleet of a registry in place of a lock. */
export function withRegistryFleet(command: Command): Command {
  return withRegistries(command)
    .option("--from <reference>", "read the fleet from a registry instead of a lock: registry/repo:version")
    .option("--cache <folder>", "keep the registry's answer there, for when it cannot be reached");
}

export function withJson(command: Command): Command {
  return command.addOption(new Option("--json", "answer as JSON, errors included"));
}

export function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}

/** Reads a whole number above 0. */
export function positive(example: string): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (Number.isInteger(number) && number > 0) return number;
    throw usageError(`${JSON.stringify(text)} is not a whole number above 0`, `write ${example}`);
  };
}
