import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyHosts } from "../../src/resolve/host-classes.ts";
import { gpuWords } from "../../src/cover/cover-words.ts";
import { coverReport } from "../../src/cover/cover-report.ts";
import { toDoOf } from "../../src/cover/page/class-status.ts";
import { checkCover } from "../../src/cover/policies.ts";
import { cpuDistanceFrom } from "../../src/cover/native-distance.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { Lock } from "../../src/lock/lock.ts";
import type { NamedHost } from "../../src/facts/named-host.ts";
import { anyHost, anyLock } from "../properties/support/machines.ts";
import { checkOptions, timeoutMs } from "../properties/support/runs.ts";
import {
  a100,
  amdHost,
  avx512,
  cpuHost,
  gpu,
  gpuHost,
  h100,
  levelV3,
  mi210,
  mi300x,
  rtx4090,
  rx7900,
} from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "../resolve/support/locks.ts";
import { needs } from "../support/needs.ts";
import { expectRight } from "./support/expect-right.ts";
import { fixtureHosts, sampleHosts, whyNoSamples } from "./support/machines.ts";
import { demo } from "./support/demo.ts";

const named = (facts: HostFacts, index: number): NamedHost => ({ name: `h${index}`, facts });

describe("Blackwell in a cover", () => {
  it("has no native image under the proprietary modules, and hears of the open ones", () => {
    const b200 = gpu({ name: "NVIDIA B200", compute: "10.0" });
    const under = (module: "open" | "proprietary"): NamedHost => ({
      name: module,
      facts: gpuHost([b200], "570.124.06", "12.8", { nvidiaChange: { module } }),
    });
    const lock = lockOf({ cpu: image(), gpu: gpuImage(cuda("12.8.1", ["sm_100", "compute_90"])) });
    const fleet = { from: "lock", lock } as const;
    const { classes } = coverReport(fleet, [under("open"), under("proprietary")]);
    const answers = classes.map(({ names, match, unusedGpus }) => [names[0], match?.cell, unusedGpus]);
    expect(answers.sort()).toEqual([
      ["open", "gpu", false],
      ["proprietary", "cpu", true],
    ]);
    const left = classes.find(({ names }) => names[0] === "proprietary");
    expect(left?.match?.native).toBe(false);
    expect(left?.nearest?.reasons).toEqual([
      {
        code: "NO_GPU",
        message: expect.stringContaining("the proprietary kernel modules of driver 570.124.06 do not drive"),
        fix: "install the open kernel modules of the driver",
      },
    ]);
    expect(left?.serve).toBeNull();
    // Neither a newer driver nor another cell helps.
    const { whatIf } = coverReport(fleet, [under("proprietary")], { whatIf: ["driver=580.95.05"] });
    expect(whatIf?.diff).toEqual([]);
  });
});

describe("AMD's hosts in a cover", () => {
  const rocm = rocmImage(["gfx942", "gfx11-generic"]);
  const hosts = [
    named(amdHost([mi300x, mi300x], "6.14.14"), 0),
    named(amdHost([mi300x], "6.14.14"), 1),
    named(amdHost([rx7900]), 2),
    named(amdHost([mi210]), 3),
    named(cpuHost({ amd: null }), 4),
  ];
  const rowsOf = (lock: Lock) => {
    const cover = coverReport({ from: "lock", lock }, hosts);
    return { cover, rows: cover.classes.map((each) => [each.hosts, gpuWords(each.host), each.match?.cell]) };
  };

  it("get their images, by the targets that the fleet asks about", () => {
    const { cover, rows } = rowsOf(lockOf({ cpu: image(), rocm }));
    expect(rows).toEqual([
      [2, "Instinct MI300X (gfx942)", "rocm"],
      [1, "Radeon RX 7900 XTX (gfx1100)", "rocm"],
      [1, "Instinct MI210 (gfx90a)", "cpu"],
      [1, "-", "cpu"],
    ]);
    expect(cover.counts).toMatchObject({ hosts: 5, classes: 4, served: 5, unusedGpus: 1, unusedImages: 0 });
    expect(cover.classes[0]).toMatchObject({
      host: { driver: "amdgpu 6.14.14", gpuCount: [1, 2] },
      match: { gpu: { target: "gfx942", kind: "specific" } },
    });
    expect(cover.classes[2]?.nearest).toMatchObject({ cell: "rocm", reasons: [{ code: "NO_GPU_CODE" }] });
  });

  it("are one class, and leave their GPUs unused, where a fleet has no image for them", () => {
    const { cover, rows } = rowsOf(lockOf({ cpu: image() }));
    expect(rows.map(([number]) => number)).toEqual([4, 1]);
    expect(cover.counts).toMatchObject({ served: 5, unusedGpus: 4 });
  });
});

describe("a GPU that no driver drives", () => {
  const fix = "install the NVIDIA driver, or load it: modprobe nvidia";
  const problems = [{ code: "HOST_NO_DRIVER" as const, message: "1 NVIDIA GPU and no module", fix }];
  const host = { ...gpuHost([gpu({ compute: "7.0", name: "Tesla V100" })], null), problems };
  const lock = lockOf({ cpu: image(), volta: gpuImage(cuda("12.4.1", ["sm_70"])) });
  const cover = coverReport({ from: "lock", lock }, [named(host, 0)]);

  it("makes a GPU host, whose problem and cure are named", () => {
    expect(cover.counts).toMatchObject({ unusedGpus: 1, native: 0 });
    expect(cover.classes[0]).toMatchObject({
      match: { cell: "cpu", native: false },
      unusedGpus: true,
      nearest: { cell: "volta", reasons: [{ code: "NO_NVIDIA_DRIVER", fix }] },
      serve: `HOST_NO_DRIVER: ${fix}`,
    });
    // The page lists it among the hosts that are not served.
    expect(toDoOf(cover.classes, ["gpus"])).toMatchObject([
      { fixes: [fix], serve: `HOST_NO_DRIVER: ${fix}` },
    ]);
    const policy = "no GPU host on a CPU image";
    const { checked, violations } = checkCover(cover, [policy]);
    const [violation, ...more] = violations;
    expect(checked).toEqual([{ policy, hosts: 1, of: ["c1"] }]);
    expect(more).toEqual([]);
    expect(violation?.message).toMatch(
      /^has GPUs and gets cpu; nearest with GPU code: volta: NO_NVIDIA_DRIVER: .*; fix: install the NVIDIA driver/,
    );
  });

  it("is none for who asks for CPU images, and has no cure in another cell", () => {
    const asked = coverReport({ from: "lock", lock }, [named(host, 0)], { cpuOnly: true });
    expect(checkCover(asked, ["no GPU host on a CPU image"]).violations).toEqual([]);
    const alone = coverReport({ from: "lock", lock: lockOf({ cpu: image() }) }, [named(host, 0)]);
    expect(alone.classes[0]).toMatchObject({ unusedGpus: true, serve: `HOST_NO_DRIVER: ${fix}` });
  });
});

describe("what is nearest", () => {
  const lock = lockOf({
    volta: gpuImage(cuda("12.4.1", ["sm_70"])),
    ampere: gpuImage(cuda("13.0.2", ["sm_80"], { driver: { mode: "host", minimum: "580.65.06" } })),
    mi300: rocmImage(["gfx942"]),
  });
  const old = gpuHost([a100], "550.54.14");

  it("is an image for the host's own GPUs", () => {
    const cover = coverReport({ from: "lock", lock }, [named(amdHost([mi210]), 0), named(old, 1)]);
    expect(
      cover.classes.map(({ nearest }) => [nearest?.cell, nearest?.reasons.map(({ code }) => code)]),
    ).toEqual([
      ["mi300", ["NO_GPU_CODE"]],
      ["ampere", ["DRIVER_TOO_OLD"]],
    ]);
  });

  it("is the host with the least to cure, for an image that nobody gets", () => {
    // The first host lacks a driver and the right GPU, the second a newer driver alone.
    const undriven = gpuHost([gpu({ compute: "7.0", name: "Tesla V100" })], null);
    const { images } = coverReport({ from: "lock", lock }, [named(undriven, 0), named(old, 1)]);
    const ampere = images.find(({ cell }) => cell === "ampere");
    expect(ampere?.nearest).toMatchObject({
      host: "h1",
      reasons: [{ code: "DRIVER_TOO_OLD", message: expect.stringContaining("h1 has 550.54.14") }],
    });
  });

  it("is cured by a driver before a cell, where the fleet has no image without GPU code", () => {
    const problem = {
      code: "HOST_NO_DRIVER" as const,
      message: "1 NVIDIA GPU and no module",
      fix: "install it",
    };
    const host = { ...gpuHost([a100], null), problems: [problem] };
    const { classes } = coverReport({ from: "lock", lock }, [named(host, 0)]);
    expect(classes[0]).toMatchObject({ match: null, serve: "HOST_NO_DRIVER: install it" });
  });
});

describe("every cell of a cover is what resolve answers", () => {
  it("for machines of every state and the demo's fleet", { timeout: timeoutMs }, () => {
    const hosts = fixtureHosts();
    const cover = coverReport(demo, hosts);
    expectRight(demo, hosts, cover);
    expect(cover.counts).toMatchObject({ hosts: hosts.length, images: Object.keys(demo.lock.images).length });
    expect(cover.counts.native).toBeGreaterThan(5);
  });

  it("names the nearest image for the GPUs that nobody uses, and none for the other vendor's", () => {
    const cpu = { march: "any", features: [] };
    const lock = lockOf({
      cpu: image({ requires: { cpu, cuda: null } }),
      // Nobody knows the features of the CPU.
      cuda: gpuImage(cuda("12.8.1", ["sm_120"])),
      rocm: image({ requires: { cpu, cuda: null, rocm: { release: "7.2", code: ["gfx942"] } } }),
    });
    const facts = gpuHost([gpu({ compute: "3.7" })], "396.44", null, { amd: null });
    const hosts = [named({ ...facts, cpu: { ...facts.cpu, features: [] } }, 0)];
    const fleet = { from: "lock", lock } as const;
    const cover = coverReport(fleet, hosts);
    expect(cover.classes[0]).toMatchObject({ unusedGpus: true, nearest: { cell: "cuda" } });
    expectRight(fleet, hosts, cover);
  });

  it("for random hosts and fleets", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(fc.array(anyHost, { maxLength: 8 }), anyLock, (facts, lock) => {
        const hosts = facts.map(named);
        const fleet = { from: "lock", lock } as const;
        expectRight(fleet, hosts, coverReport(fleet, hosts));
      }),
      { ...checkOptions, numRuns: checkOptions.numRuns / 4 },
    );
  });

  it("for captured machines and the demo's fleet", { ...needs(whyNoSamples), timeout: timeoutMs }, () => {
    const hosts = sampleHosts();
    expect(hosts.length).toBeGreaterThan(20);
    const cover = coverReport(demo, hosts);
    expectRight(demo, hosts, cover);
    expect(
      cover.classes.find(({ names }) => names.includes("cpuinfo_linux-unknown-sapphirerapids.txt")),
    ).toMatchObject({
      host: { nativeMarch: "sapphirerapids" },
      match: { cell: "none_sapphirerapids", native: true },
    });
  });
});

describe("a host class", () => {
  const fleet = lockOf({ cpu: image() });
  const countOf = (hosts: readonly HostFacts[], lock = fleet) =>
    classifyHosts(hosts.map(named), [lock]).length;

  it("is hosts between which no rule can tell", () => {
    const one = gpuHost([h100], "570.86.15", "12.8");
    const same = gpuHost(
      [h100, { ...h100, name: "NVIDIA H100 PCIe", uuid: "GPU-1", memoryMiB: 1 }],
      "570.86.15",
      "12.8",
      {
        kernel: "5.15.0",
        runtime: { nvidia: "legacy" },
        cpu: { ...one.cpu, model: "another name", features: [...(one.cpu.features ?? []), "xtopology"] },
        sources: {},
      },
    );
    const [found, ...others] = classifyHosts([one, same].map(named), [fleet]);
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      names: ["h0", "h1"],
      products: ["NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe"],
      gpuCount: [1, 2],
    });
  });

  it.each([
    ["another driver", { driver: "580.95.05" }],
    ["another GPU besides", { gpus: [h100, { ...a100, index: 1 }] }],
    ["open kernel modules", { module: "open" }],
  ] as const)("parts at %s", (_, change) => {
    const one = gpuHost([h100], "570.86.15", "12.8");
    if (one.nvidia == null) throw new Error("no GPU");
    expect(countOf([one, { ...one, nvidia: { ...one.nvidia, ...change } as HostFacts["nvidia"] }])).toBe(2);
  });

  it("parts at a kernel and a runtime where an image asks for them", () => {
    const old = cpuHost({ kernel: "3.10.0" });
    const asking = lockOf({ cpu: image({ requires: { ...image().requires, kernel: "4.0" } }) });
    expect([countOf([cpuHost(), old]), countOf([cpuHost(), old], asking)]).toEqual([1, 2]);
    const legacy = gpuHost([h100], "570.86.15", "12.8", { runtime: { nvidia: "legacy" } });
    const cdi = gpuHost([h100], "570.86.15", "12.8");
    const strict = lockOf({ gpu: gpuImage(cuda("12.8.1", ["sm_90"], { require: "cuda>=12.8" })) });
    expect([countOf([legacy, cdi]), countOf([legacy, cdi], strict)]).toEqual([1, 2]);
  });

  it("comes before smaller ones", () => {
    const other = cpuHost({ platform: "linux/arm64" });
    const cover = coverReport({ from: "lock", lock: fleet }, [other, cpuHost(), cpuHost()].map(named));
    expect(cover.classes.map(({ id, hosts, names }) => [id, hosts, names])).toEqual([
      ["c1", 2, ["h1", "h2"]],
      ["c2", 1, ["h0"]],
    ]);
  });
});

describe("the distance from native code", () => {
  const v3 = image();
  it("is what compilers use for the host's own march, and the image does not", () => {
    const host = cpuHost({
      cpu: {
        ...cpuHost().cpu,
        features: [...(findMarch("x86-64-v4")?.features ?? [])],
      },
    });
    expect(cpuDistanceFrom(host)(v3)).toMatchObject({ march: "x86-64-v3", nativeMarch: "x86-64-v4" });
    expect(cpuDistanceFrom(host)(v3)?.unused).toEqual(expect.arrayContaining([...avx512]));
    expect(cpuDistanceFrom(cpuHost({ cpu: { ...host.cpu, features: null } }))(v3)).toBeNull();
  });

  it("is all of the march of an image whose own files use nothing of it", () => {
    const placebo = image({ measured: { rules: 1, cpu: { unused: levelV3, own: "baseline" }, cuda: null } });
    const features = [...(findMarch("x86-64-v3")?.features ?? [])];
    const host = cpuHost({ cpu: { ...cpuHost().cpu, features } });
    expect(cpuDistanceFrom(host)(v3)?.unused).not.toContain("avx2");
    expect(cpuDistanceFrom(host)(placebo)?.unused).toEqual(expect.arrayContaining(["avx2", "fma"]));
    const cover = coverReport({ from: "lock", lock: lockOf({ v3: placebo }) }, [named(host, 0)]);
    expect(cover.classes).toMatchObject([
      { match: { native: false }, serve: "compile v3 for its march: its own files use nothing of it" },
    ]);
  });

  it("of GPU code is that of the worst GPU", () => {
    const lock = lockOf({ gpu: gpuImage(cuda("12.8.1", ["sm_80", "sm_90"])) });
    const host = gpuHost([h100, rtx4090], "570.86.15", "12.8");
    expect(coverReport({ from: "lock", lock }, [named(host, 0)]).classes[0]?.match).toMatchObject({
      gpu: { target: "sm_80", kind: "sass", distance: 9 },
      native: false,
    });
  });
});

it("says of images that others built what to adopt, and adds no cell", () => {
  const lock = lockOf({ gpu: gpuImage(cuda("12.8.1", ["sm_90"]), { adopted: { cpu: "stated" } }) });
  const cover = coverReport({ from: "lock", lock }, [cpuHost()].map(named));
  expect(cover.classes[0]?.serve).toMatch(/^adopt an image without GPU code/);
});

it("names an image that only this machine has by its id", () => {
  const local = { engine: "podman", id: `sha256:${"d".repeat(64)}` } as const;
  const lock = lockOf({ cpu: image({ digest: null, local }) });
  const cover = coverReport({ from: "lock", lock }, [cpuHost()].map(named), { local: new Set([local.id]) });
  expect(cover.classes[0]?.match?.reference).toBe(local.id);
});
