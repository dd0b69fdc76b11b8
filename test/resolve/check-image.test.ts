import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { checkImage, type ImageCheck, needUnknown } from "../../src/resolve/check-image.ts";
import { requireOf } from "../../src/resolve/rules/nvidia/image-environment.ts";
import { a100, cpuHost, gpu, gpuHost, rtx4090 } from "./support/hosts.ts";
import { cuda, requirement } from "./support/locks.ts";

const platform = "linux/amd64";
const textsOf = ({ unknown }: Pick<ImageCheck, "unknown">) => unknown.map(({ message }) => message);
const broken = { code: "HOST_DRIVER_LIBRARY_MISMATCH", message: "570 and 580" } as const;
/** nvidia/cuda:12.4.1-base-ubuntu22.04, shortened. */
const cudaEnv = [
  "PATH=/usr/local/cuda/bin:/usr/bin",
  "NVARCH=x86_64",
  "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=tesla,driver>=535,driver<536",
  "CUDA_VERSION=12.4.1",
  "NVIDIA_VISIBLE_DEVICES=all",
];

describe("an image with imgmatch's label", () => {
  const label = (requires: object) => ({ platform, requires: JSON.stringify(requires), env: [] });

  it("fits by all rules", () => {
    const check = checkImage(
      label(requirement(cuda("12.8.1", ["sm_80"]))),
      gpuHost([a100], "535.183.01", "12.2"),
    );
    expect(check).toMatchObject({ fits: true, tier: "minor", code: [{ target: "sm_80" }], reasons: [] });
  });

  it("does not fit by any rule", () => {
    const check = checkImage(label(requirement(null, ["sse2", "amx_tile"])), cpuHost());
    expect(check).toMatchObject({ fits: false, tier: null, reasons: [{ code: "CPU_FEATURES_MISSING" }] });
  });

  it("without GPU code does not mind broken GPUs, one with GPU code does", () => {
    const host = gpuHost([a100], "570.124.06", "12.8", { problems: [broken] });
    expect(checkImage(label(requirement(null)), host).fits).toBe(true);
    const check = checkImage(label(requirement(cuda("12.8.1", ["sm_80"]))), host);
    expect(check.reasons.map(({ code }) => code)).toContain("HOST_BROKEN");
  });

  it.each(["{", "{}", "null", '{"cpu":{"march":"x","features":[1]},"cuda":null}'])(
    "that cannot be read is not trusted: %s",
    (requires) => {
      const check = checkImage({ platform, requires, env: [] }, cpuHost());
      expect(check.fits).toBeNull();
      expect(check.unknown[0]?.message).toMatch(/^its label dev.imgmatch.requires cannot be read: /);
    },
  );
});

describe("code that may need features", () => {
  const compiled = (...features: readonly string[]) =>
    features.map((feature) => ({
      ...{ feature, file: "/app/numpy.so", instructions: 2 },
      ...{ need: "undecided" as const, asks: true },
    }));
  const unknownOf = (lacks: readonly string[], untold: readonly string[]) => {
    const host = cpuHost();
    const features = (host.cpu.features ?? []).filter((each) => ![...lacks, ...untold].includes(each));
    const cpu = { ...host.cpu, features, unknown: untold };
    const entry = { requires: requirement(null, [...lacks, ...untold]) };
    const image = { platform, requires: null, env: [], entry, compiledFor: compiled(...lacks, ...untold) };
    const { fits, unknown } = checkImage(image, { ...host, cpu });
    expect(fits).toBeNull();
    expect(unknown).toMatchObject([
      {
        code: "CPU_NOT_PROVED",
        fix: expect.stringMatching(
          lacks.length === 0 ? /^run imgmatch probe / : /^take a build for x86-64-v4, or /,
        ),
      },
    ]);
    return textsOf({ unknown });
  };

  it("has the build for the CPU's own level as its cure", () => {
    const cpu = { vendor: null, model: null, features: ["pni", "popcnt"], level: "x86-64-v2" };
    const entry = { requires: requirement(null, ["avx2"]) };
    const image = { platform, requires: null, env: [], entry, compiledFor: compiled("avx2") };
    const [reason] = checkImage(image, cpuHost({ cpu })).unknown;
    expect(reason?.fix).toBe("take a build for x86-64-v2, or run it on a host with avx2");
  });

  it("likely does not run where it was compiled for the features", () => {
    const cpu = { vendor: null, model: null, features: ["pni"], level: null };
    const entry = { requires: requirement(null, ["avx2", "fma", "popcnt"]) };
    const told = (asks: boolean) => {
      const found = compiled("avx2", "fma").map((each) => ({ ...each, need: "compiledFor" as const, asks }));
      const compiledFor = [...found, ...compiled("popcnt")];
      const { fits, unknown } = checkImage(
        { platform, requires: null, env: [], entry, compiledFor },
        cpuHost({ cpu }),
      );
      expect(fits).toBeNull();
      expect(unknown).toMatchObject([{ code: "CPU_COMPILED_FOR" }]);
      return textsOf({ unknown })[0];
    };
    const text =
      "/app/numpy.so was compiled for avx2, fma (2 instructions), which this host's CPU does not have";
    expect(told(false)).toBe(`${text}, and nothing in it asks the CPU`);
    expect(told(true)).toBe(text);
  });

  it("is a question that may end in a refusal, where no instruction is there", () => {
    const cpu = { vendor: null, model: null, features: ["pni"], level: null };
    const entry = { requires: requirement(null, ["avx2"]) };
    const compiledFor = compiled("avx2").map((each) => ({ ...each, instructions: 0 }));
    const { unknown } = checkImage(
      { platform, requires: null, env: [], entry, compiledFor },
      cpuHost({ cpu }),
    );
    expect(textsOf({ unknown })).toEqual([
      "whether /app/numpy.so runs here: it asks for avx2 and may refuse",
    ]);
  });

  it("is left out of each variant that an image carries", () => {
    const cpu = { vendor: null, model: null, features: ["pni", "popcnt"], level: null };
    const all = { march: "estimated", features: ["aes", "avx2"], by: "bmi2" };
    const plain = { march: "estimated", features: ["aes"], by: "plain" };
    const requires = { ...requirement(null, []), cpu: { ...all, or: [plain] } };
    const image = { platform, requires: null, env: [], entry: { requires }, compiledFor: compiled("aes") };
    expect(checkImage(image, cpuHost({ cpu }))).toMatchObject({
      ...{ fits: null, reasons: [], unknown: [{ code: "CPU_NOT_PROVED" }] },
    });
  });

  it("is told apart: what the CPU does not have, and what the facts do not tell", () => {
    const file = "whether /app/numpy.so runs here: it may need";
    expect(unknownOf(["avx2"], [])).toEqual([
      `${file} avx2 (2 instructions), which this host's CPU does not have`,
    ]);
    expect(unknownOf([], ["pni"])).toEqual([
      `${file} pni (SSE3) (2 instructions), of which this host's facts do not tell`,
    ]);
    expect(unknownOf(["avx2"], ["pni"])).toEqual([
      `${file} avx2 (2 instructions), which this host's CPU does not have, and pni (SSE3) (2 instructions), of which this host's facts do not tell`,
    ]);
  });
});

describe("an image without the label", () => {
  const check = (env: readonly string[], host: Parameters<typeof checkImage>[1]) =>
    checkImage({ platform, requires: null, env }, host);

  it("never fits: its CPU features are unknown", () => {
    expect(check([], cpuHost())).toMatchObject({ fits: null, reasons: [] });
    expect(textsOf(check([], cpuHost()))).toContain("which CPU features its programs use");
    expect(check(cudaEnv, gpuHost([a100], "570.124.06", "12.8"))).toMatchObject({ fits: null, reasons: [] });
  });

  it("does not run on another architecture", () => {
    const image = { platform: "linux/arm64/v8", requires: null, env: [] };
    expect(checkImage(image, cpuHost())).toMatchObject({ fits: false, reasons: [{ code: "ARCH_MISMATCH" }] });
  });

  it("with CUDA needs a GPU and its driver", () => {
    expect(check(cudaEnv, cpuHost())).toMatchObject({ fits: false, reasons: [{ code: "NO_GPU" }] });
    expect(check(cudaEnv, gpuHost([a100], null))).toMatchObject({ reasons: [{ code: "NO_NVIDIA_DRIVER" }] });
  });

  it("with CUDA does not run below the floor of its toolkit", () => {
    expect(check(cudaEnv, gpuHost([a100], "440.33.01", "10.2"))).toMatchObject({
      fits: false,
      reasons: [{ code: "DRIVER_TOO_OLD" }],
    });
  });

  it("may bring a forward-compatibility package where NVIDIA has one for this driver and GPU", () => {
    const tesla = check(cudaEnv, gpuHost([a100], "470.57.02", "11.4"));
    expect(tesla).toMatchObject({ fits: null, reasons: [] });
    expect(textsOf(tesla).join("\n")).toMatch(
      /forward-compatibility package.*needs NVIDIA driver >= 525.60.13/,
    );
    const geforce = check(cudaEnv, gpuHost([rtx4090], "470.57.02", "11.4"));
    expect(geforce).toMatchObject({ fits: false, reasons: [{ code: "DRIVER_TOO_OLD" }] });
  });

  it("is refused by the legacy runtime where NVIDIA_REQUIRE_CUDA does not hold", () => {
    const host = gpuHost([rtx4090], "525.60.13", "12.0", { runtime: { nvidia: "legacy" } });
    expect(check(cudaEnv, host)).toMatchObject({
      fits: false,
      reasons: [{ code: "NVIDIA_REQUIRE_UNSATISFIED" }],
    });
    expect(check([...cudaEnv, "NVIDIA_DISABLE_REQUIRE=true"], host).reasons).toEqual([]);
    expect(check(cudaEnv, { ...host, runtime: { nvidia: "cdi" } }).reasons).toEqual([]);
  });

  it("that asks for no device is not judged by its CUDA", () => {
    expect(check([...cudaEnv, "NVIDIA_VISIBLE_DEVICES=void"], cpuHost())).toMatchObject({ fits: null });
  });

  it("of an unknown toolkit says so", () => {
    const answer = check(["CUDA_VERSION=99.1.0"], gpuHost([a100], "570.124.06", "12.8"));
    expect(answer).toMatchObject({ fits: null });
    expect(textsOf(answer)).toContain("which driver CUDA 99.1.0 needs");
  });
});

describe("an image without the label, by its environment", () => {
  const legacy = { runtime: { nvidia: "legacy" } } as const;
  const wsl = { nvidiaChange: { driverScale: "wsl" } } as const;

  it.each<readonly [env: readonly string[], HostFacts, said: readonly string[]]>([
    [[], cpuHost(), ["whether its programs need a GPU"]],
    [["CUDA_VERSION=12.4.1"], gpuHost([a100], "570.124.06"), ["for which GPUs its CUDA code was compiled"]],
    [["CUDA_VERSION=12.4.1"], gpuHost([a100], "535.183.01"), ["for which GPUs its CUDA code was compiled"]],
    [
      ["NVIDIA_REQUIRE_CUDA=cuda>=12.4"],
      gpuHost([a100], "570.124.06", null, legacy),
      ["its CUDA toolkit", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["CUDA_VERSION=99.1.0"],
      gpuHost([a100], "570.124.06"),
      ["which driver CUDA 99.1.0 needs", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["CUDA_VERSION=12.4.1", "NVIDIA_VISIBLE_DEVICES=void"],
      cpuHost(),
      ["whether its programs need a GPU: it has CUDA, and asks for no device"],
    ],
    [
      ["CUDA_VERSION=12.4.1", "NVIDIA_VISIBLE_DEVICES="],
      cpuHost(),
      ["whether its programs need a GPU: it has CUDA, and asks for no device"],
    ],
    [
      ["CUDA_VERSION=12.4.1", "NVIDIA_VISIBLE_DEVICES=none0"],
      cpuHost(),
      ["NO_GPU", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"],
      gpuHost([a100], "470.57.02", null, legacy),
      [
        "NVIDIA_REQUIRE_UNSATISFIED",
        "whether it brings NVIDIA's forward-compatibility package, without which: needs NVIDIA driver >= 525.60.13, this host has 470.57.02",
        "for which GPUs its CUDA code was compiled",
      ],
    ],
    [
      ["CUDA_VERSION=8.0.61"],
      gpuHost([gpu({ compute: "6.0" })], "352.39"),
      ["DRIVER_TOO_OLD", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["CUDA_VERSION=12.4.1"],
      gpuHost([a100], "470.57.02", "11.4", wsl),
      ["DRIVER_TOO_OLD", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["CUDA_VERSION=12.4.1"],
      gpuHost([a100, rtx4090], "470.57.02"),
      ["DRIVER_TOO_OLD", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["CUDA_VERSION=99.1.0"],
      gpuHost([a100], "570.10", "12.8", wsl),
      ["which driver CUDA 99.1.0 needs", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["CUDA_VERSION=12.4.1"],
      gpuHost([a100], "460.10"),
      ["DRIVER_TOO_OLD", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["NVIDIA_REQUIRE_CUDA=cuda>=99.0", "NVIDIA_DISABLE_REQUIRE=1"],
      gpuHost([a100], "570.124.06", null, legacy),
      ["whether its programs need a GPU"],
    ],
    [
      ["NVIDIA_REQUIRE_CUDA=cuda>=99.0", "NVIDIA_DISABLE_REQUIRE=x1"],
      gpuHost([a100], "570.124.06", null, legacy),
      ["NVIDIA_REQUIRE_UNSATISFIED", "its CUDA toolkit", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["NVIDIA_REQUIRE_CUDA=cuda>=99.0", "NVIDIA_DISABLE_REQUIRE=1x"],
      gpuHost([a100], "570.124.06", null, legacy),
      ["NVIDIA_REQUIRE_UNSATISFIED", "its CUDA toolkit", "for which GPUs its CUDA code was compiled"],
    ],
    [
      ["CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=cuda>=99.0", "NVIDIA_DISABLE_REQUIRE=T"],
      gpuHost([a100], "570.124.06", null, legacy),
      ["for which GPUs its CUDA code was compiled"],
    ],
  ])("%j", (env, host, expected) => {
    const { reasons, unknown } = checkImage({ platform, requires: null, env }, host);
    const [ofCpu, ofKernel, ...others] = textsOf({ unknown });
    expect([ofCpu, ofKernel]).toEqual([
      "which CPU features its programs use",
      "the oldest kernel they run on",
    ]);
    expect([...reasons.map(({ code }) => code), ...others]).toEqual(expected);
  });

  it("has the expression that the last of its variables says", () =>
    expect(requireOf(["NVIDIA_REQUIRE_CUDA=cuda>=1.0", "NVIDIA_REQUIRE_CUDA=cuda>=2.0"])).toBe("cuda>=2.0"));
});

describe("an opened image whose GPU side is undecided", () => {
  type Host = Parameters<typeof checkImage>[1];
  const check = (features: readonly string[], host: Host, code: readonly string[] | null = null) =>
    checkImage(
      {
        ...{ platform, requires: null, env: [] },
        entry: { requires: { cpu: { march: "estimated", features }, cuda: null, kernel: "3.2.0" } },
        undecided: [needUnknown("its files hold code of CUDA 12 and 13")],
        undecidedGpus: [{ vendor: "nvidia", code }],
      },
      host,
    );

  it("is not proved on a host with a GPU, and never reads as an image without GPU code", () => {
    expect(check([], gpuHost([a100], "580.95.05", "13.0"))).toMatchObject({
      ...{ fits: null, reasons: [], requires: null },
      unknown: [needUnknown("its files hold code of CUDA 12 and 13")],
    });
  });

  it("does not run where a GPU runs none of its code, whatever the toolkit", () => {
    const host = gpuHost([a100], "580.95.05", "13.0");
    expect(check([], host, ["sm_70", "sm_75"])).toMatchObject({
      fits: false,
      reasons: [{ code: "NO_GPU_CODE", short: "no code for compute capability 8.0" }],
    });
    expect(check([], host, ["sm_70", "compute_75"]).fits).toBe(null);
    expect(check([], host, ["sm_70", "sm_80"]).fits).toBe(null);
  });

  it("does not run on a host without a GPU, nor without a CPU feature", () => {
    expect(check([], cpuHost())).toMatchObject({ fits: false, reasons: [{ code: "NO_GPU" }] });
    const { reasons } = check(["amx_tile"], cpuHost());
    expect(reasons.map(({ code }) => code)).toEqual(["CPU_FEATURES_MISSING", "NO_GPU"]);
    const lame = gpuHost([a100], "570.124.06", "12.8", { problems: [broken] });
    expect(check([], lame).reasons.map(({ code }) => code)).toEqual(["HOST_BROKEN"]);
  });
});
