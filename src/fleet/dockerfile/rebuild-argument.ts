/** The word of `--no-cache` in a Dockerfile: no step is taken from a cache that another word has filled. */

import { parseDockerfile } from "./instructions.ts";

/** Steps see it in their environment; the image has it in its history alone. */
const rebuildArg = "IMGMATCH_REBUILD";

/**
 * The Dockerfile with the word as an `ARG` at the beginning of every stage. A `RUN` has the arguments before it in its environment, and so in
 * its cache key (moby/buildkit, frontend/dockerfile/dockerfile2llb/convert.go; containers/buildah, imagebuildah/stage_executor.go), so that
 * every engine runs it anew for a new word. Cells that share a stage still share it: what `--no-cache` of an engine would make of each by
 * itself is made once. What is copied or added is compared by its content in any case.
 */
export function withRebuild(dockerfile: string, word: string): string {
  let text = dockerfile;
  const stages = parseDockerfile(dockerfile).instructions.filter(({ keyword }) => keyword === "FROM");
  // From the end, so that the offsets before stay true.
  for (const { parts } of stages.reverse()) {
    const last = parts.at(-1);
    const end = text.indexOf("\n", (last?.offset ?? 0) + (last?.text.length ?? 0));
    const at = end < 0 ? text.length : end + 1;
    text = `${text.slice(0, at)}${end < 0 ? "\n" : ""}ARG ${rebuildArg}=${word}\n${text.slice(at)}`;
  }
  return text;
}
