/** One image of a fleet into this node's container runtime, under the plain name of its version. */

import { ImgmatchError } from "../../errors.ts";
import { type EndedProgram, runProgram } from "../../io/run-program.ts";
import { byDigest, type ImmutableReference } from "../../oci/immutable-reference.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import { type Argv, type RuntimeName, runtimes } from "./runtimes.ts";

export interface PullRequest {
  readonly reference: ImmutableReference;
  /** With a tag and no digest: what Pods, compose files and people write. */
  readonly name: ImageReference;
  readonly runtime: RuntimeName;
  /** Further options of the runtime's pull. */
  readonly options?: readonly string[];
  /** Of containerd. Default: `k8s.io`, where a kubelet looks. */
  readonly namespace?: string;
}

export interface PullOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  /** What the runtime says of its progress. */
  readonly onLine?: (line: string) => void;
}

export interface PulledImage {
  readonly reference: ImmutableReference;
  /** What the image is called here now. */
  readonly name: string;
  readonly runtime: RuntimeName;
  /** Whether it was here already: then the registry was not asked. */
  readonly present: boolean;
  /** Whether the runtime keeps it from garbage collection. */
  readonly pinned: boolean;
}

/**
 * Pulls by digest, then gives the image its name, whatever had it before: at any moment the name means an image that was whole.
 * Throws `ENGINE_NOT_FOUND` without the runtime's program, `ENGINE_FAILED` with its own words.
 *
 * @example
 * await pullImage({ reference, name: parseImageReference("registry.example.com/hpc/sgemm:1.0.0"), runtime: "docker" }, { env });
 */
export async function pullImage(request: PullRequest, options: PullOptions): Promise<PulledImage> {
  const { reference, name, runtime, namespace = "k8s.io" } = request;
  const target = { image: byDigest(reference), name, options: request.options ?? [], namespace };
  const { find, pull, tag, pin } = runtimes[runtime](target);
  const found = find === null ? null : await runCommand(find, options);
  const present = found?.status === 0 && found.stdout.trim() !== "";
  if (!present) await succeed(pull, options);
  await succeed(tag, options);
  if (pin !== null) await succeed(pin, options);
  return { reference, name: formatImageReference(name), runtime, present, pinned: pin !== null };
}

async function succeed(argv: Argv, { onLine = () => {}, ...options }: PullOptions): Promise<void> {
  const said: string[] = [];
  const hear = (line: string): void => {
    said.push(line);
    if (said.length > 20) said.shift();
    onLine(line);
  };
  const { status } = await runCommand(argv, { ...options, onLine: hear });
  if (status === 0) return;
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `${argv.join(" ")} ended with ${status ?? "a signal"}: ${said.at(-1) ?? "it said nothing"}`,
    details: said,
    fix: "run that command by hand; imgmatch doctor examines this machine",
  });
}

async function runCommand([program, ...args]: Argv, options: PullOptions): Promise<EndedProgram> {
  const { onLine } = options;
  try {
    return await runProgram(program, args, {
      ...options,
      maxBytes: 16 * 1024 * 1024,
      ...(onLine === undefined ? {} : { onLine, onOutput: onLine }),
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
