/** Notes of AMD's support statements, which nothing enforces. */

import { describe, expect, it } from "vitest";
import { noteAmd } from "../../../../src/resolve/rules/amd/amd-driver.ts";
import { viewHost } from "../../../../src/resolve/host-view.ts";
import { amdGpu, amdHost, rx7900, ryzen } from "../../support/hosts.ts";

const notes = (
  release: string,
  driver: string | null,
  { gpus = [rx7900], code = ["gfx1100", "gfx1151"], kernel = "6.8.0" as string | null } = {},
) => {
  const view = viewHost(amdHost(gpus, driver, { kernel }));
  if (view.amd === null) throw new Error("no AMD GPU");
  return noteAmd({ release, code }, view.amd, view.kernel);
};
const names = (window: string, driver: string, release: string, where = "") =>
  `AMD names ROCm ${window} for its driver ${driver}${where}, the image has ROCm ${release}: whether it works is not known`;

describe("the releases that AMD names for a driver", () => {
  it.each([
    ["the oldest and the newest are named", "6.1", "6.10.5"],
    ["a release of the newest is", "7.0.2", "6.10.5"],
    ["a release of the oldest is", "6.1.3", "6.10.5"],
    ["no window has a release that is no version", "nightly", "6.10.5"],
    ["the kernel's own driver has none", "5.0", null],
    ["after the last row everything up to its newest is", "10.0", "7.0.0"],
  ])("%s", (_, release, driver) => {
    expect(notes(release, driver)).toEqual([]);
  });

  it("are told with the driver that they are of", () => {
    expect(notes("6.0.2", "6.10.5")).toEqual([names("from 6.1 to 7.0", "6.3 (amdgpu 6.10.5)", "6.0.2")]);
    expect(notes("7.1", "6.10.5")).toEqual([names("from 6.1 to 7.0", "6.3 (amdgpu 6.10.5)", "7.1")]);
    // Between two rows: at least the oldest of the one before, at most the newest of the one after.
    expect(notes("5.9", "6.9.0")).toEqual([
      names("from 6.0", "6.2 (amdgpu 6.8.5)", "5.9", ", this host's 6.9.0 is newer"),
    ]);
    expect(notes("7.1", "6.9.0")).toEqual([
      names("to 7.0", "6.3 (amdgpu 6.10.5)", "7.1", ", this host's 6.9.0 is older"),
    ]);
    expect(notes("6.0", "5.0.0")).toEqual([
      names("to 5.4", "5.2 (amdgpu 5.16.9)", "6.0", ", this host's 5.0.0 is older"),
    ]);
    // AMD names no oldest release for this one: that of the driver before it counts.
    expect(notes("6.1", "6.16.6")).toEqual([
      names("from 6.2", "30.10 (amdgpu 6.14.14)", "6.1", ", this host's 6.16.6 is newer"),
    ]);
  });
});

describe("the kernels on which AMD supports a release", () => {
  const strix = [{ ...amdGpu({ target: "gfx1151" }), name: "Strix Halo" }];
  const told = (word: string, release: string, where: string, kernel: string, own: string) =>
    `AMD lists ROCm ${release} as ${word} for GPU 0 (Strix Halo), gfx1151, on ${where} (this host: ${kernel}, the image: ROCm ${own}): programs crash or meet page faults there`;
  const before = "Linux before 6.18.4, unless the distribution has put the fixes of 6.18.4 into it";
  const from = "Linux 6.18.4 and newer, and ROCm 7.2.0, 7.2.1, 7.11 as supported";

  it.each([
    ["6.4", "6.18.3", told("unstable", "6.4", before, "6.18.3", "6.4")],
    ["6.4.1", "6.18.4", told("not supported", "6.4", from, "6.18.4", "6.4.1")],
    ["7.2", "6.8.0", told("not supported", "7.2.0", before, "6.8.0", "7.2")],
    ["7.2.1", "6.8.0", told("unstable", "7.2.1", before, "6.8.0", "7.2.1")],
  ])("ROCm %s under Linux %s", (release, kernel, note) => {
    expect(notes(release, null, { gpus: strix, kernel })).toEqual([note]);
  });

  it("say nothing where AMD does, or makes no difference, or the kernel is unknown", () => {
    expect(notes("7.2", null, { gpus: strix, kernel: "6.18.4" })).toEqual([]);
    expect(notes("5.7", null, { gpus: strix })).toEqual([]);
    expect(notes("7", null, { gpus: strix })).toEqual([]);
    expect(notes("6.4", null, { kernel: "6.8.0" })).toEqual([]);
    expect(notes("6.4", null, { gpus: strix, kernel: null })).toEqual([]);
  });
});

describe("what the program meets", () => {
  const spirv =
    "AMD GPU 0, gfx1151, has no code of its own: the image's ROCm 7.2 compiles SPIR-V at the start, if it knows the target";

  it("is a compilation where a card has no code of its own", () => {
    const gpus = [amdGpu({ target: "gfx1151" }), rx7900];
    const kernel = "6.18.4";
    expect(notes("7.2", null, { gpus, kernel, code: ["amdgcnspirv", "gfx1100"] })).toEqual([spirv]);
    expect(notes("7.2", null, { gpus, kernel, code: ["amdgcnspirv:xnack+", "gfx1100"] })).toEqual([]);
    expect(notes("7.2", null, { gpus, kernel, code: ["gfx90a"] })).toEqual([]);
  });

  it("is a processor's GPU that it has to be kept from, if it has no code for it", () => {
    const nameless = { ...ryzen, target: null };
    const aside = (label: string) =>
      `${label}, of the processor is left out, and the image has no code for it: hide it from the program too (HIP_VISIBLE_DEVICES=0)`;
    expect(notes("7.2", null, { gpus: [rx7900, ryzen] })).toEqual([aside("AMD GPU 1, gfx1036")]);
    expect(notes("7.2", null, { gpus: [rx7900, nameless] })).toEqual([aside("AMD GPU 1")]);
    expect(notes("7.2", null, { gpus: [rx7900, ryzen], code: ["gfx1100", "gfx1036"] })).toEqual([]);
    expect(notes("7.2", null, { gpus: [rx7900, ryzen], code: ["gfx1100", "gfx1036:xnack+"] })).toHaveLength(
      1,
    );
  });
});
