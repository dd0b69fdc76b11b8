import { expect, it } from "vitest";
import { parseDriverVersion } from "../../src/hardware/driver-version.ts";
import type { GpuClass } from "../../src/facts/facts.ts";
import { brandOf } from "../../src/resolve/nvidia-view.ts";

it.each<[string | null, GpuClass, string | null, string | null]>([
  ["Tesla T4", "datacenter", "418.87.00", "tesla"],
  ["Tesla T4", "datacenter", "515.105.01", "nvidia"],
  // Between R440 and R515 the name changed, nothing says when.
  ["Tesla T4", "datacenter", "470.82.01", null],
  ["NVIDIA A10G", "datacenter", "515.105.01", "nvidia"],
  ["NVIDIA H100 80GB HBM3", "datacenter", "590.48.01", "nvidia"],
  ["NVIDIA H100 80GB HBM3", "datacenter", null, null],
  ["NVIDIA GeForce RTX 3090", "geforce", "525.147.05", "geforce"],
  ["GeForce RTX 2080", "geforce", "418.43", "geforce"],
  ["NVIDIA TITAN V", "geforce", "535.54.03", "titan"],
  ["Quadro P2000", "workstation", "525.125.06", "quadro"],
  ["Quadro RTX 5000", "workstation", "535.54.03", "quadrortx"],
  ["NVIDIA RTX 4000 SFF Ada Generation", "workstation", "595.84", "nvidiartx"],
  ["Graphics Device", "unknown", "595.84", null],
  [null, "unknown", "595.84", null],
])("%s (%s) under driver %s is %s", (name, gpuClass, driver, expected) => {
  expect(brandOf({ name, class: gpuClass }, driver === null ? null : parseDriverVersion(driver))).toBe(
    expected,
  );
});
