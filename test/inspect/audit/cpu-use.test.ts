import { describe, expect, it } from "vitest";
import { decidedFeatures } from "../../../src/inspect/audit/cpu-use.ts";

describe("features whose use can be seen in code", () => {
  it.each([
    ["amd64", "avx512_vp2intersect tsxldtrk waitpkg rdpid amx_tile lahf_lm avx_vnni abm pni sha_ni"],
    ["arm64", "paca pacg rng dit svebitperm sve2 atomics asimddp crc32"],
  ] as const)("are those of %s that machines are turned away for", (architecture, names) => {
    const decided = decidedFeatures[architecture];
    expect(names.split(" ").filter((name) => !decided.has(name))).toEqual([]);
  });

  it("are none that no instruction shows", () => {
    for (const name of ["sse2", "fxsr", "lm", "fpu"]) expect(decidedFeatures.amd64.has(name)).toBe(false);
    for (const name of ["uscat", "asimd", "fp"]) expect(decidedFeatures.arm64.has(name)).toBe(false);
    expect(decidedFeatures.ppc64le.size).toBe(0);
  });
});
