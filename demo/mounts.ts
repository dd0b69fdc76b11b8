/** Folders that an engine or debootstrap may have mounted something in. */

import { readFile, rm } from "node:fs/promises";
import { capture } from "./process.ts";

/** Unmounts whatever is mounted below a folder, then removes it. */
export async function removeTree(folder: string): Promise<void> {
  const table = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  const mounted = table
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point.startsWith(`${folder}/`))
    .sort((one, other) => other.length - one.length);
  for (const point of mounted) await capture(["umount", "--lazy", point]);
  // Never through a mount that would not go: that would delete what is mounted there.
  const after = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  if (after.includes(` ${folder}/`)) throw new Error(`something is still mounted below ${folder}`);
  await rm(folder, { recursive: true, force: true });
}
