/** The rules that no host changes. A fleet's reasons are read by people and by other programs: text and remedy are both held. */

import { describe, expect, it } from "vitest";
import { checkFit } from "../../../src/resolve/check-fit.ts";
import { plainPins } from "../../../src/resolve/pins.ts";
import type { FitOptions } from "../../../src/resolve/resolve-options.ts";
import { a100, cpuHost, gpuHost } from "../support/hosts.ts";
import { cuda, gpuImage, image, requirement } from "../support/locks.ts";

const host = gpuHost([a100], "570.124.06", "12.8");
const gpuCell = gpuImage(cuda("12.8.1", ["sm_80"]));

const refused = (cell: Parameters<typeof checkFit>[0], options: FitOptions) => {
  const verdict = checkFit(cell, host, options);
  if (verdict.ok) throw new Error("it fits");
  return [verdict.code, verdict.cures.map(({ text, remedy }) => [text, remedy])];
};

describe("the kind that is asked for", () => {
  it("leaves the other out, and the word that asks for it is the cure", () => {
    expect(refused(gpuCell, { cpuOnly: true })).toEqual([
      "PIN_MISMATCH",
      [["leave --cpu out", { kind: "option", leaveOut: "cpuOnly" }]],
    ]);
    expect(refused(image(), { requireGpu: true })).toEqual([
      "PIN_MISMATCH",
      [["leave --require-gpu out", { kind: "option", leaveOut: "requireGpu" }]],
    ]);
    expect(checkFit(gpuCell, host, { requireGpu: true }).ok).toBe(true);
  });
});

describe("an accelerator that no rule judges", () => {
  const vulkan = (axes: Record<string, string>) =>
    image({ axes, requires: { ...requirement(null), accelerator: "vulkan" } });
  const pins = (accel: string) => ({ pins: plainPins({ accel }) });

  it.each([
    ["by the value of its axis", { accel: "vulkan-1.3" }, "vulkan-1.3"],
    ["by its name, where the axis has the same", { accel: "vulkan" }, "vulkan"],
  ])("is chosen %s", (_, axes, pin) => {
    expect(checkFit(vulkan(axes), cpuHost(), pins(pin)).ok).toBe(true);
  });

  it("is chosen by a word of the user alone, which the cure names", () => {
    expect(refused(vulkan({ accel: "vulkan-1.3" }), {})).toEqual([
      "PIN_MISMATCH",
      [
        [
          "ask for it by its name: --pin accel=vulkan-1.3",
          { kind: "pins", set: { accel: "vulkan-1.3" }, drop: [] },
        ],
      ],
    ]);
    // A pattern that happens to match does not name it, and neither does another axis.
    expect(refused(vulkan({ accel: "vulkan-1.3" }), pins("vulkan-*"))[0]).toBe("PIN_MISMATCH");
    expect(refused(vulkan({ accel: "vulkan-1.3" }), { pins: plainPins({}) })[0]).toBe("PIN_MISMATCH");
    expect(refused(vulkan({ gpu: "vulkan" }), {})).toEqual([
      "PIN_MISMATCH",
      [["take it by hand: it has no axis accel that could be pinned", null]],
    ]);
  });
});

describe("a deprecated image", () => {
  const old = image({ deprecated: "2026-06-01" });

  it.each([
    ["is taken where nobody minds", old, undefined, true],
    ["is taken before its day", old, "2026-05-31", true],
    ["is refused on its day", old, "2026-06-01", false],
    ["is refused after it", old, "2026-06-02", false],
    ["is none without a day", image(), "2026-06-02", true],
  ] as const)("%s", (_, cell, day, fits) => {
    expect(checkFit(cell, cpuHost(), day === undefined ? {} : { notDeprecatedOn: day }).ok).toBe(fits);
  });
});
