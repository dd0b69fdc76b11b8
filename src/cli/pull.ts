/** `imgmatch pull`: resolves, and has this node's container runtime pull the image and give it the version's plain name. */

import { exitCodes, type ExitCode, usageError } from "../errors.ts";
import { pullImage } from "../node/pull/pull-image.ts";
import type { RuntimeName } from "../node/pull/runtimes.ts";
import { type ImageReference, isTag, parseImageReference, withTag } from "../oci/reference.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import { nearestFirst, noMatch } from "../resolve/nearest.ts";
import { resolveImage } from "../resolve/resolve-image.ts";
import type { CommandContext } from "./command-context.ts";
import { type QuestionOptions, readQuestion } from "../node/question.ts";
import { print, tell } from "./print.ts";

export interface PullFlags extends Omit<QuestionOptions, "host" | "explain"> {
  readonly as?: string;
  readonly engine?: RuntimeName;
  readonly namespace?: string;
  readonly option?: readonly string[];
}

export async function pull(flags: PullFlags, context: CommandContext): Promise<ExitCode> {
  const { lock, host, options, signed } = await readQuestion(flags, context);
  const name = nameOf(flags, lock);
  const resolution = resolveImage(lock, host, options);
  if (resolution.match === null) throw noMatch(nearestFirst(lock, resolution.rejected, host, options));
  tell(unaskedLines(resolution), context);
  const pulled = await pullImage(
    {
      reference: resolution.match.reference,
      name,
      runtime: flags.engine ?? "docker",
      ...(flags.option && { options: flags.option }),
      ...(flags.namespace && { namespace: flags.namespace }),
    },
    { env: context.env, signal: context.signal, onLine: (line) => tell([line], context) },
  );
  print(context, flags, { schemaVersion: 1, ...pulled, ...(signed && { signed }) }, () => `${pulled.name}\n`);
  return exitCodes.ok;
}

/** What the version is called in Pods and compose files, unless `--as` says it. */
function nameOf(
  { as, reference, from = reference }: PullFlags,
  { repository, version }: { readonly repository: string; readonly version: string },
): ImageReference {
  const given = as ?? from;
  const asked = given === undefined ? null : parseImageReference(given);
  if (asked?.tag && asked.digest === null) return asked;
  if (as !== undefined)
    throw usageError(`--as ${as} is no name with a tag`, "write it as registry/repository:tag");
  if (!isTag(version)) throw usageError(`the version ${version} is no tag`, "give the image a name: --as");
  return withTag(parseImageReference(repository), version);
}
