/** Archives of AMD's GPU code. Those of `test/fixtures/kpack` AMD's own Python writer made (stellaraccident/rocm-kpack@ae4f1c2). */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readArchiveOfCode, readArchiveReference } from "../../../src/inspect/amd/kpack.ts";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { inspectOne } from "../support/inspect-one.ts";
import { makeBundle, makeCodeObject, makeProgram } from "../support/make-amd.ts";
import { packed, packedText, reference } from "../support/make-kpack.ts";
import { formatHostFacts } from "../../../src/facts/format-facts.ts";
import { amdGpu, amdHost } from "../../resolve/support/hosts.ts";
import { runInProcess } from "../../support/run-cli.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNot } from "../../support/programs.ts";

const fixtures = join(import.meta.dirname, "../../fixtures/kpack");
const archiveFor = (target: string) => readFileSync(join(fixtures, `blas_lib_${target}.kpack`));
const read = (bytes: Uint8Array) => readArchiveOfCode(memorySource(bytes));
const blas = "lib/librocblas.so.5";

describe("an archive of AMD's GPU code", () => {
  it("has its targets by program, by its table alone", () => {
    expect(read(archiveFor("gfx942"))).toMatchObject({
      modules: 2,
      targets: [
        { target: "gfx942", modules: 2 },
        { target: "gfx942:xnack+", modules: 1 },
      ],
      archive: [
        { name: blas, targets: ["gfx942", "gfx942:xnack+"] },
        { name: "lib/librocsolver.so.0", targets: ["gfx942"] },
      ],
      damage: [],
    });
    expect(read(archiveFor("gfx1100"))).toMatchObject({
      bytes: 500,
      damage: [],
      targets: [{ target: "gfx1100" }],
    });
    expect(read(Buffer.from("KPA"))).toBeNull();
  });

  it.each([8, 20, 90, 400])("cut off at %i bytes is not understood", (length) => {
    expect(read(archiveFor("gfx942").subarray(0, length))).toMatchObject({
      targets: [],
      damage: [expect.any(String)],
    });
  });

  const table = (
    change: Readonly<Record<string, unknown>>,
    head: Partial<Record<"version" | "at", number>> = {},
  ) => {
    const blob = Buffer.alloc(64, 1);
    const bytes = packed({
      format_version: 1,
      gfx_arches: ["gfx942"],
      compression_scheme: "none",
      blobs: [{ offset: 64, size: 64 }],
      toc: { [blas]: { gfx942: { type: "hsaco", ordinal: 0 } } },
      ...change,
    });
    const start = Buffer.alloc(64);
    start.write("KPAK", "latin1");
    start.writeUInt32LE(head.version ?? 1, 4);
    start.writeBigUInt64LE(BigInt(head.at ?? 128), 8);
    return Buffer.concat([start, blob, bytes]);
  };

  it("counts what the runtime finds: a target that is in its list too, of code that is there", () => {
    expect(read(table({}))).toMatchObject({ archive: [{ name: blas, targets: ["gfx942"] }], damage: [] });
    expect(read(table({ gfx_arches: ["gfx90a"] }))).toMatchObject({ archive: [{ name: blas, targets: [] }] });
    const strange = { [blas]: { gfx1999: { type: "hsaco", ordinal: 0 } } };
    expect(read(table({ toc: strange, gfx_arches: ["gfx1999"] }))).toMatchObject({
      targets: [],
      unknown: { "target gfx1999": 1 },
    });
  });

  it.each([
    ["another version", table({}, { version: 2 })],
    ["a table beyond its end", table({}, { at: 2 ** 40 })],
    ["no table", table({}, { at: 64 })],
    ["no list of targets", table({ gfx_arches: 3 })],
    ["code beyond its end", table({ blobs: [{ offset: 64, size: 2 ** 31 }] })],
    ["no place of its code", table({ blobs: [] })],
    ["another compression", table({ compression_scheme: "dictionary" })],
    ["another kind of code", table({ toc: { [blas]: { gfx942: { type: "dxil", ordinal: 0 } } } })],
    ["a list for a table", table({ toc: [] })],
  ])("with %s has no targets, and says so", (_, bytes) => {
    expect(read(bytes)).toMatchObject({
      targets: [],
      damage: [expect.stringMatching(/^an archive of AMD's GPU code: /)],
    });
  });

  it("hostile tables end soon", () => {
    const deep = Buffer.concat([Buffer.alloc(100_000, 0x91)]);
    const wide = Buffer.concat([Buffer.of(0xdd, 0xff, 0xff, 0xff, 0xff), Buffer.alloc(1000)]);
    for (const bytes of [
      deep,
      wide,
      Buffer.of(0xdf, 0xff, 0xff, 0xff, 0xff),
      Buffer.of(0xdb, 0x7f, 0xff, 0xff, 0xff),
    ]) {
      const whole = Buffer.concat([table({}, { at: 64 }).subarray(0, 64), bytes]);
      expect(read(whole)).toMatchObject({
        damage: ["an archive of AMD's GPU code: its table is not understood"],
      });
      expect(readArchiveReference(bytes)).toBeNull();
    }
  });
});

describe("a program whose code is in archives", () => {
  const pattern = "../.kpack/blas_lib_@GFXARCH@.kpack";
  const program = (name = blas, ...paths: readonly string[]) =>
    makeProgram([
      { name: ".hip_fatbin", bytes: Buffer.alloc(4096) },
      { name: ".rocm_kpack_ref", bytes: reference(name, paths.length === 0 ? [pattern] : paths) },
    ]);
  const inspected = async (files: Readonly<Record<string, Uint8Array>>) => {
    const folder = makeFolder({});
    for (const [path, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
    const { amd, unopened } = await inspectOne(folder, { cache: false }, { env: {} });
    return {
      libraries: amd?.libraries.map(({ path, targets }) => `${path} ${targets.join(" ")}`) ?? [],
      unopened: unopened.map(({ path, reason }) => `${path}: ${reason}`),
    };
  };
  const missing = `/rocm/lib/librocblas.so.5: its GPU code is in archives beside it, which are not here: ${pattern}`;

  it("has the code that they have for it, and no more", async () => {
    const library = { "rocm/lib/librocblas.so.5": program() };
    const ofOne = { ...library, "rocm/.kpack/blas_lib_gfx942.kpack": archiveFor("gfx942") };
    expect(await inspected(ofOne)).toEqual({
      libraries: ["/rocm/lib/librocblas.so.5 gfx942 gfx942:xnack+"],
      unopened: [],
    });
    expect(
      await inspected({ ...ofOne, "rocm/.kpack/blas_lib_gfx1100.kpack": archiveFor("gfx1100") }),
    ).toEqual({
      libraries: ["/rocm/lib/librocblas.so.5 gfx942 gfx942:xnack+ gfx1100"],
      unopened: [],
    });
  });

  it.each([
    ["no archive is there", program(), {}],
    ["they are elsewhere", program(), { "rocm/lib/blas_lib_gfx942.kpack": archiveFor("gfx942") }],
    [
      "they have none for it",
      program("lib/librocfft.so.0"),
      { "rocm/.kpack/blas_lib_gfx942.kpack": archiveFor("gfx942") },
    ],
    [
      "they have another target than their name",
      program(),
      { "rocm/.kpack/blas_lib_gfx90a.kpack": archiveFor("gfx942") },
    ],
  ])("is not known where %s", async (_, bytes, archives) => {
    const { libraries, unopened } = await inspected({ "rocm/lib/librocblas.so.5": bytes, ...archives });
    expect(libraries.filter((each) => each.includes("librocblas"))).toEqual([]);
    expect(unopened).toEqual([missing]);
  });

  it("is not known where an archive is damaged", async () => {
    const cut = archiveFor("gfx942").subarray(0, 300);
    const { libraries, unopened } = await inspected({
      "rocm/lib/librocblas.so.5": program(),
      "rocm/.kpack/blas_lib_gfx942.kpack": cut,
    });
    expect(libraries).toEqual([]);
    expect(unopened).toEqual([
      "/rocm/.kpack/blas_lib_gfx942.kpack: an archive of AMD's GPU code: its table is not understood",
      missing,
    ]);
  });

  it("keeps its own code, and counts pieces of several", async () => {
    const own = makeProgram([
      {
        name: ".hip_fatbin",
        bytes: makeBundle([{ id: "hip-amdgcn-amd-amdhsa--gfx90a", bytes: makeCodeObject(0x53f) }]),
      },
      { name: ".rocm_kpack_ref", bytes: reference(blas, [pattern]) },
    ]);
    const found = await inspected({
      "rocm/lib/librocblas.so.5": own,
      "rocm/.kpack/blas_lib_gfx1100.kpack": archiveFor("gfx1100"),
    });
    expect(found.libraries).toEqual(["/rocm/lib/librocblas.so.5 gfx90a gfx1100"]);
  });

  it("archives without a program are one library", async () => {
    const found = await inspected({
      "a/.kpack/blas_lib_gfx942.kpack": archiveFor("gfx942"),
      "a/.kpack/blas_lib_gfx1100.kpack": archiveFor("gfx1100"),
    });
    expect(found.libraries).toEqual(["/a/.kpack/blas_lib_*.kpack gfx942 gfx942:xnack+ gfx1100"]);
  });

  it("reads no reference from other bytes", () => {
    expect(readArchiveReference(packed({ kernel_name: "a", kpack_search_paths: ["x.kpack"] }))).toEqual({
      name: "a",
      paths: ["x.kpack"],
    });
    for (const other of [
      {},
      { kernel_name: "a" },
      { kernel_name: "a", kpack_search_paths: ["x\u001b"] },
      3,
      [packedText],
    ])
      expect(readArchiveReference(packed(other))).toBeNull();
  });
});

const checkout = process.env.IMGMATCH_ROCM_KPACK;
const env = { ...process.env, ...(checkout === undefined ? {} : { PYTHONPATH: checkout }) };
const install =
  "a checkout of github.com/stellaraccident/rocm-kpack with pip3 install --target CHECKOUT/python msgpack zstandard, and IMGMATCH_ROCM_KPACK=CHECKOUT/python";
const whyNoKpack = whyNot("python3", ["-c", "import rocm_kpack.kpack"], { install, env });

/** Writes archives by AMD's writer, and answers what AMD's reader finds in them. */
const script = `
import json, pathlib, sys
from rocm_kpack.kpack import PackedKernelArchive
from rocm_kpack.compression import NoOpCompressor, ZstdCompressor
out = pathlib.Path(sys.argv[1])
said = {}
for name, plan in json.load(sys.stdin).items():
    archive = PackedKernelArchive("group", "family", plan["targets"], compressor=ZstdCompressor() if plan["zstd"] else NoOpCompressor())
    for binary, target in plan["kernels"]:
        archive.add_kernel(archive.prepare_kernel(binary, target, (binary + target).encode() * 40))
    archive.finalize_archive()
    archive.write(out / name)
    read = PackedKernelArchive.read(out / name)
    said[name] = {b: sorted(t for t in targets if read.get_kernel(b, t)) for b, targets in read.toc.items()}
print(json.dumps(said))
`;

describe("imgmatch check", () => {
  const host = (target: string) => formatHostFacts(amdHost([amdGpu({ target })]));
  const prefix = "venv/lib/python3.12/site-packages";
  const wheel = (name: string, lines: string, ...files: readonly string[]) => ({
    [`${prefix}/${name}-1.0.dist-info/METADATA`]: `Metadata-Version: 2.4\nName: ${name}\n${lines}\n`,
    [`${prefix}/${name}-1.0.dist-info/RECORD`]: files.map((path) => `${path},,\n`).join(""),
  });
  const device = (target: string, marker = `extra == "device-${target}"`) =>
    `Requires-Dist: rocm-sdk-device-${target} == 1.0; ${marker}`;
  const wanted = [
    device("gfx942"),
    device("gfx942", '"amd :: gfx_arch :: gfx942" in variant_properties'),
    device("gfx1100"),
  ];

  it("names the device packages that an environment lacks for these cards, and proves nothing without them", async () => {
    const folder = makeFolder({ "mi300.json": host("gfx942"), "rx7900.json": host("gfx1100") });
    const put = (files: Readonly<Record<string, string | Uint8Array>>) => {
      for (const [path, bytes] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), bytes);
      }
    };
    const library = "_rocm_sdk_libraries/lib/librocblas.so.5";
    const runtime = "_rocm_sdk_libraries/lib/libamdhip64.so.7";
    const core = "_rocm_sdk_libraries/lib/librocm-core.so.1.0.70200";
    const elf = makeProgram([{ name: ".note", bytes: Buffer.alloc(16) }]);
    put({
      [`${prefix}/${library}`]: makeProgram([
        { name: ".hip_fatbin", bytes: Buffer.alloc(4096) },
        { name: ".rocm_kpack_ref", bytes: reference(blas, ["../.kpack/blas_lib_@GFXARCH@.kpack"]) },
      ]),
      ...{ [`${prefix}/${runtime}`]: elf, [`${prefix}/${core}`]: elf },
      ...wheel("rocm_sdk_libraries", wanted.join("\n"), library, runtime, core),
    });
    const check = (facts: string) =>
      runInProcess(["check", "venv", "--host", join(folder, facts)], { env: { HOME: folder }, cwd: folder });
    const without = await check("mi300.json");
    expect(without.out).toMatch(/^not proved: /);
    expect(without.out).toContain("lacks rocm-sdk-device-gfx942, its code for gfx942\n");
    expect(without.out).not.toContain("gfx1100");
    expect(without.exit).toBe(3);
    const archive = "_rocm_sdk_libraries/.kpack/blas_lib_gfx942.kpack";
    put({
      [`${prefix}/${archive}`]: archiveFor("gfx942"),
      ...wheel("rocm_sdk_device_gfx942", "", archive),
    });
    const fits = await check("mi300.json");
    expect(fits.out).toMatch(/^runs on /);
    expect(fits.out).not.toContain("lacks");
    const other = await check("rx7900.json");
    expect(other.out).toMatch(/^does not: /);
    expect(other.out).toContain("lacks rocm-sdk-device-gfx1100, its code for gfx1100\n");
  });
});

describe("AMD's own writer and reader", needs(whyNoKpack), () => {
  it("agree about the targets of every program", () => {
    const targets = ["gfx908:xnack-", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx11-generic"];
    const plans = Object.fromEntries(
      Array.from({ length: 24 }, (_, index) => {
        const own = targets.filter((_, bit) => ((index * 37 + 11) >> bit) & 1);
        const kernels = Array.from({ length: index % 5 }, (_, binary) =>
          own
            .filter((_, at) => (at + binary + index) % 3 !== 0)
            .map((target) => [`lib/lib${binary}.so#${binary}`, target]),
        ).flat();
        return [`${index}.kpack`, { zstd: index % 2 === 0, targets: own, kernels }];
      }),
    );
    const folder = makeFolder({});
    const ran = spawnSync("python3", ["-c", script, folder], {
      input: JSON.stringify(plans),
      encoding: "utf8",
      env,
    });
    expect(ran.stderr).toBe("");
    const said = JSON.parse(ran.stdout) as Record<string, Record<string, string[]>>;
    expect(Object.keys(said)).toHaveLength(24);
    for (const [name, programs] of Object.entries(said)) {
      const found = read(readFileSync(join(folder, name)));
      expect(found?.damage ?? [], name).toEqual([]);
      const own = (found?.archive ?? []).map(({ name: program, targets: each }) => [
        program,
        [...each].sort(),
      ]);
      expect(Object.fromEntries(own), name).toEqual(programs);
    }
  });
});
