/** Makes original builds of the settings that a step of a workflow names. Pure. */

import { posix } from "node:path";
import { sortContexts, sortSettings } from "./build-settings.ts";
import type { OriginalBuild } from "./original-build.ts";
import { type Contexts, textWith } from "./workflow-expressions.ts";

export interface Job {
  /** With the labels of its row. */
  readonly name: string;
  /** The runner's; null if unknown. */
  readonly platform: string | null;
  /** `runs-on`, for messages. */
  readonly runner: string;
}

/** The settings of a step; a text is empty if the step has none. */
export interface StepSettings extends Pick<OriginalBuild, "context" | "args" | "left"> {
  /** Lines of `name=path`. */
  readonly contexts: string;
  /** The folder of relative paths in `contexts`. */
  readonly folder?: string;
  readonly file: string;
  readonly platforms: string;
  readonly target: string;
  /** All others. */
  readonly settings: Parameters<typeof sortSettings>[0];
}

/** A build for each platform. */
export function buildsOf(
  { name, platform: own, runner }: Job,
  { file, platforms, target, settings, contexts, folder, ...others }: StepSettings,
): readonly OriginalBuild[] {
  const dockerfile = posix.normalize(file === "" ? posix.join(others.context, "Dockerfile") : file);
  const all = platforms.split(/[\s,]+/).filter((each) => each !== "");
  const sorted = sortSettings(settings);
  const named = sortContexts(contexts.split("\n").flatMap(namedIn), folder);
  const isUnknown = all.length === 0 && own === null && runner !== "";
  const left = [
    ...others.left,
    ...named.left,
    ...sorted.left,
    ...(isUnknown ? [`platform: the build names none, and the runner's is not known: ${runner}`] : []),
  ];
  const build = {
    ...{ ...others, ofRun: sorted.ofRun, left, name, dockerfile, target: target || null },
    contexts: named.contexts,
  };
  return (all.length === 0 ? [own] : all).map((platform) => ({ ...build, platform }));
}

function namedIn(line: string): readonly (readonly [string, string])[] {
  const [name = "", ...value] = line.trim().split("=");
  return name === "" ? [] : [[name, value.join("=")]];
}

export function notKnown(what: string, written: string): string {
  return `${what}: ${written.trim()} is not known before the workflow runs`;
}

/** A line may be an expression that makes whole arguments: `${{ matrix.cuda && format('CUDA_VERSION={0}', matrix.cuda) }}`. */
export function argumentsIn(
  text: string,
  contexts: Contexts,
  left: string[],
): Readonly<Record<string, string>> {
  const pairs = text.split("\n").flatMap((line) => {
    const known = textWith(line, contexts);
    if (known !== undefined) return known.split("\n").flatMap(pairsIn);
    const [[name, value] = [null, line]] = pairsIn(line);
    left.push(notKnown(name === null ? "build-args" : `args.${name}`, value));
    return [];
  });
  return Object.fromEntries(pairs);
}

/** One, or none in a line of another form. */
function pairsIn(line: string): readonly (readonly [name: string, value: string])[] {
  const [, name, value = ""] = /^\s*([A-Za-z_]\w*)=(.*)$/s.exec(line) ?? [];
  return name === undefined ? [] : [[name, value.trimEnd()]];
}
