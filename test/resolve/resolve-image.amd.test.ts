import { describe, expect, it } from "vitest";
import type { HostFacts, HostProblem } from "../../src/facts/facts.ts";
import type { LockedImage } from "../../src/lock/lock.ts";
import { problemLines, unaskedLines } from "../../src/resolve/answer-lines.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import type { FitOptions } from "../../src/resolve/resolve-options.ts";
import { checkImage } from "../../src/resolve/check-image.ts";
import { explainResolution } from "../../src/node/explain.ts";
import { plainPins } from "../../src/resolve/pins.ts";
import { type ResolveImageOptions, resolveImage } from "../../src/resolve/resolve-image.ts";
import { whyNotImage } from "../../src/resolve/why-not-image.ts";
import { a100, amdGpu, amdHost, cpuHost, gpuHost, mi210, mi300x, rx7900, ryzen } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf, requirement, rocmImage } from "./support/locks.ts";

/** The code that each GPU runs, or the reason against it. */
function runs(
  code: readonly string[],
  host: HostFacts,
  options: FitOptions = {},
): readonly string[] | string {
  const verdict = checkFit(rocmImage(code), host, options);
  return verdict.ok ? verdict.code.map(({ target }) => target) : verdict.code;
}

function fixOf(subject: LockedImage, host: HostFacts): string {
  const verdict = checkFit(subject, host);
  return verdict.ok ? "" : `${verdict.message}; fix: ${verdict.fix}`;
}

const both = { ...gpuHost([a100], "570.124.06", "12.8"), amd: amdHost([mi300x]).amd };
const cpu = image({ axes: { accel: "none", march: "x86-64-v3" } });
const fleet = lockOf({
  cpu,
  cuda: gpuImage(cuda("12.8.1", ["sm_80"]), {
    axes: { accel: "cuda-12.8.1", compute: "8.0", march: "x86-64-v3" },
  }),
  rocm: rocmImage(["gfx942"]),
});

function chosen(host: HostFacts, options: ResolveImageOptions = {}): string | null {
  return resolveImage(fleet, host, options).match?.cell ?? null;
}

describe("AMD's GPU code", () => {
  it("runs on its own target, on members of its generic one, or is compiled from SPIR-V, in this order", () => {
    expect(runs(["gfx1100", "gfx1101"], amdHost([rx7900]))).toEqual(["gfx1100"]);
    expect(runs(["gfx1101", "gfx1102"], amdHost([rx7900]))).toBe("NO_GPU_CODE");
    expect(runs(["gfx11-generic"], amdHost([rx7900, amdGpu({ target: "gfx1151" })]))).toHaveLength(2);
    expect(runs(["gfx9-generic"], amdHost([mi300x]))).toBe("NO_GPU_CODE");
    expect(runs(["gfx9-4-generic"], amdHost([mi300x]))).toEqual(["gfx9-4-generic"]);
    expect(runs(["amdgcnspirv", "gfx11-generic", "gfx1100"], amdHost([rx7900]))).toEqual(["gfx1100"]);
    expect(runs(["amdgcnspirv", "gfx11-generic"], amdHost([rx7900]))).toEqual(["gfx11-generic"]);
    expect(runs(["amdgcnspirv"], amdHost([rx7900]))).toEqual(["amdgcnspirv"]);
    expect(runs(["amdgcnspirv"], amdHost([amdGpu({ target: "gfx1999" })]))).toBe("NO_GPU_CODE");
    expect(runs(["gfx1999"], amdHost([amdGpu({ target: "gfx1999" })]))).toEqual(["gfx1999"]);
  });

  it("is for the card's state of sramecc, and for processes without xnack unless the user says so", () => {
    const host = amdHost([mi210]);
    expect(runs(["gfx90a:sramecc+"], host)).toHaveLength(1);
    expect(runs(["gfx90a:sramecc-"], host)).toBe("NO_GPU_CODE");
    expect(runs(["gfx90a:sramecc+"], amdHost([{ ...mi210, sramecc: null }]))).toBe("FACT_UNKNOWN");
    expect(runs(["gfx90a:sramecc+", "gfx90a"], amdHost([{ ...mi210, sramecc: null }]))).toEqual(["gfx90a"]);
    expect(runs(["gfx90a:xnack-"], host)).toHaveLength(1);
    expect(runs(["gfx90a:xnack+"], host)).toBe("NO_GPU_CODE");
    expect(runs(["gfx90a:glow+"], host)).toBe("NO_GPU_CODE");
    expect(fixOf(rocmImage(["gfx90a:xnack+"]), host)).toBe(
      "has gfx90a:xnack+, none of which runs on GPU 0 (AMD Instinct MI210), gfx90a; gfx90a:xnack+ is for processes with xnack on; fix: pin compute=gfx90a:xnack+ where its programs run with HSA_XNACK=1, or add compute=gfx90a to the image's cell",
    );
    const pins = plainPins({ compute: "gfx90a:xnack+" });
    expect(runs(["gfx90a:xnack+"], host, { pins })).toEqual(["gfx90a:xnack+"]);
    expect(runs(["gfx1250:xnack+"], amdHost([amdGpu({ target: "gfx1250" })]))).toHaveLength(1);
  });

  it("is not chosen by HSA_OVERRIDE_GFX_VERSION, which is named where it would change the answer", () => {
    const card = amdHost([amdGpu({ target: "gfx1031" })]);
    const host: HostFacts = { ...card, amd: card.amd && { ...card.amd, override: "gfx1030" } };
    expect(fixOf(rocmImage(["gfx1030"]), host)).toBe(
      "has gfx1030, none of which runs on AMD GPU 0, gfx1031; HSA_OVERRIDE_GFX_VERSION, which names gfx1030, is ignored; fix: add compute=gfx10-3-generic to the image's cell, or add compute=gfx1031 to the image's cell",
    );
    expect(runs(["gfx10-3-generic"], host)).toEqual(["gfx10-3-generic"]);
    for (const [code, other] of [[["gfx942"], host] as const, [["gfx1030"], card] as const])
      expect(fixOf(rocmImage(code), other)).not.toContain("HSA_OVERRIDE");
  });

  it("has to be there for every card, and for a processor's GPU only where that is all", () => {
    expect(runs(["gfx1100"], amdHost([rx7900, mi300x]))).toBe("NO_GPU_CODE");
    expect(fixOf(rocmImage(["gfx1100"]), amdHost([rx7900, mi300x]))).toMatch(
      /GPU 1 \(AMD Instinct MI300X\), gfx942; fix: add compute=gfx942 to the image's cell, or hide this GPU$/,
    );
    expect(runs(["gfx1100"], amdHost([ryzen, rx7900]))).toEqual(["gfx1100"]);
    expect(runs(["gfx1100"], amdHost([ryzen]))).toBe("NO_GPU_CODE");
    expect(runs(["gfx1036"], amdHost([ryzen]))).toEqual(["gfx1036"]);
  });
});

describe("hosts without usable AMD GPUs", () => {
  const problem = (code: HostProblem["code"], fix: string): HostProblem => ({
    code,
    message: "so it is",
    fix,
  });
  const rocm = rocmImage(["gfx942"]);

  it.each([
    [cpuHost({ amd: null }), "needs an AMD GPU, this host has neither an AMD device nor a driver"],
    [
      cpuHost({ amd: { driver: null, gpus: [] }, problems: [problem("HOST_AMD_NO_DEVICES", "give it")] }),
      "this host has amdgpu and no visible GPU: so it is; fix: give it",
    ],
    [amdHost([], "6.14.14"), "this host has amdgpu 6.14.14 and no visible GPU; fix: make a GPU visible"],
    [
      cpuHost({
        amd: { driver: null, gpus: [mi300x] },
        problems: [problem("HOST_AMD_NO_DRIVER", "load it")],
      }),
      "this host has GPU 0 (AMD Instinct MI300X) without one: so it is; fix: load it",
    ],
    [
      cpuHost({ amd: { driver: null, gpus: [ryzen] }, sources: { "amd.gpus": "/sys/bus/pci/devices" } }),
      "this host has AMD GPU 0 without one; fix: load the driver (modprobe amdgpu)",
    ],
    [
      amdHost([mi300x], null, { problems: [problem("HOST_AMD_GPU_SKIPPED", "see dmesg")] }),
      "HOST_AMD_GPU_SKIPPED: so it is; fix: see dmesg",
    ],
    [cpuHost(), "needs to know whether this host has an AMD GPU: its facts do not have amd"],
    [amdHost([amdGpu()]), "needs to know amd.gpus[0].target of this host"],
    [cpuHost({ amd: { driver: null, gpus: [], unknown: ["gpus"] } }), "needs to know amd.gpus of this host"],
  ])("are refused with their numbers and a fix: %#", (host, text) => {
    expect(fixOf(rocm, host)).toContain(text);
  });

  it("offer the cell without GPU code by its axis, and take one that is there", () => {
    const { rejected } = resolveImage(lockOf({ rocm }), cpuHost({ amd: null }));
    expect(rejected[0]?.fix).toBe("run it on a host with an AMD GPU, or add a cell with accel=none");
    const why = whyNotImage(fleet, "rocm", cpuHost({ amd: null })).reasons;
    expect(why.map(({ code, fix }) => [code, fix])).toEqual([
      ["NO_AMD_GPU", "run it on a host with an AMD GPU, or take cpu, which has accel=none"],
    ]);
  });

  it("take a cell that has the target", () => {
    const lock = lockOf({ mi300x: rocm, rx: rocmImage(["gfx1100"]) });
    const [only] = resolveImage(lock, amdHost([rx7900])).rejected;
    expect(only?.fix).toBe("take rx, which has compute=gfx1100");
  });
});

describe("a fleet for both vendors", () => {
  it("puts NVIDIA before AMD before the CPU, and a pin, a preference or a hidden card decides otherwise", () => {
    expect(chosen(both)).toBe("cuda");
    expect(resolveImage(fleet, both).match?.reasons).toEqual(["NVIDIA before AMD: NVIDIA before AMD"]);
    expect(chosen(both, { pins: { accel: "rocm-*" } })).toBe("rocm");
    expect(chosen(both, { prefer: ["accel=rocm-7.2"] })).toBe("rocm");
    expect(chosen({ ...both, nvidia: gpuHost([], "570.124.06").nvidia })).toBe("rocm");
    expect(chosen(both, { pins: { accel: "none" } })).toBe("cpu");
    expect(chosen(amdHost([mi300x]))).toBe("rocm");
    expect(chosen(cpuHost({ amd: null }))).toBe("cpu");
  });

  it("takes what an image with code for both has for the host", () => {
    const fat = rocmImage(["gfx942"], "7.2", {
      requires: { ...requirement(cuda("12.8.1", ["sm_80"])), rocm: { release: "7.2", code: ["gfx942"] } },
    });
    const codeOn = (host: HostFacts) => {
      const verdict = checkFit(fat, host);
      return verdict.ok ? verdict.code.map(({ target }) => target) : verdict.code;
    };
    expect(codeOn(both)).toEqual(["sm_80"]);
    expect(codeOn(amdHost([mi300x]))).toEqual(["gfx942"]);
  });

  it("asks about AMD only where a fleet has images for it", () => {
    const untold = cpuHost();
    expect(chosen(untold)).toBeNull();
    expect(chosen(untold, { cpuOnly: true })).toBe("cpu");
    expect(chosen(gpuHost([a100], "570.124.06", "12.8"))).toBe("cuda");
    const { rocm: _, ...others } = fleet.images;
    expect(resolveImage({ ...fleet, images: others }, untold).match?.cell).toBe("cpu");
  });

  it("leaves one vendor's broken cards to that vendor's images", () => {
    const skipped = { code: "HOST_AMD_GPU_SKIPPED", message: "left out" } as const;
    expect(chosen({ ...both, problems: [skipped] })).toBe("cuda");
    expect(problemLines({ problems: [skipped] })).toEqual(["HOST_AMD_GPU_SKIPPED: left out"]);
    const lost = { code: "HOST_GPU_LOST", message: "GPU 0 has fallen off the bus" } as const;
    expect(chosen({ ...both, problems: [lost] })).toBeNull();
    expect(chosen({ ...both, problems: [lost] }, { pins: { accel: "rocm-7.2" } })).toBe("rocm");
  });

  it("says that a card stays without work", () => {
    const { rocm: _, ...others } = fleet.images;
    const lines = (host: HostFacts, lock = fleet) => unaskedLines(resolveImage(lock, host));
    expect(lines(amdHost([rx7900]))).toEqual([
      "unused: GPU 0 (AMD Radeon RX 7900 XTX) stays without work: the image has no GPU code",
      "  nearest with GPU code: rocm: NO_GPU_CODE: has gfx942, none of which runs on GPU 0 (AMD Radeon RX 7900 XTX), gfx1100",
      "  fix: add compute=gfx1100 to the image's cell",
    ]);
    const cudaAlone = { ...fleet, images: others };
    expect(lines(amdHost([rx7900]), cudaAlone)).toEqual([
      "unused: GPU 0 (AMD Radeon RX 7900 XTX) stays without work: the image has no GPU code",
      "  the fleet has no image with GPU code for it",
    ]);
    expect(lines(amdHost([ryzen]), cudaAlone)).toEqual([]);
  });

  it("explains the host's GPUs of both, and what would serve it", () => {
    const text = explainResolution(fleet, {
      ...both,
      nvidia: null,
      amd: amdHost([rx7900, ryzen], "6.14.14").amd,
    });
    expect(text.join("\n")).toContain(
      "      AMD driver amdgpu 6.14.14\n      GPU 0 (AMD Radeon RX 7900 XTX), gfx1100\n",
    );
    expect(text.join("\n")).toContain("AMD GPU 1, gfx1036, of the processor: left out");
    expect(text.at(-1)).toBe(
      "to serve this host: add a cell accel=rocm-VERSION compute=gfx1100 march=x86-64-v4",
    );
  });
});

describe("notes of an answer", () => {
  const notes = (release: string, host: HostFacts, code = ["gfx1100"]) =>
    resolveImage(lockOf({ a: rocmImage(code, release) }), host).notes;

  it("say where AMD promises nothing of driver and release", () => {
    expect(notes("7.0", amdHost([rx7900], "6.10.5"))).toBeUndefined();
    expect(notes("7.2.1", amdHost([rx7900], "6.10.5"))).toEqual([
      "AMD names ROCm from 6.1 to 7.0 for its driver 6.3 (amdgpu 6.10.5), the image has ROCm 7.2.1: whether it works is not known",
    ]);
    expect(notes("5.7", amdHost([rx7900], "6.14.14.30100200"))).toHaveLength(1);
    expect(notes("7.2", amdHost([rx7900]))).toBeUndefined();
    expect(notes("7.2", amdHost([rx7900], "9.9.9"))).toBeUndefined();
  });

  it("say what is compiled at the start, and which GPU the program has to be kept from", () => {
    expect(notes("7.2", amdHost([rx7900]), ["amdgcnspirv"])?.[0]).toContain("compiles SPIR-V at the start");
    expect(notes("7.2", amdHost([rx7900, ryzen]))).toEqual([
      "AMD GPU 1, gfx1036, of the processor is left out, and the image has no code for it: hide it from the program too (HIP_VISIBLE_DEVICES=0)",
    ]);
  });

  it("say that nobody judged an accelerator, which only its pin chooses", () => {
    const vulkan = image({
      axes: { accel: "vulkan", march: "x86-64-v3" },
      requires: { ...requirement(null), accelerator: "vulkan" },
    });
    const lock = lockOf({ cpu, vulkan });
    const host = gpuHost([a100], "570.124.06", "12.8");
    expect(resolveImage(lock, host)).toMatchObject({ match: { cell: "cpu" } });
    expect(resolveImage(lock, host).rejected).toMatchObject([
      { cell: "vulkan", code: "PIN_MISMATCH", fix: "ask for it by its name: --pin accel=vulkan" },
    ]);
    expect(resolveImage(lock, host, { pins: { accel: "*" } }).match?.cell).toBe("cpu");
    const asked = resolveImage(lock, host, { pins: { accel: "vulkan" } });
    expect(asked.match?.cell).toBe("vulkan");
    expect(unaskedLines(asked)).toEqual([expect.stringMatching(/^note: not known whether it works: /)]);
    expect(resolveImage(lock, host, { pins: { accel: "vulkan" }, cpuOnly: true }).match).toBeNull();
  });
});

it("checks one image by its label", () => {
  const label = JSON.stringify({ ...requirement(null), rocm: { release: "7.2", code: ["gfx942"] } });
  const check = (host: HostFacts) => checkImage({ platform: "linux/amd64", requires: label, env: [] }, host);
  expect(check(amdHost([mi300x]))).toMatchObject({ fits: true, code: [{ target: "gfx942" }] });
  const vulkan = JSON.stringify({ ...requirement(null), accelerator: "vulkan" });
  expect(checkImage({ platform: "linux/amd64", requires: vulkan, env: [] }, cpuHost())).toMatchObject({
    fits: null,
    unknown: [{ message: "whether vulkan works on this host is not known" }],
  });
  expect(check(amdHost([rx7900]))).toMatchObject({ fits: false, reasons: [{ code: "NO_GPU_CODE" }] });
});
