/** The program's commands and flags as docs/commands.md and the README have them. */

import { Command } from "commander";
import { commandTable } from "../../../src/cli/command-table.ts";

export interface Flag {
  /** As the help shows it: `--only <cells>`. */
  readonly flags: string;
  readonly description: string;
}

export interface Described {
  /** `plan`, or `lock merge` for a command of a command. */
  readonly name: string;
  readonly description: string;
  readonly flags: readonly Flag[];
}

/** In the order of the help text. */
export const describedCommands: readonly Described[] = (
  await Promise.all(
    Object.entries(commandTable).map(async ([name, load]) => {
      const command = new Command(name);
      const define = await load();
      define(command, () => async () => {});
      return [
        describe(name, command),
        ...command.commands.map((sub) => describe(`${name} ${sub.name()}`, sub)),
      ];
    }),
  )
).flat();

function describe(name: string, command: Command): Described {
  return {
    name,
    description: command.description(),
    flags: command.options.map(({ flags, description }) => ({ flags, description })),
  };
}

/** Name → section of docs/commands.md, from its heading to the next one. */
export function sectionsOf(page: string): ReadonlyMap<string, string> {
  const sections = page.split(/^(?=## imgmatch )/m).slice(1);
  return new Map(sections.map((text) => [/^## imgmatch (.*)$/m.exec(text)?.[1] ?? "", text]));
}

/** Flags of a section's table. */
export function flagsIn(section: string): readonly string[] {
  return [...section.matchAll(/^\| `(-[^`]+)`/gm)].map(([, flags = ""]) => flags);
}

/** The page with every command and flag that there is, described as the help does where nobody has described it better. */
export function withEveryCommand(page: string): string {
  const sections = sectionsOf(page);
  const [head = ""] = page.split(/^## imgmatch /m);
  const texts = describedCommands.map((command) =>
    withEveryFlag(sections.get(command.name) ?? newSection(command), command),
  );
  return `${head}${texts.map((text) => text.trimEnd()).join("\n\n")}\n`;
}

function newSection({ name, description }: Described): string {
  return `## imgmatch ${name}\n\n${description[0]?.toUpperCase()}${description.slice(1)}.\n\n| flag | |\n| --- | --- |\n`;
}

function withEveryFlag(section: string, { flags }: Described): string {
  const shown = flagsIn(section);
  const known = new Set(flags.map((flag) => flag.flags));
  const kept = section.split("\n").filter((line) => {
    const found = /^\| `(-[^`]+)`/.exec(line)?.[1];
    return found === undefined || known.has(found);
  });
  const rows = flags
    .filter((flag) => !shown.includes(flag.flags))
    .map((flag) => `| \`${flag.flags}\` | ${flag.description} |`);
  const at = kept.findLastIndex((line) => line.startsWith("|")) + 1;
  return [...kept.slice(0, at), ...rows, ...kept.slice(at)].join("\n");
}

/** The README with a row for every command. */
export function withEveryCommandListed(readme: string): string {
  const lines = readme.split("\n");
  const rowOf = (name: string) => lines.find((line) => line.startsWith(`| \`imgmatch ${name}\``));
  const rows = describedCommands
    .filter(({ name }) => !name.includes(" "))
    .map(({ name, description }) => rowOf(name) ?? `| \`imgmatch ${name}\` | ${description} |`);
  const first = lines.findIndex((line) => line.startsWith("| `imgmatch "));
  const rest = lines.filter((line) => !line.startsWith("| `imgmatch "));
  return [...rest.slice(0, first), ...rows, ...rest.slice(first)].join("\n");
}
