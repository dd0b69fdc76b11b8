import { describe, expect, it } from "vitest";
import { gpuWish, scheduledGpus } from "../../../src/node/launch/choose-gpus.ts";
import { a100, amdHost, gpuHost, h100, mi300x } from "../../resolve/support/hosts.ts";
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

describe("--gpus of a launch with AMD GPUs", () => {
  const amd = amdHost([mi300x, { ...mi300x, integrated: true }]);
  const names = (facts: typeof host, text: string) => {
    const wish = gpuWish(facts, text);
    return wish.kind === "named" ? wish.names : wish;
  };

  it("names them by number and by uuid, that of a processor too", () => {
    expect(names(amd, "device=0")).toEqual(["0"]);
    expect(names(amd, "1,0")).toEqual(["0", "1"]);
    expect(names(amd, "GPU-0000000000000001")).toEqual(["1"]);
    expect(() => names(amd, "device=2")).toThrow(
      expect.objectContaining({ code: "SELECTION_INVALID", message: expect.stringContaining("0000001)") }),
    );
  });

  it("tells two vendors apart, and refuses GPUs of both", () => {
    const both = { ...host, amd: amd.amd };
    expect(names(both, "device=0")).toEqual(["0"]);
    expect(names(both, "amd:0,amd:1")).toEqual(["amd:0", "amd:1"]);
    expect(names(both, "GPU-0000000000000001")).toEqual(["amd:1"]);
    expect(() => names(both, "0,amd:0")).toThrow(/USAGE.*two vendors/s);
    expect(() => names(both, "amd:2")).toThrow(expect.objectContaining({ code: "SELECTION_INVALID" }));
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

  it("are those of one vendor", () => {
    const both = { ...host, amd: amdHost([mi300x, mi300x, mi300x]).amd };
    const choice = scheduledGpus(lock, both, undefined, "kubernetes", {});
    expect(choice.ok && choice.units.map(({ name }) => name)).toEqual(["0", "1"]);
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
