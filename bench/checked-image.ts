/** Compares `imgmatch check` of an image of 1 GB with pulling and unpacking its layers, from a registry on loopback. */

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { startRegistry, whyNoRegistry } from "../test/e2e/support/registry.ts";
import { measure } from "./measure.ts";
import { line, median, seconds } from "./report.ts";

const imageBytes = 10 ** 9;
const turns = 3;

/** @param from a folder that each layer holds; the layers make a gigabyte, and no two are the same */
export async function checkedImage(folder: string, from: string): Promise<void> {
  const why = whyNoRegistry() ?? (spawnSync("skopeo", ["--version"]).status === 0 ? null : "no skopeo");
  if (why !== null) {
    line("check of an image in a registry", `not measured: ${why}`);
    return;
  }
  const registry = await startRegistry();
  try {
    const { layers, unpacked } = push(folder, from, `${registry.host}/team/app:1`);
    const pull = layers.map(
      (digest) => `curl -fsS http://${registry.host}/v2/team/app/blobs/${digest} | tar -xz -C "$root"`,
    );
    const times = { pulled: [] as number[], cold: [] as number[], warm: [] as number[] };
    let sent = "";
    for (let turn = 0; turn < turns; turn++) {
      const root = join(folder, "root");
      mkdirSync(root);
      const started = performance.now();
      execFileSync("bash", ["-ec", pull.join("\n")], { env: { ...process.env, root } });
      times.pulled.push(performance.now() - started);
      rmSync(root, { recursive: true });
      const cache = join(folder, `cache-${turn}`);
      times.cold.push((await check(registry.host, cache, folder)).ms);
      const warm = await check(registry.host, cache, folder);
      times.warm.push(warm.ms);
      sent = warm.stdout;
    }
    const [pulled, cold, warm] = [median(times.pulled), median(times.cold), median(times.warm)];
    const size = `${(unpacked / 10 ** 9).toFixed(1)} GB, ${layers.length} layers of gzip`;
    line(`pull and unpack of ${size}`, seconds(pulled));
    line(
      "check of that image, opened",
      `${seconds(cold)}, ${(cold / pulled).toFixed(2)} times as long  (aim: at most 3)`,
    );
    line("the same again", `${seconds(warm)}, no layer read  (${JSON.parse(sent).judgedBy})`);
  } finally {
    await registry.stop();
  }
}

function check(host: string, cache: string, folder: string) {
  const args = ["check", `${host}/team/app:1`, "--host-type", "g6.xlarge", "--driver", "580.95.05", "--json"];
  return measure(args, folder, { ...process.env, XDG_CACHE_HOME: cache }, [0, 3]);
}

/** Node reads no file of more than 2 GiB whole. */
function sha256(path: string): string {
  const hash = createHash("sha256");
  const piece = Buffer.alloc(2 ** 24);
  const descriptor = openSync(path, "r");
  for (let read = readSync(descriptor, piece); read > 0; read = readSync(descriptor, piece))
    hash.update(piece.subarray(0, read));
  closeSync(descriptor);
  return hash.digest("hex");
}

function push(folder: string, from: string, reference: string) {
  const layout = join(folder, "layout");
  const blobs = join(layout, "blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const write = (bytes: Buffer) => {
    const digest = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(blobs, digest), bytes);
    return { digest: `sha256:${digest}`, size: bytes.length };
  };
  const layers: { readonly digest: string; readonly size: number }[] = [];
  const diffIds: string[] = [];
  let unpacked = 0;
  const tar = join(folder, "layer.tar");
  while (unpacked < imageBytes) {
    writeFileSync(join(folder, "which"), String(layers.length));
    execFileSync("tar", ["-cf", tar, "-C", folder, "which", "-C", from, "."]);
    unpacked += statSync(tar).size;
    diffIds.push(`sha256:${sha256(tar)}`);
    execFileSync("gzip", ["-f", "-1", tar]);
    const { size } = statSync(`${tar}.gz`);
    const digest = sha256(`${tar}.gz`);
    renameSync(`${tar}.gz`, join(blobs, digest));
    layers.push({ digest: `sha256:${digest}`, size });
  }
  const type = (name: string) => `application/vnd.oci.image.${name}`;
  const rootfs = { type: "layers", diff_ids: diffIds };
  const config = write(
    Buffer.from(JSON.stringify({ os: "linux", architecture: "amd64", config: {}, rootfs })),
  );
  const manifest = write(
    Buffer.from(
      JSON.stringify({
        ...{ schemaVersion: 2, mediaType: type("manifest.v1+json") },
        config: { mediaType: type("config.v1+json"), ...config },
        layers: layers.map((layer) => ({ mediaType: type("layer.v1.tar+gzip"), ...layer })),
      }),
    ),
  );
  const annotations = { "org.opencontainers.image.ref.name": "made" };
  const manifests = [{ mediaType: type("manifest.v1+json"), ...manifest, annotations }];
  writeFileSync(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests }));
  writeFileSync(join(layout, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  execFileSync("skopeo", [
    "copy",
    "-q",
    "--dest-tls-verify=false",
    `oci:${layout}:made`,
    `docker://${reference}`,
  ]);
  return { layers: layers.map(({ digest }) => digest), unpacked };
}
