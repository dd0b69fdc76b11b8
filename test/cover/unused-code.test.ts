import { describe, expect, it } from "vitest";
import { coverReport } from "../../src/cover/cover-report.ts";
import { unusedCodeHead, unusedCodeRows } from "../../src/cover/cover-words.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { LockedCode } from "../../src/lock/lock.ts";
import { a100, amdHost, cpuHost, gpu, gpuHost, h100, mi300x, orin, v100 } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "../resolve/support/locks.ts";

const code: LockedCode = {
  "": { x86_64: 400, aarch64: 50, "machine 243": 7 },
  torch: { sm_70: 1000, sm_80: 2000, sm_90: 2500, compute_90: 300, lto_90: 9, x86_64: 900 },
  deep: { sm_90a: 600, x86_64: 10 },
  hip: { gfx942: 70, "gfx90a:xnack+": 5, "gfx906,gfx908": 30 },
};
const total = 400 + 50 + 7 + 1000 + 2000 + 2500 + 300 + 9 + 900 + 600 + 10 + 70 + 5 + 30;
const needed = cuda("12.8.1", ["sm_70", "sm_80", "sm_90", "compute_90"]);
const unusedOn = (hosts: readonly HostFacts[], of = gpuImage(needed, { code })) => {
  const lock = lockOf({ app: of });
  const named = hosts.map((facts, index) => ({ name: `h${index}`, facts }));
  const report = coverReport({ from: "lock", lock }, named);
  return { report, code: report.images[0]?.code };
};
const hostWith = (card: typeof a100) => gpuHost([card], "570.124.06", "12.8", { amd: null });
const a100s = hostWith(a100);

describe("code that no host uses", () => {
  it("is for GPUs and CPUs that none of them has; a package of such code alone is named", () => {
    const { code: found, report } = unusedOn([a100s]);
    expect(found).toEqual({
      bytes: total,
      unused: {
        aarch64: 50,
        compute_90: 300,
        "gfx906,gfx908": 30,
        gfx942: 70,
        "gfx90a:xnack+": 5,
        sm_70: 1000,
        sm_90: 2500,
        sm_90a: 600,
      },
      packages: { deep: 600, hip: 105 },
    });
    expect(unusedCodeHead(report)).toBe("code that no host uses");
    expect(unusedCodeRows(report)).toEqual([
      [
        "app",
        "4555 B of 7881 B: sm_90 2500 B, sm_70 1000 B, sm_90a 600 B, compute_90 300 B, gfx942 70 B, aarch64 50 B and 2 more",
        "whole packages: deep 600 B, hip 105 B",
      ],
    ]);
  });

  it("is less with each kind of host: PTX may be compiled for a newer card", () => {
    const unused = Object.keys(unusedOn([a100s, hostWith(h100), hostWith(v100)]).code?.unused ?? {});
    expect(unused).toEqual(["aarch64", "gfx906,gfx908", "gfx90a:xnack+", "gfx942"]);
  });

  it("is for AMD's cards told by the rules too, whatever the state of xnack", () => {
    const amd = rocmImage(["gfx942"], "7.2", { code });
    expect(Object.keys(unusedOn([amdHost([mi300x])], amd).code?.unused ?? {})).toEqual([
      "aarch64",
      "compute_90",
      "gfx906,gfx908",
      "gfx90a:xnack+",
      "sm_70",
      "sm_80",
      "sm_90",
      "sm_90a",
    ]);
  });

  it("is not told of a card whose compute capability is unknown, nor where reports differ", () => {
    const some = image({ code: { "": { sm_70: 10, sm_80: 20 } } });
    expect(unusedOn([hostWith(gpu({ compute: null }))], some).code?.unused).toEqual({});
    // Facts without a word of AMD: nobody looked.
    const amd = image({ code: { "": { gfx942: 10 } } });
    expect(unusedOn([gpuHost([a100], "570.124.06")], amd).code?.unused).toEqual({});
    const jetson = gpuHost([orin], "580.00", "13.0", { nvidiaChange: { driverScale: "l4t" } });
    expect(unusedOn([jetson], some).code?.unused).not.toHaveProperty("sm_80");
  });

  it("is not told of an image whose bytes are not known, nor of one that no host runs", () => {
    expect(unusedOn([a100s], gpuImage(needed))).not.toHaveProperty("code.bytes");
    expect(unusedOn([cpuHost()]).code).toBeUndefined();
    expect(unusedCodeRows(unusedOn([a100s], gpuImage(needed)).report)).toEqual([]);
  });
});
