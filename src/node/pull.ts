/** One image of a fleet into this node's container runtime, under the plain name of its version. */

import { ImgmatchError, usageError } from "../errors.ts";
import { type EndedProgram, runProgram } from "../io/run-program.ts";
import { note, type Watching, type World, worldOf } from "../io/world.ts";
import type { SignedBy } from "../lock/index-trust.ts";
import type { Lock } from "../lock/lock.ts";
import { byDigest, type ImmutableReference } from "../oci/immutable-reference.ts";
import {
  formatImageReference,
  type ImageReference,
  isTag,
  parseImageReference,
  withTag,
} from "../oci/reference.ts";
import { type Argv, type RuntimeName, runtimes } from "./pull-runtimes.ts";
import { matchFor, type QuestionOptions, readQuestion } from "./question.ts";

export interface PullOptions extends Omit<QuestionOptions, "host" | "explain" | "local">, Watching {
  /** The name that the image gets here, `registry/repository:tag`. Default: the version's. */
  readonly as?: string;
  /** Default: `docker`. */
  readonly engine?: RuntimeName;
  /** Of containerd and nerdctl. Default: `k8s.io`, where a kubelet looks. */
  readonly namespace?: string;
  /** Further options of the engine's pull. */
  readonly option?: readonly string[];
}

export interface PulledImage {
  readonly schemaVersion: 1;
  readonly reference: ImmutableReference;
  /** What the image is called here now. */
  readonly name: string;
  readonly runtime: RuntimeName;
  /** Whether it was here already: then the registry was not asked. */
  readonly present: boolean;
  /** Whether the runtime keeps it from garbage collection. */
  readonly pinned: boolean;
  /** Who vouches for the fleet, where a signature was asked for. */
  readonly signed?: SignedBy;
}

/**
 * Resolves, pulls the image by digest, then gives it its name, whatever had it before: at any moment the name means an image that was
 * whole. Notes are what the runtime says.
 *
 * Throws as `resolve`, `NO_MATCH` and `HOST_BROKEN`, `ENGINE_NOT_FOUND` without the runtime's program, `ENGINE_FAILED` with its own words.
 *
 * @example
 * const { name, present } = await pull({ engine: "containerd" });
 */
export async function pull(options: PullOptions = {}, given?: Partial<World>): Promise<PulledImage> {
  const world = worldOf(options, given);
  const { engine: runtime = "docker", namespace = "k8s.io", option = [] } = options;
  const question = await readQuestion(options, world);
  const plain = nameOf(options, question.lock);
  const { reference } = matchFor(question, world);
  const { find, pull, tag, pin } = runtimes[runtime]({
    image: byDigest(reference),
    name: plain,
    options: option,
    namespace,
  });
  const tell = (line: string): void => note(world, [line]);
  const found = find === null ? null : await runCommand(find, world, tell);
  const present = found?.status === 0 && found.stdout.trim() !== "";
  if (!present) await succeed(pull, world, tell);
  await succeed(tag, world, tell);
  if (pin !== null) await succeed(pin, world, tell);
  const name = formatImageReference(plain);
  const { signed } = question;
  return {
    ...{ schemaVersion: 1, reference, name, runtime, present, pinned: pin !== null },
    ...(signed === null ? {} : { signed }),
  };
}

/** What the version is called in Pods and compose files, unless `as` says it. */
function nameOf(
  { as, reference, from = reference }: PullOptions,
  { repository, version }: Pick<Lock, "repository" | "version">,
): ImageReference {
  const given = as ?? from;
  const asked = given === undefined ? null : parseImageReference(given);
  if (asked?.tag && asked.digest === null) return asked;
  if (as !== undefined)
    throw usageError(`--as ${as} is no name with a tag`, "write it as registry/repository:tag");
  if (!isTag(version)) throw usageError(`the version ${version} is no tag`, "give the image a name: --as");
  return withTag(parseImageReference(repository), version);
}

type Tell = (line: string) => void;

async function succeed(argv: Argv, world: World, tell: Tell): Promise<void> {
  const said: string[] = [];
  const hear = (line: string): void => {
    said.push(line);
    if (said.length > 20) said.shift();
    tell(line);
  };
  const { status } = await runCommand(argv, world, hear);
  if (status === 0) return;
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `${argv.join(" ")} ended with ${status ?? "a signal"}: ${said.at(-1) ?? "it said nothing"}`,
    details: said,
    fix: "run that command by hand; imgmatch doctor examines this machine",
  });
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
