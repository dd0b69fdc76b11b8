import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseCpuinfo } from "../../../src/host/cpu/cpuinfo.ts";
import { probeHost } from "../../../src/host/probe-host.ts";
import { fixtureHostIo } from "../../support/fixture-host-io.ts";

const machine = (name: string) =>
  probeHost(fixtureHostIo(fileURLToPath(new URL(`../../fixtures/hosts/${name}`, import.meta.url))));

describe("parseCpuinfo", () => {
  it("keeps what every x86 processor has, sorted", () => {
    const text = "flags\t\t: fpu sse avx512f avx2\n\nflags\t\t: sse avx2 fpu\n";
    expect(parseCpuinfo(text, "amd64").features).toEqual(["avx2", "fpu", "sse"]);
  });

  it("takes a flag as a whole word, and not the vmx flags or the bugs", () => {
    const text = "flags : avx512f\nvmx flags : ept avx\nbugs : spectre_v1\n";
    expect(parseCpuinfo(text, "amd64").features).toEqual(["avx512f"]);
  });

  it("names family and model only when all processors agree", () => {
    const text = "cpu family : 6\nmodel : 143\nflags : fpu\n";
    expect(parseCpuinfo(text, "amd64").family).toEqual({ family: 6, model: 143 });
    expect(parseCpuinfo(`${text}\nmodel : 85\n`, "amd64").family).toBeNull();
  });

  it("reads old AArch64 kernels, which print Features once", () => {
    const text =
      "processor\t: 0\nprocessor\t: 1\nFeatures\t: fp asimd\nCPU implementer\t: 0x50\nCPU part\t: 0x000\n";
    expect(parseCpuinfo(text, "arm64")).toMatchObject({
      vendor: "APM",
      model: "X-Gene",
      features: ["asimd", "fp"],
    });
  });

  it("shows implementer and part as printed when the tables do not know them", () => {
    const text = "Features : fp\nCPU implementer : 0x99\nCPU part : 0xabc\n";
    expect(parseCpuinfo(text, "arm64")).toMatchObject({ vendor: "0x99", model: "0xabc" });
    expect(parseCpuinfo(text.replace("0x99", "__proto__"), "arm64").vendor).toBe("__proto__");
  });

  it("counts POWER generations up to the smallest processor", () => {
    const text = "cpu : POWER10 (raw), altivec supported\ncpu : POWER9, altivec supported\n";
    expect(parseCpuinfo(text, "ppc64le").features).toEqual(["altivec", "power7", "power8", "power9"]);
  });

  it("takes no draft of RISC-V's vectors for vectors", () => {
    const of = (vendor: string, arch: string) =>
      parseCpuinfo(
        `isa : rv64imafdcv_zba_zvfh\nmvendorid : ${vendor}\nmarchid : ${arch}\nmimpid : 0x0\n`,
        "riscv64",
      ).features;
    expect(of("0x5b7", "0x0")).toEqual(["a", "c", "d", "f", "i", "m", "zba"]);
    expect(of("0x5b7", "0x8000000009140d00")).toContain("v");
    expect(of("0x489", "0x0")).toContain("v");
  });

  it("splits RISC-V extensions and spells out g", () => {
    expect(parseCpuinfo("isa : rv64gc_zba_zbb\n", "riscv64").features).toEqual([
      "a",
      "c",
      "d",
      "f",
      "i",
      "m",
      "zba",
      "zbb",
      "zicsr",
      "zifencei",
    ]);
  });

  it("tells nothing of another architecture's text, or of one that it does not know", () => {
    expect(parseCpuinfo("flags : fpu avx2\n", "arm64").features).toBeNull();
    expect(parseCpuinfo("flags : fpu avx2\n", "s390x").features).toBeNull();
    expect(parseCpuinfo("", "amd64").features).toBeNull();
  });
});

describe("features that no kernel prints", () => {
  it("come from family and model, and the source says so", async () => {
    const { cpu, sources } = await machine("ubuntu2404-graniterapids-none");
    expect(cpu.features).toContain("amx_fp16");
    expect(sources["cpu.features"]).toBe("/proc/cpuinfo + family/model");
    expect((await machine("rhel9-sierraforest-none")).cpu.features).toEqual(
      expect.arrayContaining(["avx_ifma", "avx_ne_convert", "avx_vnni_int8", "cmpccxadd"]),
    );
  });

  it("stay away where the hypervisor masks what they extend", async () => {
    const { cpu, sources } = await machine("kvm-graniterapids_without_amx-none");
    expect(cpu.features?.filter((feature) => feature.startsWith("amx"))).toEqual([]);
    expect(sources["cpu.features"]).toBe("/proc/cpuinfo");
  });
});

it("a hybrid machine has what its smallest core has", async () => {
  const { cpu } = await machine("ubuntu2204-alderlake_hybrid-none");
  expect(cpu.features?.filter((feature) => feature.startsWith("avx512"))).toEqual([]);
  expect(cpu.features).toContain("avx2");
});
