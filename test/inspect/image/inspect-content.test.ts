/** Places where code hides from who looks only at files that begin with it: each holds a loop that gcc compiled for AVX-512. */

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deflateRawSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { auditImage } from "../../../src/inspect/audit/audit-image.ts";
import { findMark } from "../../../src/inspect/image/marks.ts";
import { openFromFolder } from "../../../src/inspect/image/from-folder.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { declared } from "../support/made-opened.ts";
import { makeBundle, makeCodeObject, makeCompressed } from "../support/make-amd.ts";
import { gpuFile } from "../support/make-image.ts";

const hasGcc = process.arch === "x64" && spawnSync("gcc", ["--version"]).status === 0;
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const whyNot = !hasGcc
  ? "no gcc for x86-64 (apt-get install gcc libc6-dev)"
  : hasPython
    ? null
    : "no python3 (apt-get install python3)";

const loop = (attributes = "") => `#include <stddef.h>
${attributes} void fma3(float *restrict a, const float *b, const float *c, size_t n) {
  for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}
void _start(void) { for (;;); }
`;
const wide = ["-march=x86-64-v4", "-mprefer-vector-width=512"];
const shared = ["-shared", "-fPIC"];
/** No unwinding data and no symbols: nothing tells where a function begins. */
const bare = ["-fno-asynchronous-unwind-tables", "-s"];

function compile(source: string, options: readonly string[]): Buffer {
  const cwd = makeFolder({ "a.c": source });
  execFileSync("gcc", ["-O3", "a.c", "-o", "a.out", "-nostdlib", ...options], { cwd, stdio: "pipe" });
  return readFileSync(join(cwd, "a.out"));
}

const plain = () => compile(loop(), shared);
const hidden = () => compile(loop(), [...shared, ...wide]);

/** The output of a Python program that gets these bytes. */
const python = (program: string, input: Uint8Array) =>
  execFileSync(
    "python3",
    ["-c", `import bz2,lzma,sys,io,zipfile,zlib\nb=sys.stdin.buffer.read()\n${program}`],
    {
      input,
      maxBuffer: 2 ** 28,
    },
  );
/** The bytes in a zip archive that is written behind something, or that begins anew there. */
const zipped = (lead: string, name: string, bytes: Uint8Array, method = 8) =>
  python(
    `o=io.BytesIO()\no.write(${JSON.stringify(lead)}.encode())\nz=zipfile.ZipFile(o,"a",${method})\nz.writestr(${JSON.stringify(name)},b)\nz.close()\nsys.stdout.buffer.write(o.getvalue())`,
    bytes,
  );
const packed = (format: "lzma" | "bz2", bytes: Uint8Array) =>
  python(`sys.stdout.buffer.write(${format}.compress(b))`, bytes);

async function look(files: Readonly<Record<string, Uint8Array>>) {
  const folder = makeFolder({});
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
    chmodSync(join(folder, path), 0o755);
  }
  const opened = await openFromFolder(folder, { platform: "linux/amd64", cache: noCache });
  const { files: found, unopened } = inspectionOf(opened);
  const { measured } = auditImage(opened, {
    base: { kind: "none" },
    requires: declared("x86-64-v4"),
    floor: [],
    platform: "linux/amd64",
  });
  return {
    dropped: measured.cpu.unused.filter((feature) => /^(avx|fma)/.test(feature)),
    uses: Object.fromEntries(
      found.flatMap(({ path, answer }) => {
        const use = answer?.features.avx512f;
        return use === undefined ? [] : [[path, use]];
      }),
    ),
    unopened: unopened.map(({ path, reason }) => `${path}: ${reason}`),
    gpu: found.flatMap(({ path, gpu, amd }) =>
      [...(gpu?.targets ?? []), ...(amd?.targets ?? [])].map(({ target }) => `${path} ${target}`),
    ),
  };
}

const nothingDropped = (features: readonly string[]) =>
  expect(features.filter((feature) => /^avx(512f)?$/.test(feature))).toEqual([]);

describe("code for AVX-512 keeps its features", needs(whyNot), () => {
  it("and without it they go", async () => {
    const { dropped, uses, unopened } = await look({ app: plain() });
    expect(dropped).toEqual(expect.arrayContaining(["avx", "avx2", "avx512f", "avx512vl", "fma"]));
    expect({ uses, unopened }).toEqual({ uses: {}, unopened: [] });
  });

  const shebang = "#!/usr/bin/env python3\n";
  it.each<readonly [string, () => Buffer, string]>([
    ["pex", () => zipped(shebang, "lib/x.so", hidden()), "/app!/lib/x.so"],
    [
      "a zip that was appended",
      () => Buffer.concat([Buffer.from(shebang), zipped("", "x.so", hidden())]),
      "/app!/x.so",
    ],
    [
      "an executable jar with a jar in it",
      () =>
        Buffer.concat([
          Buffer.from("#!/bin/bash\nexec java -jar $0\nexit\n"),
          zipped("", "BOOT-INF/lib/in.jar", zipped("", "x.so", hidden()), 0),
        ]),
      "/app!/BOOT-INF/lib/in.jar!/x.so",
    ],
    [
      "more files than the short record counts",
      () =>
        Buffer.concat([
          Buffer.from(shebang),
          python(
            'o=io.BytesIO()\nz=zipfile.ZipFile(o,"w")\nz.writestr("x.so",b)\nfor i in range(65536): z.writestr(f"{i}","")\nz.close()\nsys.stdout.buffer.write(o.getvalue())',
            hidden(),
          ),
        ]),
      "/app!/x.so",
    ],
    ["a program", () => Buffer.concat([plain(), zipped("", "x.so", hidden())]), "/app!/x.so"],
    [
      "a program, under a folder's name",
      () => Buffer.concat([plain(), zipped("", "x/", hidden(), 0)]),
      "/app!/x/",
    ],
    [
      "bytes of nobody's format",
      () => Buffer.concat([Buffer.alloc(100_000, "PK or not"), zipped("", "x.so", hidden())]),
      "/app!/x.so",
    ],
  ])("in a zip behind something: %s", async (_name, make, path) => {
    const { dropped, uses, unopened } = await look({ app: make(), plain: plain() });
    nothingDropped(dropped);
    expect({ uses, unopened }).toEqual({ uses: { [path]: "compiledFor" }, unopened: [] });
  });

  const objcopy = (bytes: Buffer, ...options: readonly string[]) => {
    const cwd = makeFolder({});
    writeFileSync(join(cwd, "a"), bytes);
    writeFileSync(join(cwd, "payload"), gzipSync(hidden()));
    execFileSync("objcopy", [...options, "a"], { cwd });
    return readFileSync(join(cwd, "a"));
  };
  it.each<readonly [string, string, () => Buffer, RegExp]>([
    ["xz", "x.so.xz", () => packed("lzma", hidden()), /^\/x\.so\.xz: packed in a format .* \(xz\)$/],
    ["bzip2", "x.bz2", () => packed("bz2", hidden()), /^\/x\.bz2: packed in a format .* \(bzip2\)$/],
    [
      "a payload behind a program",
      "app",
      () => Buffer.concat([plain(), gzipSync(hidden())]),
      /^\/app: \d+ bytes behind the program, perhaps to unpack at run time$/,
    ],
    [
      "an instruction behind a program and zeros",
      "app",
      () => Buffer.concat([plain(), Buffer.alloc(5000), Buffer.from("c5f5fed0", "hex"), Buffer.alloc(5000)]),
      /^\/app: 4 bytes behind the program/,
    ],
    [
      "a payload between a program and a zip",
      "app",
      () => Buffer.concat([plain(), gzipSync(hidden()), zipped("", "x.txt", Buffer.from("text"))]),
      /^\/app: \d+ bytes behind the program/,
    ],
    [
      "a section that is not loaded, as PyInstaller writes it",
      "app",
      () => objcopy(plain(), "--add-section", "pydata=payload"),
      /^\/app: \d+ bytes in section pydata, which is not loaded$/,
    ],
    [
      "a payload behind a script, as makeself writes it",
      "app",
      () => Buffer.concat([Buffer.from("#!/bin/sh\ntail -c 999 $0\n"), gzipSync(hidden())]),
      /^\/app: bytes behind a script, perhaps to unpack at run time$/,
    ],
    [
      "a program in an archive of somebody's own",
      "data.bin",
      () => Buffer.concat([Buffer.alloc(70_000, "mine"), hidden()]),
      /^\/data\.bin: a program 70000 bytes behind its beginning$/,
    ],
    [
      "an entry of a zip that its directory leaves out",
      "app.whl",
      () =>
        python(
          'o=io.BytesIO()\nz=zipfile.ZipFile(o,"w")\nz.writestr("x.so",b)\nz.filelist.clear()\nz.NameToInfo.clear()\nz.writestr("a.txt","text")\nz.close()\nsys.stdout.buffer.write(o.getvalue())',
          hidden(),
        ),
      /^\/app\.whl: \d+ bytes in a zip archive that its directory does not list$/,
    ],
    [
      "the comment of a zip",
      "app.jar",
      () =>
        python(
          'o=io.BytesIO()\nz=zipfile.ZipFile(o,"w")\nz.writestr("a.txt","text")\nz.comment=b[:65535]\nz.close()\nsys.stdout.buffer.write(o.getvalue())',
          hidden(),
        ),
      /^\/app\.jar: \d+ bytes in a zip archive that its directory does not list$/,
    ],
    [
      "an entry of a zip behind the end of its compressed data",
      "app.whl",
      () =>
        python(
          'o=io.BytesIO()\nz=zipfile.ZipFile(o,"w")\nc=zlib.compressobj(9,8,-15)\nz.writestr("a.txt",c.compress(b"text")+c.flush()+b)\nz.close()\ns=bytearray(o.getvalue())\ns[8]=s[s.rindex(b"PK\\x01\\x02")+10]=8\nsys.stdout.buffer.write(s)',
          hidden(),
        ),
      /^\/app\.whl!\/a\.txt: \d+ bytes behind its compressed data$/,
    ],
    ...(["extra", "comment"] as const).map((field): [string, string, () => Buffer, RegExp] => [
      `an entry's ${field} in a zip`,
      "app.jar",
      () =>
        python(
          `o=io.BytesIO()\nz=zipfile.ZipFile(o,"w")\ni=zipfile.ZipInfo("a.txt")\ni.${field}=(b"\\xfe\\xca\\x00\\xff"+b+bytes(65280))[:65284]\nz.writestr(i,"text")\nz.close()\nsys.stdout.buffer.write(o.getvalue())`,
          hidden(),
        ),
      /^\/app\.jar: \d+ bytes in a zip archive that its directory does not list$/,
    ]),
    [
      "a zip's directory behind its last record",
      "app.jar",
      () =>
        python(
          'o=io.BytesIO()\nz=zipfile.ZipFile(o,"w")\nz.writestr("a.txt","text")\nz.close()\ns=o.getvalue()\ne=s.rindex(b"PK\\x05\\x06")\nn=int.from_bytes(s[e+12:e+16],"little")+len(b)\nsys.stdout.buffer.write(s[:e]+b+s[e:e+12]+n.to_bytes(4,"little")+s[e+16:])',
          hidden(),
        ),
      /^\/app\.jar: \d+ bytes in a zip archive that its directory does not list$/,
    ],
  ])("in what is not opened: %s", async (_name, path, make, reason) => {
    const { dropped, unopened } = await look({ [path]: make(), plain: plain() });
    expect(dropped).toEqual([]);
    expect(unopened).toEqual([expect.stringMatching(reason)]);
  });

  const section = (name: string, flags: string) =>
    loop(`__attribute__((section("${name},\\"${flags}\\",@progbits#")))`);
  it.each<readonly [string, readonly string[], string]>([
    ["constants beside the code, by its unwinding data", [...shared, "-s", "-Wl,-z,noseparate-code"], "a"],
    [
      "constants beside the code, with nothing that tells it",
      [...shared, ...bare, "-Wl,-z,noseparate-code"],
      "a",
    ],
    ["data that may be written and run", [...bare, "-static", "-Wl,--omagic"], "aw"],
  ])("in an executable segment outside executable sections: %s", async (_name, options, flags) => {
    const app = compile(section(".hidden", flags), [...wide, ...options]);
    const { dropped, uses, unopened } = await look({ app });
    nothingDropped(dropped);
    expect({ uses, unopened }).toEqual({ uses: { "/app": "mayBeUsed" }, unopened: [] });
  });

  it("in an executable segment of which no section tells", async () => {
    const bytes = compile(loop(), [...shared, ...wide, ...bare]);
    const app = objcopy(bytes, "--set-section-flags", ".text=alloc,readonly,data");
    const { dropped, uses } = await look({ app });
    nothingDropped(dropped);
    expect(uses).toEqual({ "/app": "mayBeUsed" });
  });
});

describe("what is too short for code is not told", needs(whyNot), () => {
  it.each<readonly [string, string, () => Uint8Array]>([
    ["zeros up to a page", "app", () => Buffer.concat([plain(), Buffer.alloc(5000)])],
    ["a page of a manual", "man.1.xz", () => packed("lzma", Buffer.alloc(5000, "text"))],
    ["a script", "run", () => Buffer.from(`#!/bin/sh\n${"echo PK ELF\n".repeat(1000)}`)],
  ])("%s", async (_name, path, make) => {
    const { dropped, unopened } = await look({ [path]: make(), plain: plain() });
    expect(dropped).toContain("avx512f");
    expect(unopened).toEqual([]);
  });
});

describe("GPU code", () => {
  const noise = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * index) >> 7));
  it("is found in a file that begins with neither code nor an archive", async () =>
    expect(
      await look({ "model.engine": Buffer.concat([noise, gpuFile(90), noise, gpuFile(80)]) }),
    ).toMatchObject({
      gpu: ["/model.engine sm_80", "/model.engine sm_90"],
      unopened: [],
    }));

  it("of AMD is found in files of any format, and a damaged archive of it is told", async () => {
    const object = makeCodeObject(0x53f);
    const bundle = makeBundle([{ id: "hip-amdgcn-amd-amdhsa--gfx90a", bytes: object }]);
    const packed = makeCompressed(bundle, 3);
    expect(
      await look({
        "a.co": object,
        "b.hsaco": packed,
        "c.hsaco": bundle,
        "d.bin": Buffer.concat([noise, object]),
        "e.bin": Buffer.concat([noise, packed, noise]),
        "f.bin": Buffer.concat([noise, bundle]),
        "g.kpack": Buffer.concat([Buffer.from("KPAK"), noise]),
        "notes.txt": Buffer.from("a bundle begins with __CLANG_OFFLOAD_BUNDLE__, or with CCOB\n".repeat(99)),
      }),
    ).toMatchObject({
      gpu: ["a.co", "b.hsaco", "c.hsaco", "d.bin", "e.bin", "f.bin"].map((path) => `/${path} gfx90a`),
      unopened: [expect.stringMatching(/^\/g\.kpack: an archive of AMD's GPU code: /)],
    });
  });

  it("is found where something looks like an archive before it", async () =>
    expect(
      await look({ "model.plan": Buffer.concat([noise, Buffer.from("PK\x03\x04"), noise, gpuFile(90)]) }),
    ).toMatchObject({
      gpu: ["/model.plan sm_90"],
    }));
});

describe("marks", () => {
  it("are found wherever a stream is cut", async () => {
    const bytes = Buffer.concat([Buffer.alloc(50, "x"), gpuFile(90), Buffer.alloc(50)]);
    for (let size = 1; size < 130; size++) {
      const pieces = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      };
      const found = await findMark(pieces(), ["zip", "gpu", "program"]);
      expect(found).toMatchObject({ mark: "gpu", at: 50 });
      const rest: Uint8Array[] = [];
      for await (const piece of found?.rest ?? []) rest.push(piece);
      expect(Buffer.concat(rest).equals(bytes.subarray(50))).toBe(true);
    }
  });

  it("that are none are passed over", async () => {
    const almost = Buffer.concat([
      deflateRawSync(Buffer.alloc(9)),
      Buffer.from("PK\x03 \x7fELF\x02\x01\x01"),
      Buffer.alloc(99),
    ]);
    const one = async function* () {
      yield almost;
    };
    expect(await findMark(one(), ["zip", "gpu", "program"])).toBeNull();
  });
});
