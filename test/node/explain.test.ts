import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { explainResolution } from "../../src/node/explain.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import type { ResolveImageOptions } from "../../src/resolve/resolve-options.ts";
import { whyNotImage } from "../../src/resolve/why-not-image.ts";
import { a100, avx512, cpuHost, gpu, gpuHost, h100, levelV3, v100 } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "../resolve/support/locks.ts";

const cuda13 = (code: readonly string[]) =>
  gpuImage(cuda("13.0.2", code, { driver: { mode: "host", minimum: "580.65.06" } }));

const fleet = lockOf({
  cpu: image(),
  "cuda12-80": gpuImage(cuda("12.8.1", ["sm_80", "compute_80"])),
  "cuda12-90a": gpuImage(cuda("12.8.1", ["sm_90a"])),
  "cuda13-80": cuda13(["sm_80"]),
  "cuda13-80-py": cuda13(["sm_80"]),
});

describe("explainResolution", () => {
  it("is readable from top to bottom", () => {
    expect(explainResolution(fleet, gpuHost([h100], "570.124.06", "12.8")).join("\n")).toMatchInlineSnapshot(`
      "host: linux/amd64, CPU x86-64-v4 (Intel(R) Xeon(R))
            NVIDIA driver 570.124.06, CUDA 12.8
            GPU 0 (NVIDIA H100 80GB HBM3), compute capability 9.0
      match: cuda12-90a
        registry.example.com/team/cv-tf:cuda12-90a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        GPU 0 runs sm_90a
        beats cuda12-80 by code closer to the GPU: sm_90a (specific) before compute_80 (ptx, 10 away)
      fit too, and lost: 2
        cuda12-80: code closer to the GPU: sm_90a (specific) before compute_80 (ptx, 10 away)
        cpu: GPU before CPU: GPU code before no GPU code
      do not fit: 2
        2 images: cuda13-80, cuda13-80-py
          DRIVER_TOO_OLD: needs NVIDIA driver >= 580.65.06, this host has 570.124.06
            fix: update the NVIDIA driver: 570.124.06 → >= 580.65.06
          NO_GPU_CODE: has sm_80, none of which runs on GPU 0 (NVIDIA H100 80GB HBM3), compute capability 9.0
            fix: add compute=9.0 to the image's cell"
    `);
  });

  it("names which of several a host takes of an image, and which was nearest", () => {
    const requires = {
      cpu: {
        ...{ by: "haswell", march: "haswell", features: levelV3 },
        or: [{ by: "x64", march: "x86-64", features: [] }],
      },
      cuda: {
        ...cuda("13.0.2", ["sm_90"], { by: "cuda_v13", driver: { mode: "host", minimum: "580.65.06" } }),
        or: [cuda("12.8.1", ["sm_70"], { by: "cuda_v12" })],
      },
    };
    const fat = lockOf({ fat: image({ requires }) });
    const lines = (host: HostFacts) => explainResolution(fat, host).join("\n");
    expect(lines(gpuHost([h100], "580.95.05", "13.0"))).toContain(
      "\n  by cuda_v13 and haswell, GPU 0 runs sm_90\n",
    );
    expect(resolveImage(fat, gpuHost([v100], "570.124.06", "12.8")).match?.by).toEqual([
      "cuda_v12",
      "haswell",
    ]);
    const old = gpuHost([h100], "570.124.06", "12.8");
    expect(lines(old)).toContain(
      "DRIVER_TOO_OLD: needs NVIDIA driver >= 580.65.06, this host has 570.124.06 (cuda_v13, the nearest that it has)",
    );
    expect(resolveImage(lockOf({ one: gpuImage(cuda("12.8.1", ["sm_90"])) }), old).match).not.toHaveProperty(
      "by",
    );
  });

  it("names the package by which an older driver serves", () => {
    const driver = {
      mode: "compat",
      package: "575.57.08",
      cuda: "12.9",
      branches: ["535"],
      onPath: "always",
    } as const;
    const lock = lockOf({ forward: gpuImage(cuda("12.9.1", ["sm_80"], { driver })) });
    expect(explainResolution(lock, gpuHost([a100], "535.183.01")).join("\n")).toContain(
      "  on an older driver, by its forward-compatibility package 575.57.08, GPU 0 runs sm_80\n",
    );
  });

  it("says of an image whose own files use nothing of its march that it is one of these", () => {
    const unused = levelV3.filter((feature) => feature !== "pni");
    const placebo = image({ measured: { rules: 1, cpu: { unused, own: "baseline" }, cuda: null } });
    const plain = image({ requires: { cpu: { march: "x86-64", features: ["pni"] }, cuda: null } });
    const lock = lockOf({ v1: plain, v3: placebo });
    const lines = explainResolution(lock, cpuHost()).join("\n");
    expect(lines).toContain("  declared x86-64-v3, its own files use nothing of it, its binaries use pni\n");
    expect(lines).toMatch(
      /beats v1 by more CPU features: \d+ \(x86-64-v3, of which its own files use none\) before/,
    );
    expect(whyNotImage(lock, "v3", cpuHost()).measured).toContain("its own files use nothing of it");
    const other = { rules: 2, cpu: { unused: [], own: "baseline" }, cuda: null } as const;
    expect(explainResolution(lockOf({ v3: image({ measured: other }) }), cpuHost()).join()).not.toContain(
      "use",
    );
  });

  it("says of a cell that would fit what makes it one that can be had", () => {
    const local = { engine: "docker", id: `sha256:${"d".repeat(64)}` } as const;
    const needs = { march: "x86-64-v4", features: [...levelV3, ...avx512] };
    const far = { axes: { march: "x86-64-v4" }, requires: { cpu: needs, cuda: null } };
    const near = image({ axes: { march: "x86-64-v3" }, digest: null, local });
    const host = cpuHost({ cpu: { ...cpuHost().cpu, features: levelV3, level: "x86-64-v3" } });
    const cures = (to: LockedImage, options: ResolveImageOptions = {}) =>
      explainResolution(lockOf({ v3: to, v4: image(far) }), host, options)
        .filter((line) => line.includes("march="))
        .map((line) => line.split(", or, ")[0]);
    expect(cures(near, { local: new Set([local.id]) })).toEqual([
      "      fix: take v3, which has march=x86-64-v3",
    ]);
    expect(cures(near)).toEqual(["      fix: push v3 (imgmatch build --push), which has march=x86-64-v3"]);
    expect(cures(near, { local: new Set() })).toEqual([
      "      fix: build v3 (imgmatch build), which has march=x86-64-v3",
    ]);
    const never = image({ axes: { march: "x86-64-v3" }, digest: null });
    expect(cures(never)).toEqual(["      fix: build v3 (imgmatch build), which has march=x86-64-v3"]);
  });

  it("names what is wrong with the host, and says of a foreign architecture only that", () => {
    const problem = {
      code: "HOST_NOUVEAU",
      message: "nouveau holds 1 NVIDIA GPU",
      fix: "blacklist nouveau",
    } as const;
    const lock = lockOf({
      arm: image({ platform: "linux/arm64" }),
      gpu: gpuImage(cuda("12.8.1", ["sm_80"])),
    });
    const host = gpuHost([a100], null, null, { problems: [problem] });
    expect(explainResolution(lock, host).join("\n")).toMatchInlineSnapshot(`
      "host: linux/amd64, CPU x86-64-v4 (Intel(R) Xeon(R))
            an NVIDIA device and no NVIDIA driver
            GPU 0 (NVIDIA A100-SXM4-80GB), compute capability 8.0
            problem: HOST_NOUVEAU: nouveau holds 1 NVIDIA GPU
              fix: blacklist nouveau
      match: none
      do not fit: 2
        arm
          ARCH_MISMATCH: is built for linux/arm64, this host is linux/amd64
            fix: add a cell whose march belongs to linux/amd64
        gpu
          NO_NVIDIA_DRIVER: needs an NVIDIA driver, this host has GPU 0 (NVIDIA A100-SXM4-80GB) without one: nouveau holds 1 NVIDIA GPU
            fix: blacklist nouveau
      to serve this host: add a cell cuda=none march=x86-64-v4"
    `);
  });

  it("lets nothing of a facts file or a lock move the cursor", () => {
    const host = gpuHost([{ ...h100, name: "\u001b[2JH100" }], "570.124.06", "12.8");
    const lines = explainResolution(
      lockOf({ "c\u0007": image({ tag: "c" }), one: gpuImage(cuda("12.8.1", ["sm_80"])) }),
      host,
    );
    expect(lines.join("")).not.toMatch(/\p{Cc}/u);
    expect(lines.join("")).toContain("\\u001b[2JH100");
  });

  it("shows the gap when a GPU host gets no GPU image", () => {
    const lock = lockOf({ cpu: image(), one: gpuImage(cuda("12.8.1", ["sm_80"])) });
    const lines = explainResolution(lock, gpuHost([h100], "570.124.06", "12.8"));
    expect(lines.at(-1)).toBe("to serve this host: add a cell cuda=12.8 compute=9.0 march=x86-64-v4");
    const mixed = explainResolution(lockOf({ cpu: image() }), gpuHost([h100, a100], "550.54.15", "12.4"));
    expect(mixed.at(-1)).toBe(
      'to serve this host: add a cell cuda=12.4 compute=["8.0", "9.0"] march=x86-64-v4',
    );
  });

  it("shows the gap when nothing at all fits", () => {
    const lines = explainResolution(lockOf({ one: image({ platform: "linux/arm64" }) }), cpuHost());
    expect(lines).toContain("match: none");
    expect(lines.at(-1)).toBe("to serve this host: add a cell cuda=none march=x86-64-v4");
  });

  it("sees no gap where a wish or a missing build keeps the fitting image out", () => {
    const fitting = gpuImage(cuda("12.8.1", ["sm_90"]));
    const host = gpuHost([h100], "570.124.06", "12.8");
    const gap = (lock: Lock, options = {}) =>
      explainResolution(lock, host, options).filter((line) => line.startsWith("to serve"));
    const lock = lockOf({ cpu: image(), one: fitting });
    expect(gap(lock, { cpuOnly: true })).toEqual([]);
    expect(gap(lock, { pins: { cuda: "none" } })).toEqual([]);
    expect(gap(lock, { pins: { cuda: "13" } })).toEqual([]);
    expect(gap(lockOf({ cpu: image(), one: { ...fitting, digest: null } }))).toEqual([]);
    // An image that does not fit without the wish either leaves the gap open.
    expect(
      gap(lockOf({ cpu: image(), one: gpuImage(cuda("12.8.1", ["sm_80"])) }), { cpuOnly: true }),
    ).toHaveLength(1);
  });

  it("promises nothing that would not fit the host as it stands", () => {
    const gap = (host: HostFacts) => explainResolution(lockOf({ cpu: image() }), host).at(-1);
    const k80 = gpu({ name: "Tesla K80", compute: "3.7" });
    expect(gap(gpuHost([k80], "470.256.02"))).toContain("add a cell cuda=11.4 compute=3.7");
    for (const host of [
      gpuHost([k80], "570.124.06"),
      gpuHost([v100], "570.124.06", null, { nvidiaChange: { module: "open" } }),
    ])
      expect(gap(host)).not.toContain("to serve");
    const mac = cpuHost({ platform: "darwin/amd64" });
    expect(gap(mac)).toBe("      fix: run it on a linux/amd64 host: no march belongs to darwin/amd64");
  });

  it("says once that the host is broken, and then what else stands against the images", () => {
    const problem = { code: "HOST_GPU_LOST", message: "GPU 1 is lost", fix: "power-cycle" } as const;
    const lock = lockOf({
      cpu: image(),
      one: gpuImage(cuda("12.8.1", ["sm_90"])),
      old: gpuImage(cuda("12.8.1", ["sm_80"])),
      arm: image({ platform: "linux/arm64" }),
    });
    const host = gpuHost([h100], "570.124.06", "12.8", { problems: [problem] });
    const lines = explainResolution(lock, host);
    expect(lines.slice(lines.indexOf("match: none")).join("\n")).toMatchInlineSnapshot(`
      "match: none
      do not fit: 4
        4 images: arm, cpu, old and 1 more
          HOST_BROKEN: HOST_GPU_LOST: see the host above
            fix: repair the host; to run without the GPUs, ask for a CPU image (--cpu)
        arm
          ARCH_MISMATCH: is built for linux/arm64, this host is linux/amd64
            fix: take cpu, which has platform linux/amd64
        old
          NO_GPU_CODE: has sm_80, none of which runs on GPU 0 (NVIDIA H100 80GB HBM3), compute capability 9.0
            fix: take one, which has compute=sm_90"
    `);
    const wished = explainResolution(lock, host, { cpuOnly: true });
    expect(wished.filter((line) => line.includes("HOST_BROKEN"))).toHaveLength(1);
    expect(wished.filter((line) => line.includes("GPU 1 is lost"))).toHaveLength(1);
    expect(wished.join("\n")).not.toContain("ask for a CPU image");
  });

  it("numbers GPUs as the driver does where some are hidden", () => {
    const host = gpuHost([h100], "570.124.06", "12.8");
    const second = { ...host, nvidia: host.nvidia && { ...host.nvidia, gpus: [{ ...h100, index: 2 }] } };
    expect(explainResolution(lockOf({ one: gpuImage(cuda("12.8.1", ["sm_90"])) }), second)).toContain(
      "  GPU 2 runs sm_90",
    );
  });

  it("tells the user to pin when only the tag decided", () => {
    const lock = lockOf({
      py311: image({ axes: { cuda: "none", march: "x86-64-v3", python: "3.11" } }),
      py312: image({ axes: { cuda: "none", march: "x86-64-v3", python: "3.12" } }),
    });
    expect(explainResolution(lock, cpuHost())).toContain(
      "  nothing but the tag tells them apart: pin python to choose",
    );
  });

  it("stays short for a large lock", () => {
    const many = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`cell-${index}`, cuda13(["sm_80"])]),
    );
    const lines = explainResolution(lockOf({ cpu: image(), ...many }), gpuHost([a100], "570.124.06", "12.8"));
    expect(lines.length).toBeLessThan(20);
    expect(lines).toContain("  5000 images: cell-0, cell-1, cell-10 and 4997 more");
  });
});

it("groups what only the tag decided", () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`cell-${index}`, image()]));
  expect(explainResolution(lockOf(many), cpuHost())).toContain(
    "  99 images: cell-1, cell-10, cell-11 and 96 more: tag: cell-0 before cell-1",
  );
});
