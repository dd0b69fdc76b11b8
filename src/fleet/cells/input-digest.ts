/**
 * The input digest: equal digests mean "the same image". It covers everything that goes into an image and nothing
 * else: not the time, the machine, the checkout path, the order of cells.
 */

import type { LockedInputs } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { compareFirst, sortedEntries } from "../../io/collections.ts";

/** Raised when the canonical form below changes. */
const inputFormat = "imgmatch-inputs/2";

/** `context` covers every path with its mode, content or link target. `builder` is the Dockerfile frontend. */
export interface BuildInputs extends LockedInputs {
  readonly platform: string;
  /** Every base image, by its reference in the Dockerfile. */
  readonly bases: readonly { readonly ref: string; readonly digest: Digest }[];
}

/** sha256 over the canonical JSON of the inputs: one array of fixed order, all lists sorted, texts as UTF-8. */
export function inputDigest(inputs: BuildInputs): Digest {
  const canonical = [
    inputFormat,
    inputs.dockerfile,
    inputs.context,
    sortedEntries(inputs.args),
    inputs.target,
    inputs.platform,
    inputs.bases.map(({ ref, digest }) => [ref, digest] as const).sort(compareFirst),
    inputs.builder,
    // Absent without a word, so that earlier images keep their digests.
    ...(inputs.rebuild === undefined ? [] : [inputs.rebuild]),
  ];
  return digestOf(JSON.stringify(canonical));
}

/** The part of an input digest that tags carry: 12 hexadecimal digits. */
export function shortDigest(digest: Digest): string {
  return digest.slice("sha256:".length, "sha256:".length + 12);
}
