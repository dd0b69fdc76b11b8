import { describe, expect, test } from "vitest";
import { parseComputeCapability } from "../../src/hardware/compute-capability.ts";
import {
  branchDrives,
  findArchitecture,
  type GpuArchitecture,
} from "../../src/hardware/gpu-architectures.ts";

describe("architectures", () => {
  test.each([
    ["2.1", "Fermi", 390, "unsupported"],
    ["3.7", "Kepler", 470, "unsupported"],
    ["7.0", "Volta", 580, "unsupported"],
    ["7.5", "Turing", null, "supported"],
    ["9.0", "Hopper", null, "supported"],
    ["10.0", "Blackwell", null, "required"],
    ["8.7", "Ampere", null, null],
  ])("%s is %s, last branch %s, open module %s", (compute, name, lastDriverBranch, openModule) => {
    expect(architecture(compute)).toMatchObject({ name, lastDriverBranch, openModule });
  });

  test("a compute capability that nobody has published is null", () => {
    const compute = parseComputeCapability("13.0");
    expect(compute === null ? undefined : findArchitecture(compute)).toBeNull();
  });

  test.each([
    ["3.7", 470, true],
    ["3.7", 495, false],
    ["7.0", 580, true],
    ["7.0", 590, false],
    ["7.5", 615, true],
    ["8.7", 540, null],
  ])("%s on branch %i: %s", (compute, branch, expected) => {
    expect(branchDrives(architecture(compute), branch)).toBe(expected);
  });
});

function architecture(text: string): GpuArchitecture {
  const compute = parseComputeCapability(text);
  const found = compute === null ? null : findArchitecture(compute);
  if (found === null) throw new Error(`no architecture ${text}`);
  return found;
}
