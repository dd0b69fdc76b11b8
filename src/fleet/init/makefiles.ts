/**
 * Reads the variables that a project's Makefiles assign. Only the command line of make overrides such a variable. The environment
 * counts for all other variables, and where `?=` assigns (GNU make manual, "Variables from the Environment").
 */

import { posix } from "node:path";
import { groupBy } from "../../io/collections.ts";
import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Reading } from "./reading.ts";

interface Assignment {
  /** null if unknown: several lines assign it, or it names variables. */
  readonly value: string | null;
  /** True if a line has a `-march`: it follows the march in CC, and so overrides that march. */
  readonly namesMarch: boolean;
  /** The place of the first line: `src/Makefile:3`. */
  readonly at: string;
}

/** By name. */
export type Assignments = ReadonlyMap<string, Assignment>;

/** In the order in which make looks for them. */
const names = ["GNUmakefile", "makefile", "Makefile"];

/** Reads the Makefiles in folders of `root` in which a step may call make. An unreadable file assigns nothing. */
export async function readMakefiles(
  root: string,
  contexts: readonly string[],
  reading: Reading,
): Promise<Assignments> {
  const found = new Map<string, Assignment>();
  for (const folder of foldersOf(contexts, reading)) {
    for (const name of names) {
      const file = posix.join(folder, name);
      const text = await readTextFile(posix.join(root, file), inputLimits.template).catch(() => null);
      if (text === null) continue;
      for (const [variable, each] of assignmentsIn(text, file)) {
        const before = found.get(variable);
        const merged = {
          value: null,
          namesMarch: each.namesMarch || before?.namesMarch === true,
          at: before?.at ?? each.at,
        };
        found.set(variable, before === undefined ? each : merged);
      }
      break;
    }
  }
  return found;
}

/** The contexts, and the folders below them that the Dockerfile copies or its steps enter. */
function foldersOf(contexts: readonly string[], { placed }: Reading): readonly string[] {
  const texts = placed.map(({ instruction }) => instruction.text).join("\n");
  const copied = [...texts.matchAll(/^\s*(?:COPY|ADD)\s+(.*)$/gim)].flatMap(([, words = ""]) =>
    words.split(/\s+/),
  );
  const entered = Array.from(texts.matchAll(/(?:\bcd|\s-C)\s+([\w./-]+)/g), ([, path = ""]) => path);
  const below = [...copied, ...entered].filter(
    (path) => /^[\w./-]+$/.test(path) && !path.split("/").includes(".."),
  );
  return [
    ...new Set(
      contexts.flatMap((context) =>
        [".", ...below, ...below.map((path) => posix.basename(path))].map((path) =>
          posix.join(context, path, "."),
        ),
      ),
    ),
  ];
}

const assignment = /^ *(?:(?:export|override) +)*([A-Za-z_]\w*) *(:{0,3}=|\+=) *(.*?)\s*(?:#.*)?$/;

function assignmentsIn(text: string, file: string): ReadonlyMap<string, Assignment> {
  const all = text
    .split("\n")
    .map((line, index) => ({ found: assignment.exec(line), at: `${file}:${index + 1}` }))
    .flatMap(({ found, at }) =>
      found === null ? [] : [{ name: found[1] ?? "", operator: found[2], value: found[3] ?? "", at }],
    );
  const byName = groupBy(all, ({ name }) => name);
  return new Map(
    [...byName].flatMap(([name, lines]): [string, Assignment][] => {
      const [first] = lines;
      const namesMarch = lines.some(({ value }) => /-m(arch|cpu|tune)=/.test(value));
      const isAppended = lines.every(({ operator }) => operator === "+=");
      if (first === undefined || (isAppended && !namesMarch)) return [];
      const isPlain = lines.length === 1 && !isAppended && !/[$`\\"'<]/.test(first.value);
      return [[name, { value: isPlain ? first.value : null, namesMarch, at: first.at }]];
    }),
  );
}
