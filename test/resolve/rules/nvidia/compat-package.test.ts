import { describe, expect, it } from "vitest";
import type { GpuFacts, HostFacts } from "../../../../src/facts/facts.ts";
import type { DriverRequirement } from "../../../../src/lock/requirement.ts";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import { a100, gpu, gpuHost, orin, rtx4090 } from "../../support/hosts.ts";
import { cuda, gpuImage } from "../../support/locks.ts";
import { said } from "../../support/said.ts";

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
  [
    "ld.so.conf, a toolkit of unknown version that adds it, a newer driver",
    cache,
    on("580.105.08", legacy(undefined, "ldconfig")),
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
      "a package in ld.so.conf that does not serve GeForce, where the driver alone would do",
      cache,
      on("535.183.01", hook, rtx4090),
      /is a geforce product$/,
      /^take the package out of the image, .*, or install that driver: 535\.183\.01 → 575\.57\.08$/,
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

describe("a forward-compatibility package, all that is said", () => {
  const of139 = { ...of130, package: "700.10", cuda: "13.9", branches: ["580"], onPath: "never" } as const;
  const jetson = { ...of129, for: "jetson", package: "12.9", branches: ["540"] } as const;
  const wsl = (driver: string, reported: string | null) =>
    gpuHost([rtx4090], driver, reported, { runtime: hook, nvidiaChange: { driverScale: "wsl" } });
  const l4t = (driver: string, reported: string | null, runtime = hook) =>
    gpuHost([orin], driver, reported, { runtime });
  const unseen = gpuHost([], "540.4.0", "12.6", { runtime: hook, nvidiaChange: { driverScale: "l4t" } });
  const noneSeen =
    "NO_GPU: needs an NVIDIA GPU, this host has driver 540.4.0 and no visible GPU | make a GPU visible (NVIDIA_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, --gpus), or add a cell with cuda=none";

  const rows: readonly (readonly [
    why: string,
    Compat,
    HostFacts,
    said: readonly string[],
    Partial<{ code: string[]; toolkit: string }>?,
  ])[] = [
    [
      "a package that is no version",
      { ...always, package: "new" },
      on("535.183.01", off),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package new (CUDA 12.9) cannot be compared with driver 535.183.01 | correct requires.cuda.driver in the lock",
      ],
    ],
    [
      "a package of no CUDA version",
      { ...always, cuda: "new" },
      on("535.183.01", off),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 575.57.08 (CUDA new) cannot be compared with driver 535.183.01 | correct requires.cuda.driver in the lock",
      ],
    ],
    [
      "a Jetson's package under WSL",
      { ...jetson, onPath: "never" },
      wsl("551.78", "12.4"),
      ["fits minor sm_89"],
    ],
    [
      "a Jetson's package that its toolkit may load",
      { ...jetson, onPath: "never" },
      l4t("540.4.0", "12.6"),
      ["fits forward sm_87"],
    ],
    [
      "a Jetson's toolkit that loads none",
      { ...jetson, onPath: "never" },
      l4t("540.4.0", "12.6", off),
      ["fits minor sm_87"],
    ],
    [
      "a Jetson's driver of the package's CUDA version",
      { ...jetson, onPath: "never" },
      l4t("540.9.0", "12.9"),
      ["fits native sm_87"],
    ],
    [
      "a Jetson's driver of a newer CUDA version",
      { ...jetson, onPath: "never" },
      l4t("580.00", "13.0"),
      ["fits native sm_87"],
    ],
    [
      "a Jetson's driver of an unknown CUDA version",
      { ...jetson, onPath: "never" },
      l4t("540.4.0", null),
      [
        "COMPAT_NOT_SUPPORTED: runs on driver 540.4.0 only with its forward-compatibility package 12.9, and whether it is loaded is not known | have the container toolkit load it: write the CDI specification again, with the hook enable-cuda-compat: systemctl restart nvidia-cdi-refresh, and remove what an older toolkit wrote into /etc/cdi",
      ],
    ],
    [
      "a Jetson's package for another JetPack",
      { ...jetson, onPath: "always" },
      l4t("580.00", "13.0"),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 12.9 works with driver 540 of JetPack, this host has 580.00 | take the package out of the image, or its folder off the path of its loader",
      ],
    ],
    [
      "a Jetson's package for no JetPack that is known",
      { ...jetson, branches: [], onPath: "always" },
      l4t("540.4.0", "12.6"),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 12.9 works with driver unknown of JetPack, this host has 540.4.0 | take the package out of the image, or its folder off the path of its loader",
      ],
    ],
    [
      "a Jetson's package on a server",
      { ...jetson, onPath: "always" },
      on("570.124.06", off),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 12.9 is one for Jetson, and this host is none | take the package out of the image, or its folder off the path of its loader",
      ],
    ],
    [
      "a Jetson's package on a server whose driver is too old",
      { ...jetson, cuda: "13.0", onPath: "always" },
      on("535.183.01", off),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 12.9 is one for Jetson, and this host is none | add a cell with another toolkit: no driver serves this one and GPU 0 (NVIDIA A100-SXM4-80GB)",
      ],
    ],
    [
      "a server without a GPU",
      always,
      gpuHost([], "535.183.01", null, { runtime: off }),
      [
        "NO_GPU: needs an NVIDIA GPU, this host has driver 535.183.01 and no visible GPU | make a GPU visible (NVIDIA_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, --gpus), or add a cell with cuda=none",
      ],
    ],
    [
      "a Jetson whose GPU is not seen, and a package for servers",
      of130,
      unseen,
      [
        noneSeen,
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 580.95.05 is one for servers, and this host is a Jetson | update JetPack, which brings the driver: CUDA 12.6 → CUDA >= 13.0.2",
      ],
    ],
    [
      "a Jetson whose GPU is not seen, and a package for Jetson",
      { ...jetson, onPath: "always" },
      unseen,
      [noneSeen],
    ],
    [
      "a Jetson with a card",
      always,
      gpuHost([orin, a100], "535.183.01", null, { runtime: off }),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 575.57.08 works on data-center and workstation GPUs, GPU 0 (Orin (nvgpu)) is a tegra product | take the package out of the image, or its folder off the path of its loader, or install that driver: 535.183.01 → 575.57.08",
      ],
    ],
    [
      "a card of an unknown class",
      always,
      on("535.183.01", off, { ...a100, class: "unknown" }),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 575.57.08 works on data-center and workstation GPUs, GPU 0 (NVIDIA A100-SXM4-80GB) is of an unknown class | take the package out of the image, or its folder off the path of its loader, or install that driver: 535.183.01 → 575.57.08",
      ],
    ],
    [
      "a Windows driver with the package's number",
      always,
      wsl("575.57.08", "12.9"),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 575.57.08 works on Linux drivers only, this host is WSL with driver 575.57.08 | take the package out of the image, or its folder off the path of its loader",
      ],
    ],
    [
      "a Windows driver that is too old",
      { ...of130, onPath: "always" },
      wsl("551.78", "12.4"),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 580.95.05 works on Linux drivers only, this host is WSL with driver 551.78 | update the Windows driver until it offers CUDA: 12.4 → >= 13.0",
      ],
    ],
    [
      "a Windows driver of an unknown CUDA version",
      { ...of130, onPath: "always" },
      wsl("551.78", null),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 580.95.05 works on Linux drivers only, this host is WSL with driver 551.78 | update the Windows driver until it offers CUDA: unknown → >= 13.0",
      ],
    ],
    ["an older driver of the package's own branch", always, on("575.51.03", off), ["fits forward sm_80"]],
    [
      "a note without the package's own branch, on such a driver",
      { ...never, listed: ["570"] },
      on("575.51.03", notes, rtx4090),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 575.57.08 works on data-center and workstation GPUs, GPU 0 (NVIDIA GeForce RTX 4090) is a geforce product | have the container toolkit leave it: write the CDI specification without the hook: NVIDIA_CTK_CDI_GENERATE_DISABLED_HOOKS=enable-cuda-compat in /etc/nvidia-container-toolkit/nvidia-cdi-refresh.env, then systemctl restart nvidia-cdi-refresh, or update the NVIDIA driver: 575.51.03 → >= 575.57.08, which needs no package",
      ],
    ],
    ["a package that no table has, with this branch", of139, on("580.95.05", notes), ["fits forward sm_80"]],
    [
      "a package that no table has, without this branch",
      of139,
      on("590.48.01", notes),
      [
        "COMPAT_NOT_SUPPORTED: runs on driver 590.48.01 only without its forward-compatibility package 700.10, and whether it is loaded is not known | take the package out of the image, or its folder off the path of its loader",
      ],
    ],
    [
      "a newer driver that is too old for the toolkit",
      always,
      on("576.10", off),
      [
        "COMPAT_NOT_SUPPORTED: its forward-compatibility package 575.57.08 is loaded before the newer driver 576.10 of this host, which then fails with error 803 | take the package out of the image, or its folder off the path of its loader",
      ],
      { toolkit: "13.0.2" },
    ],
    [
      "a GeForce card that the package does not serve, and a driver that is too old",
      { ...of130, onPath: "never" },
      on("535.183.01", off, rtx4090),
      [
        "DRIVER_TOO_OLD: needs NVIDIA driver >= 580.65.06, this host has 535.183.01 | update the NVIDIA driver: 535.183.01 → >= 580.65.06 @ 45",
      ],
    ],
    [
      "an image that nobody looked at, and a toolkit that is known",
      of129,
      on("580.105.08", hook),
      [
        "COMPAT_NOT_SUPPORTED: runs on driver 580.105.08 only without its forward-compatibility package 575.57.08, and whether it is loaded is not known | take the package out of the image, or its folder off the path of its loader, or build the image again",
      ],
    ],
    [
      "an image that nobody looked at, and a toolkit that is not",
      of129,
      on("580.105.08", legacy()),
      [
        "COMPAT_NOT_SUPPORTED: runs on driver 580.105.08 only without its forward-compatibility package 575.57.08, and whether it is loaded is not known | take the package out of the image, or its folder off the path of its loader, or build the image again",
      ],
    ],
    [
      "an image that nobody looked at, on a driver that needs the package",
      of130,
      on("535.183.01", legacy()),
      [
        'COMPAT_NOT_SUPPORTED: runs on driver 535.183.01 only with its forward-compatibility package 580.95.05, and whether it is loaded is not known | have the container toolkit load it: set cuda-compat-mode = "ldconfig" in the container toolkit\'s config.toml (1.17.7 or newer), or build the image again',
      ],
    ],
    [
      "PTX that both understand",
      never,
      on("535.183.01", legacy()),
      ["fits forward compute_80@8.0"],
      { code: ["compute_80@8.0"] },
    ],
    [
      "PTX that is newer than the package",
      never,
      on("535.183.01", hook),
      [
        "PTX_TOO_NEW: GPU 0 (NVIDIA A100-SXM4-80GB), compute capability 8.0, would run compute_80 of PTX ISA 9.0 (CUDA 13.0), this host's driver understands PTX up to CUDA 12.9 | update the driver to one that offers CUDA: 12.9 → >= 13.0, or add compute=8.0 to the image's cell",
      ],
      { code: ["compute_80@9.0"] },
    ],
  ];
  const named = rows.map(([why, driver, host, expected, change = {}]) => ({
    why,
    driver,
    host,
    expected,
    ...change,
  }));

  it.each(named)(
    "$why",
    ({ driver, host, expected, code = ["sm_80", "sm_89", "sm_120", "sm_87"], toolkit }) => {
      const image = gpuImage(cuda(toolkit ?? toolkits[driver.cuda] ?? "13.9", code, { driver }));
      expect(said(image, host)).toEqual(expected);
    },
  );
});
