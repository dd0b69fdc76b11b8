import { describe, expect, it } from "vitest";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { type ResolveImageOptions, rankImages, resolveImage } from "../../src/resolve/resolve-image.ts";
import { a100, avx512, gpu, gpuHost, h100, levelV3 } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "./support/locks.ts";

const b200 = gpu({ name: "NVIDIA B200", compute: "10.0" });
const b300 = gpu({ name: "NVIDIA B300", compute: "10.3" });
const host = gpuHost([a100], "550.54.15", "12.4");

function order(
  images: Readonly<Record<string, LockedImage>>,
  facts = host,
  options: ResolveImageOptions = {},
): string[] {
  return rankImages(lockOf(images), facts, options).ranked.map(({ cell }) => cell);
}

/** Why `first` beats the other, in both orders of the lock. */
function decides(
  images: Readonly<Record<string, LockedImage>>,
  facts = host,
  options: ResolveImageOptions = {},
) {
  const lock = lockOf(images);
  const reversed: Lock = { ...lock, images: Object.fromEntries(Object.entries(lock.images).reverse()) };
  const answer = resolveImage(lock, facts, options);
  expect(resolveImage(reversed, facts, options)).toEqual(answer);
  return [answer.match?.cell, answer.match?.reasons[0]];
}

describe("the order of images that fit", () => {
  it("GPU before CPU", () => {
    const features = [...levelV3, ...avx512].sort();
    const cpu = image({ requires: { cpu: { march: "x86-64-v4", features }, cuda: null } });
    expect(decides({ a: cpu, b: gpuImage(cuda("12.4.1", ["sm_80"])) })).toEqual([
      "b",
      "GPU before CPU: GPU code before no GPU code",
    ]);
  });

  it("specific, family, SASS by distance, PTX by distance", () => {
    const facts = gpuHost([b300], "580.95.05", "13.0");
    const images = {
      e: gpuImage(cuda("12.9.1", ["sm_103a"])),
      d: gpuImage(cuda("12.9.1", ["sm_103f"])),
      dd: gpuImage(cuda("12.9.1", ["sm_100f"])),
      c: gpuImage(cuda("12.9.1", ["sm_103"])),
      bb: gpuImage(cuda("12.9.1", ["sm_100"])),
      b: gpuImage(cuda("12.9.1", ["compute_100"])),
      a: gpuImage(cuda("12.9.1", ["compute_80"])),
    };
    expect(order(images, facts)).toEqual(["e", "d", "dd", "c", "bb", "b", "a"]);
  });

  it("looks at the GPU that is served worst", () => {
    const facts = gpuHost([h100, b200], "580.95.05", "13.0");
    expect(
      decides(
        {
          a: gpuImage(cuda("12.9.1", ["sm_90a", "compute_90"])),
          b: gpuImage(cuda("12.9.1", ["sm_90", "sm_100"])),
        },
        facts,
      ),
    ).toEqual(["b", "code closer to the GPU: sm_90 (sass) before compute_90 (ptx, 10 away)"]);
  });

  it("native before minor, though the toolkit is older", () => {
    expect(
      decides({ new: gpuImage(cuda("12.8.1", ["sm_80"])), old: gpuImage(cuda("12.4.1", ["sm_80"])) }),
    ).toEqual(["old", "driver that knows the toolkit: knows it before older"]);
  });

  it("minor before forward", () => {
    const compat = { mode: "compat", package: "575.57.08", cuda: "12.9", branches: ["550"] } as const;
    expect(
      decides({
        a: gpuImage(cuda("12.9.1", ["sm_80"], { driver: compat })),
        b: gpuImage(cuda("12.8.1", ["sm_80"])),
      }),
    ).toEqual(["b", "driver that knows the toolkit: older before older, with a package"]);
  });

  it("newer toolkit, as numbers", () => {
    const facts = gpuHost([a100], "615.31", "13.4");
    expect(
      decides({ a: gpuImage(cuda("12.9.1", ["sm_80"])), b: gpuImage(cuda("12.10.0", ["sm_80"])) }, facts),
    ).toEqual(["b", "newer toolkit: 12.10.0 before 12.9.1"]);
  });

  it("more CPU features", () => {
    const requires = cuda("12.4.1", ["sm_80"]);
    const small = gpuImage(requires, {
      requires: { cpu: { march: "x86-64-v2", features: ["pni"] }, cuda: requires },
    });
    expect(decides({ a: small, b: gpuImage(requires) })).toEqual([
      "b",
      `more CPU features: ${levelV3.length} (x86-64-v3) before 1 (x86-64-v2)`,
    ]);
  });

  it("fewer unused GPU targets", () => {
    expect(
      decides({
        a: gpuImage(cuda("12.4.1", ["sm_80", "sm_90", "compute_90"])),
        b: gpuImage(cuda("12.4.1", ["sm_80", "sm_90"])),
      }),
    ).toEqual(["b", "fewer unused GPU targets: 1 before 2"]);
  });

  it("tag, when nothing else tells them apart", () => {
    expect(
      decides({ b: gpuImage(cuda("12.4.1", ["sm_80"])), a: gpuImage(cuda("12.4.1", ["sm_80"])) }),
    ).toEqual(["a", "tag: a before b"]);
  });
});

describe("prefer", () => {
  const images = {
    new: gpuImage(cuda("12.8.1", ["sm_80"])),
    old: gpuImage(cuda("12.4.1", ["sm_80"])),
    cpu: image(),
  };

  it("moves a step to the front", () => {
    expect(order(images)).toEqual(["old", "new", "cpu"]);
    expect(decides(images, host, { prefer: ["toolkit"] })).toEqual([
      "new",
      "newer toolkit: 12.8.1 before 12.4.1",
    ]);
  });

  it("puts the images of a value first", () => {
    expect(order(images, host, { prefer: ["cuda=none"] })).toEqual(["cpu", "old", "new"]);
  });

  it("takes a value with = in it", () => {
    const flagged = { ...images, new: { ...images.new, axes: { ...images.new.axes, flags: "a=b" } } };
    expect(order(flagged, host, { prefer: ["flags=a=b"] })).toEqual(["new", "old", "cpu"]);
  });

  it("refuses a name that is neither", () => {
    expect(() => order(images, host, { prefer: ["newest"] })).toThrow(/gpu, vendor, code, tier, toolkit/);
  });
});
