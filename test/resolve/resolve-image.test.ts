import { describe, expect, it } from "vitest";
import { rankImages, resolveImage } from "../../src/resolve/resolve-image.ts";
import { a100, cpuHost, gpuHost, h100, rtx4090 } from "./support/hosts.ts";
import { cuda, digest, gpuImage, image, lockOf } from "./support/locks.ts";

const fleet = lockOf({
  cpu: image(),
  "cuda12-80": gpuImage(cuda("12.8.1", ["sm_80", "compute_80"])),
  "cuda12-90a": gpuImage(cuda("12.8.1", ["sm_90a"])),
  "cuda124-80": gpuImage(cuda("12.4.1", ["sm_80"])),
  "cuda13-90": gpuImage(cuda("13.0.2", ["sm_90"], { driver: { mode: "host", minimum: "580.65.06" } })),
});

describe("resolveImage", () => {
  it("answers with the reference by digest", () => {
    const { match } = resolveImage(fleet, gpuHost([h100], "570.124.06", "12.8"));
    expect(match).toEqual({
      cell: "cuda12-90a",
      reference: `registry.example.com/team/cv-tf:cuda12-90a@${digest}`,
      tier: "native",
      reasons: ["code closer to the GPU: sm_90a (specific) before compute_80 (ptx, 10 away)"],
    });
  });

  it("follows the lock's preference, unless the caller has one", () => {
    const host = gpuHost([a100], "580.95.05", "13.0");
    const preferring = { ...fleet, prefer: ["cuda=none"] };
    expect(resolveImage(fleet, host).match?.cell).toBe("cuda12-80");
    expect(resolveImage(preferring, host).match?.cell).toBe("cpu");
    expect(resolveImage(preferring, host, { prefer: ["gpu"] }).match?.cell).toBe("cuda12-80");
  });

  it("takes an image that no registry has only where it is asked for, and the engine has it", () => {
    const local = { engine: "podman", id: `sha256:${"d".repeat(64)}` } as const;
    const lock = lockOf({ cpu: image({ digest: null, local }), old: image({ digest: null }) });
    const ask = (held?: readonly string[]) =>
      resolveImage(lock, cpuHost(), held === undefined ? {} : { local: new Set(held) });
    expect(ask([local.id]).match).toEqual({
      cell: "cpu",
      reference: local.id,
      local: "podman",
      tier: "native",
      reasons: ["the only image that fits"],
    });
    expect(ask([local.id]).rejected).toMatchObject([
      { cell: "old", code: "NOT_BUILT", message: "has no digest in the lock: it was never built" },
    ]);
    expect(ask().rejected[0]).toMatchObject({
      code: "NOT_PUSHED",
      message: "was built and not pushed: podman has it on the machine of the build alone",
      fix: "push it (imgmatch build --push), or on that machine, ask with --local",
    });
    expect(ask([]).rejected[0]).toMatchObject({
      code: "NOT_PUSHED",
      message: "was built and not pushed, and podman on this machine does not have it",
      fix: "build it here (imgmatch build)",
    });
  });

  it("names the two numbers that clash and the fix", () => {
    const { rejected } = resolveImage(fleet, gpuHost([h100], "570.124.06", "12.8"));
    expect(rejected.find(({ cell }) => cell === "cuda13-90")).toEqual({
      cell: "cuda13-90",
      code: "DRIVER_TOO_OLD",
      message: "needs NVIDIA driver >= 580.65.06, this host has 570.124.06",
      fix: "update the NVIDIA driver: 570.124.06 → >= 580.65.06",
    });
  });

  it("lists images that fit but lost nowhere among the rejected", () => {
    const { ranked, rejected } = rankImages(fleet, gpuHost([a100], "580.95.05", "13.0"));
    expect(ranked.map(({ cell }) => cell)).toEqual(["cuda12-80", "cuda124-80", "cpu"]);
    expect(rejected.map(({ cell, code }) => `${cell} ${code}`)).toEqual([
      "cuda12-90a NO_GPU_CODE",
      "cuda13-90 NO_GPU_CODE",
    ]);
  });

  it("wants an image that serves every visible GPU", () => {
    const { match } = resolveImage(fleet, gpuHost([h100, a100], "570.124.06", "12.8"));
    expect(match?.cell).toBe("cuda12-80");
  });

  it("falls back to a CPU image only on a host without GPUs", () => {
    expect(resolveImage(fleet, cpuHost()).match?.cell).toBe("cpu");
    const old = resolveImage(fleet, gpuHost([rtx4090], "470.57.02", "11.4"));
    expect(old.match?.cell).toBe("cpu");
  });

  it("answers null when nothing fits", () => {
    const host = cpuHost({ platform: "linux/s390x" });
    const { match, rejected } = resolveImage(fleet, host);
    expect(match).toBeNull();
    expect(new Set(rejected.map(({ code }) => code))).toEqual(new Set(["ARCH_MISMATCH"]));
  });

  it("says that the only image that fits is the only one", () => {
    expect(resolveImage(fleet, cpuHost()).match?.reasons).toEqual(["the only image that fits"]);
  });

  it("carries the host's problems", () => {
    const problem = { code: "HOST_SMI_GARBAGE", message: "nvidia-smi printed something else" } as const;
    expect(resolveImage(fleet, cpuHost({ problems: [problem] })).problems).toEqual([problem]);
  });
});
