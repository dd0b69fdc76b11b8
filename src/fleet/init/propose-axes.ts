/** Proposes marches for hosts, and finds compiler and Python in a Dockerfile's base images. Pure. */

import { allMarches, findMarch, marchCompiles } from "../../hardware/cpu-marches.ts";
import type { HostFacts } from "../../facts/facts.ts";
import { builtFor } from "../../resolve/built-for.ts";
import { lowestStage } from "../dockerfile/stages.ts";
import type { Compiler } from "../matrix/matrix.ts";
import { argumentsOf, compilingStages, instructionsOf, type Reading } from "./reading.ts";

/** The levels of most machines, for hosts with unknown CPUs. */
const usualMarches = ["x86-64-v2", "x86-64-v3"];

/** The oldest CPU of each level: gcc before 11 and clang before 12 know no levels. */
const oldestOf: Readonly<Record<string, string>> = {
  "x86-64-v2": "nehalem",
  "x86-64-v3": "haswell",
  "x86-64-v4": "skylake-avx512",
};

/**
 * Proposes the highest level that all hosts of an architecture run, and the march of each host's CPU. Marches that the compiler does not
 * know are left out.
 *
 * @returns names, each once; the usual levels if no host's CPU is known
 */
export function proposeMarches(hosts: readonly HostFacts[], compiler: Compiler | null): readonly string[] {
  const known = hosts.filter(({ cpu }) => cpu.features !== null);
  const architectures = [...new Set(known.map(architectureOf))];
  const names = architectures.flatMap((architecture) => {
    const own = known.filter((host) => architectureOf(host) === architecture);
    const common = levels.flatMap((level) => {
      const name = compilable(level, compiler);
      return name !== null && own.every((host) => runs(host, name)) ? [name] : [];
    });
    const highest = common.at(-1) ?? null;
    const natives = own.map((host) => nativeMarch(host, compiler, highest));
    return [highest, ...natives].filter((name) => name !== null);
  });
  if (names.length > 0) return [...new Set(names)];
  return usualMarches.flatMap((level) => compilable(level, compiler) ?? []);
}

/** Lowest first, as in the table. */
const levels = allMarches().flatMap(({ name, vendor }) => (vendor === "generic" ? [name] : []));

/** The level, or its oldest CPU if the compiler knows no levels. */
function compilable(level: string, compiler: Compiler | null): string | null {
  return [level, oldestOf[level]].find((name) => name !== undefined && knows(compiler, name)) ?? null;
}

function knows(compiler: Compiler | null, name: string): boolean {
  const march = findMarch(name);
  if (march === null) return false;
  return compiler === null || marchCompiles(march, compiler.family, compiler.version) !== false;
}

function runs({ cpu, platform }: HostFacts, name: string): boolean {
  const march = findMarch(name);
  if (march?.architecture !== architectureOf({ platform })) return false;
  const present = new Set(cpu.features ?? []);
  return march.features.every((feature) => present.has(feature));
}

/** The lowest level of each architecture. */
export function lowestMarches(hosts: readonly HostFacts[]): readonly string[] {
  const architectures = new Set(hosts.map(architectureOf));
  const lowest = [...architectures].flatMap(
    (architecture) => levels.find((name) => findMarch(name)?.architecture === architecture) ?? [],
  );
  return lowest.length === 0 ? ["x86-64"] : lowest;
}

/**
 * The march that `resolve` takes before all others that the host runs: of the levels, the marches of the host's vendor, and `highest`. Among
 * equals its vendor's.
 */
function nativeMarch(host: HostFacts, compiler: Compiler | null, highest: string | null): string | null {
  const present = new Set(host.cpu.features ?? []);
  const fitting = allMarches()
    .filter(({ name, vendor }) => ["generic", host.cpu.vendor].includes(vendor) || name === highest)
    .filter(({ name }) => knows(compiler, name) && runs(host, name));
  const ranked = fitting.map(({ name, features }) => {
    const requires = { cpu: { march: name, features }, cuda: null };
    return { name, ...builtFor({ platform: host.platform, requires }, present) };
  });
  ranked.sort((one, other) => one.emitted - other.emitted || one.features - other.features);
  return ranked.at(-1)?.name ?? null;
}

function architectureOf({ platform }: Pick<HostFacts, "platform">): string {
  return platform.slice(platform.indexOf("/") + 1);
}

/** The argument by which a `FROM` chooses a Python, with the version; null if unknown. */
export function findPython(reading: Reading): { readonly argument: string; readonly version: string } | null {
  const declared = argumentsOf(instructionsOf(reading, -1));
  const globals = new Map(declared.map(({ name, value }) => [name, value]));
  for (const { image } of reading.stages) {
    const argument = /(?:^|\/)python:\$\{?(\w+)/.exec(image?.text ?? "")?.[1];
    const version = argument === undefined ? null : globals.get(argument);
    if (argument !== undefined && version && /^[\w.]+$/.test(version)) return { argument, version };
  }
  return null;
}

/**
 * The gcc and clang of a release's packages. Sources: packages.debian.org and packages.ubuntu.com, "gcc",
 * "clang"; pkgs.alpinelinux.org, "gcc".
 */
const releases: readonly (readonly [RegExp, gcc: string, clang: string | null])[] = [
  [/buster|debian:10/, "8.3", "7.0"],
  [/bullseye|debian:11/, "10.2", "11.0"],
  [/bookworm|debian:12/, "12.2", "14.0"],
  [/trixie|debian:13/, "14.2", "19.0"],
  [/bionic|ubuntu:?18\.04/, "7.4", "6.0"],
  [/focal|ubuntu:?20\.04/, "9.3", "10.0"],
  [/jammy|ubuntu:?22\.04/, "11.2", "14.0"],
  [/noble|ubuntu:?24\.04/, "13.2", "18.0"],
  [/alpine:?3\.18/, "12.2", null],
  [/alpine:?3\.(19|20)(?!\d)/, "13.2", null],
  [/alpine:?3\.(21|22)(?!\d)/, "14.2", null],
];

/** The compiler of the first stage that compiles, by its steps or its base; null if unknown. */
export function findCompiler(reading: Reading): Compiler | null {
  const [index] = compilingStages(reading);
  if (index === undefined) return null;
  const texts = instructionsOf(reading, index).map(({ instruction }) => instruction.text);
  const chosen = /(?:\bCC=|C_COMPILER=|\bENV\s+CC\s+)["']?(?:\S*\/)?(gcc|clang)(?:-(\d+(?:\.\d+)?))?/.exec(
    texts.join("\n"),
  );
  const base = lowestStage(reading.stages, index)?.ref;
  const family = chosen?.[1] === "clang" ? "clang" : "gcc";
  const version = chosen?.[2] ?? versionOf(base?.ok === true ? base.value : "", family);
  return version === null ? null : { family, version };
}

function versionOf(base: string, family: "gcc" | "clang"): string | null {
  // Docker's official image; a team's own gcc:3 has another version.
  const own = /^(?:docker\.io\/)?(?:library\/)?gcc:(\d+(?:\.\d+)*)/.exec(base)?.[1];
  if (family === "gcc" && own !== undefined) return own;
  const release = releases.find(([pattern]) => pattern.test(base));
  return release === undefined ? null : family === "gcc" ? release[1] : release[2];
}
