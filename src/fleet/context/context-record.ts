/** Keeps records of build contexts in `.imgmatch/contexts`, so that a later plan can name the files that have changed. */

import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { type BuildContext, type ContextEntry, describeContext } from "./context.ts";

/** The newest records that stay. */
const kept = 20;

/** Writes a record if it can. */
export async function recordContext(root: string, { entries, digest }: BuildContext): Promise<void> {
  try {
    const path = recordOf(root, digest);
    if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
    const text = describeContext(entries);
    if (text.length > inputLimits.contextRecord.bytes) return;
    await writeFileAtomic(path, text);
    dropOldest(join(root, ...folder));
  } catch {
    // The record is only a convenience: a full disk or a foreign folder must not fail the build.
  }
}

/** Reads the record of the context of this digest; null if this machine did not build with it. */
export async function recallContext(
  root: string,
  digest: Digest,
): Promise<readonly Omit<ContextEntry, "size">[] | null> {
  const text = await readTextFile(recordOf(root, digest), inputLimits.contextRecord).catch(() => null);
  // The digest is the text's own, so the text is the text that was written.
  if (text === null || digestOf(text) !== digest) return null;
  const entries = JSON.parse(text) as readonly (readonly [string, ContextEntry["kind"], number, string])[];
  return entries.map(([path, kind, mode, content]) => ({ path, kind, mode, content }));
}

const folder = [".imgmatch", "contexts"] as const;

function recordOf(root: string, digest: Digest): string {
  return join(root, ...folder, `${digest.slice("sha256:".length)}.json`);
}

function dropOldest(records: string): void {
  const found = readdirSync(records)
    .filter((name) => /^[0-9a-f]{64}\.json$/.test(name))
    .map((name) => ({ path: join(records, basename(name)), at: statSync(join(records, name)).mtimeMs }));
  for (const { path } of found.sort((one, other) => other.at - one.at).slice(kept)) rmSync(path);
}
