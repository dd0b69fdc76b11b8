/** Takes a definition over as a user does, and holds each build that `init` calls equal against what the evaluator says of the definition. */

import { readFileSync, writeFileSync } from "node:fs";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ImgmatchError, init, plan } from "../../src/index.ts";
import type { Definition } from "./definitions.ts";
import { evaluate, type Expected, runOnly } from "./evaluate.ts";

export interface Compared {
  readonly equal: number;
  /** Builds whose difference or whose place is told. */
  readonly named: number;
  /** Builds that are called equal and are not, and builds of which nothing is said. */
  readonly wrong: readonly string[];
  /** What is told of the definition. */
  readonly told: readonly string[];
}

export async function compare(definition: Definition, folder: string): Promise<Compared> {
  const expected = evaluate(definition, folder);
  const matrix = join(folder, "matrix.yaml");
  rmSync(matrix, { force: true });
  const notes: string[] = [];
  const world = { cwd: folder, env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" } };
  try {
    const answer = await init({ from: [definition.file], name: "app", partial: true }, world);
    const builds = "builds" in answer ? answer.builds : [];
    const cells = existsSync(matrix) ? await cellsOf(matrix) : new Map<string, Expected>();
    notes.push(...("notes" in answer ? answer.notes : []));
    const equal = builds.filter((build) => build.equal);
    const wrong = equal.flatMap(({ name, cell }) => {
      const own = cells.get(cell ?? "");
      const isFound = own !== undefined && expected.some((each) => isSame(each, own, folder));
      return isFound ? [] : [`${name}: called equal to ${JSON.stringify(own)}`];
    });
    const unsaid = expected.length - builds.length;
    const isTold = notes.some((note) => /init does not read|its matrix is made|leaves out/.test(note));
    const lost = unsaid > 0 && !isTold ? [`${unsaid} builds of which nothing is said`] : [];
    const named = builds
      .filter((build) => !build.equal)
      .map(({ name, differences }) => `${name}: ${told(differences)}`);
    return {
      equal: equal.length,
      named: named.length,
      wrong: [...wrong, ...lost],
      told: [...named, ...notes],
    };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return {
      equal: 0,
      named: expected.length,
      wrong: [],
      told: error.problems.map(({ message }) => message),
    };
  } finally {
    rmSync(matrix, { force: true });
  }
}

function told(
  differences: readonly {
    readonly what: string;
    readonly original: string | null;
    readonly cell: string | null;
  }[],
) {
  return differences
    .map(({ what, original, cell }) => `${what}: ${original}${cell === null ? "" : ` (${cell})`}`)
    .join("; ");
}

/** The builds of the written matrix, by cell. GPU targets that the user has to fill in make no other build here. */
async function cellsOf(matrix: string): Promise<ReadonlyMap<string, Expected>> {
  const filled = readFileSync(matrix, "utf8")
    .replaceAll("label: all-amd, value: [ unknown ]", "label: all-amd, value: [ gfx942 ]")
    .replaceAll("[ unknown ]", '[ "9.0" ]');
  writeFileSync(matrix, filled);
  const { cells } = await plan({ matrix, offline: true });
  return new Map(
    cells.flatMap(({ cell: id, platform, build }) =>
      build === undefined
        ? []
        : [
            [
              id,
              {
                dockerfile: build.template,
                context: build.context,
                target: build.target ?? "",
                platform,
                args: build.args,
              },
            ],
          ],
    ),
  );
}

/** An argument that no ARG takes reaches no image, and one at its default is the same with and without. */
function isSame(one: Expected, own: Expected, folder: string): boolean {
  const texts = [one.dockerfile, one.context, one.target, one.platform];
  if (texts.some((text) => text.includes(runOnly))) return false;
  const stages = readStages(join(folder, one.dockerfile));
  const names = new Set(
    [...Object.keys(one.args), ...Object.keys(own.args)].filter((name) => stages.defaults.has(name)),
  );
  const valueIn = (build: Expected, name: string) => build.args[name] ?? stages.defaults.get(name) ?? "";
  return (
    one.dockerfile === own.dockerfile &&
    one.context === own.context &&
    (one.target || stages.last) === (own.target || stages.last) &&
    (one.platform === "" || one.platform === own.platform) &&
    [...names].every(
      (name) => valueIn(one, name) === valueIn(own, name) && !valueIn(one, name).includes(runOnly),
    )
  );
}

function readStages(path: string) {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const defaults = new Map<string, string>();
  for (const [, name = "", value = ""] of text.matchAll(/^\s*ARG\s+(\w+)(?:=(.*))?$/gim))
    if (!defaults.get(name)) defaults.set(name, value.trim().replace(/^(["'])(.*)\1$/, "$2"));
  return { defaults, last: [...text.matchAll(/^\s*FROM\s.*?\sAS\s+(\S+)\s*$/gim)].at(-1)?.[1] ?? "" };
}
