/** Fleets and hosts for the page: one as a platform team has it, and one as large as the page promises to stay fluent with. */

import { findMarch } from "../../../../src/hardware/cpu-marches.ts";
import type { CoverFleet } from "../../../../src/cover/cover-fleet.ts";
import type { GpuFacts, HostFacts, HostProblem } from "../../../../src/facts/facts.ts";
import type { NamedHost } from "../../../../src/facts/named-host.ts";
import { unknownGpu, unknownHost } from "../../../../src/facts/no-facts.ts";
import { cudaOfDriver } from "../../../../src/hardware/cuda-toolkits.ts";
import type { Lock, LockedImage } from "../../../../src/lock/lock.ts";
import type { Digest } from "../../../../src/oci/digest.ts";

export interface Fleet {
  readonly fleet: CoverFleet;
  readonly hosts: readonly NamedHost[];
}

interface Axes {
  readonly cuda: readonly string[];
  readonly compute: readonly string[];
  readonly march: readonly string[];
  readonly python: readonly string[];
}

const floors: Readonly<Record<string, string>> = {
  "11.8.0": "450.80.02",
  "12.4.1": "525.60.13",
  "12.8.1": "525.60.13",
  "13.0.2": "580.65.06",
};

/** Every combination, and a row without GPU code. */
export function lockOfAxes({ cuda, compute, march, python }: Axes): Lock {
  const images: Record<string, LockedImage> = {};
  for (const release of [...cuda, "none"])
    for (const capability of release === "none" ? ["none"] : compute)
      for (const target of march)
        for (const version of python) {
          const axes = { cuda: release, compute: capability, march: target, python: version };
          const cell = [release, ...(release === "none" ? [] : [capability]), target, version].join("_");
          images[cell] = imageOf(cell, axes);
        }
  return {
    schemaVersion: 2,
    ...{ name: "vision", version: "1.4.0", repository: "registry.example.com/team/vision" },
    images,
  };
}

function imageOf(
  cell: string,
  axes: Readonly<Record<"cuda" | "compute" | "march" | "python", string>>,
): LockedImage {
  return {
    axes,
    platform: "linux/amd64",
    tag: `1.4.0-${cell.replace(/[^\w.-]/g, "_")}`,
    ...{ inputDigest: digestOf(`${cell} input`), digest: digestOf(cell) },
    requires: {
      cpu: { march: axes.march, features: findMarch(axes.march)?.required ?? [] },
      cuda:
        axes.cuda === "none"
          ? null
          : {
              toolkit: axes.cuda,
              code: [`sm_${axes.compute.replace(".", "")}`],
              driver: { mode: "host", minimum: floors[axes.cuda] ?? "" },
            },
    },
    ...{ bases: [], builder: "test", created: null, size: null },
    ...figuresOf(cell, axes),
  };
}

/** Images of one toolkit share its layers. */
function figuresOf(cell: string, { cuda }: { readonly cuda: string }) {
  const layers = { [cuda]: cuda === "none" ? 31_000_000 : 1_240_000_000, [cell]: 46_000_000 };
  const blobs = Object.entries(layers).map(([of, bytes]) => [digestOf(of).slice(7, 23), bytes]);
  return { blobs: Object.fromEntries(blobs) as LockedImage["blobs"] & object, buildSeconds: 260 };
}

/** Some digest, the same for the same text. */
function digestOf(text: string): Digest {
  let hash = 0;
  const digits = Array.from({ length: 64 }, (_, index) => {
    for (const letter of `${index}${text}`) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
    return (hash >>> 12).toString(16).slice(-1);
  });
  return `sha256:${digits.join("")}`;
}

const products = {
  v100: ["Tesla V100-SXM2-32GB", "7.0", "datacenter"],
  t4: ["Tesla T4", "7.5", "datacenter"],
  a100: ["NVIDIA A100-SXM4-80GB", "8.0", "datacenter"],
  a10: ["NVIDIA A10", "8.6", "datacenter"],
  l4: ["NVIDIA L4", "8.9", "datacenter"],
  l40s: ["NVIDIA L40S", "8.9", "datacenter"],
  h100: ["NVIDIA H100 80GB HBM3", "9.0", "datacenter"],
  h200: ["NVIDIA H200", "9.0", "datacenter"],
  b200: ["NVIDIA B200", "10.0", "datacenter"],
  rtx: ["NVIDIA GeForce RTX 5090", "12.0", "geforce"],
} as const satisfies Record<string, readonly [name: string, compute: string, kind: GpuFacts["class"]]>;

interface Kind {
  readonly gpu: keyof typeof products | null;
  readonly gpus?: number;
  /** null for a card without a driver. */
  readonly driver: string | null;
  readonly march: string;
  readonly problem?: HostProblem;
}

export function hostOf({ gpu, gpus = 8, driver, march, problem }: Kind): HostFacts {
  const [name, compute, kind] = gpu === null ? [null, null, "unknown" as const] : products[gpu];
  const features = findMarch(march)?.features ?? [];
  const level = ["x86-64-v4", "x86-64-v3", "x86-64-v2"].find((each) =>
    findMarch(each)?.features.every((feature) => features.includes(feature)),
  );
  return {
    ...unknownHost("linux/amd64"),
    kernel: "6.8.0",
    cpu: { vendor: "GenuineIntel", model: `CPU of ${march}`, features, level: level ?? null },
    nvidia:
      gpu === null
        ? null
        : {
            ...{ driver, module: "open", library: driver },
            cuda: driver === null ? null : cudaOfDriver(driver),
            gpus: Array.from({ length: gpus }, (_, index) => ({
              ...unknownGpu(index),
              ...{ name, compute, class: kind, uuid: `GPU-secret-${index}`, bus: "00000000:17:00.0" },
            })),
          },
    problems: problem === undefined ? [] : [problem],
  };
}

const mismatch: HostProblem = {
  code: "HOST_DRIVER_LIBRARY_MISMATCH",
  message: "kernel module 570.124.06 and driver library 580.95.05 are loaded together",
  fix: "reboot (or unload and load the nvidia modules), so that the installed driver's module is the loaded one",
};

/** A platform team's hosts: 1,248, some of which were forgotten. */
export function teamFleet(): Fleet {
  const kinds: readonly (readonly [name: string, hosts: number, kind: Kind])[] = [
    ["cpu-a", 310, { gpu: null, driver: null, march: "icelake-server" }],
    ["cpu-b", 148, { gpu: null, driver: null, march: "znver4" }],
    ["a100-old", 96, { gpu: "a100", driver: "535.183.01", march: "icelake-server" }],
    ["a100", 180, { gpu: "a100", driver: "570.124.06", march: "znver3" }],
    ["h100", 208, { gpu: "h100", driver: "570.124.06", march: "sapphirerapids" }],
    ["h200", 64, { gpu: "h200", driver: "580.95.05", march: "sapphirerapids" }],
    ["l4", 84, { gpu: "l4", gpus: 1, driver: "570.124.06", march: "icelake-server" }],
    ["l40s", 40, { gpu: "l40s", driver: "550.54.15", march: "znver4" }],
    ["t4", 52, { gpu: "t4", gpus: 4, driver: "470.256.02", march: "skylake-avx512" }],
    ["v100", 24, { gpu: "v100", driver: "535.183.01", march: "skylake-avx512" }],
    ["b200", 16, { gpu: "b200", driver: "570.124.06", march: "sapphirerapids" }],
    ["b200-new", 8, { gpu: "b200", driver: "580.95.05", march: "sapphirerapids" }],
    ["desk", 11, { gpu: "rtx", gpus: 1, driver: "580.95.05", march: "znver4" }],
    ["h100-updated", 3, { gpu: "h100", driver: "570.124.06", march: "sapphirerapids", problem: mismatch }],
    ["legacy", 4, { gpu: null, driver: null, march: "x86-64-v2" }],
  ];
  const hosts = kinds.flatMap(([name, count, kind]) => named(name, count, hostOf(kind)));
  const lock = lockOfAxes({
    cuda: ["12.4.1", "12.8.1", "13.0.2"],
    compute: ["7.5", "8.0", "8.9", "9.0a", "10.0"],
    march: ["x86-64-v3", "icelake-server", "sapphirerapids", "znver4"],
    python: ["3.12"],
  });
  // As fleets are: nobody compiles Blackwell with 12.4, nobody rents Turing with Sapphire Rapids.
  const images = Object.entries(lock.images).filter(
    ([, { axes }]) =>
      !(axes.cuda === "12.4.1" && axes.compute === "10.0") &&
      !(axes.compute === "7.5" && axes.march !== "x86-64-v3") &&
      !(axes.compute === "10.0" && axes.march !== "sapphirerapids"),
  );
  return { fleet: { from: "lock", lock: { ...lock, images: Object.fromEntries(images) } }, hosts };
}

/** 2,000 classes of 10,000 hosts, 400 images. */
export function largeFleet(): Fleet {
  const lock = lockOfAxes({
    cuda: ["11.8.0", "12.4.1", "12.8.1"],
    compute: ["7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"],
    march: ["x86-64-v2", "x86-64-v3", "icelake-server", "znver4"],
    python: ["3.10", "3.11", "3.12", "3.13"],
  });
  const marches = [
    ...["x86-64-v2", "haswell", "broadwell", "skylake", "skylake-avx512"],
    ...["cascadelake", "icelake-server", "sapphirerapids", "znver3", "znver4"],
  ];
  const drivers = Array.from({ length: 25 }, (_, index) => `${450 + 6 * index}.${60 + index}.01`);
  const hosts = gpuNames.flatMap((gpu) =>
    drivers.flatMap((driver) =>
      marches.flatMap((march) => named(`${gpu}-${march}-${driver}`, 5, hostOf({ gpu, driver, march }))),
    ),
  );
  return { fleet: { from: "lock", lock }, hosts };
}

/** No two of which the rules cannot tell apart. */
const gpuNames = ["v100", "t4", "a100", "a10", "l4", "h100", "b200", "rtx"] as const;

/** Texts that would end an element, open one, run, or show as something else, were they read as anything but text. */
export const hostileTexts: readonly string[] = [
  "</script><script>window.broken = 1</script>",
  "<!-- <script>",
  "]]><img src=x onerror=window.broken=1>",
  '" onmouseover=window.broken=1 x="',
  "' autofocus onfocus=window.broken=1 '",
  "javascript:window.broken=1",
  "line\u2028separators\u2029here",
  "\u202etxt.exe \u0000 \u001b[31m",
  "{{constructor.constructor('window.broken=1')()}} ${window.broken=1}",
  "__proto__",
  "&lt;b&gt; &amp;",
  "#class=c1&image=x%00%3Cscript%3E",
];

/** Each of these as the name of a host, of its GPU, driver, CPU and problem, and of a cell with its axes. */
export function hostileFleet(): Fleet {
  const base = hostOf({ gpu: "h100", gpus: 1, driver: "570.124.06", march: "sapphirerapids" });
  const hosts = hostileTexts.map((text, index) => ({
    name: text,
    facts: {
      ...base,
      kernel: text,
      cpu: { ...base.cpu, model: text, level: text },
      nvidia:
        index % 2 === 0 || base.nvidia == null
          ? null
          : {
              ...base.nvidia,
              driver: text,
              cuda: text,
              gpus: base.nvidia.gpus.map((gpu) => ({ ...gpu, name: text })),
            },
      problems: [{ code: "HOST_NO_DRIVER", message: text, fix: text }] as const,
    },
  }));
  const lock = lockOfAxes({
    cuda: ["12.8.1"],
    compute: ["9.0"],
    march: ["sapphirerapids"],
    python: hostileTexts,
  });
  return {
    fleet: { from: "lock", lock: { ...lock, name: hostileTexts[0] ?? "", version: hostileTexts[2] ?? "" } },
    hosts,
  };
}

function named(name: string, count: number, facts: HostFacts): readonly NamedHost[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${name}-${String(index + 1).padStart(3, "0")}`,
    facts,
  }));
}
