import { describe, expect, it } from "vitest";
import { gpuWish, scheduledGpus } from "../../../src/node/launch/choose-gpus.ts";
import { a100, gpuHost, h100 } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, lockOf } from "../../resolve/support/locks.ts";

const host = gpuHost([a100, h100], "570.124.06", "12.8");
const lock = lockOf({ gpu: gpuImage(cuda("12.8.1", ["sm_80", "sm_90"])) });

describe("--gpus of a launch", () => {
  it.each([
    [undefined, { kind: "all" }],
    ["all", { kind: "all" }],
    ["none", { kind: "none" }],
    ["2", { kind: "count", count: 2 }],
    ["device=0", { kind: "named", names: ["0"] }],
    ["1,0", { kind: "named", names: ["0", "1"] }],
  ])("%s", (text, wish) => expect(gpuWish(host, text)).toEqual(wish));

  it("may not be 0, which has two meanings, nor a GPU that is not there", () => {
    expect(() => gpuWish(host, "0")).toThrow(expect.objectContaining({ code: "USAGE" }));
    expect(() => gpuWish(host, "device=7")).toThrow(expect.objectContaining({ code: "SELECTION_INVALID" }));
  });
});

describe("GPUs that a scheduler picks", () => {
  const units = (text: string) => {
    const choice = scheduledGpus(lock, host, text, "kubernetes", {});
    return choice.ok ? choice.units.length : choice;
  };
  it("are counted", () => {
    expect(units("2")).toBe(2);
    expect(units("none")).toBe(0);
    expect(units("3")).toMatchObject({ ok: false, wanted: 3 });
  });

  it("cannot be named", () => {
    expect(() => units("device=1")).toThrow(
      expect.objectContaining({
        code: "LAUNCH_UNSUPPORTED",
        message: expect.stringContaining("hand out the GPUs 1"),
      }),
    );
  });
});
