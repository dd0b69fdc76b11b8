/** The smallest context in which a `RUN` works: a static busybox, and `/bin/sh` as a link to it. */

import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ContextEntry } from "../../../src/fleet/context/context.ts";
import { contextEntries } from "../../support/context-entries.ts";
import { whyNot } from "../../support/programs.ts";

export const busybox = "/bin/busybox";

/** null when there is one, else what to install. */
export const whyNoBusybox: string | null = whyNot(busybox, ["true"], {
  install: "apt-get install busybox-static",
});

export interface BusyboxContext {
  readonly folder: string;
  /** The files inside, sorted by path. */
  readonly files: readonly ContextEntry[];
  remove(): Promise<void>;
}

/** Files of `more` (path → text) lie beside `bin/busybox` and `bin/sh`. */
export async function makeBusyboxContext(
  more: Readonly<Record<string, string>> = {},
): Promise<BusyboxContext> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-context-"));
  await addBusybox(folder);
  for (const [path, text] of Object.entries(more)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return {
    folder,
    files: contextEntries(folder, ["bin/busybox", "bin/sh", ...Object.keys(more)].sort()),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** `bin/busybox` and `bin/sh` in a folder that is there. */
export async function addBusybox(folder: string): Promise<void> {
  await mkdir(join(folder, "bin"), { recursive: true });
  await copyFile(busybox, join(folder, "bin/busybox"));
  await symlink("busybox", join(folder, "bin/sh"));
}
