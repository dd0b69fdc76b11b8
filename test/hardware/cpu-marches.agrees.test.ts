/**
 * The march tables against the compilers of the machine: for each march, the instruction-set macros that gcc and clang define.
 * Only compilers that are installed are asked (`gcc`, `clang`, `clang-16` …, and the cross compilers of Debian's names);
 * the others are skipped by name.
 */

import { describe, expect, test } from "vitest";
import { neverNeededFeatures } from "../../src/hardware/cpu-features.ts";
import {
  type CpuArchitecture,
  compilerFlags,
  findMarch,
  type March,
  marchCompiles,
  marchFeatures,
  marchNames,
  unknownWithout,
} from "../../src/hardware/cpu-marches.ts";
import { type Compiler, findCompiler } from "./support/compilers.ts";
import { type Difference, differences } from "./support/differences.ts";
import { vocabularies } from "./support/feature-macros.ts";
import { isLong } from "../support/long.ts";
import { needs } from "../support/needs.ts";

/** Those whose features no other one has all of: together they have all that an architecture can be built without. */
function widest(marches: readonly March[]): readonly March[] {
  const features = new Map(
    marches.map((march) => [march, new Set([...march.required, ...march.optional])] as const),
  );
  return [...features].flatMap(([march, own], index) => {
    const within = [...features].some(
      ([, other], place) =>
        place !== index &&
        [...own].every((feature) => other.has(feature)) &&
        (other.size > own.size || place < index),
    );
    return within ? [] : [march];
  });
}

/** The first whose macros the tables were compared with. */
const oldestClang = 13;

/** All that are installed; without any, `clang` is skipped visibly. */
const installedClangs = [
  "clang",
  ...[13, 14, 15, 16, 17, 18, 19, 20, 21, 22].map((version) => `clang-${version}`),
].filter((command) => typeof findCompiler("clang", command, [], "") !== "string");
const clangs = installedClangs.length > 0 ? installedClangs : ["clang"];
const compilers: readonly (readonly [CpuArchitecture, Compiler["kind"], string, readonly string[]])[] = [
  ["amd64", "gcc", process.arch === "x64" ? "gcc" : "x86_64-linux-gnu-gcc", []],
  ["arm64", "gcc", "aarch64-linux-gnu-gcc", []],
  ["ppc64le", "gcc", "powerpc64le-linux-gnu-gcc", []],
  ["riscv64", "gcc", "riscv64-linux-gnu-gcc", []],
  ...clangs.flatMap((command) => [
    ["amd64", "clang", command, ["--target=x86_64-linux-gnu"]] as const,
    ["arm64", "clang", command, ["--target=aarch64-linux-gnu"]] as const,
    ["ppc64le", "clang", command, ["--target=powerpc64le-linux-gnu"]] as const,
    ["riscv64", "clang", command, ["--target=riscv64-linux-gnu"]] as const,
  ]),
];

/** Debian's package of a command. */
function packageOf(command: string): string {
  const cross = /^(\w+)-linux-gnu-gcc$/.exec(command)?.[1];
  return cross === undefined ? command : `gcc-${cross.replace("_", "-")}-linux-gnu`;
}

describe.each(compilers)("%s by %s: %s", (architecture, kind, command, always) => {
  const found = findCompiler(kind, command, always, `apt-get install ${packageOf(command)}`);
  const compiler = typeof found === "string" ? null : found;
  const major = Number.parseInt(compiler?.version ?? "0", 10);
  const whyNoCompiler =
    typeof found === "string"
      ? found
      : kind === "clang" && major < oldestClang
        ? `${command} is ${found.version}, the tables know clang ${oldestClang} and newer (apt-get install clang-${oldestClang})`
        : null;
  const marches = marchNames()
    .flatMap((name) => findMarch(name) ?? [])
    .filter((each) => each.architecture === architecture);

  test("accepts a march from the version in the table on", needs(whyNoCompiler), () => {
    for (const march of marches) {
      const accepted = compiler?.macros(compilerFlags(march)) !== null;
      const expected = marchCompiles(march, kind, compiler?.version ?? "");
      if (expected !== null) expect(accepted, `${compiler?.title} ${march.name}`).toBe(expected);
    }
  });

  const definesMacros = () => {
    if (architecture === "ppc64le") throw new Error("POWER has no macros of features");
    const { hasMacro } = vocabularies[architecture];
    let compared = 0;
    for (const march of marches) {
      const macros = compiler?.macros(compilerFlags(march)) ?? null;
      if (compiler === null || macros === null) continue;
      compared++;
      const told = featuresOf(architecture, macros);
      const table = [...march.required, ...march.optional].filter(hasMacro);
      const onlyTable = table.filter((each) => !told.has(each));
      const onlyCompiler = [...told].filter((each) => !table.includes(each));
      expect(unexplained(compiler, march, "table", onlyTable), `${march.name}: in the table only`).toEqual(
        [],
      );
      expect(
        unexplained(compiler, march, "compiler", onlyCompiler),
        `${march.name}: by the compiler only`,
      ).toEqual([]);
      expect(
        unknownMacros(architecture, compiler, macros),
        `${march.name}: macros without a feature`,
      ).toEqual([]);
    }
    expect(compared).toBeGreaterThan(architecture === "riscv64" ? 0 : 5);
  };
  if (architecture !== "ppc64le")
    test("defines the macros of the table", needs(whyNoCompiler), definesMacros);

  // clang before 22 keeps the macros of many Arm extensions that it is told to leave out: see compilerFlags.
  const honoursWithout =
    (architecture === "amd64" && (kind === "gcc" || command === clangs.at(-1))) ||
    (architecture === "arm64" && (kind === "gcc" || major >= 22));
  const usesNothingElse = () => {
    if (compiler === null) return;
    for (const march of widest(marches.filter((each) => compiler.macros(compilerFlags(each)) !== null))) {
      for (const [at, feature] of [...march.required, ...march.optional].entries()) {
        // Every third, from another one for each compiler; all with IMGMATCH_LONG.
        if (!isLong && (at + major) % 3 !== 0) continue;
        if (unknownWithout(march, [feature]).length > 0) continue;
        const macros = compiler.macros(compilerFlags(march, [feature]));
        // An older compiler may not know the option of a feature that its march does not imply either.
        if (macros === null) continue;
        const needed = new Set(marchFeatures(march, [feature]));
        const used = [...featuresOf(architecture, macros)].filter(
          (each) => !needed.has(each) && !neverNeededFeatures.has(each),
        );
        expect(unexplained(compiler, march, "compiler", used), `${march.name} without ${feature}`).toEqual(
          [],
        );
      }
    }
  };
  if (honoursWithout)
    test(
      "uses nothing that `without` takes from the requirement",
      { ...needs(whyNoCompiler), timeout: 120_000 },
      usesNothingElse,
    );

  const addsMacros = () => {
    for (const march of marches) {
      const macros = compiler?.macros(compilerFlags(march)) ?? null;
      if (macros === null) continue;
      const generations = march.features.filter((each) =>
        macros.has(`_ARCH_PWR${each.replace("power", "")}`),
      );
      expect(generations).toEqual(march.features);
    }
  };
  if (architecture === "ppc64le")
    test("each POWER generation adds its own macro", needs(whyNoCompiler), addsMacros);
});

test("every explained difference is about a march and a feature of the tables", () => {
  for (const { marches, features, only } of differences) {
    const named = marchNames().flatMap((name) => (marches.test(name) ? (findMarch(name) ?? []) : []));
    expect(named.length, String(marches)).toBeGreaterThan(0);
    const known = named.flatMap((march) => [...march.required, ...march.optional]);
    if (only === "table")
      expect(
        features.filter((each) => !known.includes(each)),
        String(marches),
      ).toEqual([]);
  }
});

function featuresOf(architecture: CpuArchitecture, macros: ReadonlySet<string>): ReadonlySet<string> {
  if (architecture === "ppc64le") return new Set();
  const { features } = vocabularies[architecture];
  return new Set([...macros].flatMap((macro) => features[macro] ?? []));
}

function unexplained(
  compiler: Compiler,
  march: March,
  only: Difference["only"],
  features: readonly string[],
): readonly string[] {
  const major = Number.parseInt(compiler.version, 10);
  const explained = differences
    .filter((each) => each.compiler === compiler.kind && each.only === only && each.marches.test(march.name))
    .filter((each) => each.versions === undefined || each.versions.includes(major))
    .flatMap((each) => each.features);
  return features.filter((feature) => !explained.includes(feature));
}

/** Macros that a march adds to the baseline and that stand for no feature that the tests know. */
function unknownMacros(
  architecture: CpuArchitecture,
  compiler: Compiler,
  macros: ReadonlySet<string>,
): readonly string[] {
  if (architecture === "ppc64le") return [];
  const { features, other, baseline } = vocabularies[architecture];
  const always = compiler.macros(baseline) ?? new Set();
  return [...macros].filter(
    (macro) => !always.has(macro) && !Object.hasOwn(features, macro) && !other.test(macro),
  );
}
