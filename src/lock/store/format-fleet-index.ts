/** Writes a fleet's index as bytes: first the images for all runtimes, then the images for imgmatch alone. */

import { canonical } from "../../io/canonical-json.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { indexTypes } from "../../oci/media-types.ts";
import { compareFirst } from "../../io/collections.ts";
import type { Manifest } from "../../oci/descriptor.ts";
import { annotationsOf } from "../entry-annotations.ts";
import {
  annotations,
  type FleetIndex,
  type IndexEntry,
  indexFormat,
  type ShownImage,
} from "../fleet-index.ts";

export interface FormattedIndex {
  readonly top: Manifest;
  /** Indexes that `top` refers to. They must be in the registry before it. */
  readonly parts: readonly Manifest[];
}

// Registries take manifests of up to 4 MiB. The rest is room for the entries of the parts.
const longestIndex = 4 * 1024 * 1024 - 64 * 1024;

/** As BuildKit marks its attestations: no runtime takes such an entry for an image. */
const hidden = "unknown/unknown";

/**
 * Equal fleets are equal bytes. A fleet that is too large for one manifest is divided into parts.
 *
 * @param shown the images that runtimes see, in this order
 */
export function formatFleetIndex(
  index: FleetIndex,
  shown: readonly ShownImage[],
  { maxBytes = longestIndex }: { readonly maxBytes?: number | undefined } = {},
): FormattedIndex {
  const { name, version, repository, tag, prefer, plainPull } = index;
  const texts = inOrder(index, shown).map(([cell, entry, platform]) =>
    JSON.stringify(descriptorOf(entry.descriptor, platform, annotationsOf(cell, entry))),
  );
  const [first = [], ...rest] = chunks(texts, maxBytes);
  const head = {
    [annotations.format]: indexFormat,
    [annotations.title]: name,
    [annotations.version]: version,
    ...(repository === null ? {} : { [annotations.repository]: repository }),
    ...(tag === null ? {} : { [annotations.tag]: tag }),
    ...(prefer.length === 0 ? {} : { [annotations.prefer]: JSON.stringify(prefer) }),
    ...(plainPull && { [annotations.plainPull]: plainPull }),
  };
  const parts = rest.map((chunk, number) =>
    manifestOf(chunk, { ...head, [annotations.part]: String(number + 1) }),
  );
  const named = parts.map((part) => JSON.stringify(descriptorOf(part, hidden, { [annotations.part]: "" })));
  return { top: manifestOf([...first, ...named], head), parts };
}

/** Entries with the platform that each shows. Runtimes take the first that matches, so the images for them go first. */
function inOrder(
  index: FleetIndex,
  shown: readonly ShownImage[],
): readonly (readonly [cell: string, IndexEntry, platform: string])[] {
  const rest = new Map([...index.entries].sort(compareFirst));
  const listed = shown.flatMap(({ cell, platform }) => {
    const entry = cell === null ? undefined : rest.get(cell);
    if (cell === null || entry === undefined) return [];
    rest.delete(cell);
    return [[cell, entry, platform] as const];
  });
  return [...listed, ...[...rest].map(([cell, entry]) => [cell, entry, hidden] as const)];
}

function descriptorOf(
  { mediaType, digest, size }: IndexEntry["descriptor"],
  shown: string,
  notes: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const [os, architecture, variant] = shown.split("/");
  const platform = { architecture, os, ...(variant === undefined ? {} : { variant }) };
  return { mediaType, digest, size, platform, annotations: notes };
}

function manifestOf(entries: readonly string[], notes: Readonly<Record<string, string>>): Manifest {
  const mediaType = indexTypes.oci;
  const head = `{"schemaVersion":2,"mediaType":${JSON.stringify(mediaType)},"manifests":[`;
  const bytes = Buffer.from(
    `${head}${entries.join(",")}],"annotations":${JSON.stringify(canonical(notes))}}`,
  );
  return { mediaType, digest: digestOf(bytes), size: bytes.byteLength, bytes };
}

function chunks(texts: readonly string[], maxBytes: number): string[][] {
  const result: string[][] = [[]];
  let room = maxBytes;
  for (const text of texts) {
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes > room && result.at(-1)?.length !== 0) {
      result.push([]);
      room = maxBytes;
    }
    result.at(-1)?.push(text);
    room -= bytes;
  }
  return result;
}
