import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatComputeCapability } from "../../../../src/hardware/compute-capability.ts";
import { gpuArchitectures } from "../../../../src/hardware/gpu-architectures.ts";
import { compareVersions } from "../../../../src/hardware/driver-version.ts";
import type { HostFacts } from "../../../../src/facts/facts.ts";
import { parseHostFacts } from "../../../../src/facts/parse-facts.ts";
import { labelFormats } from "../../../../src/node/launch/labels/label-formats.ts";
import { nodeLabels } from "../../../../src/node/launch/labels/node-labels.ts";
import {
  keys,
  knownComputes,
  labelNames,
  labelValue,
  versionNumber,
  versionText,
} from "../../../../src/node/launch/labels/vocabulary.ts";
import { isQuestionKey, questionKeys } from "../../../../src/node/launch/labels/image-labels.ts";
import { anyHost } from "../../../properties/support/machines.ts";
import { amdHost, gpu, gpuHost, h100, mi300x } from "../../../resolve/support/hosts.ts";
import { labelProblems } from "../support/label-problems.ts";

const folder = "test/fixtures/hosts";
const machines = readdirSync(folder).map((name): [string, HostFacts] => {
  const file = join(folder, name, "expected.json");
  return [name, parseHostFacts(readFileSync(file, "utf8"), file)];
});
const kubernetesOf = (facts: HostFacts) =>
  Object.fromEntries(
    labelFormats.kubernetes
      .write(nodeLabels(facts))
      .trimEnd()
      .split("\n")
      .map((line) => line.split("=") as [string, string]),
  );

describe("a node's labels", () => {
  it.each(machines)("of %s stay within every system's limits", (_name, facts) => {
    const labels = {
      ...nodeLabels(facts),
      [questionKeys({ name: "cv-tf", version: "1" }).image]: labelValue("1.0-x"),
    };
    expect(labelProblems(kubernetesOf(facts))).toEqual([]);
    const [attributes = ""] = labelFormats.mesos.write(labels, facts).split("\n");
    // Text of Mesos, and one colon between name and value.
    expect(
      attributes
        .replace(/^'?--attributes=/, "")
        .replace(/'$/, "")
        .split(";")
        .filter((each) => !/^[\w/.-]+:[\w/.-]+$/.test(each)),
    ).toEqual([]);
    // Features end at a comma, and operators of --constraint are no part of them.
    expect(
      labelFormats.slurm
        .write(labels)
        .trimEnd()
        .split(",")
        .filter((each) => !/^[\w.-]+$/.test(each)),
    ).toEqual([]);
    // Names of Nomad stay different after their dots are gone.
    const names = Object.keys(labels).map(labelNames.nomad);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[A-Za-z0-9_]+$/.test(name))).toEqual([]);
    expect(labels[keys.vocabulary]).toMatch(/^(1|none)$/);
  });

  it("say what a fleet has no words for", () => {
    const future = nodeLabels(gpuHost([gpu({ compute: "14.0" })], "570.124.06"));
    expect(future[keys.vocabulary]).toBe("none");
    expect(nodeLabels(gpuHost([gpu({ compute: null })], "570.124.06"))).toMatchObject({
      [keys.vocabulary]: "1",
      "gpu.compute.unknown": "1",
    });
  });

  it("have a word for every architecture of the table", () => {
    const known = new Set<string>(knownComputes.flat());
    expect(
      gpuArchitectures
        .map(({ compute }) => formatComputeCapability(compute))
        .filter((compute) => !known.has(compute)),
    ).toEqual([]);
  });

  it("count GPUs, MIG instances and kinds", () => {
    const sliced = gpu({
      ...h100,
      mig: [
        { uuid: "MIG-1", profile: "1g.10gb+me" },
        { uuid: "MIG-2", profile: "3g.40gb" },
      ],
    });
    expect(nodeLabels(gpuHost([sliced, h100], "570.124.06"))).toMatchObject({
      "gpu.count": "2",
      "gpu.compute.9.0": "2",
      "gpu.mig.1g.10gb-me": "1",
      "gpu.mig.3g.40gb": "1",
      "gpu.product": "NVIDIA-H100-80GB-HBM3",
    });
  });

  it("have valid names and values, whatever a GPU is called", () => {
    const mig = ["☃", "", "x".repeat(99)].map((profile, index) => ({ uuid: `MIG-${index}`, profile }));
    const labels = nodeLabels(gpuHost([gpu({ ...h100, name: "☃", mig })], "570.124.06"));
    expect(labels).toMatchObject({ "gpu.mig.unknown": "2", [`gpu.mig.${"x".repeat(50)}`]: "1" });
    expect(labels).not.toHaveProperty("gpu.product");
    for (const key of Object.keys(labels))
      expect(key).toMatch(/^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/);
  });

  it("offer a Mesos agent whole GPUs alone", () => {
    const sliced = gpu({ ...h100, mig: [{ uuid: "MIG-1", profile: "3g.40gb" }] });
    const facts = gpuHost([sliced, h100], "570.124.06");
    expect(labelFormats.mesos.write(nodeLabels(facts), facts).split("\n").slice(-3)).toEqual([
      "--nvidia_gpu_devices=1",
      "--resources=gpus:1",
      "",
    ]);
    const amd = amdHost([mi300x]);
    expect(labelFormats.mesos.write(nodeLabels(amd), amd)).not.toContain("nvidia");
  });
});

describe("words for tags", () => {
  it("are valid, and different for different tags", () => {
    const tag = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/);
    fc.assert(
      fc.property(tag, tag, (a, b) => {
        const value = labelValue(a);
        expect(labelProblems({ "imgmatch.dev/x": value })).toEqual([]);
        if (a !== b) expect(value).not.toBe(labelValue(b));
      }),
    );
  });
});

describe("the label of a fleet's image", () => {
  it("has a valid name, whatever the fleet is called", () => {
    const name = fc.oneof(fc.string({ maxLength: 80 }), fc.stringMatching(/^[a-z0-9._-]{1,80}$/));
    fc.assert(
      fc.property(name, (lockName) => {
        const { image, devices, plain } = questionKeys({ name: lockName, version: "1" });
        const all = [image, ...devices, plain ?? ""].map((key) => [labelNames.kubernetes(key), "1.0"]);
        expect(labelProblems(Object.fromEntries(all))).toEqual([]);
        expect([image, ...devices, plain ?? ""].map(isQuestionKey)).toEqual([...Array(5).fill(true), false]);
      }),
    );
    const long = (end: string) => questionKeys({ name: `${"a".repeat(60)}${end}`, version: "1" }).plain;
    expect(long("1")).not.toBe(long("2"));
  });
});

describe("versions as numbers", () => {
  const version = fc.array(fc.integer({ min: 0, max: 12_000 }), { minLength: 1, maxLength: 4 });
  /** The number stands for one version only. */
  const isExact = ([first = 0, ...rest]: readonly number[]) =>
    first < 8999 && rest.every((part) => part < 9999);

  it("compare as the versions do, where they have a number of their own", () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        const [first, second] = [versionNumber(a), versionNumber(b)];
        expect(Number.isSafeInteger(first)).toBe(true);
        if (isExact(b)) expect(Math.sign(first - second)).toBe(Math.sign(compareVersions(a, b)));
        if (isExact(a)) expect(compareVersions(versionText(first).split(".").map(Number), a)).toBe(0);
      }),
    );
  });

  it("stand on every node", () => {
    fc.assert(
      fc.property(anyHost, (facts) => {
        const labels = nodeLabels(facts);
        for (const key of [keys.kernelNumber, keys.driverNumber, keys.cudaNumber])
          expect(labels[key]).toMatch(/^\d+$/);
      }),
      { numRuns: 100 },
    );
  });
});
