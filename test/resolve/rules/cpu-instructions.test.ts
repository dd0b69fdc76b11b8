import { describe, expect, it } from "vitest";
import { findMarch, type March, marchFeatures } from "../../../src/hardware/cpu-marches.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { viewHost } from "../../../src/resolve/host-view.ts";
import { findMisfits, checkFit } from "../../../src/resolve/check-fit.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { whyNotImage } from "../../../src/resolve/why-not-image.ts";
import { avx512, cpuHost, levelV3 } from "../support/hosts.ts";
import { image, lockOf } from "../support/locks.ts";

const needing = (features: readonly string[], march = "skylake-avx512") =>
  image({ requires: { cpu: { march, features }, cuda: null } });
const having = (features: readonly string[] | null, platform = "linux/amd64") =>
  cpuHost({ platform, cpu: { vendor: null, model: null, features, level: "x86-64-v3" } });

describe("CPU rule", () => {
  it("fits when every feature is present", () => {
    expect(checkFit(needing([...levelV3, ...avx512]), cpuHost())).toEqual({
      ok: true,
      tier: "native",
      code: [],
      builtFor: { features: levelV3.length + avx512.length, emitted: levelV3.length + avx512.length },
    });
  });

  it("says no for one masked feature, and names it", () => {
    const masked = [...levelV3, ...avx512].filter((feature) => feature !== "avx512vl");
    expect(checkFit(needing([...levelV3, ...avx512]), having(masked))).toEqual({
      cures: expect.any(Array),
      ok: false,
      code: "CPU_FEATURES_MISSING",
      message: "needs avx512vl (skylake-avx512), which this host's CPU does not have",
      fix: "add a cell with march=x86-64-v3, or, in a virtual machine, expose avx512vl to the guest",
      distance: 1,
    });
  });

  it("says unknown of what another system, or an empty list, does not tell", () => {
    const mac = { ...cpuHost(), platform: "darwin/amd64" };
    const { cpu } = mac;
    const facts = { ...mac, cpu: { ...cpu, features: ["avx"], level: null } };
    const reasons = findMisfits(needing(["avx", "avx2"]), viewHost(facts));
    expect(reasons.find(({ code }) => code === "CPU_FEATURES_MISSING")?.message).toBe(
      "needs avx2 (skylake-avx512), avx2 cannot be proved: these facts do not tell",
    );
    expect(checkFit(needing(["avx2"]), having([]))).toMatchObject({
      message: "needs 1 CPU features (skylake-avx512), this host's CPU features are unknown",
    });
  });

  it("offers to add no cell that the fleet has", () => {
    const v3 = having(levelV3);
    const wide = { ...needing([...levelV3, ...avx512]), axes: { march: "skylake-avx512" } };
    const named = { ...needing(levelV3), axes: { march: "x86-64-v3" } };
    const fixOf = (images: Lock["images"]) => whyNotImage(lockOf(images), "wide", v3).reasons[0]?.fix;
    expect(fixOf({ wide })).toMatch(/^add a cell with march=x86-64-v3, or/);
    expect(fixOf({ wide, named })).toMatch(/^take named, which has march=x86-64-v3, or/);
    expect(fixOf({ wide, named: { ...named, digest: null } })).toMatch(
      /^build named \(imgmatch build\), which has march=x86-64-v3, or/,
    );
  });

  it("offers what lets the native image in, not the cell that has just won", () => {
    const own = findMarch("sapphirerapids")?.features ?? [];
    const v4 = findMarch("x86-64-v4")?.features ?? [];
    const guest = cpuHost({
      cpu: {
        vendor: null,
        model: null,
        features: own.filter((feature) => feature !== "movdiri"),
        level: "x86-64-v4",
      },
    });
    const lock = lockOf({
      native: { ...needing(own, "sapphirerapids"), axes: { march: "sapphirerapids" } },
      level: { ...needing(v4, "x86-64-v4"), axes: { march: "x86-64-v4" } },
    });
    expect(resolveImage(lock, guest).match?.cell).toBe("level");
    expect(whyNotImage(lock, "native", guest).reasons[0]?.fix).toBe(
      "list movdiri under the without of march=sapphirerapids and build again, or, in a virtual machine, expose movdiri to the guest",
    );
    const rest = marchFeatures(findMarch("sapphirerapids") as March, ["movdiri"]);
    expect(checkFit(needing(rest, "sapphirerapids"), guest).ok).toBe(true);
  });

  it("does not take unknown features for present, nor for absent", () => {
    expect(checkFit(needing(["avx2"]), having(null))).toMatchObject({
      code: "CPU_FEATURES_MISSING",
      message: "needs 1 CPU features (skylake-avx512), this host's CPU features are unknown",
    });
    expect(checkFit(needing([]), having(null)).ok).toBe(true);
  });

  it("counts a feature that no kernel prints as absent and says why", () => {
    expect(checkFit(needing(["avx2", "avx_ifma"], "sierraforest"), having(levelV3))).toMatchObject({
      code: "CPU_FEATURES_MISSING",
      message: "needs avx_ifma (sierraforest), avx_ifma cannot be proved: no kernel prints it",
    });
    // The probe lists it if family and model prove it.
    expect(checkFit(needing(["avx2", "avx_ifma"], "sierraforest"), having([...levelV3, "avx_ifma"])).ok).toBe(
      true,
    );
  });

  it("knows that an Arm kernel prints names that an x86 kernel hides", () => {
    const arm = { ...needing(["sha512"], "armv8.4-a"), platform: "linux/arm64" };
    expect(checkFit(arm, having(["asimd"], "linux/arm64"))).toMatchObject({
      message: "needs sha512 (armv8.4-a), which this host's CPU does not have",
    });
  });
});
