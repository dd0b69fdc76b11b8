import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { adoptedImage, type Statement } from "../../../src/inspect/adopt/adopted-image.ts";
import { type MadeProgram, madeFile, madeImage, unopenedFile } from "../support/made-opened.ts";

const lib = (name: string, more: Partial<MadeProgram>) => madeFile({ path: `/opt/lib${name}.so`, ...more });
const cu118 = lib("cu118", { targets: ["sm_80", "compute_80"], toolkit: "11.8", uses: ["avx", "avx2"] });
const cu128 = lib("cu128", { targets: ["sm_90", "sm_100"], toolkit: "12.8", uses: ["avx", "avx2"] });
const cu12z = lib("cu12z", { targets: ["sm_90"], toolkit: "12.1", isZstd: true });
const adopt = (files: readonly ReturnType<typeof madeFile>[], statement: Statement = {}) =>
  adoptedImage(madeImage(files), statement);

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ImgmatchError) return `${error.problems[0].code}: ${error.problems[0].message}`;
    throw error;
  }
  return "nothing";
}

describe("an adopted image", () => {
  it("needs what its files need, estimated", () => {
    const { requires, adopted, measured, notes } = adopt([
      cu128,
      lib("asks", { uses: ["avx512f"], asks: ["cpuid"] }),
    ]);
    expect(requires.cpu).toEqual({ march: "x86-64-v3", features: ["avx", "avx2"] });
    expect(requires.cuda).toEqual({
      toolkit: "12.8",
      code: ["sm_90", "sm_100"],
      driver: { mode: "host", minimum: "525.60.13" },
    });
    expect([adopted, measured, notes]).toEqual([{ cpu: "estimated" }, undefined, []]);
  });

  it("says that its code for AMD is not in the lock", () => {
    const amd = { targets: [{ target: "gfx942", version: null, modules: 1 }] };
    expect(adopt([lib("rocm", { amd })])).toMatchObject({
      requires: { cuda: null },
      notes: ["its GPU code for AMD is not in the lock: imgmatch inspect shows it"],
    });
  });

  it("has the floor that compression raises", () => {
    expect(adopt([cu12z]).requires.cuda?.driver).toEqual({ mode: "host", minimum: "550.54.14" });
  });

  it("needs what its owner states, less what no file uses", () => {
    const { requires, adopted, measured } = adopt([cu128], { march: "haswell" });
    expect(requires.cpu.march).toBe("haswell");
    expect(adopted).toEqual({ cpu: "stated" });
    expect(measured?.cpu.unused).toContain("fma");
    expect(measured?.cpu.unused).not.toContain("avx2");
  });

  it("needs of the stated march only what its owner has not left out, which is checked too", () => {
    const { requires } = adopt([cu128], { march: "haswell", without: ["movbe"] });
    expect(requires.cpu.features).toContain("avx2");
    expect(requires.cpu.features).not.toContain("movbe");
    expect(codeOf(() => adopt([cu128], { march: "haswell", without: ["avx2"] }))).toContain(
      "AUDIT_CPU_BEYOND_MARCH",
    );
    expect(codeOf(() => adopt([cu128], { march: "haswell", without: ["sve"] }))).toBe(
      "USAGE: --without sve: haswell has no such feature",
    );
    expect(codeOf(() => adopt([cu128], { without: ["movbe"] }))).toContain("USAGE: --without movbe");
  });

  it("is refused where its files contradict what is stated", () => {
    expect(codeOf(() => adopt([cu128], { march: "x86-64-v2" }))).toContain("AUDIT_CPU_BEYOND_MARCH: app:1: ");
    expect(codeOf(() => adopt([cu118], { cuda: "11.2" }))).toContain("AUDIT_TOOLKIT_OTHER");
    expect(codeOf(() => adopt([cu118], { cuda: "13.0" }))).toContain(
      "USAGE: app:1 has no GPU code of CUDA 13",
    );
    expect(codeOf(() => adopt([cu118], { march: "neoverse-v1" }))).toContain("USAGE");
    expect(codeOf(() => adopt([cu118], { cuda: "1.2.3" }))).toContain("USAGE: no CUDA toolkit 1.2.3");
  });

  it("is undecided with code of two majors, until the loaded one is stated: then only its code counts", () => {
    expect(codeOf(() => adopt([cu118, cu128]))).toMatch(
      /^ADOPT_UNDECIDED: app:1: its files hold code of CUDA 11 and 12/,
    );
    expect(adopt([cu118, cu128], { cuda: "11.8" }).requires.cuda).toEqual({
      toolkit: "11.8",
      code: ["sm_80", "compute_80"],
      driver: { mode: "host", minimum: "450.80.02" },
    });
  });

  it("tells what could not be opened", () => {
    expect(adopt([cu128, unopenedFile("/opt/packed")]).notes).toContain(
      "1 file could not be opened: imgmatch inspect lists them",
    );
  });
});
