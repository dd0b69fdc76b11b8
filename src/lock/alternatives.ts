/** Splits an image that carries several of a kind into images that carry one of each. */

import type { Measured, Requirement } from "./requirement.ts";
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
  const { cpu, cuda, rocm } = image.requires;
  const several = [cpu.or, cuda?.or, rocm?.or].some((others) => others !== undefined);
  if (!several && (cuda === null || rocm == null)) return [image];
  // An alternative with an unknown key may ask for anything.
  if (unknownNeeds(image.requires).length > 0) return [image];
  return remember(known, image, () => singles(image)) as readonly Image[];
}

function singles<Image extends Several>(image: Image): readonly Image[] {
  const { cpu, cuda, rocm, ...others } = image.requires;
  const cpus = [alone(cpu), ...(cpu.or ?? [])];
  const cudas = cuda === null ? [] : [alone(cuda), ...(cuda.or ?? [])];
  const rocms = rocm == null ? [] : [alone(rocm), ...(rocm.or ?? [])];
  const gpus = [...cudas.map((one) => ({ cuda: one })), ...rocms.map((one) => ({ cuda: null, rocm: one }))];
  return (gpus.length === 0 ? [{ cuda: null }] : gpus).flatMap((gpu) =>
    cpus.map((oneCpu) => imageAs(image, { ...others, cpu: oneCpu, ...gpu })),
  );
}

/** The image as one of the alternatives. Features that its files together do not use say nothing of one variant. */
export function imageAs<Image extends Several>(image: Image, requires: Requirement): Image {
  return { ...image, ...(image.measured && { measured: measuredOf(image) }), requires };
}

function alone<One extends { readonly or?: unknown }>({ or: _, ...one }: One): Omit<One, "or"> {
  return one;
}

/** The image's own names for its parts: `cuda_v12`, `haswell`. Empty for an image without alternatives. */
export function chosenNames({ cpu, cuda, rocm }: Requirement): readonly string[] {
  return [cuda?.by, rocm?.by, cpu.by].filter((name) => name !== undefined);
}
