import { describe, expect, it } from "vitest";
import { memorySource } from "../../src/inspect/byte-source.ts";
import { imageBytes, lockedCode } from "../../src/inspect/code-bytes.ts";
import { findCode } from "../../src/inspect/inspect-file.ts";
import { surveyOf } from "../../src/inspect/inspection.ts";
import type { LayerChange } from "../../src/inspect/image/layer.ts";
import { makeBundle, makeCodeObject, makeCompressed } from "./support/make-amd.ts";
import { makeConcatenated, makeContainer, makeCubin, makeEntry } from "./support/make-fatbin.ts";
import { madeFile, madeImage, madePackage } from "./support/made-opened.ts";

const codeOf = (...parts: Uint8Array[]) => findCode(memorySource(Buffer.concat(parts)), null);
const bytesOf = (...changes: LayerChange[]) => {
  const image = madeImage(changes);
  return imageBytes(image, surveyOf(image));
};

describe("bytes of NVIDIA's code in a file", () => {
  it("are those of entries with their headers, for each target and kind, and leave the container's header over", async () => {
    const entries = [
      makeEntry({ kind: 2, arch: 80, payload: Buffer.alloc(1000, 1) }),
      makeEntry({ kind: 2, arch: 90, flags: 0x100011, payload: Buffer.alloc(400, 1) }),
      makeEntry({ kind: 1, arch: 90, payload: Buffer.alloc(96, 1) }),
      makeEntry({ kind: 8, arch: 80, payload: Buffer.alloc(24, 1) }),
      makeEntry({ kind: 77, arch: 80, payload: Buffer.alloc(8, 1) }),
    ];
    const { gpu } = await codeOf(makeContainer(entries), makeContainer(entries.slice(0, 1)));
    expect(gpu?.sizes).toEqual({
      compute_90: 64 + 96,
      lto_80: 64 + 24,
      sm_80: 2 * (64 + 1000),
      sm_90a: 64 + 400,
      unknown: 64 + 8,
    });
    const all = Object.values(gpu?.sizes ?? {}).reduce((a, b) => a + b, 0);
    expect(gpu?.bytes).toBe(all + 2 * 16);
  });

  it("are one number for targets that are compressed as one", async () => {
    const entry = makeConcatenated([
      { kind: 2, arch: 90 },
      { kind: 2, arch: 80 },
      { kind: 1, arch: 90 },
    ]);
    const { gpu } = await codeOf(makeContainer([makeEntry({ kind: 2, arch: 75 }), entry]));
    expect(gpu?.sizes).toEqual({ sm_75: 80, "sm_80,sm_90,compute_90": entry.length });
  });

  it("end where an LZ4 block ends, which no field tells", async () => {
    const cubin = Buffer.concat([makeCubin(80, 124), Buffer.alloc(5000, 7)]);
    cubin.writeBigUInt64LE(BigInt(cubin.length), 40);
    const block = lz4Of(cubin);
    expect(block.length).toBeLessThan(200);
    const { gpu } = await codeOf(Buffer.alloc(32, 1), block, Buffer.alloc(8000, 2));
    expect(gpu?.sizes).toEqual({ sm_80: block.length });
    expect(gpu?.bytes).toBe(block.length);
  });
});

describe("bytes of AMD's code in a file", () => {
  const objects = [
    { id: "hipv4-amdgcn-amd-amdhsa--gfx942", bytes: makeCodeObject(0x4c, { size: 3000 }) },
    { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: makeCodeObject(0x41, { size: 500 }) },
  ];

  it("are those of the objects in a bundle, and of each compressed bundle as a whole", async () => {
    const plain = makeBundle(objects);
    const packed = makeCompressed(plain, 2);
    const lone = makeCodeObject(0x4c, { size: 64 });
    // Its tables end where it ends.
    lone.writeBigUInt64LE(64n, 40);
    const { amd } = await codeOf(plain, packed, lone);
    expect(amd?.sizes).toEqual({ gfx1100: 500, gfx942: 3064, "gfx942,gfx1100": packed.length });
  });

  it("are unknown where a bundle cannot be opened", async () => {
    const packed = makeCompressed(makeBundle(objects), 2, { packed: Buffer.alloc(400, 3) });
    expect((await codeOf(packed)).amd?.sizes).toEqual({ unknown: packed.length });
  });
});

describe("bytes of an image's code", () => {
  const torch = {
    path: "torch/lib/libtorch.so",
    content: "torch",
    size: 9000,
    targets: ["sm_80", "sm_90"],
    gpuBytes: 7000,
    sizes: { sm_80: 3000, sm_90: 3900 },
  };
  const environment = [
    ...madePackage("torch", torch, { path: "torch/tests/data.so", content: "data", size: 50 }),
    ...madePackage("deep", {
      path: "deep/k.so",
      content: "k",
      size: 800,
      targets: ["sm_90"],
      sizes: { sm_90: 500 },
      gpuBytes: 520,
    }),
    madeFile({ path: "/usr/bin/app", content: "app", size: 100, machine: "aarch64" }),
  ];

  it("are divided among GPU targets and machines, and among packages with the largest first", () => {
    const bytes = bytesOf(...environment);
    expect(bytes).toMatchObject({
      files: 4,
      bytes: 9950,
      gpu: { sm_80: 3000, sm_90: 4400 },
      cpu: { aarch64: 100, x86_64: 2000 + 50 + 280 },
    });
    expect(
      bytes.packages.map(({ name, version, files, bytes: all, gpu }) => [name, version, files, all, gpu]),
    ).toEqual([
      ["torch", "1", 2, 9050, { sm_80: 3000, sm_90: 3900 }],
      ["deep", "1", 1, 800, { sm_90: 500 }],
      ["", null, 1, 100, {}],
    ]);
  });

  it("count a file with several names once, and other files with its content again", () => {
    const link: LayerChange = { kind: "hardlink", path: "usr/bin/same", target: "usr/bin/app" };
    const copy = madeFile({ path: "/usr/bin/copy", content: "app", size: 100 });
    const app = madeFile({ path: "/usr/bin/app", content: "app", size: 100 });
    expect(bytesOf(app, link, copy)).toMatchObject({ files: 2, bytes: 200, cpu: { x86_64: 200 } });
  });

  it("count an archive's code that programs take as code", () => {
    const own = { modules: 0, bytes: 0, elsewhere: { name: "lib.so", paths: ["k_@GFXARCH@.kpack"] } };
    const packed = {
      modules: 1,
      bytes: 900,
      sizes: { gfx942: 900 },
      archive: [{ name: "lib.so", targets: ["gfx942"] }],
    };
    const found = bytesOf(
      madeFile({ path: "/opt/lib.so", content: "lib", size: 300, amd: own }),
      madeFile({ path: "/opt/k_gfx942.kpack", content: "kpack", size: 1000, amd: packed, machine: "" }),
    );
    expect(found.gpu).toEqual({ gfx942: 900 });
  });

  it("stand in a lock by the packages with most GPU code, and all others as one", () => {
    const many = Array.from({ length: 10 }, (_, index) =>
      madePackage(`p${index}`, {
        path: `p${index}/k.so`,
        content: `p${index}`,
        size: 1000 + index,
        targets: ["sm_80"],
        sizes: { sm_80: 100 },
        gpuBytes: 100,
      }),
    ).flat();
    const code = lockedCode(bytesOf(...many));
    expect(Object.keys(code).sort()).toEqual(["", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"]);
    expect(code[""]).toEqual({ sm_80: 200, x86_64: 1801 });
    expect(code.p9).toEqual({ sm_80: 100, x86_64: 909 });
  });
});

/** One literal of ten bytes, then runs of one byte: enough to pack zeros, as the format describes it (lz4 `doc/lz4_Block_format.md`). */
function lz4Of(bytes: Uint8Array): Buffer {
  const parts: Buffer[] = [];
  const lengthOf = (rest: number) => [...Array(Math.floor(rest / 255)).fill(255), rest % 255];
  const put = (literals: Uint8Array, match: number | null) => {
    const [a, b] = [literals.length, match === null ? 0 : match - 4];
    parts.push(
      Buffer.of((Math.min(a, 15) << 4) | Math.min(b, 15), ...(a < 15 ? [] : lengthOf(a - 15))),
      Buffer.from(literals),
      ...(match === null ? [] : [Buffer.of(1, 0, ...(b < 15 ? [] : lengthOf(b - 15)))]),
    );
  };
  let [from, at] = [0, 1];
  while (at < bytes.length - 12) {
    let end = at;
    while (end < bytes.length - 5 && bytes[end] === bytes[at - 1]) end++;
    if (end - at < 4) at++;
    else {
      put(bytes.subarray(from, at), end - at);
      [from, at] = [end, end + 1];
    }
  }
  put(bytes.subarray(from), null);
  return Buffer.concat(parts);
}
