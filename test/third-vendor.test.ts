import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { afterAll, describe, expect, test } from "vitest";
import { tablesIn } from "./support/vendor-tables.ts";

/** A third vendor in a copy of the sources: the compiler names every row that is missing, and no image of the vendor fits a host. */

const sources = new Map(
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [path.replaceAll("\\", "/"), readFileSync(join("src", path), "utf8")]),
);

/** The vendor's name, its key in the lock, and the shapes of its needs, facts and view: those of a vendor that is there. */
const named: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "hardware/gpu-vendors.ts": [['gpuVendors = ["nvidia", "amd"]', 'gpuVendors = ["nvidia", "amd", "intel"]']],
  "lock/requirement.ts": [
    [
      "readonly rocm?: RocmRequirement;",
      "readonly rocm?: RocmRequirement; readonly oneapi?: RocmRequirement;",
    ],
  ],
  "lock/parse-requirement.ts": [
    ["rocm: ifGiven(shape(ofRocm)),", "rocm: ifGiven(shape(ofRocm)), oneapi: ifGiven(shape(ofRocm)),"],
  ],
  "facts/parse-facts.ts": [
    [
      "amd: ifPresent(optional(oneOf(",
      "intel: ifPresent(optional(oneOf(...containerGpus))), amd: ifPresent(optional(oneOf(",
    ],
  ],
  "facts/facts.ts": [["readonly amd: AmdFacts;", "readonly amd: AmdFacts; readonly intel: AmdFacts;"]],
  "resolve/host-view.ts": [["readonly amd: AmdView;", "readonly amd: AmdView; readonly intel: AmdView;"]],
};

/** The rows that an answer reads. A stub of another is never called. */
const rows: Readonly<Record<string, string>> = {
  "lock/requirement.ts sideKeys": '"oneapi"',
  "hardware/gpu-vendors.ts vendorNames": '"Intel"',
  "hardware/gpu-vendors.ts toolkitNames": '"oneAPI"',
  "lock/parse-requirement.ts unknownOfSide": "() => []",
  "resolve/host-view.ts views": "() => null",
  "resolve/host-view.ts unknownFacts": "() => []",
  "resolve/host-view.ts countsAlways": "false",
  "resolve/rules/gpu-presence.ts words": '{ code: "NO_GPU", visible: "ZE_AFFINITY_MASK" }',
  "resolve/check-fit.ts gpuRules": '{ image: () => null, asks: [], answer: () => [noGpu("intel", false)] }',
};

function withNames(path: string, text: string): string {
  return (named[path] ?? []).reduce((all, [from, to]) => {
    expect(all, `${path} has ${from}`).toContain(from);
    return all.replace(from, to);
  }, text);
}

interface Table {
  readonly path: string;
  readonly name: string;
  /** The first and the last line of the declaration, from 1. */
  readonly span: readonly [number, number];
  /** The place for another row. */
  readonly end: number;
}

function tablesOf(path: string, text: string): readonly Table[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return tablesIn(file).map((table) => {
    let owner: ts.Node = table;
    while (!ts.isVariableDeclaration(owner) && !ts.isFunctionLike(owner) && !ts.isSourceFile(owner))
      owner = owner.parent;
    const name = ts.isVariableDeclaration(owner) ? owner.name.getText(file) : path;
    const lineOf = (place: number) => file.getLineAndCharacterOfPosition(place).line + 1;
    const span = [lineOf(owner.getStart(file)), lineOf(owner.getEnd())] as const;
    return { path, name, span, end: table.properties.end };
  });
}

const widened = new Map([...sources].map(([path, text]) => [path, withNames(path, text)]));
const tables = [...widened].flatMap(([path, text]) => tablesOf(path, text));

function withRows(path: string, text: string): string {
  const own = tables.filter((table) => table.path === path).sort((a, b) => b.end - a.end);
  return own.reduce((all, { name, end }) => {
    const comma = all.slice(0, end).trimEnd().endsWith(",") ? "" : ",";
    return `${all.slice(0, end)}${comma} intel: ${rows[`${path} ${name}`] ?? "undefined as never"}${all.slice(end)}`;
  }, text);
}

function withImport(path: string, text: string): string {
  return path === "resolve/check-fit.ts"
    ? `${text}\nimport { noGpu } from "./rules/gpu-presence.ts";\n`
    : text;
}

const filled = new Map([...widened].map(([path, text]) => [path, withImport(path, withRows(path, text))]));

/** What the compiler says of these sources; the page is compiled with a browser's types. */
function mistakes(texts: ReadonlyMap<string, string>) {
  // Beside the repository's node_modules, so that the compiler finds the types of packages.
  const folder = mkdtempSync(join("node_modules", ".imgmatch-vendor-"));
  try {
    cpSync("src", folder, { recursive: true, filter: (path) => !path.endsWith(".ts") });
    for (const [path, text] of texts) writeFileSync(join(folder, path), text);
    const config = {
      extends: resolve("tsconfig.json"),
      compilerOptions: { lib: ["es2023", "dom", "dom.iterable"] },
      include: ["**/*.ts"],
      exclude: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = resolve("node_modules/typescript-native/bin/tsc");
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", ".", "--pretty", "false"], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 2 ** 26,
    });
    expect(stderr).toBe("");
    return [...stdout.matchAll(/^(\S.*)\((\d+),\d+\): (error .*)$/gm)].map(
      ([, path = "", line, message]) => ({ path, line: Number(line), message }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("a third vendor", () => {
  test("the compiler names every table without a row for the vendor", { timeout: 240_000 }, () => {
    expect(tables.length).toBeGreaterThan(20);
    const found = mistakes(widened);
    const silent = tables.filter(
      ({ path, span: [from, to] }) =>
        !found.some((each) => each.path === path && each.line >= from && each.line <= to),
    );
    expect(silent.map(({ path, name }) => `${path} ${name}`)).toEqual([]);
  });

  test("with a row in each, nothing is missing elsewhere", { timeout: 240_000 }, () => {
    expect(mistakes(filled)).toEqual([]);
  });

  const folder = mkdtempSync(join(tmpdir(), "third-vendor-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("and no image of the vendor fits a host", { timeout: 120_000 }, async () => {
    for (const path of readdirSync("src", { recursive: true, encoding: "utf8" }))
      if (path.endsWith(".json")) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        cpSync(join("src", path), join(folder, path));
      }
    const compilerOptions = {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      rewriteRelativeImportExtensions: true,
    };
    for (const [path, text] of filled) {
      const to = join(folder, path.replace(/\.ts$/, ".js"));
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, ts.transpileModule(text, { compilerOptions, fileName: path }).outputText);
    }
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const { checkFit } = await import(pathToFileURL(join(folder, "resolve/check-fit.js")).href);
    const hosts = readdirSync("test/fixtures/hosts").map((name) =>
      join("test/fixtures/hosts", name, "expected.json"),
    );
    const facts = hosts
      .filter((path) => existsSync(path))
      .map((path) => JSON.parse(readFileSync(path, "utf8")));
    expect(facts.length).toBeGreaterThan(20);
    const verdicts = facts.map((host) => {
      const requires = {
        cpu: { march: "x86-64", features: [] },
        cuda: null,
        oneapi: { release: "2025.1", code: ["bmg-g21"] },
      };
      return checkFit(
        { platform: host.platform, requires, axes: {}, digest: `sha256:${"0".repeat(64)}` },
        host,
      );
    });
    expect(verdicts.filter(({ ok }) => ok)).toEqual([]);
    expect(new Set(verdicts.map(({ code }) => code))).toContain("NO_GPU");
  });
});
