/** The lock of docs/examples/vision: as a build would write it, but with stand-ins for the digests of images and bases. */

import { join } from "node:path";
import { lockEntryOf } from "../../../src/fleet/engines/built-cell.ts";
import { isReady } from "../../../src/fleet/engines/jobs.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import type { Cell } from "../../../src/fleet/cells/cell.ts";

/** Images of one base share its layers, and those of one toolkit and Python the packages on it. */
function figuresOf({ id, axes }: Cell) {
  const cuda = axes.cuda ?? "none";
  const isGpu = cuda !== "none";
  const layers: [string, number][] = [
    [`system ${cuda}`, isGpu ? 29_700_000 : 28_200_000],
    ...(isGpu ? [[`toolkit ${cuda}`, 98_000_000] as [string, number]] : []),
    [`packages ${cuda} ${axes.python}`, 37_000_000],
    [`application ${id}`, isGpu ? 12_400_000 : 9_100_000],
    [`configuration ${id}`, 9_400],
  ];
  const blobs = layers.map(([name, bytes]) => [digestOf(name).slice("sha256:".length).slice(0, 16), bytes]);
  return { blobs: Object.fromEntries(blobs) as Record<string, number>, buildMs: isGpu ? 412_000 : 138_000 };
}

const builtAt = "2025-11-03T08:00:00.000Z";

export async function sampleLock(folder: string): Promise<string> {
  const fleet = await openFleet(join(folder, "matrix.yaml"));
  const findBaseDigest = async (ref: string): Promise<Digest> => digestOf(ref);
  const { matrix, cells } = await planFleet(fleet, { lock: null, findBaseDigest });
  const images = cells.filter(isReady).map((planned) => {
    const { id } = planned.cell;
    const digest = digestOf(id);
    const image = { id: digest, size: 412_000_000, digest: null };
    const manifest = null;
    const built = { digest, manifest, image, measured: null, ...figuresOf(planned.cell) };
    return [id, lockEntryOf(planned, built, { described: "docker 28.5.1", localEngine: null }, builtAt)];
  });
  const { name, version, repository } = matrix;
  return formatLock({
    schemaVersion: 2,
    name,
    version,
    repository,
    images: Object.fromEntries(images),
  });
}
