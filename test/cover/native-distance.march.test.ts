import { describe, expect, it } from "vitest";
import { catalogHosts } from "../../src/host/catalog.ts";
import { nativeMarch } from "../../src/host/native-march.ts";
import { findMarch, marchNames, marchPlatform } from "../../src/hardware/cpu-marches.ts";
import { machineCatalogs } from "../../src/hardware/machine-types.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { needs } from "../support/needs.ts";
import { fixtureHosts, sampleHosts, whyNoSamples } from "./support/machines.ts";

const machines = fixtureHosts();

/** A second statement of the rule by which a march is a host's own. */
function expectOwn(name: string, { platform, cpu }: HostFacts): void {
  const native = nativeMarch({ platform, cpu });
  const present = new Set(cpu.features);
  const fitting = marchNames()
    .flatMap((each) => findMarch(each) ?? [])
    .filter((march) => marchPlatform(march) === platform && march.features.every((each) => present.has(each)))
    .filter(({ vendor }) => cpu.vendor === null || vendor === cpu.vendor || vendor === "generic");
  if (cpu.features === null || fitting.length === 0) {
    expect(native, name).toBeNull();
    return;
  }
  expect(
    fitting.map((march) => march.name),
    name,
  ).toContain(native?.march.name);
  const most = Math.max(...fitting.map(({ required }) => required.length));
  expect(native?.march.required.length, name).toBe(most);
}

describe("the march that is native to a host", () => {
  it("is of its own maker, or generic, for machines of every state", () => {
    for (const { name, facts } of machines) expectOwn(name, facts);
  });

  it.each([
    ["jetson-v3ae-thor", "armv9-a"],
    ["ubuntu2204-neoverse_v2-gh200", "armv9-a"],
    ["dgxspark-gb10-gb10", "armv9-a"],
    ["jetson-carmel-xavier_jp5", "armv8.2-a"],
    ["debian8-xgene-none", "armv8-a"],
    ["amazon-neoverse_v1-none", "neoverse-v1"],
    ["jetson-a78ae-orin", "neoverse-n1"],
    ["ubuntu2404-zen4-rtx4090", "znver4"],
    ["hgx-emeraldrapids-h100_nvswitch_excluded", "sapphirerapids"],
    ["rhel8-icelake-a100_no_nvml", "icelake-server"],
    ["kvm-graniterapids_without_amx-none", "icelake-server"],
    ["rhel8-power9-v100", "power9"],
    ["debian13-u74-none", "rva20u64"],
    ["macos-coffeelake-none", undefined],
  ] as const)("of %s is %s", (name, march) => {
    const facts = machines.find((each) => each.name === name)?.facts;
    expect(nativeMarch(facts ?? cpuHost())?.march.name).toBe(march);
  });

  it("is of its own maker for every machine type", async () => {
    const types = await catalogHosts({ catalogs: machineCatalogs, types: [] });
    const names = new Map(types.map(({ name, facts }) => [name, nativeMarch(facts)]));
    for (const { name, facts } of types) expectOwn(name, facts);
    expect(
      ["p4d.24xlarge", "g5.xlarge", "p5.48xlarge", "g5g.xlarge", "a2-highgpu-1g", "dgx-h100"].map(
        (name) => names.get(name)?.march.name,
      ),
      // On AWS this Cascade Lake hides avx512_vnni, on Google Cloud another one shows it.
    ).toEqual(["skylake-avx512", "znver2", "znver3", "neoverse-n1", "cascadelake", "sapphirerapids"]);
  });

  it("of facts without a maker is none of a laptop's or a phone's", () => {
    const thor = machines.find(({ name }) => name === "jetson-v3ae-thor")?.facts;
    const unnamed = { ...(thor ?? cpuHost()), cpu: { ...(thor ?? cpuHost()).cpu, vendor: null } };
    expect(nativeMarch(unnamed)?.march.name).toBe("armv9-a");
  });

  it("is undecided where the facts leave open what would make it a higher one", () => {
    const v3 = findMarch("x86-64-v3")?.features ?? [];
    const cpu = { ...cpuHost().cpu, vendor: null, features: v3 };
    const [v4 = ""] = (findMarch("x86-64-v4")?.features ?? []).filter((feature) => !v3.includes(feature));
    const open = (unknown: readonly string[]) => nativeMarch(cpuHost({ cpu: { ...cpu, unknown } }));
    expect(open([])).toMatchObject({ march: { name: "x86-64-v3" }, isUndecided: false });
    expect(open([v4])).toMatchObject({ march: { name: "x86-64-v3" }, isUndecided: false });
    expect(open(findMarch("x86-64-v4")?.features ?? [])).toMatchObject({
      march: { name: "x86-64-v3" },
      isUndecided: true,
    });
  });

  it("is of its own maker for captured machines", needs(whyNoSamples), () => {
    const hosts = sampleHosts();
    for (const { name, facts } of hosts) expectOwn(name, facts);
    expect(hosts.length).toBeGreaterThan(20);
  });
});
