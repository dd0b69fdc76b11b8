/** Measures publish, plan, verify and resolve of 10,000 images in a registry. */

import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import type { Lock } from "../src/lock/lock.ts";
import type { PlanJson } from "../src/fleet/plan/plan-json.ts";
import { createRegistryClient } from "../src/oci/registry/create-client.ts";
import { digestOf } from "../src/oci/digest-of.ts";
import { manifestTypes } from "../src/oci/media-types.ts";
import { type ImageReference, parseImageReference, withTag } from "../src/oci/reference.ts";
import { whyNoRegistry, startRegistry } from "../test/e2e/support/registry.ts";
import { largeMatrix } from "./large-matrix.ts";
import { measure } from "./measure.ts";
import { line, seconds } from "./report.ts";
import { lockOf } from "./scale.ts";
import { writeFiles } from "./project.ts";

const h100 = fileURLToPath(
  new URL("../test/fixtures/hosts/ubuntu2404-sapphirerapids-h100/expected.json", import.meta.url),
);

export async function publishedFleet(root: string, cells: number): Promise<void> {
  if (whyNoRegistry() !== null) return line("index of a large fleet", "skipped: no docker-registry");
  const registry = await startRegistry();
  try {
    const files = largeMatrix(cells);
    const matrix = files["matrix.yaml"]?.replace("registry.example.com", registry.host) ?? "";
    writeFiles(root, { ...files, "matrix.yaml": matrix });
    const { stdout } = await measure(["plan", "--offline", "--json"], root);
    const lock = await pushAll(lockOf(JSON.parse(stdout) as PlanJson));
    writeFiles(root, { "images/imgmatch.lock.json": JSON.stringify(lock) });

    const first = await measure(["publish"], root);
    line(`first publish of ${cells} pushed cells`, `${seconds(first.ms)}, ${first.peakMiB} MiB at most`);
    const again = await measure(["publish"], root);
    if (!again.stderr.includes("unchanged")) throw new Error(again.stderr);
    line("the same again", `${seconds(again.ms)}, ${again.peakMiB} MiB at most`);
    const plan = await measure(["plan", "--remote"], root);
    line(`plan --remote of ${cells} cells`, seconds(plan.ms));
    const verify = await measure(["verify"], root);
    line(
      `verify of ${cells} cells, one question each`,
      `${seconds(verify.ms)}, ${verify.peakMiB} MiB at most`,
    );
    const fleet = `${lock.repository}:${lock.version}`;
    const resolved = await measure(["resolve", fleet, "--host", h100], root);
    line("resolve from that index", `${seconds(resolved.ms)}, ${resolved.peakMiB} MiB at most`);
  } finally {
    await registry.stop();
  }
}

/** Pushes an image without layers for each cell. All share a configuration. */
async function pushAll(lock: Lock): Promise<Lock> {
  const client = createRegistryClient();
  const repository = parseImageReference(lock.repository);
  const config = await pushBlob(repository, '{"architecture":"amd64","os":"linux"}');
  const limit = pLimit(16);
  const images = await Promise.all(
    Object.entries(lock.images).map(([cell, image]) =>
      limit(async () => {
        const mediaType = manifestTypes.oci;
        const text = { schemaVersion: 2, mediaType, config, layers: [], annotations: { cell } };
        const bytes = Buffer.from(JSON.stringify(text));
        const manifest = { mediaType, size: bytes.length };
        const digest = digestOf(bytes);
        await client.writeManifest(withTag(repository, image.tag), { ...manifest, digest, bytes });
        return [cell, { ...image, digest, manifest }] as const;
      }),
    ),
  );
  return { ...lock, images: Object.fromEntries(images) };
}

async function pushBlob({ registry, repository }: ImageReference, text: string) {
  const bytes = Buffer.from(text);
  const digest = digestOf(bytes);
  const begun = await fetch(`http://${registry}/v2/${repository}/blobs/uploads/`, { method: "POST" });
  const url = new URL(begun.headers.get("location") ?? "");
  url.searchParams.set("digest", digest);
  const headers = { "content-type": "application/octet-stream" };
  const ended = await fetch(url, { method: "PUT", body: bytes, headers });
  if (ended.status !== 201) throw new Error(`blob: ${ended.status}`);
  return { mediaType: "application/vnd.oci.image.config.v1+json", digest, size: bytes.length };
}
