/** Writes and reads the annotations of one image in a fleet's index. */

import { isRecord, readJson, text } from "../io/json.ts";
import { doubledKeys, sayDoubled } from "../io/json-keys.ts";
import type { Measured, Requirement } from "./requirement.ts";
import { declaredRequirement, measuredOf, neededRequirement } from "./needed-requirement.ts";
import { canonical } from "../io/canonical-json.ts";
import type { ManifestDescriptor } from "../oci/descriptor.ts";
import type { IndexEntry } from "./fleet-index.ts";

export const entryAnnotations = {
  cell: "dev.imgmatch.cell",
  axes: "dev.imgmatch.axes",
  /** The requirement less what the files do not use. A reader that ignores {@link entryAnnotations.measured} is right, too. */
  requires: "dev.imgmatch.requires",
  /** Only if the image was opened. It restores the declared requirement. */
  measured: "dev.imgmatch.measured",
  /** Only if others built the image: its CPU requirement is estimated or stated. */
  adopted: "dev.imgmatch.adopted",
  /** Only if the image is deprecated: the day. The one row of a published index that changes. */
  deprecated: "dev.imgmatch.deprecated",
  /** Only if the image asks the host before its program starts. */
  guard: "dev.imgmatch.guard",
  inputs: "dev.imgmatch.inputs",
  tag: "dev.imgmatch.tag",
  /** The true platform, `linux/amd64`: the entry's own `platform` says which runtimes may take it. */
  platform: "dev.imgmatch.platform",
  /** The lock's digest, if that is an index and the entry names the image inside. */
  digest: "dev.imgmatch.digest",
} as const;

export function annotationsOf(cell: string, { image, descriptor }: IndexEntry): Record<string, string> {
  const measured = measuredOf(image);
  const { adopted } = image;
  return {
    ...(adopted === undefined ? {} : { [entryAnnotations.adopted]: JSON.stringify(canonical(adopted)) }),
    [entryAnnotations.axes]: JSON.stringify(canonical(image.axes)),
    [entryAnnotations.cell]: cell,
    ...(image.deprecated === undefined ? {} : { [entryAnnotations.deprecated]: image.deprecated }),
    ...(image.digest === descriptor.digest ? {} : { [entryAnnotations.digest]: image.digest }),
    ...(image.guard ? { [entryAnnotations.guard]: "true" } : {}),
    [entryAnnotations.inputs]: image.inputDigest,
    ...(measured === undefined ? {} : { [entryAnnotations.measured]: JSON.stringify(canonical(measured)) }),
    [entryAnnotations.platform]: image.platform,
    [entryAnnotations.requires]: JSON.stringify(canonical(neededRequirement(image))),
    [entryAnnotations.tag]: image.tag,
  };
}

export type ReadEntry =
  | { readonly ok: true; readonly cell: string; readonly image: IndexEntry["image"] }
  | { readonly ok: false; readonly why: string };

/** Reads an entry and checks nothing but its JSON: `parseFleetIndex` checks all entries together. */
export function readEntry(
  notes: Readonly<Record<string, unknown>>,
  descriptor: ManifestDescriptor,
): ReadEntry {
  const cell = text(notes[entryAnnotations.cell]) ?? "";
  const json: Record<string, unknown> = {};
  const { axes, requires, measured, adopted } = entryAnnotations;
  const present = [measured, adopted].filter((key) => notes[key] !== undefined);
  for (const key of [axes, requires, ...present]) {
    const source = text(notes[key]) ?? "";
    const reading = readJson(source);
    if (!reading.ok) return { ok: false, why: `${key} of ${cell} is not JSON` };
    const [doubled] = doubledKeys(source, reading);
    if (doubled !== undefined) return { ok: false, why: `${key} of ${cell}: ${sayDoubled(doubled)}` };
    json[key] = reading.value;
  }
  const image = {
    axes: json[axes],
    platform: notes[entryAnnotations.platform],
    tag: notes[entryAnnotations.tag],
    inputDigest: notes[entryAnnotations.inputs],
    digest: notes[entryAnnotations.digest] ?? descriptor.digest,
    requires: declaredBy(json[requires], json[measured]),
    ...(json[measured] === undefined ? {} : { measured: json[measured] }),
    ...(notes[entryAnnotations.guard] === "true" ? { guard: true } : {}),
    ...(json[adopted] === undefined ? {} : { adopted: json[adopted] }),
    ...(notes[entryAnnotations.deprecated] === undefined
      ? {}
      : { deprecated: notes[entryAnnotations.deprecated] }),
  } as unknown as IndexEntry["image"];
  return { ok: true, cell, image };
}

/** The declared requirement. A value of another form stays, so that the check names it. */
function declaredBy(requires: unknown, measured: unknown): unknown {
  const unused = isRecord(measured) && isRecord(measured.cpu) ? measured.cpu.unused : null;
  const features = isRecord(requires) && isRecord(requires.cpu) ? requires.cpu.features : null;
  return Array.isArray(unused) && Array.isArray(features)
    ? declaredRequirement(requires as Requirement, measured as Measured)
    : requires;
}
