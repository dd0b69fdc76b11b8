/** rpm's databases: one that rpm wrote, and what is in it in the two formats that this machine's rpm does not write. */

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { openFromFolder } from "../../../src/inspect/image/from-folder.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { databaseReader, readRpm } from "../../../src/inspect/packages/databases.ts";
import { bdbHeaders, ndbHeaders } from "../../../src/inspect/packages/rpm/bdb.ts";
import { sqliteHeaders } from "../../../src/inspect/packages/rpm/sqlite.ts";
import { mutateBytes, randomFrom } from "../../hostile/mutate.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNot, whyNoVersion } from "../../support/programs.ts";

const whyNoRpm = whyNoVersion("rpmbuild", "apt-get install rpm");
const whyNoLoad = whyNot("db5.3_load", ["-V"], { install: "apt-get install db5.3-util" });
const program = "/bin/true";

/** So many files that their names go on in other pages of the database. */
const spec = (name: string, vendor: string) => `Name: ${name}
Version: 1
Release: 1
Summary: x
License: x
Vendor: ${vendor}
%description
x
%install
mkdir -p %{buildroot}/usr/bin %{buildroot}/usr/lib/${name}
cp ${program} %{buildroot}/usr/bin/${name}
for i in $(seq 400); do echo $i > %{buildroot}/usr/lib/${name}/a-name-that-is-rather-long-$i; done
%files
/usr/bin/${name}
/usr/lib/${name}
`;

/** As rpm writes one: numbers, or texts that end with a zero byte. */
function headerOf(tags: Readonly<Record<number, readonly (string | number)[]>>): Buffer {
  const word = (value: number) => Buffer.of(value >>> 24, value >>> 16, value >>> 8, value);
  const data: Buffer[] = [];
  const entries = Object.entries(tags).map(([tag, values]) => {
    const at = Buffer.concat(data).length;
    const isText = typeof values[0] === "string";
    for (const value of values)
      data.push(typeof value === "string" ? Buffer.from(`${value}\0`) : word(value));
    return Buffer.concat([word(Number(tag)), word(isText ? 8 : 4), word(at), word(values.length)]);
  });
  const store = Buffer.concat(data);
  return Buffer.concat([word(entries.length), word(store.length), ...entries, store]);
}

const packageOf = (name: string, folder: string, base: string) =>
  headerOf({
    1000: [name],
    1011: ["Fedora Project"],
    1035: ["0".repeat(64)],
    1116: [0],
    1117: [base],
    1118: [folder],
    5011: [8],
  });

/** As `rpmpkg.c` writes them. */
function ndbOf(headers: readonly Uint8Array[]): Buffer {
  const slots = Buffer.alloc(4096);
  const words = (...values: readonly (number | string)[]) =>
    Buffer.concat(
      values.map((value) => {
        const bytes = Buffer.alloc(4, typeof value === "string" ? value : 0, "latin1");
        if (typeof value === "number") bytes.writeUInt32LE(value);
        return bytes;
      }),
    );
  words("RpmP", 0, 1, 1, headers.length + 1).copy(slots);
  for (let at = 32; at < 4096; at += 16) words("Slot", 0, 0, 0).copy(slots, at);
  let at = 4096;
  const blobs = headers.map((header, index) => {
    const tail = (16 - ((header.length + 12) % 16)) % 16;
    const ending = [Buffer.alloc(tail), words(0, header.length, "BlbE")];
    const blob = Buffer.concat([words("BlbS", index + 1, 1, header.length), header, ...ending]);
    words("Slot", index + 1, at / 16, blob.length / 16).copy(slots, 32 + 16 * index);
    at += blob.length;
    return blob;
  });
  return Buffer.concat([slots, ...blobs]);
}

describe("rpm", needs(whyNoRpm), () => {
  let root = "";
  let database: Buffer;

  beforeAll(() => {
    const work = makeFolder({
      "own.spec": spec("own", "Fedora Project"),
      "other.spec": spec("other", "Fedora Copr - user me"),
      "more.spec": spec("more", "Fedora Project"),
    });
    root = join(work, "root");
    const path = "/var/lib/rpm";
    mkdirSync(join(root, path), { recursive: true });
    const defines = [
      `_topdir ${work}/build`,
      "_build_id_links none",
      "_db_backend sqlite",
      `_dbpath ${path}`,
    ];
    const flags = ["debug_package %{nil}", ...defines].flatMap((line) => ["--define", line]);
    for (const name of ["own", "other", "more"])
      execFileSync("rpmbuild", ["-bb", ...flags, join(work, `${name}.spec`)], { stdio: "pipe" });
    const packages = readdirSync(join(work, "build/RPMS"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".rpm"))
      .map((name) => join(work, "build/RPMS", name));
    const install = ["-i", "--root", root, "--nodeps", "--nosignature", "--force-debian", ...flags];
    execFileSync("rpm", [...install, ...packages], { stdio: "pipe" });
    database = readFileSync(join(root, path, "rpmdb.sqlite"));
  }, 120_000);

  const architecture = { x64: "x86_64", arm64: "aarch64" }[process.arch as string] ?? process.arch;

  it("knows its unchanged files by SHA-256, and those of the distribution alone", async () => {
    writeFileSync(join(root, "usr/bin/more"), Buffer.concat([readFileSync(program), Buffer.from("changed")]));
    const image = await openFromFolder(root, { platform: "linux/amd64", cache: noCache });
    const { files, unreadPackages } = inspectionOf(image);
    expect(Object.fromEntries(files.map(({ path, package: own }) => [path, own]))).toEqual({
      "/usr/bin/more": null,
      "/usr/bin/other": null,
      "/usr/bin/own": `own.${architecture}`,
    });
    expect(unreadPackages).toEqual([]);
  });

  it("has every file of a package, as rpm itself lists them", () => {
    const { files } = readRpm(database, "sqlite");
    const asked = ["-q", "own", "--root", root, "--dbpath", "/var/lib/rpm"];
    const format = "[%{FILENAMES} %{FILEDIGESTS}\\n]";
    const listed = execFileSync("rpm", [...asked, "--qf", format], { encoding: "utf8" })
      .split("\n")
      .flatMap((line) => {
        const [path = "", digest = ""] = line.split(" ");
        return digest === "" ? [] : [[path.slice(1), `sha256:${digest}`]];
      });
    expect(listed).toHaveLength(401);
    expect(files[`own.${architecture}`]).toEqual(Object.fromEntries(listed));
    expect(Object.keys(files)).toHaveLength(2);
  });

  /** Written by Berkeley DB. */
  function bdbOf(headers: readonly Uint8Array[]): Buffer {
    const folder = makeFolder({});
    const lines = headers.flatMap((header, index) => [
      ` ${Buffer.of(index + 1, 0, 0, 0).toString("hex")}`,
      ` ${Buffer.from(header).toString("hex")}`,
    ]);
    const input = ["VERSION=3", "format=bytevalue", "type=hash", "HEADER=END", ...lines, "DATA=END", ""].join(
      "\n",
    );
    execFileSync("db5.3_load", [join(folder, "Packages")], { input });
    return readFileSync(join(folder, "Packages"));
  }

  it("says the same in an ndb database", () => {
    const bytes = ndbOf([...sqliteHeaders(database)]);
    expect([...ndbHeaders(bytes)]).toHaveLength(3);
    expect(readRpm(bytes, "ndb")).toEqual(readRpm(database, "sqlite"));
  });

  it("says the same in a database of Berkeley DB", needs(whyNoLoad), () => {
    const bytes = bdbOf([...sqliteHeaders(database)]);
    expect([...bdbHeaders(bytes)]).toHaveLength(3);
    expect(sorted(readRpm(bytes, "bdb"))).toEqual(sorted(readRpm(database, "sqlite")));
  });

  it("is damaged in any way, and reading it ends", needs(whyNoLoad), () => {
    const headers = [...sqliteHeaders(database)];
    const seed = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
    for (const [kind, bytes] of [
      ["sqlite", database],
      ["ndb", ndbOf(headers)],
      ["bdb", bdbOf(headers)],
    ] as const) {
      for (let turn = 0; turn < 300; turn++) {
        readRpm(mutateBytes(bytes, randomFrom(seed, turn)), kind);
      }
    }
  });

  it("leads in circles, and is not read", needs(whyNoLoad), () => {
    // The first page of a long value says where the next one is: itself. Behind 16 bytes, or, in SQLite, at once.
    const page = 4096;
    const circle = (bytes: Buffer, kind: "sqlite" | "bdb", isLong: (at: number) => boolean) => {
      const copy = Buffer.from(bytes);
      for (let at = page; at < copy.length; at += page) {
        if (!isLong(at)) continue;
        if (kind === "bdb") copy.writeUInt32LE(at / page, at + 16);
        else copy.writeUInt32BE(at / page + 1, at);
      }
      return readRpm(copy, kind).unread;
    };
    const bdb = bdbOf([...sqliteHeaders(database)]);
    expect(circle(bdb, "bdb", (at) => bdb[at + 25] === 7)).toMatch(/^page \d+ of \d+$/);
    const isNext = (at: number) => database.readUInt32BE(at) === at / page + 2;
    expect(circle(database, "sqlite", isNext)).toMatch(/^page \d+ of \d+$/);
  });
});

const sorted = ({ distribution, ...rest }: ReturnType<typeof readRpm>) => ({
  distribution: [...distribution].sort(),
  ...rest,
});

describe("a database that somebody made to do harm", () => {
  it("names a package like what every object has, and changes none", () => {
    const path = "usr/lib/planted";
    for (const name of ["__proto__", "constructor"]) {
      const { files } = readRpm(ndbOf([packageOf(name, "/usr/lib/", "planted")]), "ndb");
      const planted = [Object.prototype, Object].filter((each) => Object.hasOwn(each, path));
      for (const each of planted) Reflect.deleteProperty(each, path);
      expect(planted).toEqual([]);
      expect(Object.entries(files)).toEqual([[name, { [path]: `sha256:${"0".repeat(64)}` }]]);
    }
  });
});

describe("a database that cannot be read", () => {
  it.each([
    ["rpmdb.sqlite", "no SQLite database"],
    ["Packages.db", "no ndb database"],
    ["Packages", "no Berkeley DB hash table of a known version (0)"],
  ])("%s says so, and knows no file", async (name, unread) => {
    for (const folder of ["var/lib/rpm", "usr/lib/sysimage/rpm", "usr/share/rpm"]) {
      const reader = databaseReader(`${folder}/${name}`, 9);
      expect(await reader?.(async () => Buffer.alloc(9))).toEqual({ distribution: [], files: {}, unread });
    }
  });
});
