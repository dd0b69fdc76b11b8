/** apk's database. Source: Alpine wiki, "Apk spec", `lib/apk/db/installed`: `P:` package, `m:` maintainer, `F:` folder, `R:` file, `Z:` its checksum. */

import type { PackageRecords } from "./package-records.ts";

const maintainers = /@(?:[\w-]+\.)*alpinelinux\.org>?\s*$/;

export function readApk(text: string): PackageRecords {
  const distribution: string[] = [];
  const packages: Record<string, Record<string, string>> = {};
  for (const paragraph of text.split(/\n\n+/)) {
    let name = "";
    let folder = "";
    let file = "";
    const files: Record<string, string> = {};
    for (const line of paragraph.split("\n")) {
      const value = line.slice(2);
      if (line.startsWith("P:")) name = value;
      else if (line.startsWith("F:")) folder = value;
      else if (line.startsWith("R:")) file = folder === "" ? value : `${folder}/${value}`;
      else if (line.startsWith("m:") && maintainers.test(value)) distribution.push(name);
      // `Q1` and the SHA-1 in base 64; of a link it is that of the target's path.
      else if (line.startsWith("Z:Q1") && file !== "")
        files[file] = `sha1:${Buffer.from(line.slice(4), "base64").toString("hex")}`;
    }
    if (name !== "") packages[name] = files;
  }
  return { distribution, files: packages };
}
