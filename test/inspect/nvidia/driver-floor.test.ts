import { describe, expect, it } from "vitest";
import { driverFiles } from "../../../src/inspect/nvidia/driver-files.ts";
import { measureFloor } from "../../../src/inspect/nvidia/driver-floor.ts";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { findCode } from "../../../src/inspect/inspect-file.ts";
import { type MadeEntry, makeContainer, makeEntry } from "../support/make-fatbin.ts";

const zstd = { flags: 0x8011, compressedSize: 9 };
const ptx = (version: readonly [number, number], more: Partial<MadeEntry> = {}): MadeEntry => ({
  kind: 1,
  arch: 80,
  version,
  ...more,
});

async function file(path: string, entries: readonly MadeEntry[], needed: readonly string[] = []) {
  const { gpu } = await findCode(memorySource(makeContainer(entries.map(makeEntry))), null);
  if (gpu === null) throw new Error("no code");
  return { path, gpu, needed };
}

const floor = async (files: readonly ReturnType<typeof file>[], paths: readonly string[] = []) =>
  measureFloor(await Promise.all(files), driverFiles(paths));

describe("the oldest driver", () => {
  it("is that of the toolkit's major", async () =>
    expect(await floor([file("/a", [ptx([8, 7])])])).toEqual({
      toolkit: "12.8",
      file: "/a",
      minimum: "525.60.13",
      raisedBy: null,
    }));

  it("is raised by zstd in code of CUDA 12", async () =>
    expect(await floor([file("/a", [ptx([8, 0])]), file("/b", [ptx([8, 7], zstd)])])).toEqual({
      toolkit: "12.8",
      file: "/b",
      minimum: "550.54.14",
      raisedBy: "zstd-compressed code in /b",
    }));

  it("is not raised by LZ4, nor by zstd of CUDA 13", async () => {
    expect(await floor([file("/a", [ptx([8, 7], { flags: 0x2011, compressedSize: 9 })])])).toMatchObject({
      raisedBy: null,
    });
    expect(await floor([file("/a", [ptx([9, 0], zstd)])])).toMatchObject({ toolkit: "13.0", raisedBy: null });
  });

  it("is raised by zstd in machine code of CUDA 12's format", async () => {
    const sass = { kind: 2, arch: 90, version: [1, 7] as const, ...zstd };
    expect(await floor([file("/a", [ptx([8, 7]), sass])])).toMatchObject({ minimum: "550.54.14" });
  });

  it("is not that of PTX alone, which the driver compiles beside any runtime", async () => {
    const sass = { kind: 2, arch: 90, version: [1, 8] as const };
    const made = { code: "ptx", minimum: "10.2", maximum: "10.2", isZstd: false, entries: 1 } as const;
    const ptxAlone = { toolkits: [made], places: { file: 1 } };
    const text = { path: "/kernel.ptx", gpu: ptxAlone, needed: [] };
    const library = await file("/app.so", [sass]);
    expect(
      measureFloor([text, { ...library, gpu: { ...library.gpu, places: {} } }], driverFiles([])),
    ).toEqual({
      ...{ toolkit: "13.0", file: "/app.so", minimum: "580.65.06", raisedBy: null },
    });
    expect(measureFloor([text], driverFiles([]))).toMatchObject({ toolkit: "10.2" });
  });

  it("is unknown for code of several majors, of which one is loaded", async () => {
    const files = [
      file("/cuda118.so", [ptx([7, 8])], ["libcudart.so.11.0"]),
      file("/cuda128.so", [ptx([8, 7])], ["libcudart.so.12"]),
    ];
    expect(await floor(files)).toEqual({
      unknown:
        "its files hold code of CUDA 11 (/cuda118.so) and 12 (/cuda128.so); which of them is loaded is not known",
    });
    expect(await floor(files, ["/usr/lib/libcudart.so.12.8.90"])).toMatchObject({ toolkit: "12.8" });
  });

  it("is unknown where no code says its toolkit, and nothing without code", async () => {
    expect(await floor([file("/a", [ptx([1, 4])])])).toEqual({
      unknown: "no file says which toolkit made its GPU code",
    });
    expect(await floor([])).toBeNull();
  });

  it.each([
    [[9, 3], "13.3"],
    [[9, 4], "13.4"],
    // No toolkit in the tables wrote these.
    [[9, 6], "13.6"],
    [[10, 0], "13.6"],
    [[8, 9], "12.10"],
  ] as const)(
    "a PTX ISA %j beside machine code of CUDA 13.0 counts as code of CUDA %s",
    async (isa, toolkit) => {
      const sass = { kind: 2, arch: 90, version: [1, 8] as const };
      const files = [file("/a", isa[0] === 8 ? [ptx(isa)] : [sass, ptx(isa)])];
      expect(await floor(files)).toMatchObject({
        toolkit,
        minimum: isa[0] === 8 ? "525.60.13" : "580.65.06",
      });
    },
  );
});

it("NVIDIA's libraries are known by their names", () => {
  const found = driverFiles([
    "/usr/lib/x86_64-linux-gnu/libcuda.so.390.30",
    "/usr/local/cuda-12.8/compat/libcuda.so.570.124.06",
    "/usr/lib/libcuda.so.1",
    "/opt/nvidia/cudnn/lib/libcudnn.so.9",
    "/x/libcudart-9335f6a2.so.12.4.127",
    "/x/libcudart.so.12",
    "/x/libcurl.so.4",
    "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1",
    "/usr/local/cuda-12.9/compat/libcuda.so.1.1",
    "/usr/local/cuda-13.4/compat_orin/libcuda.so.1.1",
  ]);
  expect(found.bundled).toEqual([
    { library: "libcuda", version: "390.30", path: "/usr/lib/x86_64-linux-gnu/libcuda.so.390.30" },
  ]);
  expect(found.compat.map((each) => [each.version, each.for])).toEqual([
    ["570.124.06", undefined],
    ["12.9", "jetson"],
    ["13.4", "jetson"],
  ]);
  expect(found.runtime.map(({ library, version }) => `${library} ${version}`)).toEqual([
    "libcudnn 9",
    "libcudart 12.4.127",
    "libcudart 12",
  ]);
});
