import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findMarch, type March, marchPlatform } from "../../src/hardware/cpu-marches.ts";
import { measuredRules } from "../../src/lock/requirement.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { neededRequirement } from "../../src/lock/needed-requirement.ts";
import { shownImages } from "../../src/resolve/shown-images.ts";
import type { FleetIndex } from "../../src/lock/fleet-index.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { eachOf } from "../properties/oracle.ts";
import { anyLock } from "../properties/support/machines.ts";
import { checkOptions, timeoutMs } from "../properties/support/runs.ts";
import { cpuHost } from "./support/hosts.ts";
import { cuda, digest, gpuImage, image, lockOf } from "./support/locks.ts";

const featuresOf = (march: string) => findMarch(march)?.features ?? [];

/** An image without GPU code that needs what its march does, or just `features`. */
function cpu(march: string, change: { features?: readonly string[]; kernel?: string; axes?: object } = {}) {
  const { features = featuresOf(march), kernel, axes = {} } = change;
  const arm = march.startsWith("neoverse") || march.startsWith("armv");
  return image({
    platform: arm ? "linux/arm64" : "linux/amd64",
    axes: { cuda: "none", march, ...axes },
    requires: { cpu: { march, features }, cuda: null, ...(kernel === undefined ? {} : { kernel }) },
  });
}

/** Its files use no more than these. */
function measured(own: LockedImage, used: readonly string[]): LockedImage {
  const unused = own.requires.cpu.features.filter((feature) => !used.includes(feature));
  return { ...own, measured: { rules: measuredRules, cpu: { unused }, cuda: null } };
}

const gpu = gpuImage(cuda("12.4.1", ["sm_80"]));

function indexOf({ name, version, prefer = [], plainPull, images }: Lock): FleetIndex {
  const entries = Object.entries(images).flatMap(([cell, locked]) => {
    if (locked.digest === null) return [];
    const descriptor = { mediaType: "", digest: locked.digest, size: 1 };
    return [[cell, { image: { ...locked, digest: locked.digest }, descriptor }] as const];
  });
  return {
    name,
    version,
    repository: "team/app",
    tag: version,
    prefer,
    plainPull,
    entries: new Map(entries),
  };
}

function plainOf(
  images: Readonly<Record<string, LockedImage>>,
  prefer: readonly string[] = [],
  plainPull: Pick<Lock, "plainPull"> = {},
) {
  const natives = shownImages(indexOf({ ...lockOf(images), prefer, ...plainPull }));
  return Object.fromEntries(natives.map(({ platform, cell }) => [platform, cell]));
}

/** Of a fleet whose machines all start its least demanding image. */
function leastOf(images: Readonly<Record<string, LockedImage>>, prefer: readonly string[] = []) {
  return plainOf(images, prefer, { plainPull: "least" });
}

describe("what runtimes see of a fleet", () => {
  it("is the least demanding CPU image, and each level of x86-64 that an image is made for", () => {
    const images = {
      gpu,
      v4: cpu("x86-64-v4"),
      skylake: cpu("skylake-avx512"),
      v1: cpu("x86-64"),
      v3: cpu("x86-64-v3"),
    };
    expect(plainOf(images)).toEqual({ "linux/amd64": "v1", "linux/amd64/v3": "v3", "linux/amd64/v4": "v4" });
  });

  it("is no image for an accelerator that nobody judges, nor one for AMD", () => {
    const { requires } = cpu("x86-64");
    const vulkan = image({ requires: { ...requires, accelerator: "vulkan" } });
    const rocm = image({ requires: { ...requires, rocm: { release: "7.2", code: ["gfx942"] } } });
    expect(plainOf({ rocm, vulkan })).toEqual({ "linux/amd64": null });
    expect(plainOf({ rocm, vulkan, v1: cpu("x86-64") })).toEqual({ "linux/amd64": "v1" });
  });

  it("never shows the plain image a second time as its level", () => {
    expect(leastOf({ v2: cpu("x86-64-v2"), v4: cpu("x86-64-v4") })).toEqual({
      "linux/amd64": "v2",
      "linux/amd64/v4": "v4",
    });
    expect(leastOf({ v3: cpu("x86-64-v3") })).toEqual({ "linux/amd64": "v3" });
  });

  it("goes by the requirement and not by the name", () => {
    const images = {
      v1: cpu("x86-64"),
      "haswell-as-v3": measured(cpu("haswell"), featuresOf("x86-64-v3")),
      "v4-as-v2": measured(cpu("x86-64-v4"), featuresOf("x86-64-v2")),
      // The base image asks for more than the level has.
      "v3-with-aes": cpu("x86-64-v3", { features: [...featuresOf("x86-64-v3"), "aes"].sort() }),
    };
    expect(plainOf(images)).toEqual({
      "linux/amd64": "v1",
      "linux/amd64/v2": "v4-as-v2",
      "linux/amd64/v3": "haswell-as-v3",
    });
  });

  it("has as plain what the most CPUs run, not what has the fewest names of features", () => {
    const amd = cpu("amdfam10", { features: [...featuresOf("x86-64"), "sse4a"].sort() });
    expect(amd.requires.cpu.features.length).toBeLessThan(featuresOf("x86-64-v2").length);
    expect(leastOf({ amd, v2: cpu("x86-64-v2") })).toEqual({ "linux/amd64": "v2" });
    expect(leastOf({ v4: cpu("x86-64-v4"), haswell: cpu("haswell") })).toEqual({
      "linux/amd64": "haswell",
      "linux/amd64/v4": "v4",
    });
  });

  it("has the one for the oldest kernel among equals", () => {
    const images = { a: cpu("x86-64", { kernel: "5.10" }), b: cpu("x86-64", { kernel: "4.4" }) };
    expect(plainOf(images)).toEqual({ "linux/amd64": "b" });
    expect(plainOf({ ...images, c: cpu("x86-64") })).toEqual({ "linux/amd64": "c" });
  });

  it("never mixes values of free axes, and takes those that resolve would", () => {
    const images: Record<string, LockedImage> = {};
    for (const python of ["3.11", "3.12"])
      for (const march of ["x86-64", "x86-64-v3"])
        images[`${march}_${python}`] = cpu(march, { axes: { python } });
    expect(plainOf(images)).toEqual({ "linux/amd64": "x86-64_3.11", "linux/amd64/v3": "x86-64-v3_3.11" });
    expect(plainOf(images, ["python=3.12"])).toEqual({
      "linux/amd64": "x86-64_3.12",
      "linux/amd64/v3": "x86-64-v3_3.12",
    });
    delete images["x86-64_3.11"];
    expect(plainOf(images)).toEqual({ "linux/amd64": "x86-64_3.12", "linux/amd64/v3": "x86-64-v3_3.12" });
    delete images["x86-64-v3_3.12"];
    expect(plainOf(images)).toEqual({ "linux/amd64": "x86-64_3.12" });
  });

  it("has one image for each platform, the platform with the most images first, and no variants of arm64", () => {
    const images = {
      gpu,
      v1: cpu("x86-64"),
      n1: cpu("neoverse-n1"),
      v8: { ...cpu("armv8-a"), platform: "linux/arm64/v8" },
      "armv9-a": cpu("armv9-a"),
    };
    expect(shownImages(indexOf(lockOf(images)))).toEqual([
      { platform: "linux/arm64", cell: "v8" },
      { platform: "linux/amd64", cell: "v1" },
    ]);
  });

  it("is nothing on a platform whose every image needs a GPU", () => {
    expect(plainOf({ gpu, arm: cpu("armv8-a") })).toEqual({ "linux/amd64": null, "linux/arm64": "arm" });
  });

  it("has no image of a variant that no host is said to have", () => {
    const v3 = { ...cpu("x86-64-v3"), platform: "linux/amd64/v3" };
    expect(leastOf({ v3, v4: cpu("x86-64-v4") })).toEqual({ "linux/amd64": "v4" });
  });
});

describe("a fleet that some machine of a platform starts no image of", () => {
  it("shows nothing there, no level either, and says which image it withholds", () => {
    const images = { v2: cpu("x86-64-v2"), v3: cpu("x86-64-v3"), n1: cpu("neoverse-n1"), gpu };
    expect(shownImages(indexOf(lockOf(images)))).toEqual([
      { platform: "linux/amd64", cell: null, withheld: "v2" },
      { platform: "linux/arm64", cell: null, withheld: "n1" },
    ]);
    expect(leastOf(images)).toEqual({
      "linux/amd64": "v2",
      "linux/amd64/v3": "v3",
      "linux/arm64": "n1",
    });
  });

  it("goes by what the files need", () => {
    expect(plainOf({ v4: measured(cpu("x86-64-v4"), featuresOf("x86-64")) })).toEqual({
      "linux/amd64": "v4",
    });
    expect(plainOf({ v1: cpu("x86-64", { features: [...featuresOf("x86-64"), "ssse3"] }) })).toEqual({
      "linux/amd64": null,
    });
  });

  it.each(["x86-64", "armv8-a", "power8", "rv64gc"])("is none with an image for %s", (march) => {
    const platform = marchPlatform(findMarch(march) as March);
    expect(plainOf({ low: { ...cpu(march), platform } })).toEqual({ [platform]: "low" });
  });
});

const levels = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"];

/** A machine of just this level, without a GPU. */
function machine(level: string): HostFacts {
  const features = featuresOf(level);
  return cpuHost({ cpu: { ...cpuHost().cpu, features, level } });
}

/** The image that a runtime which knows levels runs there: the best that it sees. */
function native(lock: Lock, level: string): string | null {
  const seen = leastOf(lock.images, lock.prefer);
  for (let at = levels.indexOf(level); at > 0; at--) {
    const cell = seen[`linux/amd64/v${at + 1}`];
    if (cell !== undefined) return cell;
  }
  return seen["linux/amd64"] ?? null;
}

describe("a runtime that knows levels", () => {
  const marches = fc.constantFrom("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "haswell", "znver4");
  const flavour = fc.constantFrom("mild", "hot");
  const anyFleet = fc.tuple(
    fc.uniqueArray(fc.record({ march: marches, flavour }), {
      selector: ({ march, flavour: each }) => `${march}_${each}`,
      minLength: 1,
      maxLength: 8,
    }),
    fc.constantFrom([], ["flavour=mild"], ["march=x86-64-v2"], ["cpu"]),
  );

  it("runs what resolve answers for that level, with the same free axes", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(anyFleet, fc.constantFrom(...levels), ([rows, prefer], level) => {
        const images = rows.map(({ march, flavour: each }) => {
          const cell = `${march}_${each}`;
          const own = cpu(march, { axes: { flavour: each } });
          return [cell, march === "haswell" ? measured(own, featuresOf("x86-64-v3")) : own] as const;
        });
        const lock = { ...lockOf({ gpu, ...Object.fromEntries(images) }), prefer };
        const plain = leastOf(lock.images, prefer)["linux/amd64"] ?? "";
        const pins = { flavour: lock.images[plain]?.axes.flavour ?? "" };
        const answer = resolveImage(lock, machine(level), { pins, cpuOnly: true }).match?.cell;
        // Below the level of the least demanding one nothing fits, and a runtime cannot know.
        expect(native(lock, level)).toBe(answer ?? plain);
      }),
      checkOptions,
    );
  });

  it("sees of any fleet only images without GPU code that its level runs", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(anyLock, (lock) => {
        for (const { platform, cell } of shownImages(indexOf(lock))) {
          if (cell === null) continue;
          const needs = eachOf(lock.images[cell] ?? image({ digest })).map(neededRequirement);
          expect(needs.every(({ cuda }) => cuda === null)).toBe(true);
          const [, , variant] = platform.split("/");
          if (!platform.startsWith("linux/amd64")) continue;
          const features = featuresOf(variant === undefined ? "x86-64" : `x86-64-${variant}`);
          expect(needs.some(({ cpu }) => cpu.features.every((each) => features.includes(each)))).toBe(true);
        }
      }),
      checkOptions,
    );
  });
});
