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
