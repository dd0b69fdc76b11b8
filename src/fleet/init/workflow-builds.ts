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
export interface StepSettings
  extends Pick<OriginalBuild, "context" | "args" | "ofWorkflow" | "left" | "elsewhere"> {
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

/** An argument as it is written, and its text where that is known. */
export interface GivenArgument {
  readonly text: string;
  readonly known: string | undefined;
}

/** `NAME` without a value takes that of the environment. What is no argument is named. */
export function argumentsIn(
  given: readonly GivenArgument[],
  contexts: Contexts,
  left: string[],
): Pick<OriginalBuild, "args" | "ofWorkflow"> {
  const args: [string, string][] = [];
  const ofWorkflow: [string, string][] = [];
  for (const { text: written, known } of given) {
    const isName = /^[A-Za-z_]\w*$/.test(known ?? "");
    const text = isName ? `${known}=\${{ env.${known} }}` : (known ?? written);
    const [, name, value = text] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
    const own = isName ? textWith(value, contexts) : known === undefined ? undefined : value;
    if (name !== undefined && own !== undefined) args.push([name, own]);
    else if (known !== undefined && !isName)
      left.push(`build-args: ${written.trim()} is no argument that init understands`);
    else if (name !== undefined && !value.replace(ofEachRun, "").includes("${{"))
      ofWorkflow.push([name, value]);
    else left.push(notKnown(name === undefined ? "build-args" : `args.${name}`, value));
  }
  return { args: Object.fromEntries(args), ofWorkflow: Object.fromEntries(ofWorkflow) };
}

/**
 * The arguments of an action's input. A line may be an expression that makes whole arguments:
 * `${{ matrix.cuda && format('CUDA_VERSION={0}', matrix.cuda) }}`.
 */
export function actionArguments(text: string, contexts: Contexts): readonly GivenArgument[] {
  return recordsIn(text).flatMap((record): readonly GivenArgument[] => {
    const known = textWith(record, contexts);
    if (known === undefined) return [{ text: recordText(record) ?? record, known }];
    return recordsIn(known).map((each) => {
      // No argument is empty: what is not understood is named.
      return { text: each, known: recordText(each) ?? "" };
    });
  });
}

/** Lines, as the action reads them (docker/actions-toolkit, src/util.ts, getList): a line in quotes may be several. */
function recordsIn(text: string): readonly string[] {
  const records: string[] = [];
  for (let at = 0; at < text.length; ) {
    let end = text.indexOf("\n", at);
    if (text[at] === '"') {
      const closed = /"(?:[^"]|"")*"(?=\r?(?:\n|$))/y;
      closed.lastIndex = at;
      const [quoted] = closed.exec(text) ?? [];
      end = quoted === undefined ? text.length : text.indexOf("\n", at + quoted.length);
    }
    if (end < 0) end = text.length;
    const record = text.slice(at, end).trim();
    if (record !== "") records.push(record);
    at = end + 1;
  }
  return records;
}

/** Without its quotes; null for quotes in another place, which the action reads in its own way. */
function recordText(record: string): string | null {
  if (/^"(?:[^"]|"")*"$/.test(record)) return record.slice(1, -1).replaceAll('""', '"');
  return record.startsWith('"') || record.includes(',"') ? null : record;
}

/** Values that are the same in all jobs of a run (docs.github.com, "Contexts reference" and "Default environment variables"). */
const ofEachRun =
  /\$\{\{\s*(?:github\.|env\.GITHUB_)(?:sha|ref|ref_name|ref_type|head_ref|base_ref|run_id|run_number|run_attempt|actor|triggering_actor|repository|repository_owner|event_name|server_url|workflow|workflow_sha)\s*\}\}/gi;
