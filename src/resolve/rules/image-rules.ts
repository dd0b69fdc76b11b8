/** Rules that no host changes: the user asks for the image, its requirement is understood, and some place has it. */

import type { Requirement } from "../../lock/requirement.ts";
import { unknownNeeds } from "../../lock/parse-requirement.ts";
import { byHand, listSome, misfit } from "../misfit.ts";
import { checkPins } from "../pins.ts";
import { canBeHad, type FitOptions, pinTextOf } from "../resolve-options.ts";
import type { Misfit } from "../verdict.ts";
import { sideOf } from "./gpu-side.ts";
import type { ImageToFit } from "./rule.ts";

type ImageRule = (image: ImageToFit, options: FitOptions) => Misfit | null;

const pinsRule: ImageRule = ({ axes }, { pins }) => (pins === undefined ? null : checkPins(axes, pins));

const kindRule: ImageRule = ({ requires }, { cpuOnly, requireGpu }) => {
  const needsGpus = sideOf(requires) !== "cpu";
  if (needsGpus && cpuOnly === true)
    return misfit("PIN_MISMATCH", "needs a GPU, and the CPU alone is asked for (--cpu)", [
      { text: "leave --cpu out", remedy: { kind: "option", leaveOut: "cpuOnly" } },
    ]);
  if (needsGpus || requireGpu !== true) return null;
  return misfit("PIN_MISMATCH", "has no GPU code, and an image with GPU code is asked for (--require-gpu)", [
    { text: "leave --require-gpu out", remedy: { kind: "option", leaveOut: "requireGpu" } },
  ]);
};

/** No rule judges such an accelerator, so only a word of the user chooses it. */
const acceleratorRule: ImageRule = ({ requires: { accelerator }, axes: { accel } }, { pins }) => {
  if (accelerator == null) return null;
  const pin = pinTextOf(pins, "accel");
  // A pattern that happens to match does not name it.
  if (pin !== undefined && pin === accel) return null;
  return misfit("PIN_MISMATCH", `is for ${accelerator}, which nobody judges: no rule chooses it`, [
    accel === undefined
      ? byHand("take it by hand: it has no axis accel that could be pinned")
      : {
          text: `ask for it by its name: --pin accel=${accel}`,
          remedy: { kind: "pins", set: { accel }, drop: [] },
        },
  ]);
};

const deprecatedRule: ImageRule = ({ deprecated }, { notDeprecatedOn: day }) =>
  day === undefined || deprecated === undefined || deprecated > day
    ? null
    : misfit(
        "DEPRECATED",
        `is deprecated since ${deprecated}, and --no-deprecated asks for one that is not`,
        [byHand("pin values that are not deprecated, or leave --no-deprecated out")],
      );

const understoodRule: ImageRule = ({ requires }) => checkUnderstood(requires);

/** Nobody can say whether a host meets a need that this imgmatch does not know. */
export function checkUnderstood(requires: Requirement): Misfit | null {
  const unknown = unknownNeeds(requires);
  return unknown.length === 0
    ? null
    : misfit(
        "REQUIREMENT_UNKNOWN",
        `this imgmatch does not know ${listSome(unknown, 3)} of its requirement: a newer imgmatch may have written it`,
        "update imgmatch, or correct it where it is written and publish again",
      );
}

const builtRule: ImageRule = (image, options) => {
  if (canBeHad(image, options.local)) return null;
  const { local } = image;
  const remedy = { kind: "build" } as const;
  if (local === undefined)
    return misfit("NOT_BUILT", "has no digest in the lock: it was never built", [
      { text: "run imgmatch build", remedy },
    ]);
  return options.local === undefined
    ? misfit(
        "NOT_PUSHED",
        `was built and not pushed: ${local.engine} has it on the machine of the build alone`,
        [{ text: "push it (imgmatch build --push)", remedy }, byHand("on that machine, ask with --local")],
      )
    : misfit("NOT_PUSHED", `was built and not pushed, and ${local.engine} on this machine does not have it`, [
        { text: "build it here (imgmatch build)", remedy },
      ]);
};

/** In the order in which they are asked. */
export const imageRules: readonly ImageRule[] = [
  pinsRule,
  kindRule,
  acceleratorRule,
  deprecatedRule,
  understoodRule,
  builtRule,
];
