/** The images of a Pulumi program, opened once they are there: what their files showed stands in the lock that it gives. */

import type { Measured } from "../lock/lock.ts";
import { measuredOf } from "../lock/needed-requirement.ts";
import { parseImageReference, withDigest } from "../oci/reference.ts";
import { wholeMessage } from "../errors.ts";
import type { ReadyCell } from "../fleet/build/jobs.ts";
import type { PreparedFleet, PublishedImage } from "./prepare-stack.ts";
import { withoutStack } from "./events.ts";

/** The lock's facts about an image of the stack. */
export interface MadeImage {
  /** null in the engine alone. */
  readonly digest: PublishedImage["digest"] | null;
  readonly manifest: PublishedImage["manifest"];
  readonly blobs: PublishedImage["blobs"];
  /** null where nobody has opened it. */
  readonly measured: Measured | null;
}

export const nothing: MadeImage = { digest: null, manifest: null, blobs: null, measured: null };

/**
 * Opens an image after the provider has built it and, where it pushes, published it: its one step does both. The answer throws
 * `AUDIT_…` for a lie, so that the program ends without references and without a lock; tag and resource are there then.
 *
 * The lock's measurement of the same image counts, if it has one.
 */
export function imageOpener(
  { plan, examiner }: PreparedFleet,
  warn: (text: string) => void,
): (planned: ReadyCell, published: PublishedImage | null) => Promise<MadeImage> {
  const { repository } = plan.matrix;
  const signal = new AbortController().signal;
  return async (planned, published) => {
    const image: MadeImage = { ...nothing, ...published };
    if (examiner === null) return image;
    const { locked } = planned;
    const known = published !== null && locked?.digest === published.digest ? measuredOf(locked) : undefined;
    if (known !== undefined) return { ...image, measured: known };
    const name = `${repository}:${planned.tag}`;
    const subject =
      published === null
        ? { id: name, size: null }
        : withDigest(parseImageReference(repository), published.digest);
    const found = await examiner
      .examine({ cell: planned.cell.id, image: subject }, { signal, onLog: () => {} })
      .catch((error: unknown) => {
        throw withoutStack(error);
      });
    for (const { code, message, details } of found.warnings)
      warn(`${planned.cell.id}: ${code}: ${wholeMessage({ message, details: details ?? [] })}`);
    return { ...image, measured: found.measured };
  };
}
