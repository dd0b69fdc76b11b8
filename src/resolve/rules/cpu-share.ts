/** The share of a host's CPU that an image counts with. No answer refuses. */

import { builtFor } from "../built-for.ts";
import { type ImageToFit, rule } from "./rule.ts";

export const builtForRule = rule({
  image: (image): Pick<ImageToFit, "platform" | "requires" | "measured"> => image,
  imageKey: ({ platform, requires, measured }) => [platform, requires.cpu, measured],
  asks: ["features"],
  answer: (image, { features }) => builtFor(image, features ?? new Set()),
});
