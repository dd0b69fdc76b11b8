/** Rules: the image is one that the user asks for, by pins, by `--cpu` or `--require-gpu`, or by the name of its accelerator. */

import { misfit } from "../misfit.ts";
import { checkPins } from "../pins.ts";
import { pinTextOf } from "../resolve-options.ts";
import { sideOf } from "./gpu-side.ts";
import type { ImageRule } from "./rule.ts";

export const pinsRule: ImageRule = ({ axes }, { pins }) =>
  pins === undefined ? null : checkPins(axes, pins);

export const kindRule: ImageRule = ({ requires }, { cpuOnly, requireGpu }) => {
  const hasGpuCode = sideOf(requires) !== "cpu";
  if (hasGpuCode && cpuOnly === true)
    return misfit("PIN_MISMATCH", "has GPU code, an image without is asked for (--cpu)", [
      { text: "leave --cpu out", remedy: { kind: "option", leaveOut: "cpuOnly" } },
    ]);
  if (hasGpuCode || requireGpu !== true) return null;
  return misfit("PIN_MISMATCH", "has no GPU code, an image with is asked for (--require-gpu)", [
    { text: "leave --require-gpu out", remedy: { kind: "option", leaveOut: "requireGpu" } },
  ]);
};

/** No rule judges such an accelerator, so only a word of the user chooses it. */
export const acceleratorRule: ImageRule = ({ requires: { accelerator }, axes: { accel } }, { pins }) => {
  if (accelerator == null) return null;
  const pin = pinTextOf(pins, "accel");
  // A pattern that happens to match does not name it.
  if (pin !== undefined && (pin === accelerator || pin === accel)) return null;
  return misfit("PIN_MISMATCH", `is for ${accelerator}, which nobody judges: no rule chooses it`, [
    accel === undefined
      ? { text: "take it by hand: it has no axis accel that could be pinned", remedy: null }
      : {
          text: `ask for it by its name: --pin accel=${accel}`,
          remedy: { kind: "pins", set: { accel }, drop: [] },
        },
  ]);
};
