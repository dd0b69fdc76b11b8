import { describe, expect, test } from "vitest";
import { cudaOfDriver } from "../../src/hardware/cuda-toolkits.ts";
import { compatAllowsClass, compatPackages, findCompatPackage } from "../../src/hardware/forward-compat.ts";

describe("forward-compatibility packages", () => {
  test("NVIDIA's matrix decides where it has a row", () => {
    expect(findCompatPackage("12.8")).toMatchObject({
      package: "cuda-compat-12-8",
      cuda: "12.8",
      libcuda: "570.124.06",
      branches: ["535"],
    });
    expect(findCompatPackage("13.4")?.branches).toEqual(["535", "570", "580", "590", "595", "610"]);
    // A new-feature branch is not supported, although the library would accept it.
    expect(findCompatPackage("13.1")?.branches).not.toContain("575");
    expect(findCompatPackage("13.1")?.enforced).toContain("575");
  });

  test("older packages: the clauses of NVIDIA's images", () => {
    expect(findCompatPackage("11.8")?.branches).toEqual(["450", "470", "510", "515"]);
    expect(findCompatPackage("10.0")?.branches).toEqual(["384"]);
  });

  test("a full version finds the package of its minor", () => {
    expect(findCompatPackage("12.8.1")?.package).toBe("cuda-compat-12-8");
  });

  test.each(["12.7", "9.2", "14.0", "12", ""])("there is no package for %j", (cuda) => {
    expect(findCompatPackage(cuda)).toBeNull();
  });

  test("a package is only for branches that offer less than it does", () => {
    for (const { package: name, branches, cuda } of compatPackages()) {
      const offered = branches.map((branch) => Number(cudaOfDriver(branch) ?? "0").toFixed(1));
      expect(
        offered.filter((each) => Number(each) >= Number(cuda)),
        name,
      ).toEqual([]);
    }
  });

  test("GeForce refuses it, Tegra and unknown GPUs are not decided here", () => {
    const classes = ["datacenter", "workstation", "geforce", "tegra", "unknown"] as const;
    expect(classes.map(compatAllowsClass)).toEqual([true, true, false, null, null]);
  });
});
