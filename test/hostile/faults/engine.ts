/**
 * Stands for a Docker Engine: its command is a script, and its API answers here. An image is made of what the command was given, labels,
 * Dockerfile and the files of the context, so that other inputs are another image.
 */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { digestOf } from "../../../src/oci/digest-of.ts";
import type { StoredRepository } from "../../fleet/publish/support/http-registry.ts";
import { makeImage, makeTar } from "../../inspect/support/make-image.ts";

/** `docker`, in which `$ENGINE` is a folder: `built/ID` is an image, `pulled/NAME` and `named/NAME` hold one. */
export const dockerScript = `#!/bin/sh
name() { printf %s "$1" | tr / _; }
case "$1 $2" in
"version --format") echo "29.0.0 default" ;;
"buildx version") echo "buildx 0.30.0" ;;
"buildx build")
  made=$(mktemp -p "$ENGINE")
  while [ $# -gt 0 ]; do
    case "$1" in
    --metadata-file) result=$2 ;;
    --file) cat "$2" >> "$made" ;;
    --label) printf 'label %s\\n' "$2" >> "$made" ;;
    esac
    last=$1
    shift
  done
  (cd "$last" && find . -type f | sort | xargs tail -v -n +1) >> "$made"
  id=$(sha256sum "$made" | cut -d ' ' -f 1)
  mv "$made" "$ENGINE/built/$id"
  echo "#1 DONE 0.1s" >&2
  printf '{"containerimage.digest":"sha256:%s"}' "$id" > "$result"
  ;;
"image inspect")
  cat "$ENGINE/pulled/$(name "$5")" 2> /dev/null || { echo "Error: no such image: $5" >&2; exit 1; } ;;
pull*) echo "$2" > "$ENGINE/pulled/$(name "$2")" ;;
tag*)
  [ -e "$ENGINE/pulled/$(name "$2")" ] || { echo "Error: no such image: $2" >&2; exit 1; }
  echo "$2" > "$ENGINE/named/$(name "$3")" ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac
`;

export type ApiFault = "500" | "before" | "after" | "within";

export interface StandIn {
  /** Decides about every request. */
  fault: (request: string) => ApiFault | null;
  /** Every name of an image. */
  forget(): void;
  stop(): Promise<void>;
}

/** The image that a build has left, as it is pushed. */
export function builtImage(text: string) {
  const labels = [...text.matchAll(/^label ([^=\n]+)=(.*)$/gm)].map(([, name = "", value = ""]) => [
    name,
    value,
  ]);
  return makeImage(
    [makeTar([{ path: "made", content: Buffer.from(text) }])],
    "amd64",
    Object.fromEntries(labels),
  );
}

export async function startStandIn(
  socket: string,
  folder: string,
  repository: (name: string) => StoredRepository,
): Promise<StandIn> {
  const named = new Map<string, string>();
  const standIn: Pick<StandIn, "fault"> = { fault: () => null };

  function perform(method: string, { pathname, searchParams }: URL): readonly [status: number, body: string] {
    const path = decodeURIComponent(pathname.replace(/^\/v[\d.]+/, ""));
    const json = (body: unknown) => [200, JSON.stringify(body)] as const;
    const [, image = "", what = ""] = /^\/images\/(.+?)(?:\/(json|tag|push))?$/.exec(path) ?? [];
    if (path === "/_ping") return [200, "OK"];
    if (path === "/version") return json({ Version: "29.0.0", Os: "linux", Arch: "amd64", Components: [] });
    if (path === "/info") return json({ DriverStatus: [], DockerRootDir: folder, Runtimes: {} });
    if (what === "push") {
      const name = `${image}:${searchParams.get("tag")}`;
      if (!named.has(name)) return [404, JSON.stringify({ message: `no image ${name}` })];
      const made = builtImage(readFileSync(join(folder, "built", named.get(name) ?? ""), "utf8"));
      const { manifests, blobs, tags } = repository(image.slice(image.indexOf("/") + 1));
      for (const blob of [made.config, ...made.layers]) blobs.set(digestOf(blob), blob);
      const digest = digestOf(made.manifest);
      manifests.set(digest, {
        bytes: made.manifest,
        mediaType: "application/vnd.oci.image.manifest.v1+json",
      });
      tags.set(searchParams.get("tag") ?? "", digest);
      return [
        200,
        `${JSON.stringify({ status: "Pushed" })}\n${JSON.stringify({ aux: { Digest: digest } })}\n`,
      ];
    }
    const id = (named.get(image) ?? image).replace("sha256:", "");
    if (!existsSync(join(folder, "built", id)))
      return [404, JSON.stringify({ message: `no image ${image}` })];
    if (what === "tag") {
      named.set(`${searchParams.get("repo")}:${searchParams.get("tag")}`, id);
      return [201, ""];
    }
    if (method === "DELETE") {
      named.delete(image);
      return json([]);
    }
    const RepoTags = [...named].flatMap(([name, of]) => (of === id ? [name] : []));
    return json({ Id: `sha256:${id}`, Size: 1, RepoTags, RootFS: { Layers: [`sha256:${id}`] } });
  }

  const server = createServer((request, response) => {
    const { method = "", url = "" } = request;
    const fault = standIn.fault(`${method} ${url.replace(/\?.*/, "")}`);
    if (fault === "before") return request.socket.destroy();
    if (fault === "500") return response.writeHead(500).end('{"message":"injected"}');
    const [status, body] = perform(method, new URL(url, "http://engine"));
    if (fault === "after") return request.socket.destroy();
    response.writeHead(status, { "api-version": "1.52", "content-length": Buffer.byteLength(body) });
    if (fault !== "within") return response.end(body);
    return response.write(body.slice(0, body.length / 2), () => response.destroy());
  });
  rmSync(socket, { force: true });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return Object.assign(standIn, {
    forget: () => named.clear(),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
