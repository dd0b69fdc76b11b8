/** Damaged programs, containers of GPU code, layers and archives, for who opens images. */

import { existsSync, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { print } from "../../src/cli/print.ts";
import { isPrintable } from "../../src/printable.ts";
import { memorySource } from "../../src/inspect/byte-source.ts";
import { filesOfLayers } from "../../src/inspect/image/file-tree.ts";
import { openFromArchive } from "../../src/inspect/image/from-archive.ts";
import { archiveBudget } from "../../src/inspect/image/archive-budget.ts";
import { inspectContent } from "../../src/inspect/image/inspect-content.ts";
import { inspectLayer } from "../../src/inspect/image/layer.ts";
import { collect } from "../../src/inspect/image/opened-file.ts";
import { noCache } from "../../src/inspect/image/layer-cache.ts";
import { inThisThread } from "../../src/inspect/workers/file-inspector.ts";
import { inspectFile } from "../../src/inspect/inspect-file.ts";
import { claimsOf } from "../../src/inspect/claims/claims-of.ts";
import { judgeClaims } from "../../src/inspect/claims/judge-claims.ts";
import { inspectionOf, surveyOf } from "../../src/inspect/inspection.ts";
import { inspectLines } from "../../src/cli/inspect-lines.ts";
import { makeBundle, makeCodeObject, makeCompressed, makeProgram } from "../inspect/support/make-amd.ts";
import { judgePart } from "../../src/node/judge-part.ts";
import { partsOf } from "../../src/node/known-parts.ts";
import { amdHost, gpuHost, h100, mi300x } from "../resolve/support/hosts.ts";
import { reference } from "../inspect/support/make-kpack.ts";
import { makeZip } from "../inspect/support/make-zip.ts";
import { makeConcatenated, makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { gpuFile, layoutFiles, makeImage, makeTar, savedFiles } from "../inspect/support/make-image.ts";
import type { Attack } from "./attacks.ts";
import { mutateBytes, mutateText, pick, type Random } from "./mutate.ts";
import type { OpeningName } from "./names.ts";

const programs = ["/bin/ls", "/bin/cat", "/bin/true"]
  .filter((path) => existsSync(path))
  .map((path) => readFileSync(path));
const cubin = Buffer.concat([
  Buffer.from("7f454c4602010141080000000000000002 00be00".replace(" ", ""), "hex"),
  Buffer.alloc(200),
]);
const containers = [
  makeContainer([
    makeEntry({ kind: 2, arch: 90, version: [1, 8], payload: cubin }),
    makeEntry({ kind: 1, arch: 90, headerSize: 88, flags: 0x8011, compressedSize: 12 }),
    makeEntry({
      kind: 2,
      arch: 80,
      version: [1, 7],
      flags: 0x2011,
      compressedSize: 40,
      payload: Buffer.alloc(40, 0xf2),
    }),
  ]),
  Buffer.concat([
    Buffer.alloc(33),
    cubin,
    makeContainer([
      makeConcatenated([
        { kind: 2, arch: 90 },
        { kind: 1, arch: 80 },
      ]),
    ]),
  ]),
  Buffer.from("// made\n.version 8.4\n.target sm_90a\n.address_size 64\n"),
];
const bundle = makeBundle(
  [
    { id: "hipv4-amdgcn-amd-amdhsa--gfx90a", bytes: makeCodeObject(0x53f) },
    { id: "hip-amdgcn-amd-amdhsa--gfx11-generic", bytes: makeCodeObject(0x1000054) },
  ],
  { align: 64 },
);
const bundles = [
  Buffer.concat([Buffer.alloc(33), bundle, bundle, makeCodeObject(0x41)]),
  ...([1, 2, 3] as const).map((version) => Buffer.concat([makeCompressed(bundle, version), bundle])),
  makeProgram([
    { name: ".hip_fatbin", bytes: makeCompressed(bundle, 3) },
    { name: ".rocm_kpack_ref", bytes: reference("a", ["../.kpack/a.kpack"]) },
  ]),
];
const tar = makeTar([
  { path: "a/x", content: gpuFile(70) },
  { path: "a/.wh.y" },
  { path: "lib", type: "2", target: "usr/lib" },
  { path: "lib/z", type: "1", target: "a/x" },
  { path: `${"long/".repeat(30)}name`, content: gpuFile(80) },
]);
/** Made by zstd 1.5: a tar of three files. */
const zstdTar = Buffer.from(
  "KLUv/QRYNQUAZAVhL3gAMDAwMDY0NDAwMDAyNjYzNTUAIDB1c3RhcgAwMFDtVboBABAAoAIAAQFAAAAAEAcAAQBGEQEEAAhh" +
    "Ly53aC55NzA0MXJlYWRtZTMxMTE3dGV4dCAgQIPRpMkB/N6D7wTBU2SsOsSMAxaPBAmgDHLpMlbROLhAYhgADmhgqF1UYU8g" +
    "c860PgobP+ky3ZlwQy0QLize2LkDc7jFODh2mZ44EYw9R1Q=",
  "base64",
);
/** Made by Python's zipfile: one file stored, one deflated. */
const zip = Buffer.from(
  "UEsDBBQAAAAAAAAAIQAn5mnCsAAAALAAAAAIAAAAbGliL3guc29Q7VW6AQAQAKAAAAAAAAAAAgABAUAAAAAQAAAAAAAAAAAA" +
    "AAAAAAAABwABAEYAAAAAAAAAAAAAABEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABAAEBQAAAABAA" +
    "AAAAAAAAAAAAAAAAAAAEAAgARgAAAAAAAAAAAAAAEQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFBL" +
    "AwQUAAAACAAAACEAJ+ZpwisAAACwAAAACAAAAGxpYi95LnNvC3gbuouRQYBhAQMEMDEwMjoAaQEGVMDOwMjghsQXZCAOMOIw" +
    "j4WBgyzzAFBLAQIUAxQAAAAAAAAAIQAn5mnCsAAAALAAAAAIAAAAAAAAAAAAAACAAQAAAABsaWIveC5zb1BLAQIUAxQAAAAI" +
    "AAAAIQAn5mnCKwAAALAAAAAIAAAAAAAAAAAAAACAAdYAAABsaWIveS5zb1BLBQYAAAAAAgACAGwAAAAnAQAAAAA=",
  "base64",
);
const layers = [tar, gzipSync(tar), zstdTar];
const image = makeImage([gzipSync(tar), tar]);
const archives = [makeTar(savedFiles(image)), makeTar(layoutFiles(image))];

const kpack = readFileSync("test/fixtures/kpack/blas_lib_gfx942.kpack");
const kpackUser = makeProgram([
  {
    name: ".rocm_kpack_ref",
    bytes: reference("lib/librocblas.so.5", ["../.kpack/blas_lib_@GFXARCH@.kpack"]),
  },
]);
const claimTexts = {
  "app-1.0.dist-info/variant.json": JSON.stringify({
    $schema: "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
    variants: {
      cu128: {
        nvidia: { cuda_version_lower_bound: ["12.8"], sm_arch: ["90_real"] },
        x86_64: { level: ["v3"] },
      },
    },
  }),
  "app-1.0.dist-info/METADATA":
    'Name: app\nRequires-Dist: app-device-gfx942 == 1.0; extra == "device-gfx942"\n',
  "build/torch29-cu130/metadata.json": '{"version":1,"backend":{"type":"cuda","archs":["9.0a","8.0+PTX"]}}',
  "info/index.json": '{"name":"app","depends":["__archspec 1 x86_64_v3","__cuda_arch >=8.0"]}',
};

/** Undamaged, for the fuzzer (test/fuzz). */
export const seeds = {
  elf: programs,
  fatbin: containers,
  ccob: bundles,
  kpack: [kpack, kpackUser],
  zip: [zip],
  tar: layers,
};

const stream = (bytes: Buffer) => Readable.from([bytes.subarray(0, 700), bytes.subarray(700)]);

const openedFrom = (layer: Awaited<ReturnType<typeof inspectLayer>>) =>
  ({
    source: "archive",
    name: "x",
    digest: null,
    platform: null,
    layers: [{ ...layer, digest: null }],
    diffIds: null,
  }) as const;

/** Every finding goes into the answer and onto the terminal. */
function shown(layer: Awaited<ReturnType<typeof inspectLayer>>): void {
  const opened = openedFrom(layer);
  const inspection = inspectionOf(opened);
  const out = (text: string) => {
    if (!isPrintable(text.replaceAll("\n", "")))
      throw new Error("a control character on its way to the terminal");
  };
  const terminal = {
    animated: false,
    interactive: false,
    columns: 80,
    width: Number.POSITIVE_INFINITY,
    color: { out: false, err: false },
  };
  print({ out, terminal }, {}, inspection, (style) => inspectLines(inspection, { allFiles: true, style }));
  JSON.stringify(filesOfLayers([layer]));
}

export const inspectAttacks = {
  program: async (random: Random) => {
    await inspectFile(memorySource(mutateBytes(pick(random, programs), random)), false);
  },
  gpuCode: async (random: Random) => {
    await inspectFile(memorySource(mutateBytes(pick(random, containers), random)), false);
  },
  amdCode: async (random: Random) => {
    await inspectFile(memorySource(mutateBytes(pick(random, bundles), random)), false);
  },
  /** What a wheel says of itself, and an archive of AMD's with the program that refers to it. */
  claims: async (random: Random) => {
    const name = `app-1.0-py3-none-any-${mutateText("cu128", random).replace(/[/\0]/g, "")}.whl`;
    const wheel = makeZip([
      ...Object.entries(claimTexts).map(([path, text]) => ({
        path,
        content: Buffer.from(mutateText(text, random)),
      })),
      { path: ".kpack/blas_lib_gfx942.kpack", content: mutateBytes(kpack, random) },
      { path: "lib/x.so", content: mutateBytes(kpackUser, random) },
    ]);
    const collected = collect(name, inThisThread);
    await inspectContent("", stream(wheel), collected.sink, archiveBudget(), name);
    const file = await collected.opened();
    const layer = {
      changes: [{ kind: "file", path: name, ...(file && { opened: file }) } as const],
      size: 0,
    };
    const described = { platform: "linux/amd64", requires: null, env: [] };
    const opened = { ...openedFrom(layer), source: "file" } as const;
    const host = { ...gpuHost([h100], "580.95.05", "13.0"), amd: amdHost([mi300x]).amd };
    for (const part of partsOf(opened, described, `/x/${name}`))
      JSON.stringify(
        judgePart(part, { host, here: null, choice: { cpuOnly: false, requireGpu: false } }, true),
      );
    const survey = surveyOf(opened);
    JSON.stringify(judgeClaims(claimsOf(opened, survey, name), inspectionOf(opened, survey)));
    shown(layer);
  },
  zip: async (random: Random) => {
    const { sink } = collect("file", inThisThread);
    await inspectContent("x.jar", stream(mutateBytes(zip, random)), sink, archiveBudget());
  },
  layer: async (random: Random) => {
    shown(
      await inspectLayer(
        { chunks: stream(mutateBytes(pick(random, layers), random)), digest: null },
        "layer 1",
      ),
    );
  },
  /** Damage before the compression, so that it arrives. */
  packedLayer: async (random: Random) => {
    shown(
      await inspectLayer({ chunks: stream(gzipSync(mutateBytes(tar, random))), digest: null }, "layer 1"),
    );
  },
  image: async (random: Random) => {
    const bytes = mutateBytes(pick(random, archives), random);
    const options = { platform: "linux/amd64", cache: noCache };
    inspectionOf(await openFromArchive(stream(bytes), "x.tar", "archive", options));
  },
} as const satisfies Record<OpeningName, Attack>;
