/** Which files of an image belong to a package database: dpkg's status and lists of checksums, apk's list, rpm's databases. */

import { type RpmDatabase, readRpm } from "./rpm/rpm.ts";
import type { PackageRecords } from "./unchanged-files.ts";

const maintainers = /@(?:[\w-]+\.)*alpinelinux\.org>?\s*$/;

/** apk's database. Source: Alpine wiki, "Apk spec", `lib/apk/db/installed`: `P:` package, `m:` maintainer, `F:` folder, `R:` file, `Z:` its checksum. */
function readApk(text: string): PackageRecords {
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

/** Debian's and Ubuntu's own, their teams included. Others' packages (NVIDIA's, a company's) are not the distribution's. */
const debians = /@(?:[\w-]+\.)*(?:debian\.(?:org|net)|ubuntu\.com|canonical\.com)>?\s*$/;

/**
 * dpkg's database. Sources: dpkg(1), `/var/lib/dpkg/status` and `info/*.md5sums`; deb-control(5), Maintainer. `NAME` or, where several
 * architectures may be installed together, `NAME:ARCHITECTURE`: both are answered.
 */
function readDpkgStatus(text: string): PackageRecords {
  const distribution: string[] = [];
  for (const paragraph of text.split(/\n\n+/)) {
    const field = (name: string) => new RegExp(`^${name}: *(.*)$`, "m").exec(paragraph)?.[1]?.trim();
    const name = field("Package");
    if (name === undefined || !debians.test(field("Maintainer") ?? "")) continue;
    distribution.push(name, `${name}:${field("Architecture") ?? "all"}`);
  }
  return { distribution, files: {} };
}

/** Lines of `<32 digits>  <path>`. Documentation and the like holds no code. */
function readMd5sums(text: string, name: string): PackageRecords {
  const files: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const [, md5, path] = /^([0-9a-f]{32}) [ *](.+)$/.exec(line) ?? [];
    if (md5 !== undefined && path !== undefined && !path.startsWith("usr/share/doc/"))
      files[path] = `md5:${md5}`;
  }
  return { distribution: [], files: { [name]: files } };
}

/** A database of 20,000 packages has about 20 MB; what is longer is not read, so that its files count. */
const maxDatabase = 64 * 2 ** 20;

type Read = (bytes: Uint8Array, name: string) => PackageRecords;

const text =
  (read: (text: string, name: string) => PackageRecords): Read =>
  (bytes, name) =>
    read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"), name);

const rpm =
  (kind: RpmDatabase): Read =>
  (bytes) =>
    readRpm(bytes, kind);

/** Of older and newer distributions, and of those whose `/var` is a machine's own. */
const rpmFolder = "(?:var/lib|usr/lib/sysimage|usr/share)/rpm";

const databases: readonly (readonly [RegExp, Read])[] = [
  // Images without a shell have one status and one list for each package (distroless).
  [/^var\/lib\/dpkg\/(?:info|status\.d)\/([^/]+)\.md5sums$/, text(readMd5sums)],
  [/^var\/lib\/dpkg\/(?:status|status\.d\/[^/]+)$/, text(readDpkgStatus)],
  [/^(?:usr\/)?lib\/apk\/db\/installed$/, text(readApk)],
  [new RegExp(`^${rpmFolder}/rpmdb\\.sqlite$`), rpm("sqlite")],
  [new RegExp(`^${rpmFolder}/Packages\\.db$`), rpm("ndb")],
  [new RegExp(`^${rpmFolder}/Packages$`), rpm("bdb")],
];

/**
 * Reads the database file at a path of an image, without a leading slash, which has so many bytes; null for what is none. One that is too
 * long is not asked for its bytes.
 */
export function databaseReader(
  path: string,
  size: number,
): ((content: () => Promise<Uint8Array>) => Promise<PackageRecords>) | null {
  for (const [pattern, read] of databases) {
    const found = pattern.exec(path);
    if (found === null) continue;
    return async (content) =>
      size > maxDatabase
        ? { distribution: [], files: {}, unread: `longer than ${maxDatabase} bytes` }
        : read(await content(), found[1] ?? "");
  }
  return null;
}
