/** `imgmatch pull`: pulls this host's image into a container runtime, under the plain name of the fleet's version. */

import { ImgmatchError, usageError } from "../errors.ts";
import type { HostChoice } from "../host/probe.ts";
import { type EndedProgram, runProgram } from "../io/run-program.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import type { SignedBy } from "../lock/store/index-trust.ts";
import type { Lock } from "../lock/lock.ts";
import { byDigest, type ImmutableReference } from "../oci/immutable-reference.ts";
import {
  formatImageReference,
  type ImageReference,
  isTag,
  parseImageReference,
  withTag,
} from "../oci/reference.ts";
import { podmanTls } from "../oci/registry/registry-endpoint.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import { resolutionOf, rankImages } from "../resolve/resolve-image.ts";
import {
  requireMatch,
  type AgeChoice,
  type QuestionOptions,
  readQuestion,
  type NodePorts,
  type NodeWorld,
} from "./question.ts";

export interface PullOptions
  extends Omit<QuestionOptions, Exclude<keyof HostChoice, "gpus"> | "explain" | "local">,
    AgeChoice,
    Watching {
  /** The image's name here, `registry/repository:tag`. Default: the version's. */
  readonly as?: string;
  /** Default: `docker`. */
  readonly engine?: RuntimeName;
  /** The namespace of containerd and nerdctl. Default: `k8s.io`, the kubelet's. */
  readonly namespace?: string;
  /** Further options of the engine's pull. */
  readonly option?: readonly string[];
}

export interface PulledImage {
  readonly schemaVersion: 1;
  readonly reference: ImmutableReference;
  /** The image's name here. */
  readonly name: string;
  readonly runtime: RuntimeName;
  /** The image was here already, so the registry was not asked. */
  readonly present: boolean;
  /** The runtime keeps the image from garbage collection. */
  readonly pinned: boolean;
  /** The fleet's signers, if a signature is required. */
  readonly signed?: SignedBy;
}

/**
 * Resolves, pulls the image by digest, then moves the name to it, so the name always means a whole image. Notes are the runtime's output.
 *
 * Throws as `resolve`, `NO_MATCH` and `HOST_BROKEN`, `ENGINE_NOT_FOUND` without the runtime's program, `ENGINE_FAILED` with its own words,
 * and, if the registry is the cause, `REGISTRY_UNREACHABLE` or `IMAGE_NOT_FOUND`.
 *
 * @example
 * const { name, present } = await pull({ engine: "containerd" });
 */
export type PullFunction = (options?: PullOptions, world?: Partial<World>) => Promise<PulledImage>;

export function pullWith(ports: NodePorts): PullFunction {
  return (options = {}, given) => inWorld(options, given, (world) => pullIn(options, world), ports);
}

async function pullIn(options: PullOptions, world: NodeWorld): Promise<PulledImage> {
  const { engine: runtime = "docker", namespace = "k8s.io", option = [] } = options;
  const question = await readQuestion(options, world);
  const plain = nameOf(options, question.lock);
  const ranking = rankImages(question.lock, question.host, question.options);
  const resolution = resolutionOf(question.lock, ranking, question.options);
  const { reference } = requireMatch(resolution, ranking, question);
  note(world, unaskedLines(resolution));
  const { find, pull, tag, pin } = runtimes[runtime]({
    image: byDigest(reference),
    name: plain,
    options: option,
    namespace,
  });
  const tell = (line: string): void => note(world, [line]);
  // For a missing image the runtime prints an error, which is no news.
  const found = find === null ? null : await runCommand(find, world, () => {});
  const present = found?.status === 0 && found.stdout.trim() !== "";
  if (!present)
    await succeed(pull, world, tell).catch(async (error: unknown) => {
      const isEngine = error instanceof ImgmatchError && error.code === "ENGINE_FAILED";
      throw isEngine ? ((await whyNotServed(reference, error, options, world)) ?? error) : error;
    });
  await succeed(tag, world, tell);
  if (pin !== null) await succeed(pin, world, tell);
  const name = formatImageReference(plain);
  const { signed } = question;
  return {
    ...{ schemaVersion: 1, reference, name, runtime, present, pinned: pin !== null },
    ...(signed === null ? {} : { signed }),
  };
}

/** The version's name, as Pods and Compose files write it, unless `as` gives another. */
function nameOf(
  { as, reference, from = reference }: PullOptions,
  { repository, version }: Pick<Lock, "repository" | "version">,
): ImageReference {
  const given = as ?? from;
  const named = given === undefined ? null : parseImageReference(given);
  if (named?.tag && named.digest === null) return named;
  if (as !== undefined)
    throw usageError(`--as ${as} is no name with a tag`, "write it as registry/repository:tag");
  if (!isTag(version)) throw usageError(`the version ${version} is no tag`, "give the image a name: --as");
  return withTag(parseImageReference(repository), version);
}

type Tell = (line: string) => void;

/** Passes on each line of output, except the last one of a failed command: the error has it. */
async function succeed(argv: Argv, world: NodeWorld, tell: Tell): Promise<void> {
  let last: string | null = null;
  const { status } = await runCommand(argv, world, (line) => {
    if (last !== null) tell(last);
    last = line;
  });
  if (status === 0) {
    if (last !== null) tell(last);
    return;
  }
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `${argv.join(" ")} ended with ${status ?? "a signal"}: ${last ?? "it said nothing"}`,
    fix: "run that command by hand",
  });
}

/** Asks whether the registry is away or lacks the image: each runtime words that differently. null if the registry is not the cause. */
async function whyNotServed(
  reference: ImmutableReference,
  failed: ImgmatchError,
  options: PullOptions,
  world: NodeWorld,
): Promise<ImgmatchError | null> {
  const { registryFor } = await import("../oci/registry/registry-access.ts");
  const details = [failed.problems[0].message];
  try {
    const registry = await registryFor(options, world, { timeoutMs: 5_000, retries: 1 });
    if ((await registry.findManifest(parseImageReference(reference))) !== null) return null;
  } catch (error) {
    if (!(error instanceof ImgmatchError) || error.code !== "REGISTRY_UNREACHABLE") return null;
    return new ImgmatchError({ ...error.problems[0], details }, { cause: failed });
  }
  const from = options.from ?? options.reference;
  const [fleet, fix] =
    from === undefined
      ? ["this lock is stale", "take a newer lock, or ask the registry for its fleet: --from <reference>"]
      : [`the fleet of ${from} is stale`, "have it published again, or name a newer version"];
  const message = `the registry no longer has ${byDigest(reference)}: ${fleet}`;
  return new ImgmatchError({ code: "IMAGE_NOT_FOUND", message, details, fix }, { cause: failed });
}

async function runCommand(
  [program, ...args]: Argv,
  { env, signal }: World,
  onLine: Tell,
): Promise<EndedProgram> {
  try {
    return await runProgram(program, args, {
      env,
      ...(signal && { signal }),
      onLine,
      onOutput: onLine,
      maxBytes: 16 * 1024 * 1024,
    });
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isMissing) throw error;
    throw new ImgmatchError(
      {
        code: "ENGINE_NOT_FOUND",
        message: `there is no ${program} in PATH`,
        fix: `install it, or name another runtime with --engine`,
      },
      { cause: error },
    );
  }
}

interface PullTarget {
  /** `repository@sha256:…` */
  readonly image: string;
  /** The image's plain name here. */
  readonly name: ImageReference;
  /** Further options of the runtime's pull. */
  readonly options: readonly string[];
  /** The namespace of containerd and nerdctl. */
  readonly namespace: string;
}

type Argv = readonly [string, ...string[]];

interface RuntimeCommands {
  /** Prints something if the whole image is here; null for a runtime that cannot tell and pulls each time. */
  readonly find: Argv | null;
  readonly pull: Argv;
  readonly tag: Argv;
  /** Keeps it from garbage collection; null for a runtime without such a command. */
  readonly pin: Argv | null;
}

function docker(
  program: string,
  { image, name, options }: PullTarget,
  words: readonly string[] = [],
): RuntimeCommands {
  return {
    find: [program, ...words, "image", "inspect", "--format", "{{.Id}}", image],
    pull: [program, ...words, "pull", ...options, image],
    tag: [program, ...words, "tag", image, formatImageReference(name)],
    pin: null,
  };
}

const runtimes = {
  docker: (target) => docker("docker", target),
  podman: (target) => {
    const { registry } = parseImageReference(target.image);
    return docker("podman", { ...target, options: [...podmanTls(registry), ...target.options] });
  },
  // containerd with docker's words and logins. nerdctl finds no image by digest, and sets no label that pins an image.
  nerdctl: (target) => ({ ...docker("nerdctl", target, ["--namespace", target.namespace]), find: null }),
  containerd: ({ image, name, options, namespace }) => {
    const images = ["ctr", "--namespace", namespace, "images"] as const;
    const plain = formatImageReference(name);
    return {
      find: [...images, "check", "--quiet", `name==${image}`],
      pull: [...images, "pull", ...options, image],
      tag: [...images, "tag", "--force", image, plain],
      // The label is the name's: an earlier image loses both. The kubelet spares such images since containerd 1.7 (containerd,
      // pkg/cri/labels, PinnedImageLabelKey).
      pin: [...images, "label", plain, "io.cri-containerd.pinned=pinned"],
    };
  },
} as const satisfies Record<string, (target: PullTarget) => RuntimeCommands>;

export type RuntimeName = keyof typeof runtimes;
