/** The lock of docs/examples/vision: as a build would write it, but with stand-ins for the digests of images and bases. */

import { join } from "node:path";
import { isReady, lockedImageOf } from "../../../src/build/jobs.ts";
import { openFleet } from "../../../src/fleet/open-fleet.ts";
import { planOpenFleet } from "../../../src/fleet/plan-open-fleet.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";

const builtAt = "2025-11-03T08:00:00.000Z";

export async function sampleLock(folder: string): Promise<string> {
  const fleet = await openFleet(join(folder, "matrix.yaml"));
  const findBaseDigest = async (ref: string): Promise<Digest> => digestOf(ref);
  const { matrix, cells } = await planOpenFleet(fleet, { lock: null, findBaseDigest });
  const images = cells.filter(isReady).map((planned) => {
    const { id } = planned.cell;
    const digest = digestOf(id);
    const inputDigest = planned.inputDigest;
    const image = { id: digest, size: 412_000_000, digest: null };
    const built = { status: "built", how: "pushed", cell: id, inputDigest, digest, image } as const;
    return [
      id,
      lockedImageOf(
        planned,
        { ...built, log: null, durationMs: 0 } as never,
        { described: "docker 28.5.1", keeper: null },
        builtAt,
      ),
    ];
  });
  const { name, version, repository, digest: matrixDigest } = matrix;
  return formatLock({
    schemaVersion: 1,
    name,
    version,
    repository,
    matrixDigest,
    images: Object.fromEntries(images),
  });
}
