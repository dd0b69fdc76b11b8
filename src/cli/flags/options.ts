/** Groups of flags that several commands have, those of resolve among them. */

import type { Command } from "commander";

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

/** What can be asked of many hosts at once. */
export function withHosts(command: Command): Command {
  return withHost(command).option(
    "--hosts <path>",
    "many hosts, one line for each: kubectl get nodes -o json, JSON lines, a folder of facts, - for standard input; repeatable",
    collect,
    [],
  );
}

/** What this machine alone can be asked. */
export function withVisibleGpus(command: Command): Command {
  return command.option("--gpus <list>", "see only these GPUs: 0,2, UUIDs, all or none");
}

/** `--gpus` of launch is a wish, not what is to be seen. */
export function withLaunchHost(command: Command): Command {
  return withJson(command)
    .option(
      "--host <file>",
      "facts of a host, or a Kubernetes node as JSON, from a file, - for standard input (default: this machine)",
    )
    .option("--host-type <name>", "a machine type in place of this machine: p5.48xlarge")
    .option("--driver <version>", driverOption)
    .option("--no-gpu", noGpu);
}

export const driverOption =
  "the driver of a host whose facts name none, as those of no machine type do: 580.95.05";
export const noGpu = "take a host whose facts do not tell whether it has an NVIDIA GPU for one without";

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

/** Who has to have signed what comes from a registry. */
export function withTrust(command: Command): Command {
  return command
    .option(
      "--key <file>",
      "take nothing that this public key has not signed: a file or env://NAME; repeatable",
      collect,
      [],
    )
    .option(
      "--identity <name>",
      "or that this identity has not signed: an e-mail address or a workflow, with * for any text",
    )
    .option("--issuer <url>", "with --identity: who confirms it")
    .option("--trusted-root <file>", "with --identity: trusted_root.json (default: the public sigstore's)")
    .option(
      "--trust <file>",
      "the policy that says who signs what (default: IMGMATCH_TRUST, then ./imgmatch.trust.yaml)",
    );
}

/** The fleet of a registry in place of a lock. */
export function withRegistryFleet(command: Command): Command {
  return withTrust(withRegistries(command))
    .option("--from <reference>", "read the fleet from a registry instead of a lock: registry/repo:version")
    .option("--cache <folder>", "keep the registry's answer there, for when it cannot be reached")
    .option("--no-downgrade", "with --cache: refuse an index that is older than one that was seen");
}

export function withJson(command: Command): Command {
  return command.option("--json", "answer as JSON, errors included");
}

export function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}
