/** Tests the lock's entry of a cell that was just built: its size in the registry, and the time of its first build. */

import { expect, it } from "vitest";
import { lockEntryOf } from "../../../src/fleet/engines/built-cell.ts";
import type { ReadyCell } from "../../../src/fleet/engines/jobs.ts";
import type { LockedImage } from "../../../src/lock/lock.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";

const inputDigest = digestOf("inputs");

function locked(
  buildMs: number | null,
  before: Partial<LockedImage> | null = null,
  opened: Pick<LockedImage, "code"> = {},
): LockedImage {
  const cell = { id: "a", axes: {}, platform: "linux/amd64", requires: {}, settings: {} };
  const planned = { cell, tag: "a", inputDigest, bases: [], inputs: null, locked: before };
  const built = {
    digest: digestOf("a"),
    manifest: null,
    blobs: { ab: 12 },
    buildMs,
    image: null,
    measured: null,
    ...opened,
  };
  const builder = { described: "docker 28", localEngine: null };
  return lockEntryOf(planned as unknown as ReadyCell, built, builder, "2026-01-01T00:00:00Z");
}

it("has whole seconds, and no build takes none", () => {
  expect([locked(61_200).buildSeconds, locked(3).buildSeconds]).toEqual([62, 1]);
  expect(locked(3).blobs).toEqual({ ab: 12 });
});

it("has the bytes of its code where it was opened", () => {
  const code = { torch: { sm_80: 5 } };
  expect(locked(3, null, { code }).code).toEqual(code);
});

it("says nothing where nothing is known", () => {
  expect(locked(null)).not.toHaveProperty("code");
  expect(Object.keys(locked(null))).not.toContain("buildSeconds");
});

it("keeps the time of the first build of the same inputs: what comes after has every step in the cache", () => {
  expect(locked(900, { inputDigest, buildSeconds: 600 }).buildSeconds).toBe(600);
  expect(locked(null, { inputDigest, buildSeconds: 600 }).buildSeconds).toBe(600);
  expect(locked(900, { inputDigest: digestOf("others"), buildSeconds: 600 }).buildSeconds).toBe(1);
});
