/** Opens built GPU images and compares the code in their program with what the lock says they need. */

import { readFile } from "node:fs/promises";
import { readGpuCode } from "./cuda-base.ts";
import type { GpuRows } from "./gpu-rows.ts";
import type { Workshop } from "./image.ts";

/** The part of the lock that this reads. */
interface LockPart {
  readonly repository: string;
  readonly images: Readonly<Record<string, LockedImagePart>>;
}

interface LockedImagePart {
  readonly axes: Readonly<Record<string, string>>;
  readonly digest: string | null;
  readonly requires: { readonly cuda: { readonly toolkit: string; readonly code: readonly string[] } | null };
}

/** Checks one image for every toolkit and compute capability of the lock. Throws when one holds anything else. */
export async function checkGpuCode(lockFile: string, gpu: GpuRows, workshop: Workshop): Promise<void> {
  const { repository, images } = JSON.parse(await readFile(lockFile, "utf8")) as LockPart;
  const seen = new Set<string>();
  for (const [cell, { axes, digest, requires }] of Object.entries(images)) {
    const kind = `${axes.cuda} ${axes.compute}`;
    const base = gpu.toolkits.get(requires.cuda?.toolkit ?? "")?.build;
    if (requires.cuda === null || digest === null || base === undefined || seen.has(kind)) continue;
    seen.add(kind);
    const code = await readGpuCode(`${repository}@${digest}`, "/usr/local/bin/sgemm", base, workshop);
    const wanted = [...requires.cuda.code].sort();
    if (code.join() !== wanted.join()) {
      throw new Error(`${cell} holds ${code.join(", ")}, and the lock says ${wanted.join(", ")}`);
    }
    workshop.context.say.line(`${cell.padEnd(32)} ${code.join(", ")}`);
  }
}
