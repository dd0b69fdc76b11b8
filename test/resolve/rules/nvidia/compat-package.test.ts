import { describe, expect, it } from "vitest";
import type { GpuFacts, HostFacts } from "../../../../src/facts/facts.ts";
import type { DriverRequirement } from "../../../../src/lock/requirement.ts";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import { a100, gpu, gpuHost, orin, rtx4090 } from "../../support/hosts.ts";
import { cuda, gpuImage } from "../../support/locks.ts";

type Compat = Extract<DriverRequirement, { mode: "compat" }>;
const of129 = { mode: "compat", package: "575.57.08", cuda: "12.9", branches: ["535", "570"] } as const;
const of130 = { mode: "compat", package: "580.95.05", cuda: "13.0", branches: ["535", "570"] } as const;
const of131 = {
  mode: "compat",
  package: "590.48.01",
  cuda: "13.1",
  branches: ["535", "570", "580"],
} as const;
const toolkits: Readonly<Record<string, string>> = { "12.9": "12.9.1", "13.0": "13.0.2", "13.1": "13.1.0" };

const imageOf = (compat: Compat, code = ["sm_80", "sm_89", "sm_120", "sm_87"]) =>
  gpuImage(cuda(toolkits[compat.cuda] ?? "", code, { driver: compat }));
const on = (driver: string, runtime: HostFacts["runtime"], one: GpuFacts = a100) =>
  gpuHost([one], driver, null, { runtime });
const outcome = (compat: Compat, host: HostFacts) => {
  const verdict = checkFit(imageOf(compat), host);
  return verdict.ok ? verdict.tier : verdict.code;
};

const always = { ...of129, onPath: "always" } as const;
const cache = { ...of129, onPath: "cache" } as const;
const never = { ...of129, onPath: "never" } as const;

const cdi = (toolkit?: string, compat?: HostFacts["runtime"]["compat"]): HostFacts["runtime"] => ({
  nvidia: "cdi",
  ...(toolkit && { toolkit }),
  ...(compat && { compat }),
});
const legacy = (...told: Parameters<typeof cdi>): HostFacts["runtime"] => ({
  ...cdi(...told),
  nvidia: "legacy",
});
const hook = cdi("1.18.1", "hook");
const notes = cdi("1.20.0", "hook");
const ldconfig = legacy("1.17.8", "ldconfig");
const mount = legacy("1.16.2", "mount");
const off = legacy("1.17.4", "disabled");
const rtx5090 = gpu({ name: "NVIDIA GeForce RTX 5090", compute: "12.0", class: "geforce" });

/** Each row of the table in docs/compatibility.md, with who saw it or the code that does it. */
const table: readonly (readonly [why: string, Compat, HostFacts, outcome: string])[] = [
  // vllm#32373, #33116: 00-cuda-compat.conf before the folders that CDI writes.
  ["ld.so.conf, CDI, a newer driver", cache, on("580.105.08", hook), "COMPAT_NOT_SUPPORTED"],
  [
    "ld.so.conf, CDI without a hook, a newer driver",
    cache,
    on("580.105.08", cdi("1.17.4", "disabled")),
    "COMPAT_NOT_SUPPORTED",
  ],
  // llama.cpp#23111: RTX 5090, 595.58.03, toolkit 1.18.1.
  [
    "ld.so.conf, CDI, a newer driver, GeForce",
    { ...of131, onPath: "cache" },
    on("595.58.03", hook, rtx5090),
    "COMPAT_NOT_SUPPORTED",
  ],
  // gpustack#4678: `--gpus all` does not show it, `--runtime nvidia` does.
  ["ld.so.conf, nvidia-container-cli, a newer driver", cache, on("580.105.08", ldconfig), "native"],
  [
    "ld.so.conf, the NVIDIA runtime of 1.18, a newer driver",
    cache,
    on("580.105.08", legacy("1.18.0", "ldconfig")),
    "COMPAT_NOT_SUPPORTED",
  ],
  [
    "ld.so.conf, a toolkit of unknown version, a newer driver",
    cache,
    on("580.105.08", legacy()),
    "FACT_UNKNOWN",
  ],
  ["ld.so.conf, CDI, an older driver", cache, on("535.183.01", hook), "forward"],
  [
    "ld.so.conf, nvidia-container-cli that loads none, an older driver",
    cache,
    on("535.183.01", off),
    "minor",
  ],
  // vllm#34821: VLLM_ENABLE_CUDA_COMPATIBILITY=1 on 580.126.09 and on GeForce.
  ["LD_LIBRARY_PATH, a newer driver", always, on("580.126.09", ldconfig), "COMPAT_NOT_SUPPORTED"],
  [
    "LD_LIBRARY_PATH, a newer driver of the package's own branch",
    always,
    on("575.64.05", ldconfig),
    "COMPAT_NOT_SUPPORTED",
  ],
  ["LD_LIBRARY_PATH, the package's own driver", always, on("575.57.08", ldconfig, rtx4090), "native"],
  ["LD_LIBRARY_PATH, an older driver", always, on("570.124.06", off), "forward"],
  [
    "LD_LIBRARY_PATH, an older driver, GeForce",
    always,
    on("570.124.06", off, rtx4090),
    "COMPAT_NOT_SUPPORTED",
  ],
  ["LD_LIBRARY_PATH, a branch that is not listed", always, on("550.54.15", off), "COMPAT_NOT_SUPPORTED"],
  // vllm#34821 with the variable off, and every image before vllm#30784.
  ["nothing, a newer driver, whatever the toolkit", never, on("580.105.08", legacy()), "native"],
  ["nothing, a newer driver, GeForce", never, on("580.105.08", cdi(), rtx4090), "native"],
  ["nothing, the hook of CDI, an older driver", never, on("535.183.01", hook), "forward"],
  ["nothing, ldconfig, an older driver", never, on("535.183.01", ldconfig), "forward"],
  ["nothing, mount, an older driver", never, on("535.183.01", mount), "forward"],
  // vllm#5283: error 804.
  [
    "nothing, mount, an older driver, GeForce",
    never,
    on("535.171.04", mount, rtx4090),
    "COMPAT_NOT_SUPPORTED",
  ],
  ["nothing, a toolkit that loads none, an older driver", never, on("535.183.01", off), "minor"],
  ["nothing, a toolkit that loads none, GeForce", never, on("535.183.01", off, rtx4090), "minor"],
  [
    "nothing, a toolkit that loads none, too old a driver",
    { ...of130, onPath: "never" },
    on("535.183.01", off),
    "DRIVER_TOO_OLD",
  ],
  [
    "nothing, the toolkit's comparison of branches, a branch that is not listed",
    never,
    on("525.60.13", hook),
    "COMPAT_NOT_SUPPORTED",
  ],
  // nvidia-container-toolkit#1784: the note of 575.57.08 does not list 525.
  ["nothing, the note of libcuda, a branch that it does not list", never, on("525.60.13", notes), "minor"],
  ["nothing, the note of libcuda, a branch that it lists", never, on("535.183.01", notes), "forward"],
  [
    "nothing, the note of libcuda, an older driver of its own branch, GeForce",
    never,
    on("575.51.03", notes, rtx4090),
    "COMPAT_NOT_SUPPORTED",
  ],
  [
    "nothing, a comparison of branches, an older driver of its own branch, GeForce",
    never,
    on("575.51.03", hook, rtx4090),
    "native",
  ],
  [
    "nothing, a note in the image that does not list the branch",
    { ...never, listed: ["570"] },
    on("535.183.01", notes),
    "minor",
  ],
  [
    "nothing, an unknown toolkit, a driver that needs the package",
    { ...of130, onPath: "never" },
    on("535.183.01", legacy()),
    "FACT_UNKNOWN",
  ],
  [
    "nothing, an unknown toolkit, a driver that does either way",
    never,
    on("535.183.01", legacy()),
    "forward",
  ],
  ["nothing, an unknown toolkit, GeForce", never, on("535.183.01", legacy(), rtx4090), "FACT_UNKNOWN"],
  [
    "nothing, the hook in place of nvidia-container-cli",
    { ...of130, onPath: "never" },
    on("535.183.01", legacy("1.17.8", "hook")),
    "FACT_UNKNOWN",
  ],
  ["an image that nobody looked at, a newer driver", of129, on("580.105.08", hook), "COMPAT_NOT_SUPPORTED"],
  ["an image that nobody looked at, a driver that does either way", of129, on("535.183.01", hook), "forward"],
];

describe("which libcuda is loaded, and whether it serves", () => {
  it.each(table)("%s", (_, compat, host, expected) => expect(outcome(compat, host)).toBe(expected));

  it.each<readonly [why: string, Compat, HostFacts, message: RegExp, fix: RegExp]>([
    [
      "a package before a newer driver",
      cache,
      on("580.105.08", hook),
      /^its forward-compatibility package 575\.57\.08 is loaded before the newer driver 580\.105\.08 of this host, which then fails with error 803$/,
      /^take the package out of the image, or its folder off the path of its loader$/,
    ],
    [
      "a toolkit that loads it on GeForce, where the driver alone would do",
      never,
      on("535.183.01", mount, rtx4090),
      /^its forward-compatibility package 575\.57\.08 works on data-center and workstation GPUs, GPU 0 \(NVIDIA GeForce RTX 4090\) is a geforce product$/,
      /^have the container toolkit leave it: update the NVIDIA Container Toolkit 1\.16\.2 to 1\.17\.7 or newer, and set cuda-compat-mode = "disabled".*, or update the NVIDIA driver: 535\.183\.01 → >= 575\.57\.08, which needs no package$/,
    ],
    [
      "a toolkit that loads none",
      { ...of130, onPath: "never" },
      on("535.183.01", off),
      /^needs NVIDIA driver >= 580\.65\.06, this host has 535\.183\.01, and nothing loads its forward-compatibility package 580\.95\.05$/,
      /^have the container toolkit load it: update the NVIDIA Container Toolkit 1\.17\.4 to 1\.17\.7 or newer, or update the NVIDIA driver: 535\.183\.01 → >= 580\.65\.06$/,
    ],
    [
      "a toolkit that nobody knows",
      { ...of130, onPath: "never" },
      on("535.183.01", legacy()),
      /^runs on driver 535\.183\.01 only with its forward-compatibility package 580\.95\.05, and whether this host's container toolkit loads it is not known$/,
      /^run imgmatch probe --json on the host and pass its output, or add runtime\.toolkit and runtime\.compat to its facts, or have/,
    ],
    [
      "its own path and a branch that is not listed, where the driver alone would do",
      always,
      on("550.54.15", off),
      /works on driver branches 535, 570, this host has 550\.54\.15 \(branch 550\)$/,
      /^take the package out of the image, .*, or install that driver: 550\.54\.15 → 575\.57\.08$/,
    ],
  ])("says %s with the numbers, and the cheapest cure first", (_, compat, host, message, fix) => {
    const verdict = checkFit(imageOf(compat), host);
    expect(verdict).toMatchObject({
      ok: false,
      message: expect.stringMatching(message),
      fix: expect.stringMatching(fix),
    });
  });

  it("refuses an unknown class and a Jetson, and never loads it on WSL", () => {
    const unknown = { ...a100, class: "unknown" } as const;
    expect(outcome(always, on("535.183.01", off, unknown))).toBe("COMPAT_NOT_SUPPORTED");
    expect(outcome(always, on("540.4.0", off, orin))).toBe("COMPAT_NOT_SUPPORTED");
    const wsl = (driver: string, cuda: string) =>
      gpuHost([rtx4090], driver, cuda, { runtime: ldconfig, nvidiaChange: { driverScale: "wsl" } });
    expect(outcome(never, wsl("580.97", "13.0"))).toBe("native");
    expect(outcome(always, wsl("580.97", "13.0"))).toBe("COMPAT_NOT_SUPPORTED");
  });

  it("has a package for Jetson on a Jetson alone, of the JetPack that it supports", () => {
    const jetson = {
      mode: "compat",
      for: "jetson",
      package: "12.9",
      cuda: "12.9",
      branches: ["540"],
    } as const;
    const first = { ...jetson, onPath: "always" } as const;
    const jetPack6 = on("540.4.0", off, orin);
    expect(outcome(first, jetPack6)).toBe("forward");
    expect(outcome(first, on("595.10.00", off, orin))).toBe("COMPAT_NOT_SUPPORTED");
    expect(
      checkFit(gpuImage(cuda("12.9.1", ["sm_87"], { driver: { ...first, cuda: "12.8" } })), jetPack6),
    ).toMatchObject({
      code: "COMPAT_NOT_SUPPORTED",
      fix: expect.stringContaining("update JetPack, which brings the driver"),
    });
    expect(outcome(first, on("570.124.06", hook))).toBe("COMPAT_NOT_SUPPORTED");
    expect(outcome({ ...jetson, onPath: "never" }, on("570.124.06", hook))).toBe("minor");
    expect(checkFit(imageOf(always), jetPack6)).toMatchObject({
      message: "its forward-compatibility package 575.57.08 is one for servers, and this host is a Jetson",
      fix: expect.not.stringContaining("install that driver"),
    });
    expect(checkFit(imageOf({ ...of131, onPath: "always" }, ["sm_87"]), jetPack6)).toMatchObject({
      fix: "update JetPack, which brings the driver: an unknown CUDA version → CUDA >= 13.1.0",
    });
  });

  it("has the PTX compiler of the package where that is loaded alone", () => {
    const image = imageOf(never, ["compute_80"]);
    expect(checkFit(image, on("535.183.01", hook))).toMatchObject({ ok: true, tier: "forward" });
    expect(checkFit(image, on("535.183.01", off))).toMatchObject({ code: "PTX_TOO_NEW" });
    expect(checkFit(image, on("535.183.01", legacy()))).toMatchObject({ code: "PTX_TOO_NEW" });
  });

  it("refuses a package that is older than the image's toolkit by a major", () => {
    const image = gpuImage(cuda("13.0.2", ["sm_80"], { driver: always }));
    expect(checkFit(image, on("535.183.01", off))).toMatchObject({ code: "COMPAT_NOT_SUPPORTED" });
  });
});
