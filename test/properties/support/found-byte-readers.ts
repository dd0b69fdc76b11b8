/** Every exported function that takes bytes, found in the source by the types of its parameters, and something for each type. */

import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createGunzip } from "node:zlib";
import ts from "typescript";
import { type ByteSource, memorySource } from "../../../src/inspect/byte-source.ts";
import { fixedPointers } from "../../../src/inspect/cpu/fixed-pointers.ts";
import { readFunctionRanges } from "../../../src/inspect/cpu/function-ranges.ts";
import { codeAreas, codeRegions } from "../../../src/inspect/cpu/regions.ts";
import { functionReader } from "../../../src/inspect/cpu/x86-functions.ts";
import { x86GoCode } from "../../../src/inspect/cpu/go-code.ts";
import { codeSegments, type Elf, readElf } from "../../../src/inspect/elf/elf.ts";
import { archiveBudget } from "../../../src/inspect/image/archive-budget.ts";
import { readZip } from "../../../src/inspect/image/zip.ts";
import { headsIn } from "./found-heads.ts";

const root = fileURLToPath(new URL("../../../src/", import.meta.url));

interface Parameter {
  readonly name: string;
  readonly type: string;
}

export interface ByteReader {
  /** `inspect/elf/elf.ts readElf` */
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** The marks of formats in its module. */
  readonly heads: readonly Buffer[];
  readonly load: () => Promise<(...given: readonly unknown[]) => unknown>;
}

const bytesType = /^(Buffer|Uint8Array|ByteSource|Chunks|Readable)\b/;

export const byteReaders: readonly ByteReader[] = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .sort()
  .flatMap((file) => {
    const source = readFileSync(root + file, "utf8");
    const { statements } = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
    return statements
      .filter(ts.isFunctionDeclaration)
      .filter(({ modifiers = [] }) => modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
      .map((declaration) => ({ name: declaration.name?.text ?? "", parameters: parametersOf(declaration) }))
      .filter(({ parameters }) => parameters.some(({ type }) => bytesType.test(type)))
      .map(({ name, parameters }) => ({
        ...{ name: `${file} ${name}`, parameters, heads: headsIn(source) },
        load: async () =>
          ((await import(pathToFileURL(root + file).href)) as Readonly<Record<string, never>>)[name] as never,
      }));
  });

function parametersOf({ parameters }: ts.FunctionDeclaration): readonly Parameter[] {
  return parameters
    .filter(({ initializer, questionToken }) => initializer === undefined && questionToken === undefined)
    .map(({ name, type }) => ({
      name: name.getText(),
      type: type?.getText().replaceAll(/\s+/g, " ") ?? "",
    }));
}

export interface Given {
  readonly bytes: Buffer;
  readonly source: ByteSource;
  readonly elf: Elf;
  readonly ranges: ReturnType<typeof readFunctionRanges>;
}

/** The file as code for x86-64, if the bytes say nothing else. */
export function givenOf(bytes: Buffer, source: ByteSource): Given {
  const known = facts.get(bytes) ?? factsOf(bytes);
  facts.set(bytes, known);
  return { bytes, source, ...known };
}

const facts = new WeakMap<Buffer, Pick<Given, "elf" | "ranges">>();

function factsOf(bytes: Buffer): Pick<Given, "elf" | "ranges"> {
  const whole = { type: 1, flags: 7, address: 0, offset: 0, size: bytes.length };
  const section = { ...whole, name: ".eh_frame", link: 0 };
  const alone: Elf = {
    ...{ bits: 64, machine: 62, type: 3, osAbi: 0, abiVersion: 0, flags: 0, version: 1 },
    ...{ sections: [section], segments: [whole], entry: 0, tables: [], damage: [] },
  };
  const elf = readElf(memorySource(bytes)) ?? alone;
  return { elf, ranges: readFunctionRanges(memorySource(bytes), elf) };
}

async function* chunksOf(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 2 ** 16) yield bytes.subarray(at, at + 2 ** 16);
}

const sink = { unopened() {}, script() {}, async file() {} };
const ed25519 = generateKeyPairSync("ed25519").publicKey;
const starts: ReadonlySet<string> = new Set(["at", "from", "offset", "start"]);

/** A value of each type that a reader of bytes takes. A reader with another type fails the test: write a row for its type. */
const rows: Readonly<Record<string, (given: Given, name: string) => unknown>> = {
  Buffer: ({ bytes }) => bytes,
  Uint8Array: ({ bytes }) => bytes,
  "Uint8Array | string": ({ bytes }) => bytes,
  ByteSource: ({ source }) => source,
  Chunks: ({ bytes }) => chunksOf(bytes),
  Readable: ({ bytes }) => Readable.from(chunksOf(bytes)),
  number: ({ bytes }, name) => (starts.has(name) ? 0 : bytes.length),
  "number | null": ({ elf }) => elf.entry,
  boolean: () => true,
  string: () => "name",
  "32 | 64": () => 64,
  Elf: ({ elf }) => elf,
  "Elf | null": ({ elf }) => elf,
  'Pick<Elf, "sections">': ({ elf }) => elf,
  ElfSection: ({ elf }) => elf.sections.at(-1),
  'Pick<ElfSection, "offset" | "size">': ({ elf }) => elf.sections.at(-1) ?? { offset: 0, size: 0 },
  "readonly ElfSegment[]": ({ elf }) => codeSegments(elf),
  Functions: ({ ranges }) => ranges,
  "ReturnType<typeof readFunctionRanges>": ({ ranges }) => ranges,
  "Iterable<CodeRegion>": ({ elf, ranges }) => codeRegions(elf, ranges),
  "readonly Place[]": ({ bytes }) => [{ offset: 64, size: bytes.length - 64 }],
  FixedPointers: ({ bytes, elf }) => fixedPointers(memorySource(bytes), elf),
  "(found: Relocation) => void": () => () => undefined,
  CodeArea: ({ elf, bytes }) => codeAreas(elf)[0] ?? { address: 0, offset: 0, size: bytes.length },
  "(target: number) => number | null": () => () => null,
  FunctionReader: ({ bytes, elf, ranges }) =>
    functionReader(memorySource(bytes), elf, ranges, fixedPointers(memorySource(bytes), elf)),
  "ReadonlyMap<number, number>": () => new Map([[64, 0]]),
  "ReadonlyMap<number, string>": ({ elf }) => new Map([[elf.entry, "golang.org/x/sys/cpu.initOptions"]]),
  "readonly string[]": () => ["name"],
  "(name: string) => boolean": () => () => true,
  GoCode: ({ bytes, elf, ranges }) =>
    x86GoCode(memorySource(bytes), elf, ranges, fixedPointers(memorySource(bytes), elf)),
  AnswerNames: () => Array<string>(128).fill("avx2"),
  "readonly number[]": ({ elf }) => [elf.entry],
  Kept: ({ elf }) => ({ places: new Map([[elf.entry, 8]]), by: new Set<number>() }),
  UseRange: () => () => undefined,
  "(from: number, to: number, isCall: boolean) => void": () => () => undefined,
  "(count: number) => void": () => () => undefined,
  ElfSegment: ({ bytes }) => ({ type: 1, flags: 5, address: 0, offset: 0, size: bytes.length }),
  DispatchSigns: ({ elf }) => ({ signs: ["IFUNC"], resolvers: new Set([elf.entry]) }),
  Table: () => "symbols",
  "(at: number) => string": () => () => "file",
  "(bytes: number) => void": () => () => undefined,
  "(error: unknown) => unknown": () => (error: unknown) => error,
  "readonly CodePattern[]": ({ bytes }) => [
    { lead: 0, bytes: bytes.subarray(0, 4), found: (at: number) => at },
  ],
  "readonly Mark[]": () => [],
  "{ left: number }": ({ bytes }) => ({ left: bytes.length }),
  ArchiveBudget: () => archiveBudget(),
  Opening: ({ bytes }) => ({ sink, layer: archiveBudget(), packed: bytes.length, unpacked: 0 }),
  ContentSink: () => sink,
  "Digest | null": () => null,
  Compression: () => "gzip",
  "zlib.Gunzip | zlib.InflateRaw": () => createGunzip(),
  ImageSourceKind: () => "file",
  OpenOptions: () => ({ env: {} }),
  "readonly ZipEntry[]": ({ source }) => readZip(source) ?? [],
  ZipEntry: ({ source }) =>
    readZip(source)?.[0] ?? { name: "a", offset: 0, compressed: 1, size: 1, method: 8 },
  RpmDatabase: () => "sqlite",
  PublicKey: () => ({ key: ed25519, hint: "", hashes: [null] }),
};

/** null for a type without a row. */
export function argumentsOf({ parameters }: ByteReader, given: Given): readonly unknown[] | null {
  const values = parameters.map(({ name, type }) => rows[type]?.(given, name));
  return parameters.every(({ type }) => rows[type] !== undefined) ? values : null;
}
