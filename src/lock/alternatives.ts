/** Splits an image that carries several variants of a kind: each part carries one variant. */

import { type Measured, type Requirement, type Side, sidesOf, withSide } from "./requirement.ts";
import { remember } from "../io/collections.ts";
import { measuredOf } from "./needed-requirement.ts";
import { unknownNeeds } from "./parse-requirement.ts";

interface Several {
  readonly requires: Requirement;
  readonly measured?: Measured;
}

const known = new WeakMap<object, readonly object[]>();

/** Best first; the image itself if it carries one of each. The same image gives the same objects. */
export function alternativesOf<Image extends Several>(image: Image): readonly Image[] {
  const sides = sidesOf(image.requires);
  const several = [image.requires.cpu, ...sides.map(({ needs }) => needs)].some(({ or }) => or !== undefined);
  if (!several && sides.length < 2) return [image];
  // An alternative with an unknown key may ask for anything.
  if (unknownNeeds(image.requires).length > 0) return [image];
  return remember(known, image, () => singles(image, sides)) as readonly Image[];
}

function singles<Image extends Several>(image: Image, sides: readonly Side[]): readonly Image[] {
  const { cpu } = image.requires;
  const cpus = [alone(cpu), ...(cpu.or ?? [])];
  const gpus = sides.flatMap(({ vendor, needs }) =>
    [alone(needs), ...(needs.or ?? [])].map((one) => ({ vendor, needs: one }) as Side),
  );
  return (gpus.length === 0 ? [null] : gpus).flatMap((gpu) =>
    cpus.map((oneCpu) => imageAs(image, withSide({ ...image.requires, cpu: oneCpu }, gpu))),
  );
}

/** The image as one of the alternatives. What the files together do not use says nothing of one variant. */
export function imageAs<Image extends Several>(image: Image, requires: Requirement): Image {
  return { ...image, ...(image.measured && { measured: measuredOf(image) }), requires };
}

function alone<One extends { readonly or?: unknown }>({ or: _, ...one }: One): Omit<One, "or"> {
  return one;
}

/** The image's own names for its parts: `cuda_v12`, `haswell`. Empty for an image without alternatives. */
export function chosenNames(requires: Requirement): readonly string[] {
  return [...sidesOf(requires).map(({ needs }) => needs.by), requires.cpu.by].filter(
    (name) => name !== undefined,
  );
}
