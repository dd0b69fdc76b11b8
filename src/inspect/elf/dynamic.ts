/** Reads what an ELF file asks of the loader: libraries, interpreter, libc. Source: System V ABI, "Dynamic Linking"; LSB, "Symbol Versioning". */

import { compareVersionTexts } from "../../hardware/driver-version.ts";
import type { ByteSource } from "../byte-source.ts";
import { textAt, u16, u32, u64 } from "../little-endian.ts";
import { type Elf, offsetOfAddress, segmentType } from "./elf.ts";

export interface ElfDynamic {
  readonly needed: readonly string[];
  readonly soname: string | null;
  readonly interpreter: string | null;
  /** `DT_RUNPATH`, or else `DT_RPATH`. Absent without both. */
  readonly runPath?: string;
  /** null for a file that names none: a static program, or a library that relies on the program's libc. */
  readonly libc: LibcNeed | null;
}

export interface LibcNeed {
  readonly name: "glibc" | "musl";
  /** The newest glibc version among the symbols that the file asks for: `2.28`. musl has none. */
  readonly version: string | null;
}

/** `versions` is `DT_VERNEED` of the LSB ("Symbol Version Table"). */
const tag = {
  end: 0,
  needed: 1,
  strings: 5,
  soname: 14,
  rpath: 15,
  runpath: 29,
  versions: 0x6ffffffe,
} as const;

const maxTable = 2 ** 20;
const maxNames = 10_000;

export function readDynamic(source: ByteSource, elf: Elf): ElfDynamic {
  const interpreter = elf.segments.find(({ type }) => type === segmentType.interpreter);
  const entries = dynamicEntries(source, elf);
  const entryOf = (wanted: number) => entries.find(([key]) => key === wanted)?.[1];
  const address = entryOf(tag.strings);
  const strings = address === undefined ? null : offsetOfAddress(elf, address);
  const name = (at: number) => (strings === null ? "" : textAt(source.read(strings + at, 4096), 0));
  const soname = entryOf(tag.soname);
  const path = entryOf(tag.runpath) ?? entryOf(tag.rpath);
  const runPath = path === undefined ? "" : name(path);
  const needed = entries
    .filter(([key]) => key === tag.needed)
    .slice(0, maxNames)
    .map(([, at]) => name(at))
    .filter((each) => each !== "");
  const loader =
    interpreter === undefined
      ? null
      : textAt(source.read(interpreter.offset, 4096), 0, interpreter.size) || null;
  return {
    needed,
    soname: soname === undefined ? null : name(soname) || null,
    interpreter: loader,
    ...(runPath === "" ? {} : { runPath }),
    libc: libcOf([...needed, loader ?? ""], versionNames(source, elf, entryOf(tag.versions), name)),
  };
}

/** Versions of all libraries count: the loader refuses a file that asks for a version that no library has. */
function libcOf(names: readonly string[], versions: readonly string[]): LibcNeed | null {
  const glibc = versions
    .map((version) => glibcMarks[version] ?? /^GLIBC_(\d+(?:\.\d+)+)$/.exec(version)?.[1])
    .filter((version) => version !== undefined)
    .sort((a, b) => compareVersionTexts(b, a));
  if (glibc[0] !== undefined || names.some((name) => /(^|\/)(libc\.so\.6|ld-linux[\w.-]*)$/.test(name)))
    return { name: "glibc", version: glibc[0] ?? null };
  // Alpine's libc has the architecture in its name, musl's own has not. Android's `libc.so` has versions.
  const isMusl = names.some((name) => /(^|\/)(libc\.musl-[\w-]+\.so\.1|ld-musl-[\w-]+\.so\.1)$/.test(name));
  return isMusl || (names.includes("libc.so") && versions.length === 0)
    ? { name: "musl", version: null }
    : null;
}

/** Versions that stand for an ability of the loader, with the glibc that brought the ability (glibc NEWS, 2.36 and 2.42). */
const glibcMarks: Readonly<Record<string, string>> = {
  GLIBC_ABI_DT_RELR: "2.36",
  GLIBC_ABI_GNU_TLS: "2.42",
  GLIBC_ABI_GNU2_TLS: "2.42",
};

/** Versions of the symbols that the file takes from any library. */
function versionNames(
  source: ByteSource,
  elf: Elf,
  address: number | undefined,
  name: (at: number) => string,
): readonly string[] {
  const start = address === undefined ? null : offsetOfAddress(elf, address);
  if (start === null) return [];
  const bytes = source.read(start, maxTable);
  const found: string[] = [];
  for (let library = 0; library + 16 <= bytes.length && found.length < maxNames; ) {
    for (let at = library + u32(bytes, library + 8), left = u16(bytes, library + 2); left > 0; left--) {
      if (at + 16 > bytes.length || found.length >= maxNames) break;
      found.push(name(u32(bytes, at + 8)));
      const step = u32(bytes, at + 12);
      if (step === 0) break;
      at += step;
    }
    const next = u32(bytes, library + 12);
    if (next === 0) break;
    library += next;
  }
  return found;
}

function dynamicEntries(source: ByteSource, elf: Elf): readonly (readonly [key: number, value: number])[] {
  const place = elf.segments.find(({ type }) => type === segmentType.dynamic);
  if (place === undefined) return [];
  const bytes = source.read(place.offset, Math.min(place.size, maxTable));
  const word = elf.bits === 64 ? 8 : 4;
  const number = elf.bits === 64 ? u64 : u32;
  const entries: [number, number][] = [];
  for (let at = 0; at + 2 * word <= bytes.length; at += 2 * word) {
    const key = number(bytes, at);
    if (key === tag.end) break;
    entries.push([key, number(bytes, at + word)]);
  }
  return entries;
}
