/** Small images for tests: layers of entries, as a layout, an archive of docker save, or an OCI archive. */

import { gzipSync } from "node:zlib";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { makeContainer, makeEntry } from "./make-fatbin.ts";

export interface MadeFile {
  readonly path: string;
  readonly content?: Uint8Array;
  /** ustar's letter: 0 file, 1 hard link, 2 symbolic link, 5 folder. */
  readonly type?: string;
  readonly target?: string;
  /** A false length of the content in the header. */
  readonly size?: number;
}

export function makeTar(files: readonly MadeFile[]): Buffer {
  return Buffer.concat([...files.flatMap((file) => entry(file)), Buffer.alloc(1024)]);
}

function entry({ path, content = Buffer.alloc(0), type = "0", target = "", size }: MadeFile): Buffer[] {
  const header = Buffer.alloc(512);
  header.write(path, 0, 100);
  header.write("0000644\0", 100);
  header.write(`${(size ?? content.length).toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.fill(" ", 148, 156);
  header.write(type, 156);
  header.write(target, 157, 100);
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const long = path.length > 100 ? paxEntry(`path=${path}\n`) : [];
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return [...long, header, Buffer.from(content), padding];
}

function paxEntry(record: string): Buffer[] {
  const length = record.length + 1 + String(record.length + 4).length;
  return entry({ path: "pax", type: "x", content: Buffer.from(`${length} ${record}`) });
}

/** GPU code for one target: what tells one file from another. */
export function gpuFile(arch: number): Buffer {
  return makeContainer([makeEntry({ kind: 2, arch, version: [1, 7] })]);
}

export interface MadeImage {
  readonly blobs: ReadonlyMap<string, Buffer>;
  readonly manifest: Buffer;
  readonly config: Buffer;
  readonly layers: readonly Buffer[];
}

export function makeImage(
  layers: readonly Buffer[],
  architecture = "amd64",
  Labels: Readonly<Record<string, string>> = {},
): MadeImage {
  const config = Buffer.from(JSON.stringify({ os: "linux", architecture, config: { Labels } }));
  const descriptor = (bytes: Buffer, mediaType: string) => ({
    mediaType,
    digest: digestOf(bytes),
    size: bytes.length,
  });
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: descriptor(config, "application/vnd.oci.image.config.v1+json"),
      layers: layers.map((layer) => descriptor(layer, "application/vnd.oci.image.layer.v1.tar")),
    }),
  );
  const blobs = new Map([config, manifest, ...layers].map((bytes) => [digestOf(bytes).slice(7), bytes]));
  return { blobs, manifest, config, layers };
}

export function layoutFiles({ blobs, manifest }: MadeImage): readonly MadeFile[] {
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        digest: digestOf(manifest),
        size: manifest.length,
      },
    ],
  };
  return [
    { path: "oci-layout", content: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
    { path: "index.json", content: Buffer.from(JSON.stringify(index)) },
    ...[...blobs].map(([name, content]) => ({ path: `blobs/sha256/${name}`, content })),
  ];
}

/** As docker before version 25 writes it, a repeated layer as a link. */
export function savedFiles({ config, layers }: MadeImage): readonly MadeFile[] {
  return [
    { path: "c.json", content: config },
    ...layers.map((content, index) => ({ path: `${index}/layer.tar`, content })),
    {
      path: "manifest.json",
      content: Buffer.from(
        JSON.stringify([{ Config: "c.json", Layers: layers.map((_, index) => `${index}/layer.tar`) }]),
      ),
    },
  ];
}

export const gzipped = (bytes: Uint8Array): Buffer => gzipSync(bytes);
