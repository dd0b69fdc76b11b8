import { describe, expect, test } from "vitest";
import { classifyGpu } from "../../src/hardware/gpu-class.ts";
import { pciRows } from "../../src/hardware/gpu-pci-table.ts";
import { findGpuByName, findGpuByPci, searchGpus } from "../../src/hardware/gpu-products.ts";

describe("by PCI id", () => {
  test.each([
    ["10de:2330", "9.0", "datacenter", "NVIDIA H100 80GB HBM3"],
    ["10de:26b9", "8.9", "datacenter", "NVIDIA L40S"],
    ["10DE:26B9", "8.9", "datacenter", "NVIDIA L40S"],
    ["10de:1e81", "7.5", "geforce", "NVIDIA GeForce RTX 2080 SUPER"],
    ["10de:1eb8", "7.5", "datacenter", "Tesla T4"],
    ["10de:2b00", "11.0", "tegra", "Jetson AGX Thor"],
    ["10de:2e12", "12.1", "unknown", "NVIDIA GB10"],
    // NVIDIA's web list says 5.0 for this one; its chip, GM204, is 5.2.
    ["10de:13f8", "5.2", "workstation", "Quadro M5000M"],
    // Boards of two names and one class share an id.
    ["10de:2342", "9.0", "datacenter", null],
  ])("%s: %s, %s, %s", async (pci, compute, gpuClass, name) => {
    expect(await findGpuByPci(pci)).toMatchObject({ compute, class: gpuClass, name });
  });

  test.each(["10de:ffff", "1002:2330", "2330", "", "10de:3000"])("%j is unknown", async (pci) => {
    expect(await findGpuByPci(pci)).toBeNull();
  });

  test("nothing is answered from a row that is not confirmed", async () => {
    const unverified = pciRows().filter((row) => row.unverified === true);
    expect(unverified.length).toBeGreaterThan(0);
    for (const row of unverified) expect(await findGpuByPci(row.id)).toBeNull();
  });
});

describe("by name", () => {
  test.each([
    ["NVIDIA H100 80GB HBM3", "9.0", "datacenter"],
    ["Tesla V100-SXM2-16GB", "7.0", "datacenter"],
    ["GeForce GTX 1080 Ti", "6.1", "geforce"],
    ["NVIDIA GeForce GTX 1080 Ti", "6.1", "geforce"],
    ["nvidia geforce rtx 4090", "8.9", "geforce"],
    ["GeForce RTX 4090", "8.9", "geforce"],
    ["TITAN Xp", "6.1", "geforce"],
    ["NVIDIA TITAN V", "7.0", "geforce"],
    ["Quadro P2000", "6.1", "workstation"],
    ["NVIDIA RTX 4000 SFF Ada Generation", "8.9", "workstation"],
    ["NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0", "workstation"],
    ["NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", "datacenter"],
    ["NVIDIA A10G", "8.6", "datacenter"],
    ["NVIDIA B300 SXM6 AC", "10.3", "datacenter"],
    ["Orin (nvgpu)", "8.7", "tegra"],
    ["NVIDIA Thor", "11.0", "tegra"],
    ["GRID T4-16Q", "7.5", "datacenter"],
    ["NVIDIA A40-48Q", "8.6", "datacenter"],
    ["NVIDIA H100L-2-24C", "9.0", "datacenter"],
    ["NVIDIA RTXA6000-48Q", "8.6", "workstation"],
  ])("%s: %s, %s", async (name, compute, gpuClass) => {
    expect(await findGpuByName(name)).toMatchObject({ compute, class: gpuClass });
  });

  test.each([
    // Placeholders, and names cut by the human table of nvidia-smi.
    "Graphics Device",
    "NVIDIA GeForce RTX 20...",
    "",
    "NVIDIA",
    "NVIDIA H999",
    // One name, several chips.
    "GeForce GT 730",
    "GeForce GTX 860M",
    // A guest of a streaming server prints it on an L40 or an RTX PRO 6000.
    "NVIDIA GeForce RTX 3060",
    "NVIDIA GeForce GTX 1060",
    // NVIDIA's list and the chip disagree.
    "Quadro M620",
  ])("%j tells nothing", async (name) => {
    expect(await findGpuByName(name)).toBeNull();
  });

  test("every name of a confirmed device gives its compute capability, or none", async () => {
    for (const row of pciRows().filter((each) => each.unverified !== true)) {
      for (const name of row.names) {
        const found = await findGpuByName(name);
        if (found !== null) expect(found.compute, name).toBe(row.compute);
      }
    }
  });

  test("part of a name finds boards before virtual GPUs", async () => {
    const names = (await searchGpus("h100")).map((product) => product.name);
    expect(names.slice(0, 3)).toEqual(["NVIDIA H100", "NVIDIA H100 80GB HBM2e", "NVIDIA H100 80GB HBM3"]);
    expect(names).toContain("NVIDIA H100L-2-24C");
    expect(await searchGpus(" ")).toEqual([]);
  });
});

describe("class of a name", () => {
  test.each([
    ["NVIDIA A800 40GB Active", "workstation"],
    ["NVIDIA A800-SXM4-80GB", "datacenter"],
    ["NVIDIA T4", "datacenter"],
    ["NVIDIA T400 4GB", "workstation"],
    ["NVIDIA CMP 30HX", "unknown"],
    ["NVS 510", "unknown"],
    ["P106-100", "unknown"],
    ["P520", "workstation"],
    ["Microsoft Basic Render Driver", "unknown"],
  ])("%s: %s", (name, expected) => {
    expect(classifyGpu(name)).toBe(expected);
  });

  test("every driver name with the word GeForce is a GeForce, but for GRID boards", () => {
    const names = pciRows()
      .flatMap((row) => row.names)
      .filter((name) => name.includes("GeForce"));
    expect(names.length).toBeGreaterThan(300);
    expect(names.filter((name) => classifyGpu(name) !== "geforce")).toEqual(["GRID K2 GeForce USM"]);
  });
});
