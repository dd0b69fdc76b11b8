/** Measures a plan and a build of 10,000 cells that are all built. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lock, LockedImage } from "../src/lock/lock.ts";
import type { PlanJson } from "../src/fleet/plan/plan-json.ts";
import { measure } from "./measure.ts";
import { line, seconds } from "./report.ts";

/** @param root a project of `large-matrix.ts`, whose bases are pinned */
export async function noOpOfManyCells(root: string, cells: number): Promise<void> {
  const first = await measure(["plan", "--offline", "--json"], root);
  writeFileSync(
    join(root, "images/imgmatch.lock.json"),
    JSON.stringify(lockOf(JSON.parse(first.stdout) as PlanJson)),
  );
  const plan = await measure(["plan", "--offline", "--check"], root);
  line(`plan of ${cells} locked cells`, `${seconds(plan.ms)}, ${plan.peakMiB} MiB at most`);
  const build = await measure(["build", "--push", "--offline"], root);
  if (!build.stderr.includes("nothing to build")) throw new Error(build.stderr);
  line(`no-op build --push of ${cells} cells`, `${seconds(build.ms)}, ${build.peakMiB} MiB at most`);
  const matrix = await measure(
    ["export", "github-matrix", "--offline", "--shards", "256", "--lock", "none.json"],
    root,
  );
  const { include } = JSON.parse(matrix.stdout) as { readonly include: readonly unknown[] };
  line(
    `export github-matrix of ${cells} cells`,
    `${seconds(matrix.ms)}, ${include.length} jobs, ${Math.round(matrix.stdout.length / 1024)} KiB`,
  );
}

/** The lock after a build and a push of every cell of the plan. */
export function lockOf({ name, version, repository, cells }: PlanJson): Lock {
  const digest = `sha256:${"cd".repeat(32)}` as const;
  const images = cells.flatMap(
    ({ cell, axes, platform, tag, inputDigest, requires, bases }): [string, LockedImage][] =>
      tag === null || inputDigest === null
        ? []
        : [
            [
              cell,
              {
                ...{ axes, platform, tag, inputDigest, digest, requires, builder: "bench", size: null },
                created: "2026-01-01T00:00:00.000Z",
                bases: bases.map(({ used, digest }) => ({
                  ref: used,
                  digest: digest ?? `sha256:${"0".repeat(64)}`,
                })),
              },
            ],
          ],
  );
  return { schemaVersion: 2, name, version, repository, images: Object.fromEntries(images) };
}
