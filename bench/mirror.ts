/** Sends 1,000 HEADs a second to the mirror, more than a node sends. Each makes it probe this host. Run alone: `tsx bench/mirror.ts`. */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatLock } from "../src/lock/format-lock.ts";
import { parseLock } from "../src/lock/parse-lock.ts";
import { benchLock } from "./lock.ts";
import { cli } from "./measure.ts";

const [perSecond, seconds] = [1000, 60];
const folder = mkdtempSync(join(tmpdir(), "imgmatch-bench-mirror-"));
const lock = parseLock(benchLock(100), "the bench's lock");
const manifest = { mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1234 };
const images = Object.entries(lock.images).map(([cell, image]) => [cell, { ...image, manifest }]);
writeFileSync(join(folder, "lock.json"), formatLock({ ...lock, images: Object.fromEntries(images) }));
const child = spawn(process.execPath, [cli, "serve", "--lock", "lock.json", "--listen", "127.0.0.1:0"], {
  cwd: folder,
  stdio: ["ignore", "ignore", "pipe"],
});
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
try {
  const port = await new Promise<number>((resolve) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const [, found] = /"listening".*?:(\d+)"/.exec(text) ?? [];
      if (found !== undefined) resolve(Number(found));
    });
  });
  const repository = lock.repository.slice(lock.repository.indexOf("/") + 1);
  const ask = (method: string, path: string): Promise<{ status: number; body: string }> =>
    new Promise((resolve, reject) => {
      const sent = request({ port, host: "127.0.0.1", path, method, agent }, (response) => {
        let body = "";
        response.on("data", (chunk) => {
          body += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      });
      sent.on("error", reject).end();
    });
  const residentMiB = async () => {
    const { body } = await ask("GET", "/metrics");
    return Math.round(Number(/^process_resident_memory_bytes (\d+)/m.exec(body)?.[1]) / 1024 / 1024);
  };
  /** Memory of the process that probes the host. */
  const probeMiB = () => {
    const [pid] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ");
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Math.round(Number(kilobytes) / 1024);
  };
  const took: number[] = [];
  const statuses = new Map<number, number>();
  const resident: number[] = [];
  const started = performance.now();
  const all: Promise<void>[] = [];
  for (let sent = 0; sent < perSecond * seconds; ) {
    const due = Math.min(perSecond * seconds, ((performance.now() - started) / 1000) * perSecond);
    for (; sent < due; sent++) {
      const begun = performance.now();
      all.push(
        ask("HEAD", `/v2/${repository}/manifests/${lock.version}`).then(({ status }) => {
          took.push(performance.now() - begun);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }),
      );
      if (sent % (perSecond * 10) === 0) all.push(residentMiB().then((size) => void resident.push(size)));
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(all);
  took.sort((a, b) => a - b);
  const at = (share: number) => (took[Math.floor((took.length - 1) * share)] ?? 0).toFixed(1);
  const lasted = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `${took.length} HEADs in ${lasted} s, ${Object.keys(lock.images).length} images, statuses ${JSON.stringify([...statuses])}\n` +
      `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms, longest ${at(1)} ms\n` +
      `resident every 10 s, MiB: ${resident.join(" ")}, at the end ${await residentMiB()}, and what asks the host ${probeMiB()}\n`,
  );
} finally {
  agent.destroy();
  child.kill();
  rmSync(folder, { recursive: true, force: true });
}
