/** Every command with its flags: one entry each. What a command does is loaded when it runs. */

import { type Command, Option } from "commander";
import type { EngineName } from "../build/engines/engine-traits.ts";
import { type ExitCode, ImgmatchError } from "../errors.ts";
import type { CommandContext } from "./context.ts";
import type { FleetFlags } from "./fleet-options.ts";
import type { RemoveFlags } from "./lock-rm.ts";
import type { ReproFlags } from "./repro.ts";

export type Action<Flags> = (flags: Flags, context: CommandContext) => Promise<ExitCode>;

/** Loads an action when its command runs, and hands it the flags. */
export type Run = <Flags>(load: () => Promise<Action<Flags>>) => (flags: Flags) => Promise<void>;

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
      .option("--concurrency <n>", "builds at one time", parsePositive, 4)
      .option("--dry-run", "say what would be built, and stop")
      .option("--index", "with --push: write the index of the version too, as publish does")
      .option("--replace-index", "with --index: replace an index that says otherwise, instead of refusing")
      .action(run(async () => (await import("./build.ts")).build)),

  publish: (command, run) =>
    withEngine(withBases(withFleet(command)))
      .description("push what was built and not pushed, and write one image index for the version")
      .option("--replace-index", "replace an index that says otherwise, instead of refusing")
      .option("--concurrency <n>", "pushes at one time", parsePositive, 4)
      .action(run(async () => (await import("./publish.ts")).publish)),

  verify: (command, run) =>
    withRegistries(withJson(command))
      .description("check that the registry holds the lock's digest under every tag of the lock")
      .option("--lock <file>", "the lock", "images/imgmatch.lock.json")
      .option("--heal", "give each tag the lock's digest again, where the registry still has that manifest")
      .action(run(async () => (await import("./verify.ts")).verify)),

  export: (command, run) => {
    withBases(withFleet(command))
      .description("write the fleet in the words of another tool: bake, github-matrix, nfd-compat")
      .argument(
        "<kind>",
        "bake: docker-bake.json; github-matrix: jobs for the cells that need work; nfd-compat: what each image needs, for Node Feature Discovery",
      )
      .option("--shards <n>", "github-matrix: jobs at most, up to 256 (default: 16)", parseShards)
      .option(
        "--secret <secret>",
        "bake: a secret for steps that mount it: id=NAME,env=VARIABLE or id=NAME,src=FILE; repeatable",
        collect,
        [],
      )
      .action((kind: string, flags: object) =>
        run<{ kind: string } & FleetFlags>(async () => (await import("./export.ts")).exportFleet)({
          ...(flags as FleetFlags),
          kind,
        }),
      );
    withQuestion(command.command("sh"))
      .description("write a script of sh and awk that answers as resolve does")
      .argument("[reference]", "registry/repository:version, in place of a lock")
      .addOption(new Option("--json", "answer as JSON, errors included"))
      .action((reference: string | undefined, flags: object) =>
        run(async () => (await import("./export-sh.ts")).exportScript)({
          ...command.opts(),
          ...flags,
          ...(reference === undefined ? {} : { reference }),
        }),
      );
    return command;
  },

  repro: (command, run) =>
    withEngine(withBases(withFleet(command)))
      .description("build one cell twice without cache and name the first layer that differs")
      .argument("<cell>", "the cell's id")
      .action((cell: string, flags: object) =>
        run<{ cell: string } & ReproFlags>(async () => (await import("./repro.ts")).repro)({
          ...(flags as ReproFlags),
          cell,
        }),
      ),

  lock: (command, run) => {
    withBases(withFleet(command))
      .description("change the lock without building")
      .option("--update-bases", "let the next build use what the base images' tags mean now")
      .option("--prune", "drop images of cells that the matrix no longer builds")
      .action(run(async () => (await import("./lock.ts")).lock));
    const merge = withJson(command.command("merge"))
      .description("join the locks of builds that ran side by side")
      .argument("<locks...>", "the locks")
      .option(
        "--base <file>",
        "the lock that they all began with; what is as there counts as unchanged (default: the lock)",
      )
      .option("--out <file>", "where to write the result (default: the lock)");
    merge.action((locks: string[], flags: object) =>
      run<{ locks: string[] }>(async () => (await import("./lock-merge.ts")).mergeLockFiles)({
        ...command.opts(),
        ...flags,
        locks,
      }),
    );
    const remove = withJson(command.command("rm"))
      .description("drop images from the lock, so that the next build makes them again")
      .argument("<cells...>", "the cells' ids");
    remove.action((cells: string[], flags: object) =>
      run<RemoveFlags>(async () => (await import("./lock-rm.ts")).removeFromLock)({
        ...command.opts(),
        ...flags,
        cells,
      }),
    );
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
      .action((reference: string | undefined, flags: object) =>
        run<object>(async () => (await import("./resolve.ts")).resolve)({
          ...flags,
          ...(reference === undefined ? {} : { reference }),
        }),
      ),

  run: (command, run) =>
    withQuestion(withHost(command))
      .description("resolve, then run the image with docker")
      .option("--dry-run", "print the docker command instead of running it")
      .argument("[args...]", "arguments for the container, after --")
      .action((args: string[], flags: object) =>
        run<{ args: string[] }>(async () => (await import("./run.ts")).run)({ ...flags, args }),
      ),

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
      .action((target: string, args: string[], flags: object) =>
        run<{ target: string; args: string[] }>(async () => (await import("./launch.ts")).launch)({
          ...flags,
          target,
          args,
        }),
      ),

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
      .action((image: string, flags: object) =>
        run<{ image: string }>(async () => (await import("./why-not.ts")).whyNot)({ ...flags, image }),
      ),

  check: (command, run) =>
    withRegistries(withHost(command))
      .description("say whether one image runs here, by what it says about itself")
      .argument("<image>", "reference, or id of an image in the container engine")
      .action((image: string, flags: object) =>
        run<{ image: string }>(async () => (await import("./check.ts")).check)({ ...flags, image }),
      ),

  inspect: (command, run) =>
    withRegistries(withJson(command))
      .description("open an image: which CPU, GPU and driver the code of its files needs")
      .argument("<image>", "reference, image of the engine, ./archive.tar, ./layout or ./root-folder")
      .addOption(new Option("--from <place>", "look for a name only here").choices(["engine", "registry"]))
      .option("--platform <os/arch>", "of an index, the image for this platform (default: this machine's)")
      .option("--files", "show every file, not only those that decide")
      .option("--no-cache", "open layers again that were opened before")
      .action((image: string, flags: object) =>
        run<{ image: string }>(async () => (await import("./inspect.ts")).inspect)({ ...flags, image }),
      ),

  doctor: (command, run) =>
    withJson(command)
      .description("examine this host, its container runtime and its container engine")
      .action(run(async () => (await import("./doctor.ts")).doctor)),

  hardware: (command, run) =>
    withJson(command)
      .description("print what is known about CUDA toolkits, GPUs and CPUs, with sources")
      .argument("[kind]", "cuda, gpu or cpu")
      .argument("[name]", "one of them: 12.8, H100, sm_90a, broadwell …")
      .action((kind: string | undefined, name: string | undefined, flags: object) =>
        run<{ args: string[] }>(async () => (await import("./hardware.ts")).hardware)({
          ...flags,
          args: [kind, name].filter((text) => text !== undefined),
        }),
      ),
} as const satisfies Record<string, Define>;

export function isCommand(name: string | undefined): name is keyof typeof commandTable {
  return name !== undefined && Object.hasOwn(commandTable, name);
}

/** What concerns a matrix. */
function withFleet(command: Command): Command {
  return withJson(command)
    .option("--matrix <file>", "the matrix", "matrix.yaml")
    .option("--lock <file>", "the lock (default: images/imgmatch.lock.json beside the matrix)")
    .option("--only <cells>", "only these cells: axis=value,… or a cell's id; repeatable", collect, [])
    .option("--registry <host/path>", "publish there instead of the matrix's registry");
}

// Named here and not read from the table: what resolve loads knows nothing of building.
const engineNames = ["docker", "buildx", "podman", "pulumi"] as const satisfies readonly EngineName[];

/** What concerns the engine. */
function withEngine(command: Command): Command {
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

function withBases(command: Command): Command {
  return withRegistries(command)
    .option("--replace-base <old=new>", "build with another base image; repeatable", collect, [])
    .option("--offline", "ask no registry for the digests of base images");
}

/** What concerns registries. */
function withRegistries(command: Command): Command {
  return command
    .option("--ca <file>", "PEM certificates to trust beside the usual ones")
    .option("--plain-http <host>", "speak plain http to this registry, host:port; repeatable", collect, []);
}

/** What concerns a host. */
function withHost(command: Command): Command {
  return withLaunchHost(command).option("--gpus <list>", "see only these GPUs: 0,2, UUIDs, all or none");
}

/** `--gpus` of launch is a wish, not what is to be seen. */
function withLaunchHost(command: Command): Command {
  return withJson(command).option(
    "--host <file>",
    "facts of a host, or a Kubernetes node as JSON, from a file, - for standard input (default: this machine)",
  );
}

/** What concerns the choice of an image. */
function withQuestion(command: Command): Command {
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
function withRegistryFleet(command: Command): Command {
  return withRegistries(command)
    .option("--from <reference>", "read the fleet from a registry instead of a lock: registry/repo:version")
    .option("--cache <folder>", "keep the registry's answer there, for when it cannot be reached");
}

function withJson(command: Command): Command {
  return command.addOption(new Option("--json", "answer as JSON, errors included"));
}

function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}

function parsePositive(text: string): number {
  return positive(text, "--concurrency 4");
}

function parseShards(text: string): number {
  return positive(text, "--shards 16");
}

function positive(text: string, example: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new ImgmatchError({
    code: "USAGE",
    message: `${JSON.stringify(text)} is not a whole number above 0`,
    fix: `write ${example}`,
  });
}
