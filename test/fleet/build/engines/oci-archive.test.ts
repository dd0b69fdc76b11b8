import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configOf, readArchivedConfig } from "../../../../src/fleet/build/engines/buildx/oci-archive.ts";

const block = 512;
const mebi = 1024 ** 2;
const over = 8 * 1024 ** 3 + 3;

const config = { rootfs: { diff_ids: ["sha256:1"] } };

interface Written {
  readonly name: string;
  readonly size: number;
  /** How the size is written: eleven octal digits, GNU's base-256, or a pax record over a zero. */
  readonly as: "octal" | "base-256" | { readonly pax: string };
}

function header({ name, size, as }: Written, flag = "0"): Buffer {
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0);
  bytes.write("0000644\0", 100);
  if (as === "base-256") {
    bytes[124] = 0x80;
    bytes.writeBigUInt64BE(BigInt(size), 128);
  } else bytes.write(`${(as === "octal" ? size : 0).toString(8).padStart(11, "0")}\0`, 124);
  bytes.write("00000000000\0", 136);
  bytes.fill(" ", 148, 156);
  bytes.write(flag, 156);
  bytes.write("ustar\u000000", 257);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  if (typeof as === "string") return bytes;
  return Buffer.concat([...paxHeader(Buffer.from(as.pax)), bytes]);
}

function paxHeader(body: Buffer): Buffer[] {
  const head = header({ name: "@PaxHeader", size: body.length, as: "octal" }, "x");
  return [head, body, padding(body.length)];
}

const padding = (size: number) => Buffer.alloc((block - (size % block)) % block);

function file(name: string, text: string): Buffer[] {
  const body = Buffer.from(text);
  return [header({ name, size: body.length, as: "octal" }), body, padding(body.length)];
}

const digest = (text: string) => createHash("sha256").update(text).digest("hex");
const end = Buffer.alloc(2 * block);

/** A layout's small files, as containerd writes them: blobs before the index. */
function layout(): Buffer[] {
  const configText = JSON.stringify(config);
  const manifest = JSON.stringify({ config: { digest: `sha256:${digest(configText)}` }, layers: [] });
  const index = JSON.stringify({ manifests: [{ digest: `sha256:${digest(manifest)}` }] });
  return [
    ...file(`blobs/sha256/${digest(configText)}`, configText),
    ...file(`blobs/sha256/${digest(manifest)}`, manifest),
    ...file("index.json", index),
  ];
}

async function* stream(...parts: readonly (Buffer | { readonly zeros: number })[]) {
  const zeros = Buffer.alloc(8 * mebi);
  for (const part of parts) {
    if (Buffer.isBuffer(part)) yield part;
    else
      for (let left = part.zeros; left > 0; left -= zeros.length)
        yield zeros.subarray(0, Math.min(left, zeros.length));
  }
}

describe("an image that the builder wrote as an archive", () => {
  it.each([
    ["GNU's base-256", "base-256"],
    ["a pax record", { pax: `19 size=${over}\n` }],
  ] as const)("reads over a layer above 8 GiB whose size is in %s", async (_, as) => {
    const layer = header({ name: "blobs/sha256/0", size: over, as });
    const archive = stream(layer, { zeros: over }, padding(over), ...layout(), end);
    expect(await configOf(archive, "image.tar")).toEqual(config);
  });

  it.each([
    [
      "is cut inside a layer above 8 GiB",
      [header({ name: "blobs/sha256/0", size: over, as: "base-256" }), { zeros: mebi }],
    ],
    ["has no end", layout()],
    ["is empty", []],
    ["is no tar", [Buffer.from("x".repeat(4 * block))]],
    ["has a damaged header", [...layout(), Buffer.from("x".repeat(block)), end]],
    [
      "has a pax size that is no number",
      [header({ name: "b", size: 0, as: { pax: "13 size=many\n" } }), ...layout(), end],
    ],
    [
      "has a pax size beyond all numbers",
      [header({ name: "b", size: 0, as: { pax: "28 size=99999999999999999999\n" } }), ...layout(), end],
    ],
    [
      "has a size beyond all numbers",
      [header({ name: "b", size: 2 ** 60, as: "base-256" }), ...layout(), end],
    ],
    ["has a pax header of 9 MiB", [...paxHeader(Buffer.alloc(9 * mebi, "a")), ...layout(), end]],
    ["lacks its index", [...file("oci-layout", "{}"), end]],
    ["lacks a blob", [...file("index.json", '{"manifests":[{"digest":"sha256:1"}]}'), end]],
    ["has an index without images", [...file("index.json", '{"manifests":[]}'), end]],
    ["has an index that is no JSON", [...file("index.json", "{]"), end]],
    [
      "has indexes in a circle",
      [
        ...file("blobs/sha256/1", '{"manifests":[{"digest":"sha256:1"}]}'),
        ...file("index.json", '{"manifests":[{"digest":"sha256:1"}]}'),
        end,
      ],
    ],
  ] as const)("refuses one that %s", async (_, parts) => {
    await expect(configOf(stream(...parts), "image.tar")).rejects.toMatchObject({ code: "ENGINE_FAILED" });
  });

  describe("on the disk", () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "imgmatch-oci-"));
      await mkdir(join(folder, "in"));
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    it.each(["ustar", "pax", "gnu"])("is read as tar writes it in format %s", async (format) => {
      const name = `blobs/sha256/${"n".repeat(140)}`;
      await mkdir(join(folder, "in/blobs/sha256"), { recursive: true });
      await writeFile(join(folder, "in/blobs/sha256/c"), JSON.stringify(config));
      await writeFile(join(folder, "in/index.json"), '{"config":{"digest":"sha256:c"}}');
      if (format !== "ustar") await writeFile(join(folder, "in", name), "{}");
      const path = join(folder, `${format}.tar`);
      execFileSync("tar", [
        `--format=${format}`,
        "-C",
        join(folder, "in"),
        "-cf",
        path,
        "blobs",
        "index.json",
      ]);
      expect(await readArchivedConfig(path)).toEqual(config);
      await rm(join(folder, "in", name), { force: true });
    });

    it("is refused with its place when the builder wrote none", async () => {
      const path = join(folder, "none.tar");
      await expect(readArchivedConfig(path)).rejects.toMatchObject({
        code: "ENGINE_FAILED",
        problems: [{ at: { file: path } }],
      });
    });
  });
});
