/** Every command with its flags: one entry each. What a command does is loaded when it runs. */

import { type Command, Option } from "commander";
import type { CommandContext } from "./context.ts";
import {
  collect,
  positive,
  withBases,
  withEngine,
  withFleet,
  withHost,
  withJson,
  withLaunchHost,
  withQuestion,
  withRegistries,
  withRegistryFleet,
  withVisibleGpus,
} from "./flags/options.ts";

/** Answers the exit code: of imgmatch, or of the container that it has run. */
export type Action<Flags> = (flags: Flags, context: CommandContext) => Promise<number>;

/** Loads an action when its command runs, and hands it the flags: its own, those of the command above it, and arguments by name. */
export type Run = <Flags>(load: () => Promise<Action<Flags>>) => (...given: unknown[]) => Promise<void>;

type Define = (command: Command, run: Run) => Command;

/** In the order of the help text. */
export const commandTable = {
  init: (command, run) =>
    withJson(command)
      .description("write a small matrix and template to start from")
      .option("--name <name>", "name of the images", "app")
      .option("--registry <host/path>", "registry of the images", "localhost:5000")
      .action(run(async () => (await import("./init.ts")).init)),

  schema: (command, run) =>
    withJson(command)
      .description("print the JSON Schema of matrix.yaml")
      .action(run(async () => (await import("./schema.ts")).schema)),

  plan: (command, run) =>
    withBases(withFleet(command))
      .description("say for each cell what would happen to it; changes nothing")
      .option("--push", "count images that were built but not pushed as still to be built")
      .option(
        "--remote",
        "ask registries too: which images are published already, which base images have moved",
      )
      .option("--check", "exit 1 when anything is to be done")
      .option("--explain <cell>", "show the inputs of one cell, then and now")
      .action(run(async () => (await import("./plan.ts")).plan)),

  render: (command, run) =>
    withFleet(command)
      .description("write one Dockerfile per cell into images/")
      .option("--check", "write nothing; exit 1 when a Dockerfile is missing, differs or belongs to no cell")
      .option("--prune", "remove Dockerfiles that belong to no cell")
      .option("--out <folder>", "write below this folder instead of the matrix's")
      .action(run(async () => (await import("./render.ts")).render)),

  build: (command, run) =>
    withEngine(withBases(withFleet(command)))
      .description("build what the lock does not have, and write the lock")
      .option("--push", "push every image, never over another one")
      .option("--concurrency <n>", "builds at one time", positive("--concurrency 4"), 4)
      .option("--dry-run", "say what would be built, and stop")
      .option("--index", "with --push: write the index of the version too, as publish does")
      .option("--replace-index", "with --index: replace an index that says otherwise, instead of refusing")
      .action(run(async () => (await import("./build/build.ts")).build)),

  publish: (command, run) =>
    withEngine(withBases(withFleet(command)))
      .description("push what was built and not pushed, and write one image index for the version")
      .option("--replace-index", "replace an index that says otherwise, instead of refusing")
      .option("--concurrency <n>", "pushes at one time", positive("--concurrency 4"), 4)
      .action(run(async () => (await import("./build/publish.ts")).publish)),

  verify: (command, run) =>
    withRegistries(withJson(command))
      .description("check that the registry holds the lock's digest under every tag of the lock")
      .option("--lock <file>", "the lock", "images/imgmatch.lock.json")
      .option("--heal", "give each tag the lock's digest again, where the registry still has that manifest")
      .action(run(async () => (await import("./verify.ts")).verify)),

  audit: (command, run) =>
    withRegistries(withFleet(command))
      .description("open the images of the lock, and compare what is declared of them with their files")
      .option("--replace-base <old=new>", "as when it was built; repeatable", collect, [])
      .option("--remote", "ask the registry alone: what was never pushed is left out")
      .action(run(async () => (await import("./audit.ts")).audit)),

  export: (command, run) => {
    withBases(withFleet(command))
      .description("write the fleet in the words of another tool: bake, github-matrix, nfd-compat")
      .argument(
        "<kind>",
        "bake: docker-bake.json; github-matrix: jobs for the cells that need work; nfd-compat: what each image needs, for Node Feature Discovery",
      )
      .option("--shards <n>", "github-matrix: jobs at most, up to 256 (default: 16)", positive("--shards 16"))
      .option(
        "--secret <secret>",
        "bake: a secret for steps that mount it: id=NAME,env=VARIABLE or id=NAME,src=FILE; repeatable",
        collect,
        [],
      )
      .action(run(async () => (await import("./export/export.ts")).exportFleet));
    withQuestion(command.command("sh"))
      .description("write a script of sh and awk that answers as resolve does")
      .argument("[reference]", "registry/repository:version, in place of a lock")
      .addOption(new Option("--json", "answer as JSON, errors included"))
      .action(run(async () => (await import("./export/sh.ts")).exportScript));
    return command;
  },

  repro: (command, run) =>
    withEngine(withBases(withFleet(command)))
      .description("build one cell twice without cache and name the first layer that differs")
      .argument("<cell>", "the cell's id")
      .action(run(async () => (await import("./repro.ts")).repro)),

  lock: (command, run) => {
    withBases(withFleet(command))
      .description("change the lock without building")
      .option("--update-bases", "let the next build use what the base images' tags mean now")
      .option("--prune", "drop images of cells that the matrix no longer builds")
      .action(run(async () => (await import("./lock/lock.ts")).lock));
    withJson(command.command("merge"))
      .description("join the locks of builds that ran side by side")
      .argument("<locks...>", "the locks")
      .option(
        "--base <file>",
        "the lock that they all began with; what is as there counts as unchanged (default: the lock)",
      )
      .option("--out <file>", "where to write the result (default: the lock)")
      .action(run(async () => (await import("./lock/merge.ts")).mergeLocks));
    withJson(command.command("rm"))
      .description("drop images from the lock, so that the next build makes them again")
      .argument("<cells...>", "the cells' ids")
      .action(run(async () => (await import("./lock/rm.ts")).removeFromLock));
    return command;
  },

  probe: (command, run) =>
    withHost(command)
      .description("print what this machine is: CPU features, NVIDIA driver, GPUs")
      .action(run(async () => (await import("./probe.ts")).probe)),

  resolve: (command, run) =>
    withQuestion(withHost(command))
      .description("print the one image that was built for this host")
      .option("--explain", "say on standard error why it won, and why each other image did not")
      .argument("[reference]", "the same as --from")
      .action(run(async () => (await import("./resolve.ts")).resolve)),

  pull: (command, run) =>
    withQuestion(withVisibleGpus(withJson(command)))
      .description("resolve, then pull the image and give it the version's plain name here")
      .option("--as <name>", "the name: registry/repository:tag (default: the version's)")
      .addOption(
        new Option("--engine <name>", "what pulls")
          .choices(["docker", "podman", "containerd"])
          .default("docker"),
      )
      .option("--namespace <name>", "with --engine containerd: where it keeps the image (default: k8s.io)")
      .option("--option <word>", "a further option of the engine's pull; repeatable", collect, [])
      .argument("[reference]", "the same as --from")
      .action(run(async () => (await import("./pull.ts")).pull)),

  run: (command, run) =>
    withQuestion(withHost(command))
      .description("resolve, then run the image with docker")
      .option("--dry-run", "print the docker command instead of running it")
      .argument("[args...]", "arguments for the container, after --")
      .action(run(async () => (await import("./run.ts")).run)),

  launch: (command, run) =>
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
      .addOption(new Option("--task <kind>", "whether it ends by itself").choices(["batch", "service"]))
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
      .action(run(async () => (await import("./launch/launch.ts")).launch)),

  serve: (command, run) =>
    withRegistries(withHost(command))
      .description("answer a fleet's plain name on this node with this node's image: a mirror on loopback")
      .argument("[references...]", "fleets: registry/repository:version, or without version for all of them")
      .option("--lock <file>", "a fleet's lock, in place of a reference")
      .option("--cache <folder>", "keep the registry's answers there, for when it cannot be reached")
      .option("--listen <address>", "where to listen: 127.0.0.1:port or [::1]:port", "127.0.0.1:5047")
      .option("--pin <axis=value>", "fix an axis, as for resolve; repeatable", collect, [])
      .option("--cpu", "choose among images without GPU code, also where the GPUs are broken")
      .option("--require-gpu", "choose among images with GPU code")
      .option("--fail-closed", "refuse a host that no image fits, instead of leaving it to the registry")
      .addOption(
        new Option("--blobs <how>", "off, or redirect: send clients on to the registry for an image's parts")
          .choices(["off", "redirect"])
          .default("off"),
      )
      .action(run(async () => (await import("./serve.ts")).serve)),

  labels: (command, run) =>
    withRegistryFleet(withHost(command))
      .description("print what this node should advertise to a scheduler")
      .option("--format <system>", "kubernetes (default), nfd, mesos, docker, nomad, slurm or json")
      .option("--lock <file>", "say too which image of this lock resolve picks here")
      .option("--pin <axis=value>", "with --lock: fix an axis; repeatable", collect, [])
      .option("--cpu", "with --lock: choose among images without GPU code")
      .action(run(async () => (await import("./labels.ts")).labels)),

  "why-not": (command, run) =>
    withQuestion(withHost(command))
      .description("say why resolve does not choose an image, and what would make it")
      .argument("<image>", "cell, tag or reference of the lock")
      .action(run(async () => (await import("./why-not.ts")).whyNot)),

  check: (command, run) =>
    withRegistries(withHost(command))
      .description("say whether one image runs here, by what it says about itself")
      .argument("<image>", "reference, or id of an image in the container engine")
      .action(run(async () => (await import("./check.ts")).check)),

  inspect: (command, run) =>
    withRegistries(withJson(command))
      .description("open an image: which CPU, GPU and driver the code of its files needs")
      .argument("<image>", "reference, image of the engine, ./archive.tar, ./layout or ./root-folder")
      .addOption(new Option("--from <place>", "look for a name only here").choices(["engine", "registry"]))
      .option("--platform <os/arch>", "of an index, the image for this platform (default: this machine's)")
      .option("--files", "show every file, not only those that decide")
      .option("--no-cache", "open layers again that were opened before")
      .action(run(async () => (await import("./inspect.ts")).inspect)),

  adopt: (command, run) =>
    withRegistries(withJson(command))
      .description(
        "open images that others built and write them into a lock, for resolve, publish and launch",
      )
      .argument("<references...>", "images of one repository, each with its tag")
      .option("--lock <file>", "the lock (default: images/imgmatch.lock.json)")
      .option("--axis <axis=value>", "an axis of all these images; repeatable", collect, [])
      .option("--tag-pattern <pattern>", "axes out of each tag: {pytorch}-cuda*-{flavor}")
      .option("--march <name>", "state what they were compiled for (default: estimated from their files)")
      .option("--cuda <version>", "state the toolkit that is loaded, where the files do not decide it")
      .option("--platform <os/arch>", "of an index, the image for this platform (default: this machine's)")
      .option("--name <name>", "name of the fleet, in a new lock (default: the last part of the repository)")
      .option(
        "--fleet-version <version>",
        "version of the fleet, which becomes the tag of its index (default: 1)",
      )
      .action(run(async () => (await import("./adopt.ts")).adopt)),

  doctor: (command, run) =>
    withJson(command)
      .description("examine this host, its container runtime and its container engine")
      .action(run(async () => (await import("./doctor.ts")).doctor)),

  hardware: (command, run) =>
    withJson(command)
      .description("print what is known about CUDA toolkits, GPUs and CPUs, with sources")
      .argument("[kind]", "cuda, gpu or cpu")
      .argument("[name]", "one of them: 12.8, H100, sm_90a, broadwell …")
      .action(run(async () => (await import("./hardware.ts")).hardware)),
} as const satisfies Record<string, Define>;

export function isCommand(name: string | undefined): name is keyof typeof commandTable {
  return name !== undefined && Object.hasOwn(commandTable, name);
}
