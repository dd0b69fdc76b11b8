/** Knows the functions that code calls by a name: symbols of the file, and imports by the tables of pointers. */

import type { ByteSource } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";
import { readSymbols, symbolNames } from "../elf/symbols.ts";
import { u32 } from "../little-endian.ts";
import { eachRelocation, isOfImport } from "./fixed-pointers.ts";
import type { FunctionReader } from "./x86-functions.ts";

/** What a name says of a function, or of the data that libgcc's question leaves; `auxiliary`: gives the kernel's answer back. */
export type Kind = Ending | "starts" | "model" | "features2" | "auxiliary" | "atomics" | "features";

/** How a function ends the program; `status`: with the first argument as its status. */
export type Ending = "status" | "aborts" | "throws" | "never";

const endings: ReadonlySet<Kind> = new Set(["status", "aborts", "throws", "never"]);
export const isEnding = (kind: Kind): kind is Ending => endings.has(kind);

const kinds: ReadonlyMap<string, Kind> = new Map([
  ...["exit", "_exit", "_Exit", "quick_exit", "err", "errx"].map((name) => [name, "status"] as const),
  ...["abort", "__assert_fail", "_ZSt9terminatev"].map((name) => [name, "aborts"] as const),
  ...["__cxa_throw", "_Unwind_RaiseException", "_Unwind_Resume"].map((name) => [name, "throws"] as const),
  ["__stack_chk_fail", "never"],
  // These call what they are given.
  ...["pthread_create", "thrd_create", "qsort", "qsort_r", "bsearch"].map(
    (name) => [name, "starts"] as const,
  ),
  ...["GOMP_parallel", "GOMP_task", "__kmpc_fork_call"].map((name) => [name, "starts"] as const),
  ["__cpu_model", "model"],
  ["__cpu_features2", "features2"],
  ["getauxval", "auxiliary"],
  ["__getauxval", "auxiliary"],
  ["__aarch64_have_lse_atomics", "atomics"],
  ["__aarch64_cpu_features", "features"],
]);
/** std::thread's own, whose name has the types of its arguments (libstdc++, thread.cc). */
const threads = "_ZNSt6thread15_M_start_thread";
/** A glance at the first four letters passes over most names. */
const heads = new Set([...kinds.keys(), threads].map((name) => u32(Buffer.from(`${name}\0`, "latin1"), 0)));

export type NamedCalls = ReturnType<typeof namedCalls>;

/** `stubOf` tells the place in a table of pointers to which code jumps. `importsAlone`: of a library only what it imports by stubs. */
export function namedCalls(
  source: ByteSource,
  elf: Elf,
  stubOf: (target: number) => number | null,
  importsAlone = false,
) {
  const own = new Map<number, Kind>();
  const imports = new Map<number, Kind>();
  for (const table of ["symbols", "dynamicSymbols"] as const) {
    if (importsAlone && table === "symbols") continue;
    const names = symbolNames(source, elf, table);
    let index = -1;
    for (const { nameAt, address, isImport } of readSymbols(source, elf, table)) {
      index++;
      if (!heads.has(names.head(nameAt)) || (!isImport && address === 0)) continue;
      const name = names.text(nameAt);
      const kind = name.startsWith(threads) ? "starts" : kinds.get(name);
      if (kind === undefined) continue;
      if (!isImport) own.set(address, kind);
      else if (table === "dynamicSymbols") imports.set(index, kind);
    }
  }
  const places = new Map<number, Kind>();
  if (imports.size > 0)
    for (const section of elf.sections.filter(
      ({ name }) => name === ".rela.plt" || (name === ".rela.dyn" && !importsAlone),
    ))
      eachRelocation(source, section, ({ place, type, symbol }) => {
        const kind = isOfImport(type) ? imports.get(symbol) : undefined;
        if (kind !== undefined) places.set(place, kind);
      });
  return {
    /** Address in the file → kind. */
    own,
    /** What a called address is, or with `isPointer` what the address in a place of a table is; null for other functions. */
    kindAt: (target: number, isPointer: boolean): Kind | null =>
      own.get(target) ?? places.get(isPointer ? target : (stubOf(target) ?? -1)) ?? null,
  };
}

/** The place in a table of pointers to which a stub jumps: JMP with ENDBR64 or BND before (System V ABI, "Procedure Linkage Table"). */
export function x86StubOf(reader: FunctionReader, target: number): number | null {
  const bytes = reader.bytesFrom(target);
  const at =
    bytes === null ? -1 : bytes.findIndex((each, index) => each === 0xff && bytes[index + 1] === 0x25);
  return bytes === null || at < 0 || at > 5 ? null : target + at + 6 + (u32(bytes, at + 2) | 0);
}
