/**
 * Finds the steps that compare times of files where the files of the context all have one time: what was compiled before is newer than a
 * changed source, so that `make` and `cargo` keep it. Pure.
 */

import { posix } from "node:path";
import { builderFlags, type Instruction, type Instructions, jsonWords } from "../dockerfile/instructions.ts";
import { mountFields } from "../dockerfile/mount-fields.ts";
import { StageVariables } from "../dockerfile/stage-variables.ts";
import { readStages, type StageOptions, stageOf, usedStages } from "../dockerfile/stages.ts";

/** Programs that compare the times of files. */
const compilers = /(?:^|[\s;&|(/])(?:c?make|ninja|cargo|meson|scons|compileall|py_compile)(?=$|[\s;&|)])/;

/** Caches of packages, by name or content. */
const ofPackages =
  /(?:^|\/)(?:\.(?:cache|npm|m2|cargo|conda|local|yarn|nuget)|pkg\/mod|node_modules)(?:\/|$)/;

interface StageFiles {
  readonly variables: StageVariables;
  readonly folder: string;
  /** The folders that files of the context were copied to. */
  readonly copied: readonly string[];
  readonly isOnParent: boolean;
}

/**
 * The instructions, each once: a `RUN` with a cache mount over files of the context, or beside them for a compiler; a compiler in an image
 * that starts from a parent's, whose files were compiled before.
 */
export function timeComparing(
  dockerfile: Instructions,
  target: string | null,
  options: StageOptions,
  isParent: (ref: string) => boolean,
): readonly Instruction[] {
  const stages = readStages(dockerfile, options);
  const used = usedStages(dockerfile, stages, target);
  const first = new StageVariables(dockerfile, options);
  const ends: StageFiles[] = [];
  const found: Instruction[] = [];
  for (const [index, { above, ref }] of stages.entries()) {
    const start = ends[above];
    let own: StageFiles = {
      variables: (start?.variables ?? first).forChild(),
      // The folder of a base that is not read here: whatever it is, paths from it are compared with each other.
      folder: start?.folder ?? "?",
      copied: start?.copied ?? [],
      isOnParent: start?.isOnParent ?? (ref.ok && isParent(ref.value)),
    };
    for (const instruction of dockerfile.instructions.filter((each) => stageOf(each, stages) === index)) {
      own.variables.read(instruction);
      if (used.has(index) && compares(instruction, own)) found.push(instruction);
      own = after(instruction, own);
    }
    ends.push(own);
  }
  return found;
}

function after({ keyword, text }: Instruction, own: StageFiles): StageFiles {
  const { flags, rest } = builderFlags(text);
  if (keyword === "WORKDIR") return { ...own, folder: placeOf(rest, own) };
  const isCopy =
    (keyword === "COPY" || keyword === "ADD") && !flags.some((flag) => flag.startsWith("--from="));
  const last = isCopy ? (jsonWords(rest) ?? rest.split(/\s+/)).at(-1) : undefined;
  return last === undefined ? own : { ...own, copied: [...own.copied, folderOf(placeOf(last, own))] };
}

/** `/src/main.c` is a file, most probably. */
function folderOf(place: string): string {
  return /\.\w+$/.test(posix.basename(place)) ? posix.dirname(place) : place;
}

function placeOf(word: string, { variables, folder }: StageFiles): string {
  const path = variables.expand(word).value ?? word;
  return posix.join(path.startsWith("/") ? "/" : folder, path).replace(/(?<=.)\/$/, "");
}

function compares({ keyword, text }: Instruction, own: StageFiles): boolean {
  if (keyword !== "RUN" || /\btouch\s/.test(text)) return false;
  const { flags, rest } = builderFlags(text);
  const mounts = flags.flatMap((flag) => mountFields(flag) ?? []);
  const targets = (type: string) =>
    mounts.flatMap((fields) => {
      const isOwn = (fields.get("type")?.value ?? "bind") === type;
      return isOwn && (type === "cache" || !fields.has("from")) ? (fields.get("target")?.value ?? []) : [];
    });
  const sources = [...own.copied, ...targets("bind").map((target) => placeOf(target, own))];
  if (sources.length === 0) return false;
  const compiles = compilers.test(rest);
  if (compiles && own.isOnParent) return true;
  return targets("cache").some((target) => {
    if (ofPackages.test(target)) return false;
    const place = placeOf(target, own);
    return (
      sources.some((source) => isIn(place, source) || isIn(source, place)) ||
      (compiles && rest.includes(target))
    );
  });
}

/** The whole file system holds everything: that says nothing. */
function isIn(path: string, folder: string): boolean {
  return folder !== "/" && (path === folder || path.startsWith(`${folder}/`));
}
