import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findMarch } from "../../../src/hardware/cpu-marches.ts";
import { floorOfBase } from "../../../src/fleet/plan/base-floors.ts";
import table from "../../../src/fleet/plan/base-floors.json" with { type: "json" };
import { makeFolder } from "../../support/folders.ts";
import { runInProcess } from "../../support/run-cli.ts";

describe("the floor of a base", () => {
  it.each(table.floors)("$base: its images by their names, each row with a source", (row) => {
    const { examples, level, base, source } = row;
    for (const ref of [...examples, `${examples[0]}@sha256:${"a".repeat(64)}`])
      expect(floorOfBase(ref), ref).toMatchObject({ base, level });
    expect(findMarch(level)).not.toBeNull();
    expect(source.length).toBeGreaterThan(0);
  });

  it.each(["almalinux:10-x86_64_v2", "quay.io/almalinuxorg/amd64_v2/almalinux:10"])(
    "is lower in the variant for older CPUs: %s",
    (ref) => expect(floorOfBase(ref)?.level).toBe("x86-64-v2"),
  );

  it.each([
    "ubuntu:26.04",
    "debian:10",
    "almalinux:9.10",
    "nvidia/cuda:12.8.1-devel-ubuntu22.04",
    "quay.io/centos/centos:stream9-10",
    "registry.example.com/ubi100/app:1",
    "registry.example.com/team/kubi10s:1",
    "scratch",
  ])("is not known of %s", (ref) => expect(floorOfBase(ref)).toBeNull());
});

describe("plan", () => {
  const plan = (base: string, marches: string, more = "") => {
    const folder = makeFolder({
      "matrix.yaml": `name: app\nversion: "1"\nregistry: registry.example.com/team\ntemplate: app.Dockerfile.hbs\naxes:\n${more}  march: [${marches}]\n`,
      "app.Dockerfile.hbs": `FROM debian:12 AS build\nRUN cc {{march.flags}} /a.c\nFROM ${base}\nCOPY --from=build /etc/hostname /x\n`,
    });
    const args = ["plan", "--offline", "--matrix", join(folder, "matrix.yaml")];
    return runInProcess(args, { env: { HOME: folder }, cwd: folder });
  };

  it("warns of cells whose march is below what their base needs", async () => {
    const { err, exit } = await plan(
      "registry.access.redhat.com/ubi10/ubi:10.1",
      "x86-64-v2, haswell, x86-64",
    );
    expect(exit).toBe(0);
    expect(err).toContain(
      "warning: UBI and RHEL 10 needs x86-64-v3, registry.access.redhat.com/ubi10/ubi:10.1: the march of 2 cells has less, x86-64-v2, x86-64; take that march, declare cpuFloor, or take another base\n",
    );
  });

  it.each([
    ["a march that has it", "almalinux:10", "x86-64-v3, znver4", ""],
    ["another architecture", "almalinux:10", "neoverse-n1", ""],
    ["a stage that is left", "debian:12", "x86-64-v2", ""],
    [
      "a floor that the matrix declares",
      "nvidia/cuda:13.0.1-devel-ubi10",
      "x86-64-v2",
      '  cuda: [{ toolkit: "13.0.1", cpuFloor: x86-64-v3 }]\n  compute: ["9.0"]\n',
    ],
  ])("says nothing of %s", async (_, base, marches, more) => {
    const { err, exit } = await plan(base, marches, more);
    expect([exit, err.includes("needs x86-64")]).toEqual([0, false]);
  });
});
