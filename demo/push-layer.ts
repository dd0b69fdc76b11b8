/** Pushes a tarball as an image of one layer, straight to a registry: no engine has to unpack and pack it again. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createGunzip } from "node:zlib";

export interface LayerImage {
  /** `host:port` of a registry that speaks plain HTTP. */
  readonly host: string;
  readonly name: string;
  readonly tag: string;
  /** Path of a gzip-compressed tarball. */
  readonly tarball: string;
  /** OCI name of the processor, for example `amd64`. */
  readonly architecture: string;
  readonly signal: AbortSignal;
}

/** Pushes layer, configuration and manifest (OCI image specification 1.1, distribution specification 1.1). */
export async function pushLayer({
  host,
  name,
  tag,
  tarball,
  architecture,
  signal,
}: LayerImage): Promise<void> {
  const layer = await readFile(tarball);
  const content = createHash("sha256");
  for await (const chunk of createReadStream(tarball).pipe(createGunzip())) content.update(chunk as Buffer);
  // No date: the same tarball gives the same image.
  const config = Buffer.from(
    JSON.stringify({
      architecture,
      os: "linux",
      config: {
        Cmd: ["/bin/sh"],
        Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
      },
      rootfs: { type: "layers", diff_ids: [`sha256:${content.digest("hex")}`] },
    }),
  );
  const repository = `http://${host}/v2/${name}`;
  for (const blob of [layer, config]) await pushBlob(repository, blob, signal);
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: {
      mediaType: "application/vnd.oci.image.config.v1+json",
      digest: digestOf(config),
      size: config.length,
    },
    layers: [
      {
        mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
        digest: digestOf(layer),
        size: layer.length,
      },
    ],
  });
  await send(`${repository}/manifests/${tag}`, "PUT", signal, Buffer.from(manifest), {
    "content-type": "application/vnd.oci.image.manifest.v1+json",
  });
}

async function pushBlob(repository: string, blob: Buffer, signal: AbortSignal): Promise<void> {
  const started = await send(`${repository}/blobs/uploads/`, "POST", signal);
  const to = new URL(started.headers.get("location") ?? "", repository);
  to.searchParams.set("digest", digestOf(blob));
  await send(to.href, "PUT", signal, blob, { "content-type": "application/octet-stream" });
}

async function send(
  url: string,
  method: "POST" | "PUT",
  signal: AbortSignal,
  body?: Buffer,
  headers: Record<string, string> = {},
): Promise<Response> {
  const response = await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });
  if (!response.ok) throw new Error(`${method} ${url}: status ${response.status}: ${await response.text()}`);
  return response;
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
