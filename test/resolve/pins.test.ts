import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { compilePins, parsePins } from "../../src/resolve/pins.ts";
import { rankImages, resolveImage } from "../../src/resolve/resolve-image.ts";
import { cpuHost } from "./support/hosts.ts";
import { image, lockOf } from "./support/locks.ts";

const matches = async (pin: string, value: string) => (await compilePins({ axis: pin })).axis?.matches(value);

describe("pins", () => {
  it.each([
    ["1.12.0", "1.12.0", true],
    ["1.12", "1.12.0", true],
    ["1.1", "1.12.0", false],
    ["9.0", "9.0+ptx", false],
    ["9.0+ptx", "9.0+ptx", true],
    ["x86-64-*", "x86-64-v3", true],
    ["x86-64-*", "broadwell", false],
    ["*", "anything", true],
    ["1.*.0", "1x12x0", false],
    [">=12.4", "12.8.1", true],
    [">=12.4", "12.10.0", true],
    [">=12.4 <13", "13.0.2", false],
    ["^12.4", "12.8", true],
    ["~12.4", "12.8", false],
    ["11.8 || 12.8", "12.8.1", true],
    [">=12.4", "none", false],
    [">=470.57", "470.57.02", true],
  ])("%s on %s: %s", async (pin, value, expected) => {
    expect(await matches(pin, value)).toBe(expected);
  });

  it("refuses a range that is none", async () => {
    await expect(compilePins({ cuda: ">=new" })).rejects.toThrow(ImgmatchError);
  });

  const lock = lockOf({
    py311: image({ axes: { cuda: "none", march: "x86-64-v3", python: "3.11" } }),
    py312: image({ axes: { cuda: "none", march: "x86-64-v3", python: "3.12" } }),
    bare: image(),
  });

  it("choose among images that the host does not tell apart", () => {
    const { match, rejected } = resolveImage(lock, cpuHost(), { pins: { python: "3.12" } });
    expect(match?.cell).toBe("py312");
    expect(rejected).toEqual([
      {
        cell: "bare",
        code: "PIN_MISMATCH",
        message: "python=3.12 is asked for, it has no python",
        fix: "leave the pin of python out",
      },
      {
        cell: "py311",
        code: "PIN_MISMATCH",
        message: "python=3.12 is asked for, it is python=3.11",
        fix: "pin python=3.11 or leave the pin out",
      },
    ]);
  });

  it("take compiled ranges in the synchronous call", async () => {
    const pins = await compilePins({ python: ">=3.11 <3.12" });
    expect(rankImages(lock, cpuHost(), { pins }).ranked.map(({ cell }) => cell)).toEqual(["py311"]);
    expect(() => resolveImage(lock, cpuHost(), { pins: { python: ">=3.11" } })).toThrow(/is a range/);
  });

  it("on an axis that no image has are an error that lists the axes", () => {
    const call = () => resolveImage(lock, cpuHost(), { pins: { pyhton: "3.12" } });
    expect(call).toThrow(expect.objectContaining({ code: "PIN_UNKNOWN", exitCode: 2 }));
    expect(call).toThrow("pin one of: cuda, march, python");
  });
});

describe("axis=value", () => {
  it("is read up to the first sign of equality", () => {
    expect(parsePins(["cuda=>=12.4", "python=3.12", "python=3.12"])).toEqual({
      cuda: ">=12.4",
      python: "3.12",
    });
  });

  it.each([[["python"]], [["=3.12"]], [["python="]], [["python=3.12", "python=3.11"]]])(
    "%j is refused",
    (texts) => {
      expect(() => parsePins(texts)).toThrow(expect.objectContaining({ code: "USAGE" }));
    },
  );
});
