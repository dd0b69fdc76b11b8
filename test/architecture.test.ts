import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

interface Import {
  readonly from: string;
  readonly to: string;
  /** Types are gone when the program runs. */
  readonly isType: boolean;
  /** `await import()`: loaded only where it is reached. */
  readonly isLazy: boolean;
}

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts"))
  .sort();
const sources = new Map(files.map((path) => [path, readFileSync(join("src", path), "utf8")]));
/** Tables lie beside the files that read them. */
const imports = files.flatMap(importsOf).filter(({ to }) => !to.endsWith(".json"));

/** Without comments, whose examples import too. */
function code(path: string): string {
  return (sources.get(path) ?? "").replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

function importsOf(path: string): Import[] {
  const statement = /^(?:import|export)\s+(type\s+)?(?:([^"';]*?)\s+from\s+)?"([^"]+)"/gm;
  const found: Import[] = [];
  for (const [, type, names = "", specifier = ""] of code(path).matchAll(statement)) {
    const list =
      /\{([^}]*)\}/
        .exec(names)?.[1]
        ?.split(",")
        .map((name) => name.trim())
        .filter(Boolean) ?? [];
    const onlyTypes =
      list.length > 0 && !/^\w+\s*,/.test(names) && list.every((name) => name.startsWith("type "));
    found.push({
      from: path,
      to: target(path, specifier),
      isType: type !== undefined || onlyTypes,
      isLazy: false,
    });
  }
  for (const [, specifier = ""] of code(path).matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g)) {
    found.push({ from: path, to: target(path, specifier), isType: false, isLazy: true });
  }
  return found;
}

/** A path below `src/`, or a package's name. */
function target(from: string, specifier: string): string {
  return specifier.startsWith(".")
    ? normalize(join(dirname(from), specifier)).replaceAll("\\", "/")
    : specifier;
}

/** Words of images, which lock and rules are made of: the part of `oci/` that asks nobody. */
const words = ["descriptor", "digest", "immutable-reference", "media-types", "reference"].map(
  (name) => `oci/${name}.ts`,
);
/** The hall of a file: its first folder, but for two folders that are halls in two parts. */
function folderOf(path: string): string {
  if (words.includes(path)) return "words";
  // What programs embed: entries beside the face.
  if (["inspect.ts", "resolve.ts"].includes(path)) return "index";
  if (path.startsWith("lock/store/")) return "lock/store";
  return path.includes("/") ? (path.split("/")[0] ?? "") : path.replace(/\.ts$/, "");
}

/** What has to be known to change a rule. */
const core = ["hardware", "facts", "words", "lock", "resolve"];
/** Each hall knows those before it alone, types included. The first four are files that all may import. */
const halls = [
  ...["version", "printable", "problem-codes", "errors"],
  ...["io", ...core, "oci", "lock/store", "host", "inspect", "trust", "fleet", "node", "cover"],
  ...["node-ports", "ports", "pulumi", "index", "cli"],
] as const;

/** The rooms of `fleet/` that a cell passes, in this order; each knows those before it alone. */
const pipeline = [
  "matrix",
  "cells",
  "template",
  "dockerfile",
  "context",
  "plan",
  "engines",
  "publish",
] as const;

describe("imports point one way", () => {
  test.each(halls)("%s knows only the halls before it", (hall) => {
    const before: readonly string[] = halls.slice(0, halls.indexOf(hall) + 1);
    const wrong = imports
      .filter(({ from, to }) => folderOf(from) === hall && sources.has(to))
      .filter(({ to }) => !before.includes(folderOf(to)));
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test.each(pipeline)("fleet/%s knows only the rooms before it", (room) => {
    const before = pipeline.slice(0, pipeline.indexOf(room) + 1);
    const wrong = imports
      .filter(({ from, to }) => from.startsWith(`fleet/${room}/`) && to.startsWith("fleet/"))
      .filter(({ to }) => !before.some((each) => to.startsWith(`fleet/${each}/`)));
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  /** What a hall is handed in place of an import: who calls, and what of the halls before it never stands in its imports. */
  const ported: readonly (readonly [caller: RegExp, other: RegExp])[] = [
    [/^fleet\//, /^(inspect|trust)\//],
    [/^host\/(?!kubernetes\/)/, /^host\/kubernetes\//],
    [/^node\/question\.ts$/, /^(fleet|trust\/registry-fleet\.ts|oci\/engine)/],
  ];
  test.each(ported)("%s is handed what it needs of %s", (caller, other) => {
    const wrong = imports.filter(({ from, to }) => caller.test(from) && other.test(to));
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
    expect(files.some((path) => caller.test(path)) && files.some((path) => other.test(path))).toBe(true);
  });

  test("nothing but the command line imports it", () => {
    const wrong = imports.filter(({ from, to }) => folderOf(to) === "cli" && folderOf(from) !== "cli");
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test("every import leads to a file", () => {
    const lost = imports.filter(
      ({ from, to }) =>
        !sources.has(to) &&
        // A script beside the sources has its own place.
        (to.startsWith(".") ? !existsSync(join("src", to)) : existsSync(join("src", dirname(from), to))),
    );
    expect(lost).toEqual([]);
  });

  test("every folder is one of these halls", () => {
    const rooms = new Set(files.map(folderOf));
    expect([...rooms].sort()).toEqual([...halls].sort());
  });

  test("no two files import each other by any way round, by types neither", () => {
    expect(circles(imports)).toEqual([]);
  });

  test("and the walk would find a circle, of types too", () => {
    const circle = (from: string, to: string, isType: boolean) => ({ from, to, isType, isLazy: !isType });
    const two = [circle("errors.ts", "version.ts", true), circle("version.ts", "errors.ts", false)];
    expect(circles(two)).toEqual([["errors.ts", "version.ts"]]);
  });
});

/** Files of which each reaches each other, types and `await import()` included. */
function circles(all: readonly Import[]): readonly (readonly string[])[] {
  const targets = new Map(files.map((path) => [path, new Set<string>()]));
  for (const { from, to } of all) targets.get(from)?.add(to);
  const reach = new Map(files.map((path) => [path, reachableBy(path)]));
  function reachableBy(root: string): ReadonlySet<string> {
    const seen = new Set<string>();
    const open = [...(targets.get(root) ?? [])];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (seen.has(path)) continue;
      seen.add(path);
      open.push(...(targets.get(path) ?? []));
    }
    return seen;
  }
  const inCircle = files.filter((path) => reach.get(path)?.has(path));
  const groups = inCircle.map((path) =>
    inCircle.filter((other) => reach.get(path)?.has(other) && reach.get(other)?.has(path)),
  );
  return groups.filter(([first], index) => first === inCircle[index]);
}

/** Everything that is loaded with these files before any `await import()`. */
function reachable(roots: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const open = [...roots];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const { from, to, isType, isLazy } of imports)
      if (from === path && !isType && !isLazy) open.push(to);
  }
  return seen;
}

describe("the path of resolve", () => {
  const packages = [...reachable(["cli/bin.ts", "node/resolve.ts", "host/probe.ts", "cli/probe.ts"])].filter(
    (path) => !sources.has(path) && !path.startsWith("node:"),
  );

  test("loads no npm package but the argument parser", () => expect(packages).toEqual(["commander"]));

  test("loads nothing that builds", () => {
    const folders = new Set(
      [...reachable(["cli/bin.ts", "node/resolve.ts", "host/probe.ts", "cli/probe.ts"])].map(folderOf),
    );
    for (const folder of ["inspect", "fleet", "cover", "pulumi"]) expect(folders).not.toContain(folder);
  });

  test("loads no npm package for a key either", () => {
    const roots = ["trust/registry-fleet.ts", "trust/find-trust.ts", "trust/trusted-signers.ts"];
    expect([...reachable(roots)].filter((path) => !sources.has(path) && !path.startsWith("node:"))).toEqual(
      [],
    );
  });

  test("loads the reader of YAML where there is a policy, and nowhere else", () => {
    const reader = "trust/policy/read-policy.ts";
    expect(reachable([reader])).toContain("yaml");
    const users = imports.filter(({ to, isType }) => to === reader && !isType);
    expect(users.map(({ from, isLazy }) => [from, isLazy])).toEqual([["trust/trust-demands.ts", true]]);
  });

  test("and the walk would find one: plan needs the YAML reader", () => {
    expect(reachable(["fleet/plan.ts"])).toContain("yaml");
  });
});

describe("Pulumi", () => {
  // One file requires the packages, so that it can say which is missing; the others import them.
  const requires = "pulumi/packages.ts";
  const isPulumi = (name: string) => name.startsWith("@pulumi/") || name === requires;
  const isOwn = (path: string) => folderOf(path) === "pulumi";

  test("is imported by its engine and its component only", () => {
    const users = imports.filter(({ to, isType }) => isPulumi(to) && !isType).map(({ from }) => from);
    expect(users.length).toBeGreaterThan(0);
    expect(users.filter((path) => !isOwn(path))).toEqual([]);
    expect(files.filter((path) => code(path).includes("createRequire"))).toEqual([requires]);
  });

  test("is loaded with nothing but the component, before somebody asks for that engine", () => {
    const roots = files.filter((path) => !isOwn(path));
    expect([...reachable(roots)].filter(isPulumi)).toEqual([]);
    expect([...reachable(["pulumi/image-fleet.ts"])].filter(isPulumi).length).toBeGreaterThan(0);
  });
});

describe("effects stay at the edge", () => {
  const isProgram = (path: string) => folderOf(path) === "cli";
  const lines = (pattern: RegExp, given: readonly string[]) =>
    given.filter((path) => pattern.test(code(path)));

  test("no stage prints", () => {
    const stages = files.filter((path) => !isProgram(path));
    expect(lines(/\bconsole\.|process\.std(out|err)\b/, stages)).toEqual([]);
  });

  test("one file runs programs, one asks them line by line; a launch hands the terminal over, and may outlive us", () => {
    expect(lines(/node:child_process/, files)).toEqual([
      "io/line-program.ts",
      "io/run-program.ts",
      "node/launch/run-image.ts",
    ]);
  });

  test("plan, resolve and the parsers touch no file and no process", () => {
    const pure = files.filter(
      (path) =>
        ["resolve", "cover", "hardware"].includes(folderOf(path)) ||
        /^fleet\/(matrix|cells|plan)\//.test(path) ||
        /\/parse-[\w-]+\.ts$/.test(path),
    );
    const effects = imports.filter(
      ({ from, to }) => pure.includes(from) && /^node:(fs|child_process|net|http|os|process|worker)/.test(to),
    );
    expect(effects.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
    expect(lines(/\bprocess\.|\bfetch\(|Date\.now\(|Math\.random\(|new Date\(\)/, pure)).toEqual([]);
  });
});

describe("the README of a hall", () => {
  /** Of a README: a hall with both its parts. */
  const nameOf = (path: string) =>
    (sources.has(path) ? folderOf(path) : "").replace(/\/.*|^words$/, (part) =>
      part === "words" ? "oci" : "",
    );
  const forAll: readonly string[] = ["", "version", "printable", "problem-codes", "errors"];
  const others = (hall: string, names: readonly string[]) => {
    const order = ["io", "hardware", "facts", "lock", "resolve", "oci", ...halls];
    const found = new Set(names.filter((name) => name !== hall && !forAll.includes(name)));
    return [...found].sort((a, b) => order.indexOf(a) - order.indexOf(b)).join(", ") || "nothing";
  };
  const folders = readdirSync("src", { withFileTypes: true }).filter((each) => each.isDirectory());

  test.each(folders.map(({ name }) => name))(
    "%s says in 15 lines what it does, where to begin, and who knows whom",
    (hall) => {
      const text = readFileSync(join("src", hall, "README.md"), "utf8");
      expect(text.split("\n").length - 1).toBeLessThanOrEqual(15);
      const to = imports.filter(({ from }) => nameOf(from) === hall).map((each) => nameOf(each.to));
      const from = imports.filter((each) => nameOf(each.to) === hall).map((each) => nameOf(each.from));
      expect(text).toContain(`\nImports: ${others(hall, to)}.\n`);
      expect(text).toContain(`\nImported by: ${others(hall, from)}.\n`);
      const named = [...text.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, path = ""]) => path);
      expect(
        named.filter((path) => !existsSync(join("src", hall, path)) && !existsSync(join("src", path))),
      ).toEqual([]);
      expect(named.length).toBeGreaterThan(0);
    },
  );
});

/** Everything that these files reach by imports, types and `await import()` included. */
function reached(roots: readonly string[]): readonly string[] {
  const seen = new Set(roots);
  for (const path of seen) for (const { from, to } of imports) if (from === path) seen.add(to);
  return [...seen];
}

describe("the core", () => {
  const all = reached(files.filter((path) => core.includes(folderOf(path))));

  test("reaches no module of Node, and nothing outside but words, errors and what reads text", () => {
    expect(all.filter((path) => !sources.has(path))).toEqual(["semver"]);
    const own = all.filter((path) => sources.has(path));
    expect([...new Set(own.map(folderOf))].sort()).toEqual(
      [...core, "errors", "io", "printable", "problem-codes"].sort(),
    );
  });

  test("is at most 12,000 lines", () => {
    const lines = all.map((path) => (sources.get(path) ?? "").split("\n").length - 1);
    expect(lines.reduce((sum, each) => sum + each, 0)).toBeLessThan(12_000);
  });

  test("and the walk would find one: who reads a lock's file reaches node:fs", () => {
    expect(reached(["lock/store/lock-file.ts"])).toContain("node:fs");
  });
});

test("no file is a grab bag, and file names are kebab-case", () => {
  const names = files.map((path) => path.split("/").at(-1) ?? "");
  expect(names.filter((name) => /^(utils?|helpers?|misc|common)\.ts$/.test(name))).toEqual([]);
  expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(name))).toEqual([]);
});

test("every file begins with the sentence that says what it is", () => {
  const sentence = /^(?:#!.*\n)?\/\*\*[\s*]+\S[\s\S]*?\*\//;
  expect(files.filter((path) => !sentence.test(sources.get(path) ?? ""))).toEqual([]);
});

/** Functions with at least so many lines; a function inside another counts for both. */
function longFunctions(path: string, most: number): string[] {
  const file = ts.createSourceFile(path, sources.get(path) ?? "", ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const lineOf = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ts.Node) => {
    if (ts.isFunctionLike(node)) {
      const [first, last] = [lineOf(node.getStart(file)), lineOf(node.end)];
      if (last - first >= most) found.push(`${path}:${node.name?.getText(file) ?? first}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

test("no function has more than 100 lines", () => {
  expect(files.flatMap((path) => longFunctions(path, 1)).length).toBeGreaterThan(1000);
  expect(files.flatMap((path) => longFunctions(path, 100))).toEqual([]);
});

/** The places where code looks into a `message` or a `fix`, or changes words of one. */
function readsOfWords(path: string): string[] {
  const file = ts.createSourceFile(path, sources.get(path) ?? "", ts.ScriptTarget.Latest, true);
  const isWords = (node: ts.Node | undefined) =>
    node !== undefined && /(^|\.)(message|fix)$/.test(node.getText(file));
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression: on, name } = node.expression;
      const looks =
        /^(replace|replaceAll|includes|startsWith|endsWith|match|matchAll|split|slice|indexOf|search)$/;
      if (looks.test(name.text) && isWords(on)) found.push(path);
      if (/^(test|exec)$/.test(name.text) && isWords(node.arguments[0])) found.push(path);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

test("words for people are written, and never read", () => {
  // Each reads what another program says.
  const others = [
    "fleet/engines/build-failure.ts",
    "fleet/engines/buildx/buildx-engine.ts",
    "fleet/engines/source-date-epoch.ts",
    "fleet/template/template-syntax.ts",
    "io/json.ts",
    "node/mirror/node-api.ts",
    "oci/engine/api.ts",
    "oci/registry/copy-blob.ts",
    "oci/registry/failure.ts",
  ];
  // Reads the argument parser's words, and prints: a program without all commands adds how to get one that a fix names.
  const printers = ["cli/report-error.ts", "cli/usage-problem.ts"];
  expect([...new Set(files.flatMap(readsOfWords))]).toEqual([...printers, ...others]);
});
