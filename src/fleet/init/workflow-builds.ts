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
  readonly runsOn: string;
  /** The labels of `runs-on`; empty if one is unknown. */
  readonly runner: readonly string[];
}

/** The settings of a step; a text is empty if the step has none. */
export interface StepSettings extends Pick<OriginalBuild, "context" | "args" | "ofWorkflow" | "left"> {
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
  { name, platform: own, runner, runsOn }: Job,
  { file, platforms, target, settings, contexts, folder, ...others }: StepSettings,
): readonly OriginalBuild[] {
  const dockerfile = posix.normalize(file === "" ? posix.join(others.context, "Dockerfile") : file);
  const all = platforms.split(/[\s,]+/).filter((each) => each !== "");
  const sorted = sortSettings(settings);
  const named = sortContexts(contexts.split("\n").flatMap(namedIn), folder);
  const isUnknown = all.length === 0 && own === null && runsOn !== "";
  const left = [
    ...others.left,
    ...named.left,
    ...sorted.left,
    ...(isUnknown ? [`platform: the build names none, and the runner's is not known: ${runsOn}`] : []),
  ];
  const build = {
    ...{ ...others, ofRun: sorted.ofRun, left, name, runner, dockerfile, target: target || null },
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
): Pick<OriginalBuild, "args" | "ofWorkflow"> {
  const ofWorkflow: [string, string][] = [];
  const pairs = text.split("\n").flatMap((line) => {
    const known = textWith(line, contexts);
    if (known !== undefined) return known.split("\n").flatMap(pairsIn);
    const [[name, value] = [null, line]] = pairsIn(line);
    const isOfWorkflow = !value.replace(ofEachRun, "").includes("${{");
    if (name !== null && isOfWorkflow) ofWorkflow.push([name, value]);
    else left.push(notKnown(name === null ? "build-args" : `args.${name}`, value));
    return [];
  });
  return { args: Object.fromEntries(pairs), ofWorkflow: Object.fromEntries(ofWorkflow) };
}

/** Values that are the same in all jobs of a run (docs.github.com, "Contexts reference" and "Default environment variables"). */
const ofEachRun =
  /\$\{\{\s*(?:github\.|env\.GITHUB_)(?:sha|ref|ref_name|ref_type|head_ref|base_ref|run_id|run_number|run_attempt|actor|triggering_actor|repository|repository_owner|event_name|server_url|workflow|workflow_sha)\s*\}\}/gi;

/** One, or none in a line of another form. */
function pairsIn(line: string): readonly (readonly [name: string, value: string])[] {
  const [, name, value = ""] = /^\s*([A-Za-z_]\w*)=(.*)$/s.exec(line) ?? [];
  return name === undefined ? [] : [[name, value.trimEnd()]];
}
