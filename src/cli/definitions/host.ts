/** The arguments and flags of the commands about a host, and what runs there. */

import {
  collect,
  withHost,
  withJson,
  withLaunchHost,
  withQuestion,
  withRegistries,
  withRegistryFleet,
  withTrust,
  withVisibleGpus,
} from "../flags/options.ts";
import type { Define } from "../define.ts";

export const probe: Define = (command, run) =>
  withHost(command)
    .description("print what this machine is: CPU features, NVIDIA driver, GPUs")
    .option("--each-line", "answer each line of standard input with the facts, as one line of JSON")
    .action(run(async (flags: never, context) => (await import("../probe.ts")).probe(flags, context)));

export const pull: Define = (command, run) =>
  withQuestion(withVisibleGpus(withJson(command)))
    .description("resolve, then pull the image and give it the version's plain name here")
    .option("--as <name>", "the name: registry/repository:tag (default: the version's)")
    .addOption(
      command
        .createOption("--engine <name>", "what pulls")
        .choices(["docker", "podman", "containerd", "nerdctl"])
        .default("docker"),
    )
    .option("--namespace <name>", "of containerd and nerdctl: where they keep the image (default: k8s.io)")
    .option("--option <word>", "a further option of the engine's pull; repeatable", collect, [])
    .argument("[reference]", "the same as --from")
    .action(run(async (flags: never, context) => (await import("../pull.ts")).pull(flags, context)));

export const run: Define = (command, run) =>
  withQuestion(withHost(command))
    .description("resolve, then run the image with docker")
    .usage("[options] [reference] [options of docker run] [-- arguments for the container]")
    .option("--dry-run", "print the docker command instead of running it")
    .addOption(
      command.createOption("--engine <name>", "what runs it").choices(["docker", "podman"]).default("docker"),
    )
    .option("--option <word>", "a further word for the engine's run; repeatable", collect, [])
    .allowUnknownOption()
    .argument("[words...]", "the same as --from, and options of docker run: -v, -e, -p, --name …")
    .action(run(async (flags: never, context) => (await import("../run.ts")).run(flags, context)));

export const launch: Define = (command, run) =>
  withQuestion(withLaunchHost(command))
    .description("write the answer in the words of what runs containers")
    .argument(
      "<target>",
      "docker, nvidia-docker, podman, apptainer, compose, swarm, kubernetes, mesos, marathon, chronos, zun, nomad or slurm",
    )
    .argument("[args...]", "arguments for the container, after --")
    .option(
      "--gpus <which>",
      "how many, such as 2; or which: 0,2, device=0, uuids; all or none (default: all)",
    )
    .option("--allow-busy", "hand out GPUs that somebody uses")
    .addOption(
      command.createOption("--task <kind>", "whether it ends by itself").choices(["batch", "service"]),
    )
    .option("--name <name>", "name of the workload")
    .option("--env <name=value>", "set a variable in the container; repeatable", collect, [])
    .option("--mount <source:target[:ro]>", "show a folder of the host; repeatable", collect, [])
    .option("--cpus <n>", "CPUs, also parts of one")
    .option("--memory <amount>", "memory with its unit: 512m, 16g")
    .option("--command <program>", "run this program of the image in place of its entrypoint")
    .option("--set <name=value>", "what only this target asks: kind, schedule …; repeatable", collect, [])
    .option("--option <word>", "a further option of the target's command; repeatable", collect, [])
    .option("--anywhere", "do not keep it to the nodes that advertise the image")
    .option("--fleet", "one workload per image of the lock, each for the nodes where resolve picks it")
    .option("--run", "start it, where the target is this machine")
    .option("--yaml", "write YAML")
    .action(
      run(async (flags: never, context) => (await import("../launch/launch.ts")).launch(flags, context)),
    );

export const serve: Define = (command, run) =>
  withTrust(withRegistries(withHost(command)))
    .description("answer a fleet's plain name on this node with this node's image: a mirror on loopback")
    .argument("[references...]", "fleets: registry/repository:version, or without version for all of them")
    .option("--lock <file>", "a fleet's lock, in place of a reference")
    .option("--cache <folder>", "keep the registry's answers there, for when it cannot be reached")
    .option("--no-downgrade", "with --cache: refuse an index that is older than one that was seen")
    .option("--listen <address>", "where to listen: 127.0.0.1:port or [::1]:port", "127.0.0.1:5047")
    .option("--pin <axis=value>", "fix an axis, as for resolve; repeatable", collect, [])
    .option("--cpu", "choose among images without GPU code, also where the GPUs are broken")
    .option("--require-gpu", "choose among images with GPU code")
    .option("--fail-closed", "refuse a host that no image fits, instead of leaving it to the registry")
    .addOption(
      command
        .createOption(
          "--blobs <how>",
          "an image's parts for clients that take a whole image from one place: off, redirect to the registry, or proxy",
        )
        .choices(["off", "redirect", "proxy"])
        .default("off"),
    )
    .addOption(
      command
        .createOption("--print-config <runtime>", "print what a container runtime is to be given, and end")
        .choices(["containerd", "docker", "podman", "crio"]),
    )
    .option(
      "--install <folder>",
      "with --print-config: write the files below this folder, / or where the node's is mounted",
    )
    .action(run(async (flags: never, context) => (await import("../serve.ts")).serve(flags, context)));

export const labels: Define = (command, run) =>
  withRegistryFleet(withHost(command))
    .description("print what this node should advertise to a scheduler")
    .option("--format <system>", "kubernetes (default), nfd, mesos, docker, nomad, slurm or json")
    .option("--lock <file>", "say too which image of this lock resolve picks here")
    .option("--pin <axis=value>", "with --lock: fix an axis; repeatable", collect, [])
    .option("--cpu", "with --lock: choose among images without GPU code")
    .action(run(async (flags: never, context) => (await import("../labels.ts")).labels(flags, context)));

export const doctor: Define = (command, run) =>
  withJson(command)
    .description("examine this host, its container runtime and its container engine")
    .action(run(async (flags: never, context) => (await import("../doctor.ts")).doctor(flags, context)));

export const hardware: Define = (command, run) =>
  withJson(command)
    .description("print what is known about CUDA toolkits, GPUs and CPUs, with sources")
    .argument("[kind]", "cuda, gpu, cpu or machine")
    .argument("[name]", "one of them: 12.8, H100, sm_90a, broadwell …")
    .action(run(async (flags: never, context) => (await import("../hardware.ts")).hardware(flags, context)));
