/** Reads the builds of a list that a script reads: YAML or JSON with a mapping for each build. */

import { join, posix } from "node:path";
import { ImgmatchError, throwProblems, usageError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import { isRecord, readJson } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import { count } from "../../io/table.ts";
import { parseYamlSource } from "../../io/yaml/yaml-source.ts";
import { checkCount, type Definition, type OriginalBuild } from "./original-build.ts";
import { runnerOf, withOwnNames, workflowYaml } from "./read-workflow.ts";
import { buildsOf } from "./workflow-builds.ts";
import type { Row } from "./workflow-rows.ts";

/** How the user says what the rows mean. */
export interface RowsOptions {
  /** The key of the list, as `images.include`; `.` for a file that is the list. */
  readonly key: string;
  /** `CUDA_VERSION=cuda-version`: a build argument or a name of `settings`, then the key in a row whose text is the value. */
  readonly map: readonly string[];
}

/** Settings of a build that a row has under their own names, unless `--map` names another key. */
const settings = ["dockerfile", "context", "target", "platforms", "runs-on"] as const;

export async function readRows(file: string, folder: string, options: RowsOptions): Promise<Definition> {
  const text = await readTextFile(join(folder, file), inputLimits.matrix, { shown: file });
  // YAML has a meaning for much that is no JSON.
  const json = /\.json$/i.test(file) ? readJson(text) : null;
  if (json?.ok === false)
    throw new ImgmatchError({
      code: "MATRIX_SYNTAX",
      message: `${json.fault}: ${json.reason}`,
      fix: "correct the JSON here, or just before",
      at: { file, ...json.place },
    });
  // Once as it is written, once with the numbers that a script may read.
  const written = parseYamlSource(text, file);
  if (written.source.data === null) throwProblems(written.problems);
  const rows = listAt(written.source.data, options.key);
  checkCount(file, rows?.length ?? 0);
  const values = listAt(parseYamlSource(text, file, workflowYaml).source.data, options.key);
  if (rows === null || !rows.every(isRecord))
    throw usageError(
      `${file} has no list of rows at ${options.key}`,
      "name the key of a list whose items are mappings, as --rows images.include; for a file that is the list itself, --rows .",
    );
  const keyOf = mapping(options.map);
  const lacking = new Map<string, number>();
  const builds = rows.flatMap((row, index) => rowBuilds(row, values?.[index], keyOf, lacking));
  const notes = [...lacking].map(
    ([name, without]) =>
      `${count(without, "row")} without ${keyOf.get(name)}: init gives those builds no argument ${name}`,
  );
  return { builds: withOwnNames(builds), notes: [...notes, ...unreadKeys(rows, keyOf)] };
}

function listAt(data: unknown, key: string): readonly unknown[] | null {
  const found = key === "." ? data : valueAt(data, key);
  return Array.isArray(found) ? found : null;
}

/** The value at a key, or at a path of keys. */
function valueAt(data: unknown, key: string): unknown {
  if (!isRecord(data) || Object.hasOwn(data, key)) return isRecord(data) ? data[key] : undefined;
  const [first = "", ...rest] = key.split(".");
  return rest.length === 0 ? undefined : valueAt(data[first], rest.join("."));
}

/** The key of a row for each name. */
function mapping(map: readonly string[]): ReadonlyMap<string, string> {
  const own = map.map((each): [string, string] => {
    const [, name, key] = /^([A-Za-z_][\w-]*)=(.+)$/s.exec(each) ?? [];
    if (name === undefined || key === undefined)
      throw usageError(
        `--map ${JSON.stringify(each)} is no build argument and key`,
        "write --map CUDA_VERSION=cuda-version",
      );
    return [name, key];
  });
  return new Map([...settings.map((name): [string, string] => [name, name]), ...own]);
}

function isSetting(name: string): boolean {
  return settings.some((each) => each === name);
}

/** @param lacking counts the rows without each argument */
function rowBuilds(
  row: Row,
  values: unknown,
  keyOf: ReadonlyMap<string, string>,
  lacking: Map<string, number>,
): readonly OriginalBuild[] {
  const left: string[] = [];
  const rawOf = (name: string) => valueAt(row, keyOf.get(name) ?? name);
  /** null for a row without the key, and for null itself. */
  const read = (name: string): string | null => {
    const text = rawOf(name);
    const value = valueAt(values, keyOf.get(name) ?? name);
    if (text === undefined || value === null) return null;
    if (typeof text === "string" && (typeof value !== "number" || String(value) === text)) return text;
    left.push(`${name}: ${JSON.stringify(text)} is no text, and scripts write it in several ways`);
    return null;
  };
  const args: Record<string, string> = {};
  for (const name of keyOf.keys()) {
    const text = isSetting(name) ? null : read(name);
    if (text !== null) args[name] = text;
    else if (!isSetting(name)) lacking.set(name, (lacking.get(name) ?? 0) + 1);
  }
  const file = read("dockerfile") ?? "";
  const name = [...new Set(["row", file, ...Object.values(args)])].filter((text) => text !== "").join(" ");
  return buildsOf(
    { name, ...runnerOf(rawOf("runs-on"), { matrix: {}, env: {}, inputs: null }) },
    {
      ...{ args, file, left, contexts: "", settings: [], ofWorkflow: {} },
      context: posix.normalize(read("context") ?? "."),
      platforms: read("platforms") ?? "",
      target: read("target") ?? "",
    },
  );
}

function unreadKeys(rows: readonly Row[], keyOf: ReadonlyMap<string, string>): readonly string[] {
  const used = [...keyOf.values()];
  const unread = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (key) => !used.some((each) => each === key || each.startsWith(`${key}.`)),
  );
  if (unread.length === 0) return [];
  return [
    `init does not read ${unread.join(", ")} of the rows: give those that change an image with --map ARGUMENT=key`,
  ];
}
