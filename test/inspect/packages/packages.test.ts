import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { databaseReader } from "../../../src/inspect/packages/databases.ts";
import { unchangedFiles } from "../../../src/inspect/packages/unchanged-files.ts";
import { needs } from "../../support/needs.ts";

const read = (path: string, text: string) => {
  const reader = databaseReader(path);
  if (reader === null) throw new Error(`${path} is no database`);
  return reader(text);
};
const sums = (text: string) => {
  const [md5, sha1] = ["md5", "sha1"].map((name) => createHash(name).update(text).digest("hex"));
  return { md5: md5 ?? "", sha1: sha1 ?? "" };
};

const status = `Package: libssl3
Status: install ok installed
Maintainer: Debian OpenSSL Team <pkg-openssl-devel@alioth-lists.debian.net>
Architecture: amd64
Description: text
 Package: not-one

Package: cuda-cudart-12-8
Maintainer: cudatools <cudatools@nvidia.com>
Architecture: amd64

Package: evil
Maintainer: Me <me@debian.org.example.com>
Architecture: all
`;

describe("dpkg", () => {
  it("knows the distribution's packages by their maintainers", () =>
    expect(read("var/lib/dpkg/status", status).distribution).toEqual(["libssl3", "libssl3:amd64"]));

  it("knows files by their checksums, with and without usr", () => {
    const { md5 } = sums("x");
    const list = read("var/lib/dpkg/info/libssl3:amd64.md5sums", `${md5}  usr/lib/libssl.so.3\n`);
    const find = unchangedFiles([read("var/lib/dpkg/status", status), list]);
    expect(find("/usr/lib/libssl.so.3", sums("x"))).toBe("libssl3:amd64");
    expect(find("/lib/libssl.so.3", sums("x"))).toBe("libssl3:amd64");
    expect(find("/usr/lib/libssl.so.3", sums("y"))).toBeNull();
    expect(find("/opt/lib/libssl.so.3", sums("x"))).toBeNull();
    expect(unchangedFiles([list])("/usr/lib/libssl.so.3", sums("x"))).toBeNull();
  });

  it("of an image without a shell has a status for each package", () => {
    const { md5 } = sums("x");
    const one = read("var/lib/dpkg/status.d/libc6", "Package: libc6\nMaintainer: G <g@lists.debian.org>\n");
    const list = read("var/lib/dpkg/status.d/libc6.md5sums", `${md5}  lib/libc.so.6\n`);
    expect(unchangedFiles([one, list])("/lib/libc.so.6", sums("x"))).toBe("libc6");
  });

  const own = "/var/lib/dpkg/status";
  const bash = "/bin/bash";
  it(
    "of this machine knows its own files",
    needs(existsSync(own) && existsSync(bash) ? null : "no dpkg"),
    () => {
      const info = "/var/lib/dpkg/info";
      const lists = readdirSync(info).filter((name) => name.endsWith(".md5sums"));
      const records = [
        read(own.slice(1), readFileSync(own, "utf8")),
        ...lists.map((name) => read(`${info.slice(1)}/${name}`, readFileSync(`${info}/${name}`, "utf8"))),
      ];
      const find = unchangedFiles(records);
      const bytes = readFileSync(bash);
      const hex = (name: string) => createHash(name).update(bytes).digest("hex");
      const owner = execFileSync("dpkg", ["-S", bash], { encoding: "utf8" }).split(":")[0];
      expect(find(bash, { md5: hex("md5"), sha1: hex("sha1") })).toBe(owner);
    },
  );
});

describe("apk", () => {
  const { sha1 } = sums("x");
  const installed = `C:Q1abc=
P:musl
V:1.2.5-r9
m:Natanael Copa <ncopa@alpinelinux.org>
F:lib
R:ld-musl-x86_64.so.1
a:0:0:755
Z:Q1${Buffer.from(sha1, "hex").toString("base64")}
F:
R:rooted
Z:Q1${Buffer.from(sha1, "hex").toString("base64")}

P:fast
m:Me <me@example.com>
F:lib
R:fast.so
Z:Q1${Buffer.from(sha1, "hex").toString("base64")}
`;
  it.each(["lib/apk/db/installed", "usr/lib/apk/db/installed"])("knows files by %s", (path) => {
    const find = unchangedFiles([read(path, installed)]);
    expect(find("/lib/ld-musl-x86_64.so.1", sums("x"))).toBe("musl");
    expect(find("/rooted", sums("x"))).toBe("musl");
    expect(find("/lib/ld-musl-x86_64.so.1", sums("y"))).toBeNull();
    expect(find("/lib/fast.so", sums("x"))).toBeNull();
  });
});

it("nothing else is a database", () => {
  for (const path of ["opt/var/lib/dpkg/status", "var/lib/dpkg/info/x.list", "var/lib/rpm/rpmdb.sqlite"])
    expect(databaseReader(path)).toBeNull();
});
