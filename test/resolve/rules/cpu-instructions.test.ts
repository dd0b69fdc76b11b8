import { toldFeature } from "../../../src/hardware/cpu-features.ts";
import { describe, expect, it } from "vitest";
import { findMarch, type March, marchFeatures } from "../../../src/hardware/cpu-marches.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { measuredRules } from "../../../src/lock/requirement.ts";
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

  it("says nothing of a CPU of another architecture", () => {
    const arm = image({
      platform: "linux/arm64",
      requires: { cpu: { march: "armv8-a", features: ["asimd"] }, cuda: null },
    });
    expect(findMisfits(arm, viewHost(cpuHost())).map(({ code }) => code)).toEqual(["ARCH_MISMATCH"]);
  });

  it("counts a measured image that the host runs in full as built for all of its march", () => {
    const built = needing([...levelV3, ...avx512]);
    const measured = { rules: measuredRules, cpu: { unused: ["avx512bw", "avx512vl"] }, cuda: null };
    const onHost = (one: typeof built) => {
      const verdict = checkFit(one, cpuHost());
      return verdict.ok ? verdict.builtFor : verdict.code;
    };
    expect(onHost({ ...built, measured })).toEqual(onHost(built));
  });

  it("knows that an Arm kernel prints names that an x86 kernel hides", () => {
    const arm = { ...needing(["sha512"], "armv8.4-a"), platform: "linux/arm64" };
    expect(checkFit(arm, having(["asimd"], "linux/arm64"))).toMatchObject({
      message: "needs sha512 (armv8.4-a), which this host's CPU does not have",
    });
  });
});

describe("cures of a CPU", () => {
  const sapphire = findMarch("sapphirerapids") as March;
  const refused = (
    features: readonly string[],
    march: string,
    lacks: readonly string[],
    change: {
      level?: string | null;
      kernel?: string | null;
      adopted?: object;
      unknown?: readonly string[];
    } = {},
  ) => {
    const { level = "x86-64-v3", kernel = "6.8.0", adopted, unknown = [] } = change;
    const cpu = { vendor: null, model: null, level, unknown };
    const host = cpuHost({
      kernel,
      cpu: { ...cpu, features: features.filter((each) => !lacks.includes(each)) },
    });
    const cell = { ...needing(features, march), ...(adopted && { adopted }) } as ReturnType<typeof needing>;
    const [found] = findMisfits(cell, viewHost(host));
    return [
      found?.message,
      ...(found?.cures ?? []).map(({ text, remedy, adopted: by }) => [text, remedy, by]),
    ];
  };
  const expose = (...features: readonly string[]) => [
    `in a virtual machine, expose ${features.map(toldFeature).join(", ")} to the guest`,
    { kind: "features", features },
    undefined,
  ];
  const level3 = [
    "add a cell with march=x86-64-v3",
    { kind: "cell", axes: { march: "x86-64-v3" } },
    "adopt an image for CPUs of x86-64-v3",
  ];

  it("leave out up to four features of a march, where more than the host's level is left", () => {
    const four = ["amx_bf16", "amx_int8", "amx_tile", "movdiri"];
    expect(refused(sapphire.features, "sapphirerapids", four)).toEqual([
      "needs amx_bf16, amx_int8, amx_tile, movdiri (sapphirerapids), which this host's CPU does not have",
      [
        "list amx_bf16, amx_int8, amx_tile, movdiri under the without of march=sapphirerapids and build again",
        { kind: "without", march: "sapphirerapids", features: four },
        "adopt it again with --without amx_bf16 --without amx_int8 --without amx_tile --without movdiri, where no program uses them",
      ],
      expose(...four),
    ]);
    expect(refused(sapphire.features, "sapphirerapids", [...four, "movdir64b"])[1]).toEqual(level3);
    expect(refused(sapphire.features, "sapphirerapids", ["movdiri"])[1]?.[2]).toBe(
      "adopt it again with --without movdiri, where no program uses it",
    );
    expect(refused(sapphire.features, "sapphirerapids", ["movdiri"], { level: null })[1]?.[0]).toMatch(
      /^list /,
    );
    // Without its one feature more, Westmere is v2.
    const westmere = findMarch("westmere") as March;
    expect(refused(westmere.features, "westmere", ["pclmulqdq"], { level: "x86-64-v2" })[1]?.[0]).toBe(
      "add a cell with march=x86-64-v2",
    );
    expect(refused(westmere.features, "westmere", ["pclmulqdq"], { level: null })[1]?.[0]).toMatch(/^list /);
    expect(refused([...levelV3, "avx512f"], "of-nobody", ["avx512f"])[1]).toEqual(level3);
  });

  it("leave nothing out that no compiler leaves out, or that the march does not have", () => {
    const found = refused(sapphire.features, "sapphirerapids", ["cx8"]);
    expect(found.slice(1)).toEqual([level3, expose("cx8")]);
    const more = refused([...sapphire.features, "sse4a"], "sapphirerapids", ["sse4a"]);
    expect(more.slice(1)).toEqual([level3, expose("sse4a")]);
  });

  it("are a cell of the host's level, where it is known and another", () => {
    const without = { level: null };
    expect(refused([...levelV3, "avx512f"], "of-nobody", ["avx512f"], without)[1]).toEqual([
      "add a cell with a march that this host runs",
      null,
      "adopt an image that this host's CPU runs",
    ]);
    expect(refused([...levelV3, "avx512f"], "x86-64-v3", ["avx512f"]).slice(1)).toEqual([expose("avx512f")]);
  });

  it("state the march of an image that somebody estimated, and leave nothing out of an estimate", () => {
    const estimated3 = ["adopt an image for CPUs of x86-64-v3", null, undefined];
    const adopted = { adopted: { cpu: "estimated" } };
    expect(refused(sapphire.features, "sapphirerapids", ["movdiri"], adopted).slice(1)).toEqual([
      estimated3,
      [expect.stringContaining("imgmatch adopt --march"), null, undefined],
      expose("movdiri"),
    ]);
    expect(
      refused(sapphire.features, "sapphirerapids", ["movdiri"], {
        adopted: { adopted: { cpu: "stated" } },
      })[1]?.[0],
    ).toMatch(/^adopt it again with --without movdiri,/);
    const hidden = refused([...levelV3, "avx_ifma"], "sierraforest", ["avx_ifma"], adopted).slice(1);
    expect(hidden).toEqual([
      estimated3,
      [expect.stringContaining("imgmatch adopt --march"), null, undefined],
    ]);
  });

  it("do without a feature that no kernel prints, and expose the others", () => {
    const both_ = [...levelV3, "avx512f", "avx_ifma"];
    const [message, , last] = refused(both_, "of-nobody", ["avx512f", "avx_ifma"]);
    expect(message).toBe(
      "needs avx512f, avx_ifma (of-nobody), which this host does not show; avx_ifma cannot be proved: no kernel prints it",
    );
    expect(last).toEqual([
      "in a virtual machine, expose avx512f to the guest and list avx_ifma under the march's without, where no program uses it",
      null,
      "in a virtual machine, expose avx512f to the guest and adopt it again with --without avx_ifma, where no program uses it",
    ]);
    const alone = refused([...levelV3, "avx_ifma", "avx_ne_convert"], "of-nobody", [
      "avx_ifma",
      "avx_ne_convert",
    ]);
    expect(alone[0]).toMatch(/avx_ifma, avx_ne_convert cannot be proved: no kernel prints them$/);
    expect(alone[2]?.[0]).toMatch(/^list avx_ifma, avx_ne_convert under /);
  });

  it("probe the host itself where nothing tells its features", () => {
    const untold = refused([...levelV3, "avx512f"], "of-nobody", ["avx512f"], { unknown: ["avx512f"] });
    expect(untold).toEqual([
      "needs avx512f (of-nobody), avx512f cannot be proved: these facts do not tell",
      ["run imgmatch probe on the host itself, where the kernel tells them", null, undefined],
    ]);
    const some = refused([...levelV3, "avx512f", "sha_ni"], "of-nobody", ["avx512f", "sha_ni"], {
      unknown: ["avx512f"],
    });
    expect(some.slice(1)).toEqual([level3, expose("avx512f", "sha_ni")]);
    const { features } = findMarch("skylake-avx512") as March;
    const two = ["avx512dq", "avx512vl"];
    expect(refused(features, "skylake-avx512", two, { unknown: ["avx512vl"] }).slice(1)).toEqual([
      level3,
      expose(...two),
    ]);
  });

  it("say of an old kernel that it does not print the feature", () => {
    const lacks = ["rdpid"];
    expect(refused([...levelV3, "rdpid"], "icelake-server", lacks, { kernel: "4.18.0" })[0]).toBe(
      "needs rdpid (icelake-server), of which this host's kernel, 4.18.0, prints nothing",
    );
    for (const kernel of ["6.8.0", null])
      expect(refused([...levelV3, "rdpid"], "icelake-server", lacks, { kernel })[0]).toMatch(
        /which this host's CPU does not have$/,
      );
    expect(
      refused([...levelV3, "rdpid", "movbe"], "icelake-server", ["rdpid", "movbe"], { kernel: "4.18.0" })[0],
    ).toMatch(/which this host's CPU does not have$/);
  });
});
