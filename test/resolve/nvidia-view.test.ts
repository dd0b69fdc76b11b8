import { describe, expect, it } from "vitest";
import { parseDriverVersion } from "../../src/hardware/driver-version.ts";
import type { DriverScale, GpuClass, RuntimeFacts } from "../../src/facts/facts.ts";
import { brandOf, type CompatView, viewNvidia } from "../../src/resolve/nvidia-view.ts";
import { a100, cpuHost, gpuHost, orin } from "./support/hosts.ts";

it.each<[string | null, GpuClass, string | null, string | null]>([
  ["Tesla T4", "datacenter", "418.87.00", "tesla"],
  ["Tesla T4", "datacenter", "440.118.02", "tesla"],
  ["Tesla T4", "datacenter", "441.22", null],
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
  // Only the start of a name is the maker's.
  ["NVIDIA  Quadro RTX 5000", "workstation", "535.54.03", "quadrortx"],
  ["Quadro NVIDIA RTX 5000", "workstation", "535.54.03", "quadro"],
  ["Graphics Device", "unknown", "595.84", null],
  [null, "unknown", "595.84", null],
])("%s (%s) under driver %s is %s", (name, gpuClass, driver, expected) => {
  expect(brandOf({ name, class: gpuClass }, driver === null ? null : parseDriverVersion(driver))).toBe(
    expected,
  );
});

type Runtime = Pick<RuntimeFacts, "nvidia" | "toolkit" | "compat">;

describe("an image's own libcuda", () => {
  it.each<[Runtime, CompatView["adds"], CompatView["hostFirst"]]>([
    [{ nvidia: "cdi", toolkit: "1.17.8", compat: "disabled" }, "never", false],
    [{ nvidia: "cdi", compat: "disabled" }, "never", false],
    [{ nvidia: "legacy", toolkit: "1.17.8", compat: "disabled" }, "never", true],
    [{ nvidia: "legacy", toolkit: "1.18.0", compat: "disabled" }, null, false],
    [{ nvidia: "legacy", compat: "disabled" }, null, null],
    [{ nvidia: "cdi", compat: "ldconfig" }, "newer", false],
    [{ nvidia: "legacy", toolkit: "1.17.7", compat: "ldconfig" }, "newer", true],
    [{ nvidia: "cdi", toolkit: "1.19.1", compat: "hook" }, "newer", false],
    [{ nvidia: "cdi", toolkit: "1.20.0", compat: "hook" }, "listed", false],
    [{ nvidia: "cdi", compat: "hook" }, null, false],
    [{ nvidia: "legacy", toolkit: "1.20.0", compat: "hook" }, null, false],
    [{ nvidia: "cdi", toolkit: "1.20.0" }, null, false],
    [{ nvidia: null, toolkit: "1.20.0", compat: "ldconfig" }, null, null],
    [{ nvidia: null, compat: "disabled" }, null, null],
  ])("where the runtime is %j", (runtime, adds, hostFirst) => {
    const view = viewNvidia(gpuHost([a100], "570.124.06", "12.8", { runtime }));
    expect(view?.compat).toMatchObject({ adds, hostFirst });
  });

  it("has cures by the toolkit's version", () => {
    const cures = (toolkit: string) =>
      viewNvidia(gpuHost([a100], "570.124.06", "12.8", { runtime: { nvidia: "cdi", toolkit } }))?.compat
        .cures;
    expect(cures("1.17.4")?.load).toMatch(
      /^update the NVIDIA Container Toolkit 1\.17\.4 to 1\.17\.5 or newer, and /,
    );
    expect(cures("1.17.5")?.load).not.toMatch(/^update /);
  });
});

describe("the numbering of drivers", () => {
  const mixed = [orin, { ...a100, index: 1 }];

  it.each<[typeof mixed, DriverScale | undefined, DriverScale]>([
    [[orin], undefined, "l4t"],
    [mixed, undefined, "linux"],
    [[], undefined, "linux"],
    [[orin], "linux", "linux"],
    [[a100], "l4t", "l4t"],
  ])("of GPUs %#", (gpus, told, expected) => {
    const change = told === undefined ? {} : { driverScale: told };
    expect(viewNvidia(gpuHost(gpus, "540.4.0", null, { nvidiaChange: change }))?.driverScale).toBe(expected);
  });

  it("decides what the driver's branch tells: its CUDA, and the brand of its cards", () => {
    const [linux, l4t] = (["linux", "l4t"] as const).map((driverScale) =>
      viewNvidia(gpuHost([a100], "535.183.01", null, { nvidiaChange: { driverScale } })),
    );
    const older = parseDriverVersion("418.87.00");
    if (older === null) throw new Error("a version");
    expect(linux?.cuda?.text).toBe("12.2");
    expect(linux?.gpus.map(({ brand, brandUnder }) => [brand, brandUnder?.(older)])).toEqual([
      ["nvidia", "tesla"],
    ]);
    expect(l4t?.cuda).toBeNull();
    expect(l4t?.gpus.map(({ brand, brandUnder }) => [brand, brandUnder?.(older)])).toEqual([[null, null]]);
  });
});

it("takes a fact that is unknown for no value", () => {
  const view = viewNvidia(gpuHost([{ ...a100, name: null, compute: null }], null));
  expect(view).toMatchObject({
    driver: null,
    cuda: null,
    hasDriver: false,
    gpus: [{ label: "GPU 0", compute: null }],
  });
  expect(viewNvidia(cpuHost())).toBeNull();
});
