import { describe, expect, it } from "vitest";
import { checkFit } from "../../../src/resolve/check-fit.ts";
import { cpuHost, levelV3 } from "../support/hosts.ts";
import { image } from "../support/locks.ts";

describe("platform rule", () => {
  it("refuses another architecture with both names", () => {
    expect(checkFit(image({ platform: "linux/arm64" }), cpuHost())).toMatchObject({
      code: "ARCH_MISMATCH",
      message: "is built for linux/arm64, this host is linux/amd64",
    });
  });

  it("takes arm64/v8 for arm64, but arm/v7 for nothing else", () => {
    const host = cpuHost({ platform: "linux/arm64" });
    expect(checkFit(image({ platform: "linux/arm64/v8" }), host).ok).toBe(true);
    expect(checkFit(image({ platform: "linux/arm/v7" }), host)).toMatchObject({ code: "ARCH_MISMATCH" });
  });
});

describe("kernel rule", () => {
  const needing = (kernel: string) =>
    image({ requires: { cpu: { march: "x86-64-v3", features: levelV3 }, cuda: null, kernel } });

  it("compares numbers part by part", () => {
    expect(checkFit(needing("5.10"), cpuHost({ kernel: "5.9.16" }))).toMatchObject({
      code: "KERNEL_TOO_OLD",
      message: "needs kernel >= 5.10, this host has 5.9.16",
    });
    expect(checkFit(needing("5.10.0"), cpuHost({ kernel: "5.10" })).ok).toBe(true);
    expect(checkFit(needing("3.2.0"), cpuHost({ kernel: "6.8.0" })).ok).toBe(true);
  });

  it("does not guess an unknown kernel", () => {
    expect(checkFit(needing("3.2.0"), cpuHost({ kernel: null }))).toMatchObject({ code: "KERNEL_TOO_OLD" });
    expect(checkFit(image(), cpuHost({ kernel: null })).ok).toBe(true);
  });
});

describe("cures", () => {
  const cures = (image_: Parameters<typeof checkFit>[0], host: Parameters<typeof checkFit>[1]) => {
    const verdict = checkFit(image_, host);
    return verdict.ok ? [] : verdict.cures.map(({ text, remedy }) => [text, remedy]);
  };
  const needing = (kernel: string) =>
    image({ requires: { cpu: { march: "x86-64-v3", features: levelV3 }, cuda: null, kernel } });

  it("are a cell of the host's platform, and a newer kernel", () => {
    expect(cures(image({ platform: "linux/arm64" }), cpuHost())).toEqual([
      ["add a cell whose march belongs to linux/amd64", { kind: "platform", platform: "linux/amd64" }],
    ]);
    expect(cures(needing("5.10"), cpuHost({ kernel: "4.18.0" }))).toEqual([
      ["update the kernel: 4.18.0 → >= 5.10", { kind: "kernel", minimum: "5.10" }],
      ["use an image with an older libc", null],
    ]);
  });

  it("go to the side that is not understood", () => {
    expect(checkFit(needing("3.2.0"), cpuHost({ kernel: null }))).toMatchObject({
      message: "needs kernel >= 3.2.0, this host's kernel is unknown",
      fix: "probe the host itself, so that its kernel is known",
    });
    expect(checkFit(needing("new"), cpuHost({ kernel: "6.8.0" }))).toMatchObject({
      message: "needs kernel >= new, this host's kernel is 6.8.0",
      fix: "correct requires.kernel in the lock: it is no version",
    });
  });
});
