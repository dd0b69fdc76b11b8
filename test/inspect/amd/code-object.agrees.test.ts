/** LLVM as the other witness: its compiler for every target that it has, and what its readers say of the same bytes. */

import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { amdArchitectures, amdGenerics } from "../../../src/hardware/amd-architectures.ts";
import { readCodeObject } from "../../../src/inspect/amd/code-object.ts";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readElf } from "../../../src/inspect/elf/elf.ts";
import { findCode } from "../../../src/inspect/inspect-file.ts";
import { groupBy } from "../../../src/io/collections.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { realRocmLibraries } from "../support/cuda-tools.ts";

const programs = ["clang-22", "llvm-readelf-22", "ld.lld-22"];
const missing = programs.find((name) => spawnSync(name, ["--version"]).status !== 0);
const whyNot = missing === undefined ? null : `no ${missing} (apt-get install clang-22 llvm-22 lld-22)`;

/** The words that readelf has for the flags of a file. */
function flagsOf(file: string): readonly string[] {
  const text = execFileSync("llvm-readelf-22", ["-h", file], { encoding: "utf8" });
  return (/Flags: +0x[0-9a-f]+, (.*)/.exec(text)?.[1] ?? "").split(", ");
}

/** `gfx90a:xnack+×2`: each target and the bundles that have it, as objdump takes them out of a file and readelf reads them. */
function targetsByLlvm(file: string): readonly string[] {
  // It writes every object beside the file, whether it is asked to or not.
  const folder = makeFolder({});
  const copy = join(folder, "copy");
  copyFileSync(file, copy);
  // It reads bundles in sections alone.
  const wrap = ["-I", "binary", "-O", "elf64-x86-64", "--rename-section", ".data=.hip_fatbin"];
  if (file.endsWith(".hipfb")) execFileSync("llvm-objcopy-22", [...wrap, copy, copy]);
  execFileSync("llvm-objdump-22", ["--offloading", copy], { stdio: "pipe" });
  const pieces = readdirSync(folder).filter((name) => /^copy\.\d+\.(?!host-)/.test(name));
  // It takes the objects of a compressed bundle out of the compressed bytes, so that only their names are theirs.
  const isCompressed = readFileSync(copy).includes("CCOB");
  const targets = pieces.map((name) =>
    isCompressed ? name.replace(/^.*--/, "") : targetOf(join(folder, name)),
  );
  const counts = groupBy(pieces.length === 0 ? [targetOf(copy)] : targets, (target) => target);
  return [...counts].map(([target, found]) => `${target}×${found.length}`).sort();
}

/** By the header of a code object, as readelf says it. */
function targetOf(file: string): string {
  const [target, ...words] = flagsOf(file);
  return [target, ...words.filter((word) => /[+-]$/.test(word)).sort()].join(":");
}

async function targetsByImgmatch(file: string): Promise<readonly string[]> {
  const source = memorySource(readFileSync(file));
  const { amd } = await findCode(source, readElf(source));
  expect({ unknown: amd?.unknown, damage: amd?.damage }).toEqual({ unknown: {}, damage: [] });
  return (amd?.targets ?? []).map(({ target, modules }) => `${target}×${modules}`).sort();
}

describe("beside LLVM", needs(whyNot), () => {
  const cwd = makeFolder({
    "k.hip": '#define __global__ __attribute__((global))\nextern "C" __global__ void nothing() {}\n',
  });
  const compile = (target: string, ...options: readonly string[]): Buffer => {
    const args = ["-x", "hip", `--offload-arch=${target}`, "-nogpulib", "-nogpuinc", "--offload-device-only"];
    execFileSync("clang-22", [...args, ...options, "--no-gpu-bundle-output", "-c", "k.hip", "-o", "k.co"], {
      cwd,
      stdio: "pipe",
    });
    return readFileSync(join(cwd, "k.co"));
  };

  // LLVM 22 has no compiler for those that only the table has.
  const targets = [...amdArchitectures, ...amdGenerics]
    .filter(({ source }) => source.includes("CLANG22HIP"))
    .map(({ name }) => name);
  it("every target that clang compiles for is the one that readelf reads", { timeout: 120_000 }, async () => {
    expect(targets.length).toBeGreaterThan(30);
    for (const target of targets) {
      const bytes = compile(target);
      const [name, ...words] = flagsOf(join(cwd, "k.co"));
      expect(name).toBe(target);
      const version = words.find((word) => word.startsWith("generic_v"))?.slice("generic_v".length);
      expect(readCodeObject(bytes)).toEqual({
        kind: "code",
        target,
        version: version === undefined ? null : Number(version),
      });
    }
  });

  it.each(["4", "5", "6"])("features of code object V%s", (version) => {
    for (const target of ["gfx90a:xnack+", "gfx90a:sramecc-:xnack-", "gfx942:sramecc+", "gfx906:sramecc-"])
      expect(readCodeObject(compile(target, `-mcode-object-version=${version}`))).toMatchObject({ target });
  });
});

const samples = fileURLToPath(new URL("../../../../shared/samples/amd/code", import.meta.url));
const compiled = existsSync(samples)
  ? readdirSync(samples).filter((name) => /\.(hipfb|co|so)$/.test(name) && !name.includes("spirv"))
  : [];
const noSamples =
  compiled.length > 0
    ? null
    : "no compiled code objects in ../shared/samples, beside the checkout (they are not published)";

describe("the same targets as objdump and readelf", () => {
  it("of compiled bundles, libraries and code objects", needs(whyNot, noSamples), async () => {
    for (const name of compiled) {
      const file = join(samples, name);
      expect(await targetsByImgmatch(file), name).toEqual(targetsByLlvm(file));
    }
  });

  const real = realRocmLibraries();
  const noLibraries =
    real.length > 0
      ? null
      : "no real libraries (IMGMATCH_CUDA_LIBRARIES=/folder with wheels of ROCm unpacked)";
  it("of real libraries", { ...needs(whyNot, noLibraries), timeout: 300_000 }, async () => {
    for (const file of real) {
      const found = await targetsByImgmatch(file);
      expect(found, file).toEqual(targetsByLlvm(file));
      expect(found.length, file).toBeGreaterThan(0);
      console.info(`${basename(file)}: ${found.join(" ")}`);
    }
  });
});
