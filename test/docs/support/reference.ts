/** The pages of docs/ that are made of the program: its help, its functions, the schema of the matrix. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { brokenStates, type Condition } from "../../../src/facts/broken-states.ts";
import { amdGpuSchema, gpuSchema } from "../../../src/facts/gpu-schema.ts";
import { amdEvidence } from "../../../src/host/amd/evidence.ts";
import type { FactEvidence, Meaning } from "../../../src/host/evidence.ts";
import { nvidiaEvidence } from "../../../src/host/nvidia/evidence.ts";
import { matrixJsonSchema } from "../../../src/fleet/matrix/json-schema.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { viewOf } from "../../../src/fleet/template/view.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { groupBy } from "../../../src/io/collections.ts";
import { commandsPage } from "./commands-page.ts";
import { root } from "./markdown.ts";

const made =
  "<!-- Made of the program by UPDATE_DOCS=1 npx vitest run --project unit test/docs: do not edit. -->";

/** Path → how its text is made. Of the last pages only some lines are. */
export const referencePages: Readonly<Record<string, () => Promise<string>>> = {
  "docs/commands.md": () => commandsPage(made),
  "docs/functions.md": async () => functionsPage(),
  "docs/lock-keys.md": async () => lockPage(),
  "docs/matrix-keys.md": async () => keysPage(),
  "docs/compatibility.md": async () =>
    withEvidence(withStates(readFileSync(join(root, "docs/compatibility.md"), "utf8"))),
  "docs/data.md": async () => withFacts(readFileSync(join(root, "docs/data.md"), "utf8")),
};

/** The table of states, with a line for each row of src/facts/broken-states.ts. Other lines are written by hand. */
function withStates(page: string): string {
  return withLines(
    page,
    "| state |",
    brokenStates.map(({ code, docs: [state, where, says, cure] }) => [
      `| ${state} |`,
      `| ${state} | ${where} | ${says} | \`${code}\` | ${cure} |`,
    ]),
  );
}

/** The tables between the heading and the next one. */
function withEvidence(page: string): string {
  const [before = "", rest = ""] = page.split("<!-- evidence -->\n");
  const after = rest.slice(rest.indexOf("\n## "));
  const tables = [...ofVendor("NVIDIA", nvidiaEvidence), ...ofVendor("AMD", amdEvidence)];
  return `${before}<!-- evidence -->\n\n${tables.join("\n")}${after}`;
}

function ofVendor(vendor: string, facts: readonly FactEvidence[]): readonly string[] {
  return facts.flatMap(({ fact, rows }) => [
    `**${vendor}, ${fact}**\n`,
    ...[...groupBy(rows, ({ source }) => source)].map(
      ([source, answers]) => `- ${source}: ${[...groupBy(answers, meaningOf)].map(answersOf).join("; ")}.`,
    ),
    "",
  ]);
}

/** `12, 13 → nothing`. */
function answersOf([meaning, answers]: readonly [string, readonly { readonly answer: string }[]]): string {
  return `${answers.map(({ answer }) => answer).join(", or ")} → ${meaning}`;
}

function meaningOf({ means, inContainer = means }: FactEvidence["rows"][number]): string {
  return inContainer === means
    ? meanings(means)
    : `${meanings(means)} (in a container ${meanings(inContainer)})`;
}

function meanings(means: Meaning): string {
  const words = {
    value: "**the fact**",
    silent: "nothing",
    none: "no such card",
    unknown: "the fact is unknown",
  } as const satisfies Partial<Record<Meaning, string>>;
  return Object.hasOwn(words, means) ? words[means as keyof typeof words] : `\`${means}\``;
}

/** Puts each line in the place of the one that begins alike, or below the one before; the first below the head of its table. */
function withLines(
  page: string,
  head: string,
  rows: readonly (readonly [start: string, line: string])[],
): string {
  const lines = page.split("\n");
  let at = lines.findIndex((line) => line.startsWith(head)) + 1;
  for (const [start, line] of rows) {
    const found = lines.findIndex((each) => each.startsWith(start));
    at = found < 0 ? at + 1 : found;
    lines.splice(at, found < 0 ? 0 : 1, line);
  }
  return lines.join("\n");
}

/** The rows of GPUs, of the schema of each vendor, and the line that says which facts tell a broken state. */
function withFacts(page: string): string {
  const words = brokenStates.map(({ when }) => when.map(conditionInWords).join(" and "));
  const rows = (vendor: string, schema: object) => {
    const lines: readonly (readonly [string, { readonly docs?: string }])[] = Object.entries(schema);
    return lines.flatMap(([name, { docs }]) => {
      const start = `| \`${vendor}.gpus[].${name}\` |`;
      return docs === undefined ? [] : [[start, `${start} ${docs} |`] as const];
    });
  };
  const withNvidia = withLines(page, "| `nvidia.gpus[]` |", rows("nvidia", gpuSchema));
  return withLines(withLines(withNvidia, "| `amd.gpus[]` |", rows("amd", amdGpuSchema)), "- A missing key", [
    [
      "- Facts that tell a state (",
      `- Facts that tell a state (${words.join("; ")}) add the problem to \`problems\`, if a file does not name it.`,
    ],
  ]);
}

function conditionInWords({ of, fact, is }: Condition): string {
  const values = is.map((each) => (each === "empty" || typeof each === "boolean" ? each : `\`${each}\``));
  const last = values.at(-1);
  const list = values.length > 1 ? `${values.slice(0, -1).join(", ")} or ${last}` : last;
  const place = of === "every gpu" ? " of all" : of === "containers" ? " of `runtime`" : "";
  return `\`${fact}\`${place} is ${list}`;
}

/** Each function of src/index.ts that has an example, with its docstring. */
function functionsPage(): string {
  const index = readFileSync(join(root, "src/index.ts"), "utf8");
  const makers = new Map(
    [...index.matchAll(/^import \{([^}]*)\} from "\.\/(.*)";/gm)].flatMap(([, names = "", path = ""]) =>
      names.split(",").map((name) => [name.trim().replace(/With$| as .*/, ""), path] as const),
    ),
  );
  const exported = index.matchAll(/^export const (\w+)(?:: \w+)? = checked\(/gm);
  const functions = [...exported].flatMap(([, name = ""]) => functionSection(name, makers.get(name) ?? ""));
  return [
    `# Functions\n\n${made}\n`,
    "All are exports of `imgmatch`. [The library](library.md) says how to use them.\n",
    ...functions,
  ].join("\n");
}

function functionSection(name: string, path: string): string[] {
  const source = readFileSync(join(root, "src", path), "utf8");
  // A function that is handed ports has its docstring at its type.
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Function`;
  const declared = `export (?:(?:async )?function ${name}|interface ${type}|type ${type})\\b`;
  const at = new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\n${declared}`).exec(source);
  const [text = "", example] = (at?.[1] ?? "").replace(/^ ?\* ?/gm, "").split("@example");
  if (example === undefined) return [];
  return [`## ${name}\n`, `${text.trim()}\n`, `\`\`\`js\n${example.trim()}\n\`\`\`\n`];
}

/** Every key of the lock, with the docstring of its type in src/lock/lock.ts. */
function lockPage(): string {
  const path = "src/lock/lock.ts";
  const source = ts.createSourceFile(path, readFileSync(join(root, path), "utf8"), ts.ScriptTarget.Latest);
  const types = new Map(
    source.statements.filter(ts.isInterfaceDeclaration).map((each) => [each.name.text, each.members]),
  );
  const seen = new Set<string>();
  const rows = [...membersOf("Lock", "")].map(
    ([key, optional, text]) => `| \`${key}\`${optional ? "?" : ""} | ${text} |`,
  );
  return [
    `# Keys of the lock\n\n${made}\n`,
    "[lock.md](lock.md) explains the lock. `*` stands for any name, `[]` for one entry of a list. A key with `?` behind it is optional.\n",
    "| key | meaning |\n| --- | --- |",
    ...rows,
    "",
  ].join("\n");

  function* membersOf(type: string, prefix: string): Generator<readonly [string, boolean, string]> {
    for (const member of types.get(type) ?? []) {
      const name = member.name?.getText(source) ?? "*";
      const [, comment = ""] = /\/\*\*([\s\S]*?)\*\//.exec(member.getFullText(source)) ?? [];
      const text = comment
        .replace(/\n\s*\*/g, "")
        .trim()
        .replaceAll("|", "\\|");
      if (text !== "") yield [`${prefix}${name}`, member.questionToken !== undefined, text];
      const of = ts.isPropertySignature(member) ? (member.type?.getText(source) ?? "") : "";
      const below = [...types.keys()].find((each) => new RegExp(`\\b${each}\\b`).test(of));
      const many = of.includes("Record<") ? ".*" : of.includes("[]") ? "[]" : "";
      if (below === undefined || seen.has(below)) continue;
      seen.add(below);
      yield* membersOf(below, `${prefix}${name}${many}.`);
    }
  }
}

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Keys that have a description, each under its path; those of one value of an axis once, for all axes. */
function keysPage(): string {
  const schema: Schema = matrixJsonSchema();
  const found = new Map<string, string>();
  for (const [path, description] of keysOf(schema, "")) {
    const key = path
      .replace("base.*.", "base.")
      .replace(/^(axes\.[^[]+|values\.\*)\[\]\.(.+)$/, (whole, _axis: string, rest: string) =>
        shared.test(rest) ? `(a value) ${rest}` : whole,
      );
    if (!found.has(key)) found.set(key, description);
  }
  const required = schema.required ?? [];
  const named = [...found]
    .sort(([a], [b]) => Number(a.startsWith("(")) - Number(b.startsWith("(")))
    .map(([key, description]) => ({
      key: `\`${key.replace("(a value) ", "axes.*[].")}\`${required.includes(key) ? " (required)" : ""}`,
      description,
    }));
  const rows = [...groupBy(named, ({ description }) => description)].map(
    ([description, keys]) => `| ${keys.map(({ key }) => key).join(", ")} | ${description} |`,
  );
  return [
    `# Keys of matrix.yaml\n\n${made}\n`,
    "`imgmatch schema` prints the whole schema. [matrix.md](matrix.md) explains the keys. `[]` stands for one entry of a list, `*` for any name.\n",
    "| key | meaning |\n| --- | --- |",
    ...rows,
    "\n## What a template sees\n",
    "The examples are of a cell with CUDA 12.8.1, compute 9.0+ptx, march sapphirerapids without waitpkg, and Python 3.12; what only AMD has, of one with ROCm 7.2 and gfx90a:xnack-, gfx11-generic.\n",
    "| name | | for example |\n| --- | --- | --- |",
    ...viewRows(),
    "",
  ].join("\n");
}

const sample = `name: app
version: "1.4.0"
registry: registry.example.com/team
template: t.hbs
args: { NAME: value }
base: { build: "gcc:14-trixie", run: "debian:trixie-slim" }
axes:
  cuda: ["12.8.1"]
  compute: ["9.0+ptx"]
  march: [{ march: sapphirerapids, without: [waitpkg] }]
  python: ["3.12"]
`;

const amdSample = sample
  .replace('cuda: ["12.8.1"]', 'accel: [{ rocm: "7.2" }]')
  .replace('["9.0+ptx"]', "[[gfx90a:xnack-, gfx11-generic]]");

/** The names that a template of a matrix's first cell sees, each with its value. */
function namesOfSample(text: string): readonly (readonly [string, unknown])[] {
  const matrix = parseMatrix(text, "matrix.yaml");
  const [first] = expandMatrix(matrix);
  if (first === undefined) throw new Error("the sample has a cell");
  return [...namesOf(viewOf(first.cell, matrix, { NAME: "value" }))];
}

/** Each name of the samples, with the docstring of src/fleet/template/view.ts. */
function viewRows(): readonly string[] {
  const own = namesOfSample(sample).filter(([name]) => name !== "rocm");
  const amd = namesOfSample(amdSample).filter(([name]) => /^(rocm\.|gpu\.offload)/.test(name));
  const path = "src/fleet/template/view.ts";
  const source = ts.createSourceFile(path, readFileSync(join(root, path), "utf8"), ts.ScriptTarget.Latest);
  const type = source.statements.find(
    (each): each is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(each) && each.name.text === "TemplateView",
  );
  const told = new Map(
    (type === undefined ? [] : [...docstringsOf(type.members, "", source)]).map((each) => each),
  );
  const open = (name: string) => told.get(name) ?? told.get(name.replace(/\..*/, "")) ?? told.get("<axis>");
  return [...groupBy([...own, ...amd], ([name]) => open(name) ?? "")].map(([text, names]) => {
    const all = names.map(([name]) => `\`${name}\``).join(", ");
    return `| ${all} | ${text} | ${names.map(([, value]) => `\`${JSON.stringify(value)}\``).join(", ")} |`;
  });
}

function* docstringsOf(
  members: ts.NodeArray<ts.TypeElement>,
  prefix: string,
  source: ts.SourceFile,
): Generator<readonly [string, string]> {
  for (const member of members) {
    const name = member.name === undefined ? "<axis>" : `${prefix}${member.name.getText(source)}`;
    const [, text = ""] = /\/\*\* (.*) \*\//.exec(member.getFullText(source)) ?? [];
    if (text === "") throw new Error(`${name} of TemplateView has no docstring`);
    yield [name, text];
    if (!ts.isPropertySignature(member) || member.type === undefined) continue;
    const types = ts.isUnionTypeNode(member.type) ? member.type.types : [member.type];
    for (const each of types)
      if (ts.isTypeLiteralNode(each)) yield* docstringsOf(each.members, `${name}.`, source);
  }
}

/** Every name with its value, lists and texts at the end of each path. */
function namesOf(value: object, prefix = ""): (readonly [string, unknown])[] {
  return Object.entries(value).flatMap(([key, item]) => {
    const name = `${prefix}${key}`;
    const below = typeof item === "object" && item !== null && !Array.isArray(item);
    return below ? namesOf(item, `${name}.`) : [[name, item] as const];
  });
}

/** The keys that a value of any axis may have. */
const shared =
  /^(template|target|context|repository|base|args|runner|timeout|freeDisk|guard|contexts|deprecated)\b/;

function* keysOf(schema: Schema, path: string): Generator<readonly [string, string]> {
  for (const [name, below] of Object.entries(schema.properties ?? {})) {
    const key = path === "" ? name : `${path}.${name}`;
    if (below.description !== undefined) yield [key, below.description.replaceAll("|", "\\|")];
    yield* keysOf(below, key);
  }
  const { additionalProperties: any, items, anyOf = [], oneOf = [] } = schema;
  if (typeof any === "object") yield* keysOf(any, `${path}.*`);
  if (items !== undefined) yield* keysOf(items, `${path}[]`);
  for (const each of [...anyOf, ...oneOf]) yield* keysOf(each, path);
}
