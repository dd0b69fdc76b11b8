import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findAmdArchitecture } from "../../../src/hardware/amd-architectures.ts";
import { compilerRelease } from "../../../src/inspect/amd/rocm-release.ts";
import { servedTargets } from "../../../src/inspect/amd/amd-libraries.ts";
import { memorySource } from "../../../src/inspect/byte-source.ts";

const processors = ["gfx90a", "gfx942", "gfx1100", "gfx1201"];
const targets = [
  ...["gfx90a", "gfx90a:xnack+", "gfx90a:xnack-", "gfx90a:sramecc+:xnack-", "gfx942", "gfx942:sramecc-"],
  ...["gfx1100", "gfx11-generic", "gfx1201", "gfx12-generic", "gfx9-4-generic", "amdgcnspirv"],
];
const hosts = processors.flatMap((processor) =>
  ["+", "-"].flatMap((sramecc) => ["+", "-"].map((xnack) => ({ processor, sramecc, xnack }))),
);

/** ROCr, Isa::IsCompatible, for code of one target. */
function runs(target: string, { processor, sramecc, xnack }: (typeof hosts)[number]): boolean {
  if (target === "amdgcnspirv") return true;
  const [name, ...features] = target.split(":");
  if (name !== processor && name !== findAmdArchitecture(processor)?.generic) return false;
  return features.every((each) => each === `sramecc${sramecc}` || each === `xnack${xnack}`);
}

describe("the targets that all libraries serve", () => {
  it("are those of the hosts that run each of them", () => {
    const libraries = fc.array(fc.uniqueArray(fc.constantFrom(...targets), { minLength: 1 }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(libraries, (all) => {
        const served = servedTargets(all);
        for (const host of hosts)
          expect(served.some((target) => runs(target, host))).toBe(
            all.every((library) => library.some((target) => runs(target, host))),
          );
      }),
      { numRuns: 2000 },
    );
  });

  it("are the fewest that say it", () => {
    expect(servedTargets([["gfx11-generic", "gfx1100"]])).toEqual(["gfx11-generic"]);
    expect(servedTargets([["amdgcnspirv"], ["gfx90a", "gfx90a:xnack+"]])).toEqual(["gfx90a"]);
    expect(servedTargets([["gfx90a:xnack+"], ["gfx90a:xnack-"]])).toEqual([]);
    expect(servedTargets([])).toEqual([]);
  });
});

describe("the release of AMD's compiler", () => {
  const releaseOf = (comment: string, name = ".comment") => {
    const bytes = Buffer.from(`head${comment}`);
    const place = { type: 1, flags: 0, address: 0, link: 0 };
    const section = { ...place, name, offset: 4, size: bytes.length - 4 };
    return compilerRelease(memorySource(bytes), { sections: [section] });
  };
  const clang = (release: string) =>
    `AMD clang version 19.0.0git (https://example.com/llvm roc-${release} 25224 d366)\0`;

  it("stands in its comment, and is told where there is one", () => {
    expect(releaseOf(`GCC: (GNU) 12.2.0\0${clang("6.4.4")}`)).toBe("6.4.4");
    expect(releaseOf(clang("7.2.4") + clang("7.2.4"))).toBe("7.2.4");
    expect(releaseOf(clang("7.2.4") + clang("6.4.4"))).toBeNull();
    expect(
      releaseOf("AMD clang version 23.0.0git (https://github.com/ROCm/llvm-project.git 1b2c)\0"),
    ).toBeNull();
    expect(releaseOf(clang("7.2.4"), ".data")).toBeNull();
  });
});
