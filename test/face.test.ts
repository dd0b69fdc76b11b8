/** The face and the command line say the same: every flag of a command is an option of its function, and no other. */

import { Command } from "commander";
import { join, relative } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { commandGroups } from "../src/cli/command-table.ts";
import * as library from "../src/index.ts";
import { checkFit, explainResolution, type HostFacts, type Lock, resolveImage } from "../src/resolve.ts";
import { cpuHost } from "./resolve/support/hosts.ts";
import { image } from "./resolve/support/locks.ts";

/** Of the commands that are not called as their function is. */
const functions: Readonly<Record<string, readonly string[]>> = {
  "export bake": ["exportBake"],
  "export github-matrix": ["exportGithubMatrix"],
  "export nfd-compat": ["exportNfdCompat"],
  "export guard": ["exportGuard"],
  "export sh": ["exportSh"],
  plan: ["plan", "planAgainst"],
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
  "junit",
  "files",
  "format",
  "eachLine",
  "workspace",
]);
/** Words that choose among functions, or what stands after `--`. */
const choosing = new Set(["updateBases", "prune", "words", "args"]);

/** Flags for people alone: the fleets of a workspace, and the exit code. */
const ofPeople: Readonly<Record<string, readonly string[]>> = {
  plan: ["fleet", "check", "all"],
  build: ["fleet"],
  publish: ["fleet"],
  prune: ["dryRun"],
  check: ["all"],
};
/** Options for programs alone: a terminal knows that it is one, and how to start this program again. */
const ofPrograms: Readonly<Record<string, readonly string[]>> = {
  run: ["tty", "reference"],
  launch: ["format"],
  prove: ["self"],
  resolve: ["self"],
  check: ["self"],
  doctor: ["self"],
  serve: ["self"],
};

const root = process.cwd();
const entries = [join(root, "src/index.ts"), join(root, "src/resolve.ts")];
const program = ts.createProgram(entries, {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  strict: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  skipLibCheck: true,
});
const checker = program.getTypeChecker();
/** Functions that take what they judge before their options, and answer at once. */
const judges = { checkFit, explainResolution, resolveImage };
const modules = entries.flatMap(
  (path) => checker.getSymbolAtLocation(program.getSourceFile(path) as ts.Node) ?? [],
);

/** Of a function that is exported from elsewhere, or made here with its ports. */
function signaturesOf(symbol: ts.Symbol): readonly ts.Signature[] {
  const named = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return checker.getTypeOfSymbol(named).getCallSignatures();
}

function signaturesNamed(name: string): readonly ts.Signature[] {
  const symbol = modules
    .flatMap((each) => checker.getExportsOfModule(each))
    .find((each) => each.name === name);
  if (symbol === undefined) throw new Error(`no entry exports ${name}`);
  return signaturesOf(symbol);
}

/** The members of the options, of each overload. */
function membersOf(name: string): readonly (readonly ts.Symbol[])[] {
  return signaturesNamed(name).map(({ parameters }) => {
    const options = parameters[Object.hasOwn(judges, name) ? 2 : 0];
    return options === undefined
      ? []
      : checker.getPropertiesOfType(checker.getNonNullableType(checker.getTypeOfSymbol(options)));
  });
}

function optionsOf(name: string): readonly string[] {
  const names = membersOf(name).flat();
  return [...new Set(names.map((each) => each.name))].filter((each) => !["signal", "onEvent"].includes(each));
}

/** Each kind of src/io/checked-options.ts by the types that it stands for. */
function kindOf(types: readonly ts.Type[]): string | readonly (string | boolean)[] {
  const parts = types
    .flatMap((type) => (type.isUnion() ? type.types : [type]))
    .filter(({ flags }) => !(flags & ts.TypeFlags.Undefined));
  const kinds = new Set(parts.map(partKind));
  if (kinds.size === 1 && !kinds.has("literal")) return [...kinds][0] ?? "";
  const values = [...new Set(parts.map((part) => checker.typeToString(part)))].sort();
  if (values.join() === "false,true") return "boolean";
  if (kinds.size === 1) return values.map((value) => JSON.parse(value));
  if (values.join() === "false,string") return "text or false";
  throw new Error(`no kind for ${values.join(" | ")}`);
}

function partKind(type: ts.Type): string {
  if (type.flags & ts.TypeFlags.String) return "text";
  if (type.flags & ts.TypeFlags.Number) return "number";
  if (type.flags & (ts.TypeFlags.StringLiteral | ts.TypeFlags.BooleanLiteral)) return "literal";
  if (type.getCallSignatures().length > 0) return "function";
  if (type.symbol?.name === "AbortSignal") return "signal";
  const text = checker.typeToString(type);
  if (text === "ReadonlySet<string>") return "set of texts";
  if (text === "Readonly<Record<string, string | Pin>>") return "pins";
  if (/^readonly (string\[\]|\[string, (string, )?\.\.\.string\[\]\])/.test(text)) return "texts";
  throw new Error(`no kind for ${text}`);
}

/** Option → kind, of all overloads; `!` behind the kind of one that each of them requires. */
function kindsOf(name: string): Record<string, ReturnType<typeof kindOf>> {
  const signatures = membersOf(name);
  const names = [...new Set(signatures.flat().map((each) => each.name))].sort();
  return Object.fromEntries(
    names.map((option) => {
      const members = signatures.map((all) => all.find((each) => each.name === option));
      const kind = kindOf(members.flatMap((each) => (each ? [checker.getTypeOfSymbol(each)] : [])));
      const isRequired = members.every((each) => each && !(each.flags & ts.SymbolFlags.Optional));
      return [option, isRequired ? `${kind}!` : kind];
    }),
  );
}

test("src/io/option-kinds.json is what the types of the functions say; `vitest -u` writes it", async () => {
  const names = Object.keys(library).filter((name) => !["ImgmatchError", "matrixJsonSchema"].includes(name));
  const table = Object.fromEntries(
    [...names, ...Object.keys(judges)].sort().map((name) => [name, kindsOf(name)]),
  );
  expect(Object.keys(table).length).toBeGreaterThan(30);
  const rows = Object.entries(table).map(
    ([name, kinds]) =>
      `  ${JSON.stringify(name)}: {\n${Object.entries(kinds)
        .map(
          ([option, kind]) => `    ${JSON.stringify(option)}: ${JSON.stringify(kind).replaceAll(",", ", ")}`,
        )
        .join(",\n")}\n  }`,
  );
  await expect(`{\n${rows.join(",\n")}\n}\n`).toMatchFileSnapshot(join(root, "src/io/option-kinds.json"));
});

test("every function refuses every option of another kind, and an unknown one, before it does anything", async () => {
  const faces = Object.entries(library).filter(
    ([name]) => !["ImgmatchError", "matrixJsonSchema"].includes(name),
  );
  expect(faces.length).toBeGreaterThan(30);
  for (const [name, face] of faces) {
    const call = face as (options: object) => Promise<unknown>;
    for (const option of [...Object.keys(kindsOf(name)), "nonsense"]) {
      const error = await call({ [option]: {} }).catch((reason: unknown) => reason);
      expect(error, `${name}({ ${option} })`).toBeInstanceOf(library.ImgmatchError);
      const { problems } = error as library.ImgmatchError;
      expect(problems.every(({ code }) => code === "USAGE")).toBe(true);
      expect(problems.map(({ message }) => message).join("\n")).toMatch(
        option === "nonsense" ? `${name} has no option "nonsense"` : `${option} of ${name} is `,
      );
    }
  }
});

test("every function that judges refuses them too, and takes them otherwise", () => {
  const lock = {
    schemaVersion: 2,
    name: "x",
    version: "1",
    repository: "r.example/x",
    matrixDigest: "",
    images: {},
  };
  for (const [name, judge] of Object.entries(judges)) {
    const subject = name === "checkFit" ? image() : (lock as Lock);
    const call = judge as (subject: unknown, host: HostFacts, options?: unknown) => unknown;
    const refusal = (options: unknown) => {
      try {
        call(subject, cpuHost(), options);
        return null;
      } catch (error) {
        return (error as library.ImgmatchError).message;
      }
    };
    for (const option of Object.keys(kindsOf(name)))
      expect(refusal({ [option]: [1] })).toContain(`${option} of ${name} is `);
    expect(refusal({ cpu: true })).toContain(`${name} has no option "cpu"`);
    expect(refusal({ pins: { march: 3 } })).toContain(
      `pins of ${name} is an object with a text for each axis`,
    );
    expect(refusal({ pins: { march: {} } })).toContain(`pins of ${name} is `);
    expect(refusal(null)).toContain(`${name} takes its options as one object, not null`);
    const right = {
      cpuOnly: true,
      local: new Set(["sha256:1"]),
      notDeprecatedOn: "2026-01-31",
      pins: {},
      prefer: [],
    };
    expect(refusal(right)).toBeNull();
    expect(refusal(undefined)).toBeNull();
  }
  const verdict = checkFit(image(), cpuHost(), { pins: { march: "no-such-march" } });
  expect(verdict).toMatchObject({ ok: false, code: "PIN_MISMATCH" });
});

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

test.each(commands.filter(([name]) => !["schema", "export", "completion"].includes(name)))(
  "%s",
  (name, command) => {
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
  },
);

/** The places in the code where the options of a type are declared, also of one that `Pick` or `Omit` makes. */
function declaredIn(type: ts.Type): readonly ts.Node[] {
  const members = checker.getPropertiesOfType(checker.getNonNullableType(type));
  const options = members.filter(({ name }) => name !== "signal" && name !== "onEvent");
  return options.flatMap(({ declarations }) => declarations ?? []);
}

/** An engine and a signer have eight flags each: so many are one part of a command's options. */
const mostOfPart = 8;

test("no function below the face takes a command's options whole", () => {
  const faces = modules
    .flatMap((each) => checker.getExportsOfModule(each))
    // `export type *` names functions too, as what `typeof` may ask.
    .filter(({ name }) => name in library)
    .flatMap(signaturesOf);
  const wholes = faces
    .flatMap(({ parameters: [options] }) => (options ? [declaredIn(checker.getTypeOfSymbol(options))] : []))
    // The whole of a small command is a part of others: the matrix, its lock and the selected cells.
    .filter((whole) => whole.length > 3);
  const isWhole = (type: ts.Type) => {
    const taken = new Set(declaredIn(type));
    return wholes.some((whole) => {
      const count = whole.filter((each) => taken.has(each)).length;
      return count === whole.length || count > mostOfPart;
    });
  };
  /** Also one member down: `{ flags: options, push }`. */
  const holdsWhole = (type: ts.Type) =>
    isWhole(type) ||
    checker.getPropertiesOfType(type).some((member) => isWhole(checker.getTypeOfSymbol(member)));
  const atTheDoor = new Set(faces.map(({ declaration }) => declaration?.getSourceFile()));
  const found: string[] = [];
  for (const source of program.getSourceFiles()) {
    const path = relative(join(root, "src"), source.fileName);
    // A hall's own files share what their commands have in common; its rooms are below them.
    if (path.startsWith("..") || atTheDoor.has(source) || /^(fleet|node)\/[^/]+$/.test(path)) continue;
    const visit = (node: ts.Node) => {
      // A callback without types of its own has those of the function that takes it.
      if (ts.isParameter(node) && node.type && holdsWhole(checker.getTypeAtLocation(node))) {
        const { name } = node.parent;
        found.push(`${path}: ${name?.getText() ?? "a function"}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  expect(wholes.length).toBeGreaterThan(20);
  expect(found).toEqual([]);
});
