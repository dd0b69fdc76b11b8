import { describe, expect, it } from "vitest";
import { readAmdImage, readCodeObject } from "../../../src/inspect/amd/code-object.ts";
import { makeCodeObject } from "../support/make-amd.ts";

const targetOf = (flags: number, abiVersion = 4) => readCodeObject(makeCodeObject(flags, { abiVersion }));

describe("a code object says its target in its header", () => {
  // Flags as clang 22 wrote them for these target ids.
  it.each<readonly [number, string, number | null]>([
    [0x53f, "gfx90a", null],
    [0x73f, "gfx90a:xnack+", null],
    [0xe4c, "gfx942:sramecc+:xnack-", null],
    [0x41, "gfx1100", null],
    [0x1000054, "gfx11-generic", 1],
    [0x100055f, "gfx9-4-generic", 1],
    [0x2000054, "gfx11-generic", 2],
  ])("%i is %s", (flags, target, version) =>
    expect(targetOf(flags)).toEqual({ kind: "code", target, version }),
  );

  it.each<readonly [number, string]>([
    [0x13f, "gfx90a:sramecc-:xnack+"],
    [0x33f, "gfx90a:sramecc+:xnack+"],
    [0x2c, "gfx900:xnack-"],
    [0x36, "gfx1030"],
  ])("of code object V3, %i is %s", (flags, target) =>
    expect(targetOf(flags, 1)).toEqual({ kind: "code", target, version: null }),
  );

  it("or it is unknown, and never a guess", () => {
    expect(targetOf(0x7f)).toEqual({ kind: "unknown", what: "machine value 0x7f" });
    expect(targetOf(0x53f, 0)).toEqual({ kind: "unknown", what: "ABI version 0" });
    expect(targetOf(0x53f, 5)).toEqual({ kind: "unknown", what: "ABI version 5" });
    expect(readCodeObject(makeCodeObject(0x53f, { osAbi: 65 }))).toEqual({
      kind: "unknown",
      what: "OS ABI 65",
    });
  });

  it("and what is not linked is for no GPU", () =>
    expect(readCodeObject(makeCodeObject(0x53f, { type: 1 }))).toEqual({ kind: "unlinked" }));

  it("SPIR-V and LLVM IR are AMD's where the bundle says so", () => {
    const head = (hex: string) => Buffer.concat([Buffer.from(hex, "hex"), Buffer.alloc(64)]);
    expect(readAmdImage(head("03022307"), "hip-spirv64-amd-amdhsa--amdgcnspirv")).toEqual({
      kind: "code",
      target: "amdgcnspirv",
      version: null,
    });
    expect(readAmdImage(head("03022307"), "openmp-spirv64-intel")).toBeNull();
    expect(readAmdImage(head("4243c0de"), "hip-amdgcn-amd-amdhsa--gfx906")).toEqual({ kind: "unlinked" });
    expect(readAmdImage(head("00000000"), "hip-amdgcn-amd-amdhsa--gfx906")).toEqual({
      kind: "unknown",
      what: "bytes 00000000",
    });
  });

  it.each([0, 16, 63])("%i bytes are too few", (length) =>
    expect(readCodeObject(makeCodeObject(0x53f).subarray(0, length))).toBeNull(),
  );
});
