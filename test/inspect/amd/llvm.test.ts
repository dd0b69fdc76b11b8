/** LLVM as the other witness: its compiler for every target that it has, and what its readers say of the same bytes. */

import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { amdArchitectures, amdGenerics } from "../../../src/hardware/amd-architectures.ts";
import { readCodeObject } from "../../../src/inspect/amd/code-object.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";

const programs = ["clang-22", "llvm-readelf-22", "ld.lld-22"];
const missing = programs.find((name) => spawnSync(name, ["--version"]).status !== 0);
const whyNot = missing === undefined ? null : `no ${missing} (apt-get install clang-22 llvm-22 lld-22)`;

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
  const byReadelf = (bytes: Uint8Array): readonly string[] => {
    writeFileSync(join(cwd, "read.co"), bytes);
    const text = execFileSync("llvm-readelf-22", ["-h", "read.co"], { cwd, encoding: "utf8" });
    return (/Flags: +0x[0-9a-f]+, (.*)/.exec(text)?.[1] ?? "").split(", ");
  };

  // LLVM 22 has no compiler for those that only the table has.
  const targets = [...amdArchitectures, ...amdGenerics]
    .filter(({ source }) => source.includes("CLANG22HIP"))
    .map(({ name }) => name);
  it("every target that clang compiles for is the one that readelf reads", { timeout: 120_000 }, () => {
    expect(targets.length).toBeGreaterThan(30);
    for (const target of targets) {
      const bytes = compile(target);
      const [name, ...words] = byReadelf(bytes);
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
