import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { databaseReader } from "../../../src/inspect/packages/databases.ts";
import { unchangedFiles } from "../../../src/inspect/packages/unchanged-files.ts";
import { needs } from "../../support/needs.ts";

const read = (path: string, content: string | Uint8Array) => {
  const bytes = Buffer.from(content);
  const reader = databaseReader(path, bytes.length);
  if (reader === null) throw new Error(`${path} is no database`);
  return reader(async () => bytes);
};
const sums = (content: string | Uint8Array) => {
  const sum = (name: string) => createHash(name).update(content).digest("hex");
  return { md5: sum("md5"), sha1: sum("sha1"), sha256: sum("sha256") };
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
  it("knows the distribution's packages by their maintainers", async () =>
    expect((await read("var/lib/dpkg/status", status)).distribution).toEqual(["libssl3", "libssl3:amd64"]));

  it("tells the L4T release, and apt's sources tell it too", async () => {
    const l4t = "Package: nvidia-l4t-core\nVersion: 36.4.0-20240912212859\n";
    expect(await read("var/lib/dpkg/status", `${status}\n${l4t}`)).toMatchObject({ l4t: [{ core: "36" }] });
    expect(await read("var/lib/dpkg/status", status)).not.toHaveProperty("l4t");
    const list = "deb https://repo.download.nvidia.com/jetson/common r35.4 main\n";
    for (const path of ["etc/apt/sources.list", "etc/apt/sources.list.d/nvidia-l4t-apt-source.list"])
      expect(await read(path, list)).toEqual({ distribution: [], files: {}, l4t: [{ source: "35" }] });
    expect(databaseReader("etc/apt/sources.list.d/nvidia-l4t-apt-source.list.save", 9)).toBeNull();
  });

  it("knows files by their checksums, with and without usr", async () => {
    const { md5 } = sums("x");
    const list = await read("var/lib/dpkg/info/libssl3:amd64.md5sums", `${md5}  usr/lib/libssl.so.3\n`);
    const find = unchangedFiles([await read("var/lib/dpkg/status", status), list]);
    expect(find("/usr/lib/libssl.so.3", sums("x"))).toBe("libssl3:amd64");
    expect(find("/lib/libssl.so.3", sums("x"))).toBe("libssl3:amd64");
    expect(find("/usr/lib/libssl.so.3", sums("y"))).toBeNull();
    expect(find("/opt/lib/libssl.so.3", sums("x"))).toBeNull();
    expect(unchangedFiles([list])("/usr/lib/libssl.so.3", sums("x"))).toBeNull();
  });

  it("of an image without a shell has a status for each package", async () => {
    const { md5 } = sums("x");
    const one = await read(
      "var/lib/dpkg/status.d/libc6",
      "Package: libc6\nMaintainer: G <g@lists.debian.org>\n",
    );
    const list = await read("var/lib/dpkg/status.d/libc6.md5sums", `${md5}  lib/libc.so.6\n`);
    expect(unchangedFiles([one, list])("/lib/libc.so.6", sums("x"))).toBe("libc6");
  });

  const own = "/var/lib/dpkg/status";
  const bash = "/bin/bash";
  it(
    "of this machine knows its own files",
    needs(existsSync(own) && existsSync(bash) ? null : "no dpkg"),
    async () => {
      const info = "/var/lib/dpkg/info";
      const lists = readdirSync(info).filter((name) => name.endsWith(".md5sums"));
      const records = await Promise.all([
        read(own.slice(1), readFileSync(own)),
        ...lists.map((name) => read(`${info.slice(1)}/${name}`, readFileSync(`${info}/${name}`))),
      ]);
      const find = unchangedFiles(records);
      const owner = execFileSync("dpkg", ["-S", bash], { encoding: "utf8" }).split(":")[0];
      expect(find(bash, sums(readFileSync(bash)))).toBe(owner);
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
  it.each(["lib/apk/db/installed", "usr/lib/apk/db/installed"])("knows files by %s", async (path) => {
    const find = unchangedFiles([await read(path, installed)]);
    expect(find("/lib/ld-musl-x86_64.so.1", sums("x"))).toBe("musl");
    expect(find("/rooted", sums("x"))).toBe("musl");
    expect(find("/lib/ld-musl-x86_64.so.1", sums("y"))).toBeNull();
    expect(find("/lib/fast.so", sums("x"))).toBeNull();
  });
});

it("one that is too long is not read, and said to be", async () => {
  const reader = databaseReader("var/lib/dpkg/status", 64 * 2 ** 20 + 1);
  const records = await reader?.(() => Promise.reject(new Error("its bytes were asked for")));
  expect(records).toEqual({ distribution: [], files: {}, unread: "longer than 67108864 bytes" });
});

it("nothing else is a database", () => {
  for (const path of ["opt/var/lib/dpkg/status", "var/lib/dpkg/info/x.list", "var/lib/rpm/Name"])
    expect(databaseReader(path, 1)).toBeNull();
});
