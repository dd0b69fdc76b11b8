/** The face and the command line say the same: every flag of a command is an option of its function, and no other. */

import { Command } from "commander";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { commandGroups } from "../src/cli/command-table.ts";

/** Of the commands that are not called as their function is. */
const functions: Readonly<Record<string, readonly string[]>> = {
  "export bake": ["exportBake"],
  "export github-matrix": ["exportGithubMatrix"],
  "export nfd-compat": ["exportNfdCompat"],
  "export sh": ["exportSh"],
  lock: ["updateBases", "pruneLock"],
  "lock merge": ["mergeLocks"],
  "lock rm": ["removeFromLock"],
};

/** About what is printed, and over how many fleets the command runs. */
const printing = new Set([
  "json",
  "markdown",
  "yaml",
  "progress",
  "files",
  "format",
  "eachLine",
  "workspace",
]);
/** Words that choose among functions, or what stands after `--`. */
const choosing = new Set(["updateBases", "prune", "words", "args"]);

/** Flags for people alone: the fleets of a workspace, and the exit code. */
const ofPeople: Readonly<Record<string, readonly string[]>> = {
  plan: ["fleet", "check"],
  build: ["fleet"],
  publish: ["fleet"],
};
/** Options for programs alone: a terminal knows that it is one, and how to start this program again. */
const ofPrograms: Readonly<Record<string, readonly string[]>> = {
  run: ["tty", "reference"],
  launch: ["format"],
  prove: ["self"],
  serve: ["self"],
};

const root = process.cwd();
const program = ts.createProgram([join(root, "src/index.ts")], {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  strict: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  skipLibCheck: true,
});
const checker = program.getTypeChecker();
const entry = program.getSourceFile(join(root, "src/index.ts"));

/** The names of the first parameter's members, of all overloads. */
function optionsOf(name: string): readonly string[] {
  const module = entry && checker.getSymbolAtLocation(entry);
  const symbol = checker.getExportsOfModule(module as ts.Symbol).find((each) => each.name === name);
  if (symbol === undefined) throw new Error(`src/index.ts exports no ${name}`);
  const signatures = checker.getTypeOfSymbol(checker.getAliasedSymbol(symbol)).getCallSignatures();
  const names = signatures.flatMap(({ parameters: [options] }) =>
    options === undefined
      ? []
      : checker.getPropertiesOfType(checker.getNonNullableType(checker.getTypeOfSymbol(options))),
  );
  return [...new Set(names.map((each) => each.name))].filter((each) => !["signal", "onEvent"].includes(each));
}

const commands = (
  await Promise.all(
    Object.values(commandGroups)
      .flatMap((commands) => Object.entries(commands))
      .map(async ([name, load]) => {
        const command = (await load())(new Command(name), () => async () => {});
        return [
          [name, command],
          ...command.commands.map((below) => [`${name} ${below.name()}`, below] as const),
        ] as const;
      }),
  )
).flat() as readonly (readonly [string, Command])[];

const camel = (text: string) => text.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

test.each(commands.filter(([name]) => name !== "schema" && name !== "export"))("%s", (name, command) => {
  const flags = [
    ...command.options.map((option) => option.attributeName()),
    ...command.registeredArguments.map((argument) => argument.name()),
  ].filter((each) => !printing.has(each) && !choosing.has(each) && !ofPeople[name]?.includes(each));
  const options = (functions[name] ?? [camel(name)]).flatMap(optionsOf);
  expect(flags.filter((each) => !options.includes(each)).join(" ")).toBe("");
  // A command below another takes the flags of that one too.
  const all = [...command.options, ...(command.parent?.options ?? [])].map((option) =>
    option.attributeName(),
  );
  const known = [...flags, ...choosing, ...all, ...(ofPrograms[name] ?? [])];
  expect(options.filter((each) => !known.includes(each)).join(" ")).toBe("");
});
