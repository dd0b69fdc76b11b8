/** Reads package databases: dpkg's status and lists of checksums, apt's sources, apk's list, rpm's databases, Python's `WHEEL` and `RECORD`, conda's lists. */

import { posix } from "node:path";
import type { InstalledPackage, PackageRecords } from "./unchanged-files.ts";
import { remember } from "../../io/collections.ts";
import { coreRelease, type L4tRecord, sourceReleases } from "../nvidia/l4t-release.ts";
import { bdbHeaders, ndbHeaders } from "./rpm/bdb.ts";
import { DamagedDatabase, readRpmHeader } from "./rpm/rpm-header.ts";
import { sqliteHeaders } from "./rpm/sqlite.ts";

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
      // `Q1` and the SHA-1 in base 64; for a link that of its target's path.
      else if (line.startsWith("Z:Q1") && file !== "")
        files[file] = `sha1:${Buffer.from(line.slice(4), "base64").toString("hex")}`;
    }
    if (name !== "") packages[name] = files;
  }
  return { distribution, files: packages };
}

/** Maintainers of Debian and Ubuntu, with their teams. Packages of others (NVIDIA, a company) are not the distribution's. */
const debians = /@(?:[\w-]+\.)*(?:debian\.(?:org|net)|ubuntu\.com|canonical\.com)>?\s*$/;

/**
 * dpkg's database. Sources: dpkg(1), `/var/lib/dpkg/status` and `info/*.md5sums`; deb-control(5), Maintainer. A list of checksums is named
 * `NAME` or, for packages of several architectures, `NAME:ARCHITECTURE`: both names are returned.
 */
function readDpkgStatus(text: string): PackageRecords {
  const distribution: string[] = [];
  const l4t: L4tRecord[] = [];
  for (const paragraph of text.split(/\n\n+/)) {
    l4t.push(...coreRelease(paragraph));
    const field = (name: string) => new RegExp(`^${name}: *(.*)$`, "m").exec(paragraph)?.[1]?.trim();
    const name = field("Package");
    if (name === undefined || !debians.test(field("Maintainer") ?? "")) continue;
    distribution.push(name, `${name}:${field("Architecture") ?? "all"}`);
  }
  return { distribution, files: {}, ...(l4t.length > 0 && { l4t }) };
}

/** Lines of `<32 digits>  <path>`. Documentation holds no code. */
function readMd5sums(text: string, name: string): PackageRecords {
  const files: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const [, md5, path] = /^([0-9a-f]{32}) [ *](.+)$/.exec(line) ?? [];
    if (md5 !== undefined && path !== undefined && !path.startsWith("usr/share/doc/"))
      files[path] = `md5:${md5}`;
  }
  return { distribution: [], files: { [name]: files } };
}

/** `WHEEL` in `NAME-VERSION.dist-info` (PyPA specifications, "Binary distribution format"). */
function readInstalledWheel(text: string, folder: string): PackageRecords {
  const tags = [...text.matchAll(/^Tag: *(\S+)/gm)].map(([, tag = ""]) => tag);
  const isForAny = tags.length > 0 && tags.every((tag) => tag.endsWith("-any"));
  return { distribution: [], files: {}, wheels: [{ folder, isForAny }] };
}

/** `RECORD` in `NAME-VERSION.dist-info` (PyPA specifications, "Recording installed projects"): CSV, the path first, quoted if it has a comma. */
function readRecord(text: string, path: string): PackageRecords {
  const { dir, base } = posix.parse(`/${path}`);
  const [name = "", version = ""] = base.split("-");
  const files = text.split("\n").flatMap((line) => {
    const [, quoted, plain] = /^(?:"((?:[^"]|"")*)"|([^,]*)),/.exec(line) ?? [];
    return quoted?.replaceAll('""', '"') ?? plain ?? [];
  });
  return { distribution: [], files: {}, installed: ofInstaller(name, version, dir.slice(1), files) };
}

/** `conda-meta/NAME-VERSION-BUILD.json` of a prefix (conda's documentation, "Packages"). */
function readConda(text: string, folder: string): PackageRecords {
  const none = { distribution: [], files: {} };
  try {
    const { name, version, files } = JSON.parse(text);
    if (typeof name !== "string" || typeof version !== "string" || !Array.isArray(files))
      return { ...none, unread: "not conda's list of a package's files" };
    const paths = files.filter((path) => typeof path === "string");
    return { ...none, installed: ofInstaller(name, version, folder, paths) };
  } catch {
    return { ...none, unread: "not JSON" };
  }
}

/** Modules of Python's text, of which an environment has most. */
const pythonText = /\.py[ci]?$/;

function ofInstaller(
  name: string,
  version: string,
  folder: string,
  files: readonly string[],
): InstalledPackage {
  return { name, version, folder, files: files.filter((path) => !pythonText.test(path)) };
}

/** A database of 20,000 packages has about 20 MB. A longer one is not read: its packages' files count as the image's own. */
const maxDatabase = 64 * 2 ** 20;

type Read = (bytes: Uint8Array, name: string) => PackageRecords;

const text =
  (read: (text: string, name: string) => PackageRecords): Read =>
  (bytes, name) =>
    read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"), name);

/** The folders of older distributions, of newer ones, and of those whose `/var` belongs to a machine. */
const rpmFolder = "(?:var/lib|usr/lib/sysimage|usr/share)/rpm";

const databases: readonly (readonly [RegExp, Read])[] = [
  // Distroless images have a status and a list for each package.
  [/^var\/lib\/dpkg\/(?:info|status\.d)\/([^/]+)\.md5sums$/, text(readMd5sums)],
  [/^var\/lib\/dpkg\/(?:status|status\.d\/[^/]+)$/, text(readDpkgStatus)],
  [
    /^etc\/apt\/sources\.list(?:\.d\/[^/]+\.list)?$/,
    text((sources) => ({ distribution: [], files: {}, l4t: sourceReleases(sources) })),
  ],
  [/^(?:usr\/)?lib\/apk\/db\/installed$/, text(readApk)],
  [/^(.+)-[^/-]+\.dist-info\/WHEEL$/, text(readInstalledWheel)],
  [/^(.+)\.dist-info\/RECORD$/, text(readRecord)],
  [/^(?:(.+)\/)?conda-meta\/[^/]+\.json$/, text(readConda)],
  [new RegExp(`^${rpmFolder}/rpmdb\\.sqlite$`), (bytes) => readRpm(bytes, "sqlite")],
  [new RegExp(`^${rpmFolder}/Packages\\.db$`), (bytes) => readRpm(bytes, "ndb")],
  [new RegExp(`^${rpmFolder}/Packages$`), (bytes) => readRpm(bytes, "bdb")],
];

/**
 * The reader of the database at a path without a leading slash; null for any other file. It does not ask for the content of a database that
 * is too long.
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

/** The vendors of distributions' own packages. Other builders write others ("Fedora Copr - user …", "obs://build.opensuse.org/…", NVIDIA). */
const vendors: ReadonlySet<string> = new Set([
  "AlmaLinux",
  "Amazon Linux",
  "CentOS",
  "Fedora Project",
  "openSUSE",
  "Oracle America",
  "Red Hat, Inc.",
  "Rocky Enterprise Software Foundation",
  "SUSE LLC <https://www.suse.com/>",
]);

const kinds = { sqlite: sqliteHeaders, ndb: ndbHeaders, bdb: bdbHeaders } as const;
/** For all paths together. A database has a folder's name once, and here it is part of every path. */
const maxNames = 64 * 2 ** 20;

type RpmDatabase = keyof typeof kinds;

/** A damaged database has no packages: their files count as the image's own. */
export function readRpm(bytes: Uint8Array, kind: RpmDatabase): PackageRecords {
  const distribution = new Set<string>();
  const files = new Map<string, Record<string, string>>();
  let names = 0;
  try {
    for (const blob of kinds[kind](bytes)) {
      const header = readRpmHeader(blob);
      if (header === null || header.name === "" || !vendors.has(header.vendor)) continue;
      distribution.add(header.name);
      const checksums = remember(files, header.name, (): Record<string, string> => ({}));
      for (const [path, checksum] of header.files()) {
        names += path.length + checksum.length;
        if (names > maxNames) throw new DamagedDatabase(`its names have more than ${maxNames} bytes`);
        // Documentation holds no code.
        if (!path.startsWith("usr/share/doc/") && !path.startsWith("usr/share/man/"))
          checksums[path] = checksum;
      }
    }
  } catch (error) {
    if (!(error instanceof DamagedDatabase)) throw error;
    return { distribution: [], files: {}, unread: error.message };
  }
  return { distribution: [...distribution], files: Object.fromEntries(files) };
}
