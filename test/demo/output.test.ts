import { describe, expect, it } from "vitest";
import { parseCuobjdump } from "../../demo/cuda-base.ts";
import { readSpeed } from "../../demo/steps.ts";

describe("parseCuobjdump", () => {
  it("reads machine code and PTX, the letters of specific targets too, each once", () => {
    const listing = `ELF file    1: program.1.sm_90a.cubin
ELF file    2: program.2.sm_90a.cubin
ELF file    3: program.3.sm_100f.cubin
PTX file    1: program.1.sm_90.ptx
`;
    expect(parseCuobjdump(listing)).toEqual(["compute_90", "sm_100f", "sm_90a"]);
  });

  it("answers nothing for a program without GPU code", () => {
    expect(parseCuobjdump("cuobjdump info    : File '/tmp/program' does not contain device code\n")).toEqual(
      [],
    );
  });
});

describe("readSpeed", () => {
  it("reads the program's last line", () => {
    expect(readSpeed("verified   4096 elements against the definition\nspeed      173.3 GFLOP/s")).toBe(
      173.3,
    );
  });

  it("throws for a program that printed none", () => {
    expect(() => readSpeed("NO GPU: none is visible")).toThrow("no speed");
  });
});
