import { beforeAll, describe, expect, it } from "vitest";
import { coverReport } from "../../src/cover/cover-report.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { machineCatalogs, machineTypes } from "../../src/hardware/machine-types.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { NamedHost } from "../../src/facts/named-host.ts";
import type { MoreHosts } from "../../src/host/read-host-files.ts";
import { readHostFiles } from "../support/read-hosts.ts";
import { checkHostFacts } from "../../src/facts/parse-facts.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { cuda, gpuImage, image, lockOf } from "../resolve/support/locks.ts";
import { expectRight } from "./support/expect-right.ts";
import { demo, matrix } from "./support/demo.ts";

const driver = ["580.95.05"];
const hostsOf = (more: MoreHosts) => readHostFiles([], () => "", more);
const typed = (...hostType: string[]) => hostsOf({ hostType, driver });
const one = async (type: string): Promise<HostFacts> => {
  const [host] = await typed(type);
  if (host === undefined) throw new Error(`no ${type}`);
  return host.facts;
};

describe("machine types as hosts", () => {
  let all: readonly NamedHost[];
  beforeAll(async () => {
    all = await hostsOf({ catalog: machineCatalogs, driver });
  });

  it("are facts as a probe could have written them", () => {
    expect(all.length).toBeGreaterThan(100);
    for (const { name, facts } of all) {
      expect(checkHostFacts(JSON.parse(JSON.stringify(facts)), { file: name })).toEqual(facts);
      if (facts.nvidia === null)
        // The driver of another vendor says nothing of theirs.
        expect(facts.amd, name).toMatchObject({ driver: null, unknown: ["driver"] });
      else expect(facts.nvidia, name).toMatchObject({ driver: driver[0], cuda: "13.0", module: null });
      // Else no image with a libc, of which all name a kernel, would run on any.
      expect(facts, name).toMatchObject({ kernel: "3.10.0", sources: { kernel: expect.any(String) } });
      for (const gpu of facts.nvidia?.gpus ?? [])
        expect(gpu.class, gpu.name ?? name).toBe(gpu.name === "NVIDIA GB10" ? gpu.class : "datacenter");
    }
  });

  it("have the AMD GPUs of their clouds, and no others", async () => {
    const v520 = { name: "AMD Radeon Pro V520", target: "gfx1011", pci: "1002:7362", integrated: false };
    const [small, p4d, azure] = await hostsOf({
      hostType: ["g4ad.8xlarge", "p4d.24xlarge", "ND96isr_MI300X_v5"],
    }).then((hosts) => hosts.toSorted((a, b) => a.name.localeCompare(b.name)).map(({ facts }) => facts));
    expect(small).toMatchObject({
      nvidia: null,
      amd: {
        driver: null,
        gpus: [
          { index: 0, ...v520, sramecc: null },
          { index: 1, ...v520 },
        ],
      },
      cpu: { model: "AMD EPYC 7R32" },
      sources: { "amd.gpus": "catalogue" },
    });
    expect(azure?.amd?.gpus.map(({ target, pci }) => `${target} ${pci}`)).toEqual(
      Array(8).fill("gfx942 null"),
    );
    expect(p4d?.amd).toBeNull();
  });

  it("have exactly what was captured on them", async () => {
    for (const type of await machineTypes()) {
      const facts = all.find(({ name }) => name === type.name)?.facts;
      if (type.capture === null) continue;
      for (const feature of type.capture.features.split(" "))
        expect(facts?.cpu.features, type.name).toContain(feature);
    }
    const p4d = await one("p4d.24xlarge");
    expect(p4d.cpu).toMatchObject({ vendor: "GenuineIntel", level: "x86-64-v4" });
    expect(p4d.sources["cpu.features"]).toBe("lscpu of p4d.24xlarge");
    expect(p4d.problems).toEqual([]);
    const p5 = await one("p5.48xlarge");
    expect(p5.sources["cpu.features"]).toMatch(
      /^lscpu of g6\S+ \(AMD EPYC 7R13 Processor\): AMD EPYC 7R13 is of its kind$/,
    );
    expect((await one("g5g.xlarge")).cpu).toMatchObject({ vendor: "ARM", model: "Neoverse-N1" });
  });

  it("have what every CPU of the vendor has where nobody captured the CPU, and prove nothing else", async () => {
    const facts = await one("p6-b200.48xlarge");
    expect(facts.cpu.level).toBe("x86-64-v3");
    expect(facts.cpu.unknown).toEqual(expect.arrayContaining(["avx512f", "avx512f"]));
    expect(facts.problems.map(({ code }) => code)).toEqual(["HOST_TYPE_INCOMPLETE"]);
    const of = (march: string) =>
      image({ requires: { cpu: { march, features: findMarch(march)?.features ?? [] }, cuda: null } });
    const lock = lockOf({ v3: of("x86-64-v3"), v4: of("x86-64-v4") });
    const { match, rejected } = resolveImage(lock, facts);
    expect([match?.cell, rejected[0]?.code, rejected[0]?.message]).toEqual([
      "v3",
      "CPU_FEATURES_MISSING",
      expect.stringMatching(/cannot be proved: these facts do not tell/),
    ]);
    const [found] = coverReport({ from: "lock", lock }, [{ name: "p6", facts }], {
      cpuOnly: true,
    }).classes;
    // It runs; whether it is native nobody knows.
    expect([found?.match?.cell, found?.match?.native, found?.host.nativeUndecided]).toEqual([
      "v3",
      null,
      true,
    ]);
    expect(found?.host.cpuSources).toEqual([
      "no capture of Intel there: x86-64-v3, as every CPU of Intel here",
    ]);
  });

  it("with a B200 get no native code under a driver that does not drive it, and hear of the first that does", async () => {
    const requires = { ...image().requires, cpu: { march: "x86-64", features: [] } };
    const gpuCode = cuda("12.8.1", ["sm_100", "compute_90"]);
    const lock = lockOf({
      cpu: image({ requires }),
      gpu: gpuImage(gpuCode, { requires: { ...requires, cuda: gpuCode } }),
    });
    const fleet = { from: "lock", lock } as const;
    const old = await hostsOf({ hostType: ["p6-b200.48xlarge"], driver: ["565.57.01"] });
    const report = coverReport(fleet, old, { whatIf: ["driver=570.124.06"] });
    expect(report.counts).toMatchObject({ native: 0, unusedGpus: 1 });
    expect(report.classes[0]?.nearest).toMatchObject({
      cell: "gpu",
      reasons: [{ code: "NO_GPU", fix: "update the NVIDIA driver: 565.57.01 → >= 570" }],
    });
    expect(report.whatIf?.diff.map(({ kind, after }) => [kind, after?.cell])).toEqual([["better", "gpu"]]);
  });

  it("get of the demo's fleet what resolve gives each of them", () => {
    const cover = coverReport(demo, all);
    expectRight(demo, all, cover);
    expect(cover.counts.hosts).toBe(all.length);
    // Types with the same CPU and GPU are one class.
    expect(cover.counts.classes).toBeLessThan(all.length / 2);
    expect(cover.counts.native).toBeGreaterThan(0);
  });

  it("follow a what-if driver, and a suggestion serves all of them", () => {
    const some = all.filter((_, index) => index % 4 === 0);
    const report = coverReport(demo, some, { whatIf: ["driver=535.183.01"], suggest: { matrix } });
    expect(report.whatIf?.diff.length).toBeGreaterThan(0);
    expect(report.suggestion?.proved).toBe(true);
    expect(report.suggestion?.served).toBeGreaterThan(report.counts.served - 1);
    expect(report.suggestion?.undecided.length).toBeGreaterThan(0);
  });

  it("are named as clouds name them, each once", async () => {
    const names = async (...types: string[]) => (await typed(...types)).map(({ name }) => name);
    expect(await names("nd96isr_h100_v5", "Standard_ND96isr_H100_v5", "P5.48XLARGE")).toEqual([
      "p5.48xlarge",
      "Standard_ND96isr_H100_v5",
    ]);
    const both = await hostsOf({ catalog: ["nvidia"], hostType: ["dgx-h100"], driver });
    expect(both.filter(({ name }) => name === "dgx-h100")).toHaveLength(1);
  });

  it.each([
    [["p5.48xlrge"], "did you mean p5.48xlarge?"],
    [["a3-highgpu-8"], "did you mean a3-highgpu-8g?"],
    [[""], "imgmatch hardware machine lists them"],
  ] as const)("%j is answered with a near one", async (types, fix) => {
    await expect(typed(...types)).rejects.toThrow(fix);
  });

  it("refuses catalogs and drivers that are none", async () => {
    await expect(hostsOf({ catalog: ["gpc"], driver })).rejects.toThrow('"gpc" is no catalog');
    await expect(hostsOf({ catalog: ["aws"], driver: ["new"] })).rejects.toThrow("is no version of a driver");
  });
});
