/** CPU microarchitectures and levels by the compilers' names, and what an image built for a march needs from a host. */

import { once } from "../io/collections.ts";
import { suggest } from "../io/suggest.ts";
import {
  armExtension,
  linuxName,
  neverNeededFeatures,
  withoutArmExtension,
  withoutX86Feature,
  x86Baseline,
  x86OptionName,
} from "./cpu-features.ts";
import table from "./cpu-marches.json" with { type: "json" };
import { compareVersions, parseVersion } from "./driver-version.ts";
import { readRows, type SourcedRow } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

/**
 * The compilers' knowledge of each `-march` (`-mcpu` for Arm and POWER cores), in Linux names.
 *
 * `required`: the compiler may emit it from plain code. `optional`: the option implies the feature, so sources may use it behind a macro, but
 * the compiler never emits it from plain code. `hidden…`: the same for features that Linux 6.12 prints under no name. A row is the union of
 * gcc's and clang's answers, as an image rarely says which compiler built it.
 */
interface MarchRow extends SourcedRow {
  readonly name: string;
  readonly vendor: string;
  /** x86: the level whose `required` comes in addition. */
  readonly base?: string;
  /** Arm: which option takes the name, and the compiler's own spelling. */
  readonly option?: string;
  readonly compilerName?: string;
  readonly required: string;
  readonly hiddenRequired?: string;
  readonly optional: string;
  readonly hiddenOptional?: string;
  /** First version that accepts it: `0` is every version, null is not known. */
  readonly gcc: string | null;
  readonly clang: string | null;
  /** Point releases of older majors that accept it too. */
  readonly gccBackports?: readonly string[];
  /** The version comes from memory: an older compiler may accept it as well. */
  readonly gccUnverified?: true;
  readonly clangUnverified?: true;
  /** x86: `cpu family` and `model` of /proc/cpuinfo. */
  readonly family?: number;
  readonly models?: readonly number[];
  /** Arm: `CPU implementer` and `CPU part` of /proc/cpuinfo. */
  readonly implementer?: string;
  readonly part?: string;
}

/** Architectures in OCI words. */
export type CpuArchitecture = "amd64" | "arm64" | "ppc64le" | "riscv64";

/**
 * Levels first, each after the one it contains, then by name. POWER: /proc/cpuinfo has no flags, so generations stand in for features.
 * RISC-V: the names of `isa` in /proc/cpuinfo. Left out are what a longer name contains (`zaamo` of `a`, `zve64d` of `v`), and
 * zicsr and zifencei, which Linux takes for granted and older kernels do not print (arch/riscv/kernel/cpufeature.c, riscv_fill_hwcap).
 */
export const marchRows = {
  amd64: readRows<MarchRow>(table.x86),
  arm64: readRows<MarchRow>(table.arm),
  ppc64le: readRows<MarchRow>(table.power),
  riscv64: readRows<MarchRow>(table.riscv),
} as const satisfies Record<CpuArchitecture, readonly MarchRow[]>;

export interface March {
  /** The compiler's name: `broadwell`, `neoverse-n1`, `power9`, `rva22u64`. */
  readonly name: string;
  readonly architecture: CpuArchitecture;
  /** The vendor as in host facts, or `generic` for a level. */
  readonly vendor: string;
  /** Features that the compiler may emit from plain code, sorted Linux names. */
  readonly required: readonly string[];
  /** Features that sources may use behind the compiler's macros, sorted Linux names. */
  readonly optional: readonly string[];
  /** The features that an image of this march needs from a host: both, without those that no computing code needs. Sorted Linux names. */
  readonly features: readonly string[];
  /** First version of each compiler that accepts the name: `0` is every version, null is not known. */
  readonly compiler: { readonly gcc: string | null; readonly clang: string | null };
  /** The option that takes the name: Arm and POWER cores are `-mcpu` values. */
  readonly option: "march" | "mcpu";
  /** The value of the option: the name, or the compiler's own, as `thunderx2t99`. */
  readonly compilerName: string;
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

/**
 * Finds a march by its name; null when the tables do not have it.
 *
 * @example
 * findMarch("broadwell")?.features.includes("adx"); // true
 */
export function findMarch(name: string): March | null {
  const known = expanded.get(name);
  if (known !== undefined) return known;
  const found = rows().get(name);
  if (found === undefined) return null;
  const march = expand(found);
  expanded.set(name, march);
  return march;
}

/** All names, the generic levels of each architecture first. */
export function marchNames(): readonly string[] {
  return [...rows().keys()];
}

/** The known march that a mistyped one means; null if none is near. AMD's names count too: compilers call Zen 4 `znver4` (GCC, x86 Options). */
export function suggestMarch(word: string): string | null {
  const zen = /^(?:amd[-_ ]?)?zen[-_ ]?(\d)(?![\d])/i.exec(word)?.[1];
  const znver = `znver${zen}`;
  return zen !== undefined && rows().has(znver) ? znver : suggest(word, marchNames());
}

/** All marches, in the order of {@link marchNames}. */
export function allMarches(): readonly March[] {
  return marchNames().flatMap((name) => findMarch(name) ?? []);
}

/** The marches whose images run on a platform, `linux/amd64`. */
export function marchesOn(platform: string): readonly March[] {
  return allMarches().filter((march) => marchPlatform(march) === platform);
}

/** The only platform that an image of this march runs on. */
export function marchPlatform(march: March): `linux/${CpuArchitecture}` {
  return `linux/${march.architecture}`;
}

/**
 * The features that an image needs from a host when it is built for `march` without some features. `without` takes Linux names and the
 * compiler's names. A removed feature takes its dependents along, as in the compilers: no `avx` means no `avx2` either.
 *
 * @returns sorted Linux names
 */
export function marchFeatures(march: March, without: readonly string[] = []): readonly string[] {
  const removed = new Set(
    without.filter((name) => isRemovable(march, name)).flatMap((name) => removes(march, name)),
  );
  return march.features.filter((feature) => !removed.has(feature));
}

/** The names in `without` that the march lacks, or that no compiler option can leave out. */
export function unknownWithout(march: March, without: readonly string[]): readonly string[] {
  return without.filter((name) => !isRemovable(march, name));
}

/**
 * The compiler's options for a march without some features, for gcc and clang alike. On Arm, clang before 22 still defines
 * the macros of some extensions that it was told to leave out (seen in 16 and 19): sources that ask may use them.
 *
 * @example
 * compilerFlags(march, ["waitpkg"]); // ["-march=sapphirerapids", "-mno-waitpkg"]
 * compilerFlags(march, ["sve"]); // ["-mcpu=neoverse-v1+nosve"]
 */
export function compilerFlags(march: March, without: readonly string[] = []): readonly string[] {
  const names = without.filter((name) => isRemovable(march, name));
  const option = `-${march.option}=${march.compilerName}`;
  if (march.architecture !== "arm64") {
    const options = new Set(names.map((name) => `-mno-${x86OptionName(linuxName(name))}`));
    return [option, ...[...options].sort()];
  }
  const extensions = new Set(names.flatMap((name) => armExtension(name) ?? []));
  return [
    option +
      [...extensions]
        .sort()
        .map((extension) => `+no${extension}`)
        .join(""),
  ];
}

/**
 * True if this version of gcc or clang accepts the march; null if that is unknown.
 *
 * @example
 * marchCompiles(march, "gcc", "7.5"); // false for sapphirerapids
 */
export function marchCompiles(march: March, compiler: "gcc" | "clang", version: string): boolean | null {
  const parts = parseVersion(version);
  const row = rows().get(march.name)?.row;
  const first = march.compiler[compiler];
  if (parts === null || row === undefined || first === null) return null;
  if (compareVersions(parts, parseVersion(first) ?? []) >= 0) return true;
  const backports = compiler === "gcc" ? (row.gccBackports ?? []) : [];
  const backported = backports
    .map((each) => parseVersion(each) ?? [])
    .some((each) => each[0] === parts[0] && compareVersions(parts, each) >= 0);
  if (backported) return true;
  const unverified = compiler === "gcc" ? row.gccUnverified : row.clangUnverified;
  return unverified === true ? null : false;
}

/** The marches of the tables whose CPUs run code that needs these features. */
export function marchesRunning(architecture: string, features: readonly string[]): readonly string[] {
  return marchesOn(`linux/${architecture}`)
    .filter((march) => features.every((feature) => march.features.includes(feature)))
    .map(({ name }) => name);
}

/** Every feature that an image of some march of this architecture can ask for; sorted Linux names. */
export function neededFeatures(architecture: string): readonly string[] {
  return [...new Set(marchesOn(`linux/${architecture}`).flatMap(({ features }) => features))].sort();
}

function isRemovable(march: March, name: string): boolean {
  // Generations and profiles are whole: no option leaves a part out.
  if (march.architecture === "ppc64le" || march.architecture === "riscv64") return false;
  const known = new Set([...march.required, ...march.optional]);
  if (march.architecture === "amd64") return known.has(linuxName(name)) && !x86Baseline.has(linuxName(name));
  const extension = armExtension(name);
  // No compiler emits it, so that there is nothing to tell the compiler.
  if (extension === null) return known.has(name) && neverNeededFeatures.has(name);
  return withoutArmExtension(extension).some((feature) => known.has(feature));
}

function removes(march: March, name: string): readonly string[] {
  return march.architecture === "arm64"
    ? withoutArmExtension(armExtension(name) ?? name)
    : withoutX86Feature(linuxName(name));
}

/** Built at the first use: a probe needs the levels alone. */
const expanded = new Map<string, March>();

interface KnownRow {
  readonly row: MarchRow;
  readonly architecture: CpuArchitecture;
}

const rows = once((): ReadonlyMap<string, KnownRow> => {
  const architectures = Object.keys(marchRows) as CpuArchitecture[];
  return new Map(
    architectures.flatMap((architecture) =>
      marchRows[architecture].map((row) => [row.name, { row, architecture }] as const),
    ),
  );
});

function expand({ row, architecture }: KnownRow): March {
  const required = new Set([...requiredOf(row), ...words(row.hiddenRequired)]);
  const optional = [...words(row.optional), ...words(row.hiddenOptional)];
  const features = new Set([...required, ...optional].filter((feature) => !neverNeededFeatures.has(feature)));
  return {
    name: row.name,
    architecture,
    vendor: row.vendor,
    required: [...required].sort(),
    optional: optional.sort(),
    features: [...features].sort(),
    compiler: { gcc: row.gcc, clang: row.clang },
    option: row.option === "mcpu" ? "mcpu" : "march",
    compilerName: row.compilerName ?? row.name,
    source: row.source,
    ...(row.note === undefined ? {} : { note: row.note }),
  };
}

function requiredOf(row: MarchRow): readonly string[] {
  const base = row.base === undefined ? undefined : rows().get(row.base)?.row;
  return [...(base === undefined ? [] : requiredOf(base)), ...words(row.required)];
}

function words(text: string | undefined): readonly string[] {
  return text === undefined || text === "" ? [] : text.split(" ");
}
