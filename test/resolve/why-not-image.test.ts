import { describe, expect, it } from "vitest";
import { findCell } from "../../src/resolve/find-cell.ts";
import { whyNotImage } from "../../src/resolve/why-not-image.ts";
import { a100, cpuHost, gpuHost, h100 } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "./support/locks.ts";

const lock = lockOf({
  cpu: image(),
  old: gpuImage(cuda("12.4.1", ["sm_80"])),
  new: gpuImage(cuda("12.8.1", ["sm_80", "compute_80"])),
  hopper: gpuImage(cuda("12.8.1", ["sm_90a"])),
});
const host = gpuHost([a100], "570.124.06", "12.8");

describe("whyNotImage", () => {
  it("gives every reason with its fix", () => {
    const answer = whyNotImage(lock, "hopper", gpuHost([a100], "470.57.02", "11.4"));
    expect(answer.fits).toBe(false);
    expect(answer.rank).toBeNull();
    expect(answer.reasons.map(({ code }) => code)).toEqual(["DRIVER_TOO_OLD", "NO_GPU_CODE"]);
    expect(answer.reasons[0]?.fix).toContain("470.57.02 → >= 525.60.13");
    expect(answer.reasons[1]?.fix).toBe("take new, which has compute=sm_80,compute_80");
  });

  it("says that the match is the match, and what it beats", () => {
    const { fits, reasons, rank } = whyNotImage(lock, "new", host);
    expect({ fits, reasons }).toEqual({ fits: true, reasons: [] });
    expect(rank).toMatchObject({ place: 1, of: 3, tier: "native", beatenBy: null, beats: { cell: "old" } });
    expect(rank?.beats?.reason).toBe("newer toolkit: 12.8.1 before 12.4.1");
  });

  it("says what beats an image that fits", () => {
    expect(whyNotImage(lock, "cpu", host).rank).toMatchObject({
      place: 3,
      of: 3,
      beatenBy: {
        cell: "new",
        reason: "GPU before CPU: GPU code before no GPU code",
        pins: { cuda: "none" },
      },
      beats: null,
    });
  });

  it("names pins under which the image wins over every other, not the match alone", () => {
    const axes = (toolkit: string, compute: string) => ({ cuda: toolkit, compute, march: "x86-64-v3" });
    const fleet = lockOf({
      best: gpuImage(cuda("12.4.1", ["sm_90a"]), { axes: axes("12.4.1", "9.0a") }),
      second: gpuImage(cuda("12.8.1", ["sm_90"]), { axes: axes("12.8.1", "9.0") }),
      third: gpuImage(cuda("12.4.1", ["sm_90"]), { axes: axes("12.4.1", "9.0") }),
    });
    const hopper = gpuHost([h100], "570.124.06", "12.8");
    const pins = whyNotImage(fleet, "third", hopper).rank?.beatenBy?.pins ?? {};
    expect(pins).toEqual({ compute: "9.0", cuda: "12.4.1" });
    expect(whyNotImage(fleet, "third", hopper, { pins }).rank?.place).toBe(1);
  });

  it("has no runner-up where nothing else fits", () => {
    expect(whyNotImage(lock, "cpu", cpuHost()).rank).toEqual({
      place: 1,
      of: 1,
      tier: "native",
      beatenBy: null,
      beats: null,
    });
  });

  it("counts pins among the reasons", () => {
    const answer = whyNotImage(lock, "old", host, { pins: { cuda: "12.8" } });
    expect(answer.reasons).toMatchObject([{ code: "PIN_MISMATCH" }]);
  });

  it("takes a reference too, and refuses an unknown name", () => {
    expect(whyNotImage(lock, "registry.example.com/team/cv-tf:cpu", host).cell).toBe("cpu");
    expect(() => whyNotImage(lock, "nope", gpuHost([h100], "570.124.06"))).toThrow(/CELL_NOT_FOUND/);
  });

  it("takes a cell, a tag or a reference", () => {
    const { image: found } = findCell(lock, "cpu");
    const named = { ...lock, images: { "cell=1": { ...found, tag: "1.0-cpu" } } };
    for (const name of [
      "cell=1",
      "1.0-cpu",
      `${lock.repository}:1.0-cpu`,
      `${lock.repository}:1.0-cpu@${found.digest}`,
    ]) {
      expect(whyNotImage(named, name, cpuHost({ platform: "linux/arm64" })).reasons).toMatchObject([
        { code: "ARCH_MISMATCH" },
      ]);
    }
  });

  it("does not take an unknown name for an image that fits", () => {
    expect(() => whyNotImage(lock, "hopper-81", host)).toThrow(
      expect.objectContaining({ code: "CELL_NOT_FOUND" }),
    );
    expect(() => whyNotImage(lock, "hop", host)).toThrow("for example: hopper");
  });
});
