/** An OCI layout on the disk, removed at the end of the test. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../../support/folders.ts";
import { layoutFiles, type MadeImage } from "./make-image.ts";

export function makeLayout(image: MadeImage): string {
  const folder = makeFolder({});
  for (const { path, content = "" } of layoutFiles(image)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}
