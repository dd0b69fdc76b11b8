import { createHash } from "node:crypto";
import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";
import { splitNodes } from "../launch/fleet/fleet.ts";
import type { GpuUnit } from "../launch/gpu-units.ts";
import { resolvedLabel } from "../launch/labels/vocabulary.ts";
import { type FleetLaunch, hasFleet, type LaunchFormat, type LaunchTarget } from "../launch/target.ts";
import { unsupported } from "../launch/unsupported.ts";
import { dnsName, lastPart } from "../launch/workload-name.ts";
import { printableReport } from "../printable.ts";
import { immutableReferenceOf } from "../resolve/resolve.ts";
import type { CommandContext } from "./context.ts";
import { type LaunchFlags, workloadOf } from "./launch-options.ts";
import { printDocuments } from "./launch-output.ts";
import { readFleetQuestion } from "./question.ts";

/** `imgmatch launch TARGET --fleet`: one workload per image of the lock, each for the nodes on which resolve picks it. */
export async function launchFleet(
  target: LaunchTarget,
  format: LaunchFormat,
  flags: LaunchFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (!hasFleet(target))
    throw unsupported(target.name, "launch a fleet", "use kubernetes, nomad, swarm or marathon");
  if (flags.host !== undefined || flags.run || flags.anywhere) {
    throw new ImgmatchError({
      code: "USAGE",
      message: "--fleet is for all nodes: --host, --run and --anywhere speak of one or of none",
      fix: "leave them out",
    });
  }
  const { lock, options } = await readFleetQuestion(flags, context);
  const { members, shadowed } = splitNodes(lock, options);
  if (members.length === 0) {
    throw new ImgmatchError({
      code: "NO_MATCH",
      message: "no image of the lock is built and matches the pins",
      fix: "run imgmatch build, or change --pin",
    });
  }
  const workload = workloadOf(target, flags);
  const fleetName = flags.name ?? dnsName(lastPart(lock.repository));
  const gpus = gpuUnits(flags.gpus, target.name);
  const names = uniqueNames(
    fleetName,
    members.map(({ image }) => image.tag),
  );
  const launches = members.map((member, index): FleetLaunch => {
    const { image } = member;
    const request = {
      ...workload,
      // On every node of an image: what ends there is started again, unless it is a batch.
      task: workload.task ?? "service",
      name: names[index] ?? fleetName,
      reference: immutableReferenceOf(lock, image),
      requires: image.requires,
      host: anyNode,
      units: image.requires.cuda === null ? [] : gpus,
      node: resolvedLabel(lock.name, image.tag),
    } as const;
    return { request, member };
  });
  const documents = target.fleet(launches, fleetName);
  context.err(printableReport([`${target.name}: ${target.fleetNote(documents)}`]));
  for (const cell of shadowed)
    context.err(printableReport([`left out: ${cell} wins on no node, another image always comes first`]));
  await printDocuments(documents, format === "shell" ? "yaml" : format, context);
  return exitCodes.ok;
}

/** Schedulers count: which GPUs a node has decides the image, not the number that is asked for. */
function gpuUnits(text = "1", target: string): readonly GpuUnit[] {
  if (!/^[1-9]\d{0,3}$/.test(text)) {
    throw unsupported(
      target,
      `ask every node for --gpus ${text}`,
      "say how many each image with GPU code gets: --gpus 1; for images without, use --cpu",
    );
  }
  return Array.from({ length: Number(text) }, (_, index) => ({
    gpu: {
      index,
      uuid: null,
      name: null,
      compute: null,
      pci: null,
      bus: null,
      memoryMiB: null,
      class: "unknown",
      integrated: null,
      mig: [],
      use: { processes: null, memoryMiB: null },
    },
    mig: null,
    name: String(index),
  }));
}

/** What stands for the host in targets that ask it for nothing. */
const anyNode: HostFacts = {
  schemaVersion: 1,
  platform: "linux/amd64",
  kernel: null,
  cpu: { vendor: null, model: null, features: null, level: null },
  nvidia: null,
  runtime: { nvidia: null },
  problems: [],
  sources: {},
};

/** Tags are longer and richer than DNS names: what is cut, or meets another, gets a hash of its tag. */
function uniqueNames(fleet: string, tags: readonly string[]): readonly string[] {
  const plain = tags.map((tag) => dnsName(`${fleet}-${tag}`));
  return tags.map((tag, index) => {
    const name = plain[index] ?? fleet;
    const cut = `${fleet}-${tag}`.length > 63;
    if (!cut && plain.filter((other) => other === name).length === 1) return name;
    const hash = createHash("sha256").update(tag).digest("hex").slice(0, 8);
    return `${name.slice(0, 54).replace(/-+$/, "")}-${hash}`;
  });
}
