import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readElf } from "../../../src/inspect/elf/elf.ts";
import { findCode, inspectFile } from "../../../src/inspect/inspect-file.ts";
import { reference } from "../support/make-kpack.ts";
import { needs } from "../../support/needs.ts";
import {
  makeBundle,
  makeCodeObject,
  makeCompressed,
  makeProgram,
  type MadeSection,
} from "../support/make-amd.ts";
import { makeContainer, makeEntry } from "../support/make-fatbin.ts";
import { gpuFile } from "../support/make-image.ts";

const code = (...parts: Uint8Array[]) => findCode(memorySource(Buffer.concat(parts)), null);
const amd = async (...parts: Uint8Array[]) => (await code(...parts)).amd;
const counts = async (...parts: Uint8Array[]) =>
  (await amd(...parts))?.targets.map(({ target, modules }) => `${target}×${modules}`);

const gfx90a = { id: "hipv4-amdgcn-amd-amdhsa--gfx90a", bytes: makeCodeObject(0x53f) };
const gfx1100 = { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: makeCodeObject(0x41) };
const generic = { id: "hip-amdgpu11-amd-amdhsa--", bytes: makeCodeObject(0x1000054) };
const noise = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * index) >> 7));

describe("a bundle of GPU code", () => {
  it("has its targets from the objects, whatever its entries are called", async () => {
    const wrong = { ...gfx90a, id: "hipv4-amdgcn-amd-amdhsa--gfx1201" };
    expect(await counts(makeBundle([wrong, generic]))).toEqual(["gfx90a×1", "gfx11-generic×1"]);
    expect((await amd(makeBundle([generic])))?.targets).toEqual([
      { target: "gfx11-generic", version: 1, modules: 1 },
    ]);
  });

  it.each(["hip", "hipv4", "openmp"])("of kind %s", async (kind) =>
    expect(await counts(makeBundle([{ ...gfx90a, id: `${kind}-amdgcn-amd-amdhsa--gfx90a` }]))).toEqual([
      "gfx90a×1",
    ]),
  );

  it("is one of many in a section, which count apart", async () =>
    expect(await counts(makeBundle([gfx90a, gfx1100]), noise, makeBundle([gfx90a]))).toEqual([
      "gfx90a×2",
      "gfx1100×1",
    ]));

  it.each([1, 2, 3] as const)("is the same in compression of version %i", async (version) => {
    const packed = makeCompressed(makeBundle([gfx90a, generic]), version);
    const found = await amd(noise, packed, makeCompressed(makeBundle([gfx90a]), version));
    expect(found).toMatchObject({ modules: 2, damage: [] });
    expect(await counts(noise, packed)).toEqual(["gfx90a×1", "gfx11-generic×1"]);
    expect(found?.bytes).toBe(packed.length + makeCompressed(makeBundle([gfx90a]), version).length);
  });

  it("may hold a machine that nobody knows, which is never another one", async () => {
    const found = await amd(makeBundle([gfx90a, { ...gfx1100, bytes: makeCodeObject(0x7f) }]));
    expect(found).toMatchObject({ targets: [{ target: "gfx90a" }], unknown: { "machine value 0x7f": 1 } });
  });

  it("beside code of NVIDIA leaves it to be found", async () => {
    expect(await code(makeBundle([gfx90a]), gpuFile(90))).toMatchObject({
      gpu: { targets: [{ target: "sm_90" }], damage: [] },
      amd: { targets: [{ target: "gfx90a" }], damage: [] },
    });
    const nvidia = {
      id: "openmp-nvptx64-nvidia-cuda--sm_80",
      bytes: makeContainer([makeEntry({ kind: 2, arch: 80, version: [1, 7] })]),
    };
    expect(await code(makeBundle([gfx90a, nvidia]))).toMatchObject({
      gpu: { targets: [{ target: "sm_80" }] },
      amd: { targets: [{ target: "gfx90a" }] },
    });
  });

  it("is not the text that programs have which read bundles", async () => {
    expect(await amd(noise, Buffer.from("__CLANG_OFFLOAD_BUNDLE__\0CCOB\0")), "text").toBeNull();
    expect(await amd(Buffer.from("__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen\0.text\0"), noise)).toBeNull();
  });
});

describe("a damaged one is told", () => {
  const whole = makeBundle([gfx90a, gfx1100]);
  it("cut off", async () => {
    expect(await amd(whole.subarray(0, 5000))).toMatchObject({
      targets: [{ target: "gfx90a", modules: 1 }],
      damage: ["the bundle of GPU code at 0 claims an object of 128 bytes beyond its end"],
    });
    // A table that is not there says nothing about the objects behind it.
    expect(await amd(makeBundle([gfx90a], { count: 999 }))).toMatchObject({
      targets: [{ target: "gfx90a", modules: 1 }],
      damage: ["the table of the bundle of GPU code at 0 is cut off"],
    });
  });

  it("in whose table another one begins, which is found", async () => {
    const inner = makeBundle([gfx1100], { align: 1 });
    const outer = makeBundle([{ ...gfx90a, id: `hip-amd-${inner.toString("latin1")}` }], { align: 1 });
    expect(await amd(outer)).toMatchObject({
      targets: [{ target: "gfx90a" }, { target: "gfx1100" }],
      damage: ["the table of the bundle of GPU code at 0 is cut off"],
    });
  });

  it("with objects that lie over one another or far away", async () => {
    const many = Array.from({ length: 200 }, () => ({ id: gfx90a.id, offset: 36864, size: 128 }));
    expect(await counts(makeBundle([gfx1100, gfx90a, ...many]))).toEqual(["gfx90a×1", "gfx1100×1"]);
    expect((await amd(makeBundle([{ ...gfx90a, offset: 2 ** 52 }])))?.damage).toHaveLength(1);
  });

  it("a compressed one that is cut off, damaged, or claims more than it can be", async () => {
    const packed = makeCompressed(whole, 3);
    const damage = async (bytes: Uint8Array) => (await amd(bytes))?.damage.join();
    expect(await damage(packed.subarray(0, packed.length - 1))).toMatch(/claims \d+ bytes, its file has/);
    expect(await damage(makeCompressed(whole, 3, { packed: Buffer.alloc(300, 7) }))).toMatch(/is damaged/);
    expect(await damage(makeCompressed(whole, 2, { plainSize: whole.length - 1 }))).toMatch(/is damaged/);
    expect(await damage(makeCompressed(whole, 3, { plainSize: 2 ** 40 }))).toMatch(
      /would be 1099511627776 bytes/,
    );
    expect(await damage(makeCompressed(whole, 2, { plainSize: 2 ** 26 }))).toMatch(/would be 67108864 bytes/);
    expect(await damage(makeCompressed(noise, 3))).toMatch(/holds more than code for AMD GPUs/);
  });
});

describe("a program", () => {
  const program = (sections: readonly MadeSection[]) => {
    const bytes = makeProgram(sections);
    return inspectFile(memorySource(bytes), false);
  };

  it("has its code in sections, and what is for others is named", async () => {
    expect(
      await program([
        { name: ".hip_fatbin", bytes: makeBundle([gfx90a]) },
        { name: "__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen", bytes: noise.subarray(0, 600) },
      ]),
    ).toMatchObject({
      gpu: null,
      amd: { targets: [{ target: "gfx90a" }], places: { ".hip_fatbin": 1 }, damage: [] },
      sycl: { spir64_gen: 600 },
      unopened: [],
    });
  });

  it("with code in archives beside it says so", async () => {
    const path = "../.kpack/blas_lib_@GFXARCH@.kpack";
    const reason = "its GPU code is in archives beside it, ";
    const unopened = async (sections: readonly MadeSection[]) => (await program(sections))?.unopened;
    const empty = { name: ".hip_fatbin", bytes: Buffer.alloc(4096) };
    expect(await unopened([empty, { name: ".rocm_kpack_ref", bytes: reference("a", [path]) }])).toEqual([
      `${reason}which are not here: ${path}`,
    ]);
    const wrapper = Buffer.alloc(24);
    wrapper.write("HIPK", 0, "latin1");
    expect(await unopened([empty, { name: ".hipFatBinSegment", bytes: wrapper }])).toEqual([
      `${reason}and its reference to them is not understood`,
    ]);
    expect(await unopened([empty])).toEqual(["section .hip_fatbin holds no GPU code that is known"]);
  });

  it("of a gigabyte is read by its headers alone", async () => {
    const bundle = makeBundle([gfx90a, gfx1100, generic]);
    const count = 140;
    const each = 9 * 2 ** 20;
    let read = 0;
    const at = (place: number, length: number) => {
      read += length;
      const bytes = Buffer.alloc(length);
      const start = place % each;
      bundle.copy(bytes, 0, start, Math.min(start + length, bundle.length));
      return bytes;
    };
    // The last object of each ends where the next bundle begins.
    bundle.writeBigUInt64LE(BigInt(each - 12_288), 32 + 24 + 30 + 2 * (24 + gfx90a.id.length) + 9);
    const source = {
      size: count * each,
      read: (place: number, length: number) => at(place, Math.min(length, count * each - place)),
      readOver: (place: number, buffer: Uint8Array) =>
        at(place, Math.min(buffer.length, count * each - place)),
    };
    expect((await findCode(source, null)).amd).toMatchObject({ modules: count, damage: [] });
    expect(read).toBeLessThan(count * 2 ** 17 + 2 ** 22);
  });
});

const samples = fileURLToPath(new URL("../../../../shared/samples/amd/code", import.meta.url));
const whyNot = existsSync(samples)
  ? null
  : "no compiled code objects in ../shared/samples, beside the checkout (they are not published)";

describe("what clang 22 compiled", needs(whyNot), () => {
  const found = async (name: string) => {
    const source = memorySource(readFileSync(join(samples, name)));
    return (await findCode(source, readElf(source))).amd;
  };
  const six = ["gfx9-4-generic", "gfx90a", "gfx942:sramecc+:xnack-", "gfx11-generic", "gfx1100", "gfx1201"];
  it.each<readonly [string, readonly string[], number]>([
    ["bundle-plain-6-targets.hipfb", six, 1],
    ["bundle-ccob-v1-zlib.handmade.hipfb", six, 1],
    ["bundle-ccob-v2-zstd.hipfb", ["gfx90a"], 1],
    ["bundle-ccob-v3-zstd.hipfb", six, 1],
    ["bundle-amdgcnspirv.hipfb", ["amdgcnspirv"], 1],
    ["gfx11-generic-v6.co", ["gfx11-generic"], 1],
    ["gfx90a-xnackon-v4.co", ["gfx90a:xnack+"], 1],
    ["gfx90a-xnackon-v5.co", ["gfx90a:xnack+"], 1],
    ["gfx90a-xnackon-v6.co", ["gfx90a:xnack+"], 1],
    ["lib-hip_fatbin-ccob3.so", ["gfx90a", "gfx1100"], 1],
    ["lib-hip_fatbin-plain.so", ["gfx90a", "gfx1100"], 1],
    ["lib-new-driver-hip-prefix.so", ["gfx90a", "gfx1100"], 1],
    ["lib-two-bundles-different-targets.so", ["gfx90a", "gfx1100"], 2],
    ["rdc-llvm.offloading.o", [], 2],
  ])("%s", async (name, targets, modules) => {
    const code = await found(name);
    expect(code?.targets.map(({ target }) => target)).toEqual(targets);
    expect(code).toMatchObject({ modules, unknown: {}, damage: [], unlinked: targets.length === 0 ? 2 : 0 });
  });
});
