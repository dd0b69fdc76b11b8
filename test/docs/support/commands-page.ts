/** docs/commands.md: the help of every command, with an option of several commands once. */

import { groupBy } from "../../../src/io/collections.ts";
import { runInProcess } from "../../support/run-cli.ts";
import { describedCommands } from "./commands.ts";

interface Option {
  /** That the help lists it under: `Registry`. */
  readonly heading: string;
  /** `--lock <file>`. */
  readonly flags: string;
  readonly text: string;
}

interface Help {
  readonly name: string;
  /** The help's lines, in order: a text as it is, or an option with its lines. */
  readonly parts: readonly (string | (Option & { readonly lines: readonly string[] }))[];
}

/** So many commands must say an option in the same words. */
const several = 2;

export async function commandsPage(made: string): Promise<string> {
  const helps = await Promise.all(describedCommands.map(({ name }) => helpOf(name)));
  const shared = sharedOf(helps);
  const sections = [
    `# Commands\n\n${made}`,
    [
      "This page is a reference, made of the program's own help: search it for a flag. `imgmatch COMMAND --help` has all of a command in one place.",
      "The answer goes to standard output, everything else to standard error. `--json` gives the answer as JSON, errors included.",
      "`NO_COLOR` turns colours off, `FORCE_COLOR` turns them on.",
    ].join("\n"),
    block((await runInProcess(["--help"])).out),
    "## Options of several commands",
    ...sharedLines(shared),
    ...helps.flatMap((help) => sectionOf(help, shared)),
  ];
  return `${sections.join("\n\n")}\n`;
}

async function helpOf(name: string): Promise<Help> {
  const { out } = await runInProcess([...name.split(" "), "--help"]);
  const parts: (string | (Option & { lines: string[]; text: string }))[] = [];
  let heading = "";
  for (const line of out.trimEnd().split("\n")) {
    const [, flags = "", text = ""] = /^ {2}(-\S+(?: \S+)*)(?: {2,}(.*))?$/.exec(line) ?? [];
    const last = parts.at(-1);
    if (/^\S.*:$/.test(line)) heading = line.slice(0, -1);
    if (flags !== "") parts.push({ heading, flags, text, lines: [line] });
    else if (typeof last === "object" && line.startsWith("    ")) {
      last.lines.push(line);
      last.text = `${last.text} ${line.trim()}`.trim();
    } else parts.push(line);
  }
  return { name, parts };
}

const keyOf = ({ flags, text }: Option) => `${flags}\n${text}`;
const flagOf = ({ flags }: Option) => /--[\w-]+/.exec(flags)?.[0] ?? "";

/** Under each heading the options that several commands have, each with these commands. */
type Shared = ReadonlyMap<string, readonly (Option & { readonly commands: readonly string[] })[]>;

function sharedOf(helps: readonly Help[]): Shared {
  const options = helps.flatMap(({ name, parts }) =>
    parts.flatMap((part) => (typeof part === "string" ? [] : [{ ...part, name }])),
  );
  const shared = [...groupBy(options, keyOf).values()].flatMap((uses) => {
    const [first] = uses;
    if (first === undefined || uses.length < several || first.flags === "-h, --help") return [];
    const [heading] = [...groupBy(uses, (use) => use.heading)].sort(
      (a, b) => b[1].length - a[1].length,
    )[0] ?? [""];
    return [{ heading, flags: first.flags, text: first.text, commands: uses.map(({ name }) => name) }];
  });
  return groupBy(shared, ({ heading }) => heading);
}

function* sharedLines(shared: Shared): Generator<string> {
  const all = [...shared.values()].flat();
  for (const [heading, options] of shared) {
    const lines = options.map((option) => {
      const isOne = all.filter((each) => flagOf(each) === flagOf(option)).length === 1;
      const of = isOne ? "" : ` (of ${option.commands.join(", ")})`;
      return `- \`${option.flags}\`: ${option.text.replaceAll("*", "\\*")}${of}`;
    });
    yield [`**${heading}**\n`, ...lines].join("\n");
  }
}

function sectionOf({ name, parts }: Help, shared: Shared): readonly string[] {
  const told = new Set([...shared.values()].flat().map(keyOf));
  const isOwn = (part: Help["parts"][number]) =>
    typeof part === "string" || !(told.has(keyOf(part)) || part.flags === "-h, --help");
  const text = parts
    .filter(isOwn)
    .flatMap((part) => (typeof part === "string" ? [part] : part.lines))
    .join("\n")
    // The section's heading says it.
    .replace(/^Usage: \S+(?: [\w-]+)+ \[options\]\n\n/, "")
    // A heading above nothing, in between or at the end.
    .replace(/^[A-Z][a-z ]+:\n*(?=\n\n)/gm, "")
    .replace(/\n[A-Z][a-z ]+:\s*$/, "")
    .replace(/\n{3,}/g, "\n\n");
  const has = new Set(parts.flatMap((part) => (typeof part === "string" ? [] : [keyOf(part)])));
  const also = [...shared].flatMap(([heading, options]) => {
    const had = options.filter((each) => has.has(keyOf(each)));
    if (had.length > 2 && had.length === options.length) return [`all of ${heading}`];
    return had.map((each) => `\`${flagOf(each)}\``);
  });
  const line = `[Also](#options-of-several-commands): ${also.join(", ")}.`;
  return [`## imgmatch ${name}`, block(text), ...(also.length === 0 ? [] : [line])];
}

function block(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}
