/**
 * Finds signs that a file asks for the CPU's features before use. 94 of Debian 12's 1,691 files hold more than SSE3, and 93 of these show a
 * sign. A sign says nothing about a single instruction: it only turns *needed* into *may be used*.
 */

import { groupBy } from "../../io/collections.ts";
import { type ByteSource, windowBytes, withWindow } from "../byte-source.ts";
import { type Elf, elfMachine } from "../elf/elf.ts";
import { readSymbols, symbolNames, symbolType } from "../elf/symbols.ts";
import { u32, u64 } from "../little-endian.ts";

/**
 * gcc and clang's `__builtin_cpu_supports`, glibc, the kernel's auxiliary vector, OpenSSL, PyTorch's cpuinfo. The code of a snapshot of Dart reads the
 * answer of Dart's runtime before each instruction of SSE4.1.
 */
const askingNames: ReadonlySet<string> = new Set([
  "__aarch64_cpu_features",
  "__aarch64_have_lse_atomics",
  "__cpu_features2",
  "__cpu_indicator_init",
  "__cpu_model",
  "__get_cpu_features",
  "__getauxval",
  "__init_cpu_features_resolver",
  "__x86_get_cpu_features",
  "__x86_get_cpuid_feature_leaf",
  "_dl_x86_get_cpu_features",
  "_dl_x86_cpu_features",
  "_kDartIsolateSnapshotInstructions",
  "_kDartSnapshotText",
  "elf_aux_info",
  "getauxval",
  "OPENSSL_armcap_P",
  "OPENSSL_ia32cap_P",
]);

/**
 * The kernel's auxiliary vector tells x86 programs nothing that is newer than SSE2 (Linux, arch/x86/include/asm/elf.h, ELF_HWCAP). Rust's
 * standard library asks the vector for the size of a signal's stack.
 */
const auxiliaryNames: ReadonlySet<string> = new Set(["__getauxval", "elf_aux_info", "getauxval"]);

const askingPrefixes = ["cpuinfo_", "_ZN8cpuinfo"] as const;

const askingHeads: ReadonlySet<number> = new Set(
  [...askingNames, ...askingPrefixes].map((name) => u32(Buffer.from(name, "latin1"), 0)),
);

/** R_X86_64_IRELATIVE and R_AARCH64_IRELATIVE: a function chooses another when the program starts. */
const indirectRelocation: Readonly<Record<number, number>> = {
  [elfMachine.x86_64]: 37,
  [elfMachine.aarch64]: 1032,
};

const relocationSections: ReadonlySet<string> = new Set([".rela.iplt", ".rela.plt", ".rela.dyn"]);
const relocationSize = 24;
const maxRelocations = 64 * 2 ** 20;
const pieceBytes = Math.floor(windowBytes / relocationSize) * relocationSize;

const maxSigns = 20;

export interface DispatchSigns {
  /** Sorted; empty for a file that asks for nothing. */
  readonly signs: readonly string[];
  /** The addresses of the functions that choose others, when the file is loaded: IFUNC. */
  readonly resolvers: ReadonlySet<number>;
}

export function readDispatchSigns(source: ByteSource, elf: Elf): DispatchSigns {
  const signs = new Set<string>();
  const resolvers = new Set<number>();
  const isArm = elf.machine === elfMachine.aarch64;
  const isAsking = (name: string) =>
    (askingNames.has(name) && (isArm || !auxiliaryNames.has(name))) ||
    askingPrefixes.some((prefix) => name.startsWith(prefix));
  for (const table of ["dynamicSymbols", "symbols"] as const) {
    const names = symbolNames(source, elf, table);
    for (const { type, nameAt, address, isImport } of readSymbols(source, elf, table)) {
      if (type === symbolType.indirectFunction && !isImport) resolvers.add(address);
      else if (askingHeads.has(names.head(nameAt))) {
        const name = names.text(nameAt);
        if (isAsking(name)) signs.add(name);
      }
      if (signs.size >= maxSigns) break;
    }
  }
  withWindow((buffer) => indirectRelocations(source, elf, buffer, (address) => resolvers.add(address)));
  return { signs: [...signs].sort(), resolvers };
}

function indirectRelocations(
  source: ByteSource,
  elf: Elf,
  buffer: Uint8Array,
  tell: (resolver: number) => void,
): void {
  const wanted = indirectRelocation[elf.machine];
  if (wanted === undefined) return;
  let left = maxRelocations;
  // Sections may lie over one another, which no linker does: each byte is read once.
  let unread = 0;
  const tables = elf.sections.filter(({ name }) => relocationSections.has(name));
  for (const { offset, size } of tables.sort((one, other) => one.offset - other.offset)) {
    if (offset < unread) continue;
    unread = offset + size;
    const end = Math.min(size, left);
    left -= end;
    for (let start = 0; start < end; start += pieceBytes) {
      const bytes = source.readOver(offset + start, buffer.subarray(0, Math.min(pieceBytes, end - start)));
      for (let at = 0; at + relocationSize <= bytes.length; at += relocationSize)
        if (u32(bytes, at + 8) === wanted) tell(u64(bytes, at + 16));
    }
  }
}

/** The loader takes the folder of the CPU's highest level (glibc, ld.so(8), "glibc-hwcaps"). */
const loaderFolder = /^(.*\/)?glibc-hwcaps\/([^/]+)\/(.+)$/;

const cpuName =
  /(^|[-_.])(avx\w*|s?sse\d?\w*(?:\.\d)?|fma\d?|haswell|sandybridge|ivybridge|piledriver|skylake\w*|cannonlake|icelake\w*|alderlake|cascadelake|cooperlake|sapphirerapids|zn?ver\d|zen\d|sve\d?|sme\d?|armv[89](?:\.\d)?\w*|x86-64-v[234]|aesni|p?clmul(?:qdq)?|gfni|v?sha_?ni|vaes|bmi[12](?:_adx)?)(?=[-_.]|$)/i;

/** The word in that place of the name of the file for every CPU. */
const plainName =
  /(^|[-_.])(def|default|generic|base|baseline|portable|scalar|x64|x86-64|common)(?=[-_.]|$)/i;

/** One of several files: a program or its loader takes one variant. */
export interface Variant {
  readonly path: string;
  /** The CPU or the extension in its name. The file for every CPU has another word in that place, or is `plain`. */
  readonly name: string;
  readonly isPlain: boolean;
}

/**
 * Variants by their family. A family is the files of one folder whose names differ in the name of a CPU or an extension, with the file for
 * every CPU; or the files in `glibc-hwcaps` with one name. A file alone is no variant: it is what will run.
 */
export function variantFamilies(paths: Iterable<string>): ReadonlyMap<string, readonly Variant[]> {
  const all = new Set(paths);
  const named = [...all].flatMap((path) => {
    const found = placeOf(path);
    return found === null ? [] : [found];
  });
  const families = new Map<string, readonly Variant[]>();
  for (const [family, members] of groupBy(named, (each) => each.family)) {
    const plain = (members[0]?.plainPaths ?? [])
      .filter((path) => all.has(path))
      .map((path) => ({ path, name: "plain", isPlain: true }));
    const isLoaders = members.some(({ isByLoader }) => isByLoader);
    const isChoice = members.some(({ isPlain }) => !isPlain) && members.length + plain.length > 1;
    if (isLoaders || isChoice)
      families.set(family, [
        ...members.map(({ path, name, isPlain }) => ({ path, name, isPlain })),
        ...plain,
      ]);
  }
  return families;
}

/** The paths of variants, without those for every CPU. */
export function variantsAmong(paths: Iterable<string>): ReadonlySet<string> {
  const all = [...variantFamilies(paths).values()].flat();
  return new Set(all.flatMap(({ path, isPlain }) => (isPlain ? [] : [path])));
}

/** A library that is named after a CPU or an extension: `mca_op_avx.so`. A file that asks the CPU itself is a plug-in for the CPU. */
export function isNamedForCpu(path: string): boolean {
  const file = path.slice(path.lastIndexOf("/") + 1);
  return /\.so(\.|$)/.test(file) && cpuName.test(file);
}

const library = /^lib[^/]*\.so(\.|$)/;
const module = /^(?!lib)[^/]*\.so$/;

/**
 * The paths of optional libraries. No file links an optional library, and its name has a CPU's name, or the library stands in a folder with the
 * modules of an environment. A program loads such a library while the program runs, if at all.
 */
export function optionalAmong(
  files: readonly {
    readonly path: string;
    readonly soname: string | null;
    readonly needed: readonly string[];
  }[],
): ReadonlySet<string> {
  const linked = new Set(files.flatMap(({ needed }) => needed));
  const cut = (path: string) => path.lastIndexOf("/") + 1;
  const modules = files.filter(({ path }) => module.test(path.slice(cut(path))));
  const withModules = new Set(modules.map(({ path }) => path.slice(0, cut(path))));
  const optional = files.filter(({ path, soname }) => {
    const name = path.slice(cut(path));
    if (linked.has(name) || (soname !== null && linked.has(soname))) return false;
    return isNamedForCpu(path) || (library.test(name) && withModules.has(path.slice(0, cut(path))));
  });
  return new Set(optional.map(({ path }) => path));
}

interface NamedPlace extends Variant {
  /** The path with `*` in place of the name. */
  readonly family: string;
  /** The path without the name, and with the algorithm alone: `_raw_aes.abi3.so` beside `_raw_aesni.abi3.so`. */
  readonly plainPaths: readonly string[];
  readonly isByLoader: boolean;
}

/** null for a path without the name of a CPU. */
function placeOf(path: string): NamedPlace | null {
  const [, before = "", level, rest] = loaderFolder.exec(path) ?? [];
  if (level !== undefined)
    return {
      ...{ path, name: level, isPlain: false, isByLoader: true },
      family: `${before}glibc-hwcaps/*/${rest}`,
      plainPaths: [`${before}${rest}`],
    };
  const slash = path.lastIndexOf("/") + 1;
  const file = path.slice(slash);
  const isPlain = !cpuName.test(file);
  const pattern = isPlain ? plainName : cpuName;
  const name = pattern.exec(file)?.[2];
  if (name === undefined) return null;
  const family = path.slice(0, slash) + file.replace(pattern, "$1*");
  const algorithm = /^aes(?=ni$)/i.exec(name)?.[0];
  const plainPaths = [
    family.replace(/[-_.]?\*/, ""),
    ...(algorithm === undefined ? [] : [family.replace("*", algorithm)]),
  ];
  return { path, name, isPlain, isByLoader: false, family, plainPaths };
}
