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

const [perSecond, seconds] = [1000, Number(process.argv[2] ?? 60)];
const folder = mkdtempSync(join(tmpdir(), "imgmatch-bench-mirror-"));
const lock = parseLock(benchLock(100), "the bench's lock");
const manifest = { mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1234 };
const images = Object.entries(lock.images).map(([cell, image]) => [cell, { ...image, manifest }]);
writeFileSync(join(folder, "lock.json"), formatLock({ ...lock, images: Object.fromEntries(images) }));
const child = spawn(process.execPath, [cli, "serve", "--lock", "lock.json", "--listen", "127.0.0.1:0"], {
  cwd: folder,
  stdio: ["ignore", "ignore", "pipe"],
});
/** The least that an answer of Node costs on this machine now. */
const empty = spawn(
  process.execPath,
  [
    "-e",
    'require("node:http").createServer((_, to) => to.end()).listen(0, "127.0.0.1", function () { console.log(this.address().port) })',
  ],
  { stdio: ["ignore", "pipe", "ignore"] },
);
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
try {
  const emptyPort = await new Promise<number>((resolve) =>
    empty.stdout.once("data", (text) => resolve(Number(text))),
  );
  const port = await new Promise<number>((resolve) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const [, found] = /"listening".*?:(\d+)"/.exec(text) ?? [];
      if (found !== undefined) resolve(Number(found));
    });
  });
  const repository = lock.repository.slice(lock.repository.indexOf("/") + 1);
  const ask = (method: string, path: string, of = port): Promise<{ status: number; body: string }> =>
    new Promise((resolve, reject) => {
      const sent = request({ port: of, host: "127.0.0.1", path, method, agent }, (response) => {
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
  const prober = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ")[0];
  /** Memory of the process that probes the host. */
  const probeMiB = () => {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${prober()}/status`, "utf8"))?.[1];
    return Math.round(Number(kilobytes) / 1024);
  };
  /** What a process has had of the processors so far (proc(5): `utime` and `stime`, in hundredths of a second). */
  const spentMs = (pid: number | string | undefined) => {
    const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const [utime, stime] = fields.split(" ").slice(11).map(Number);
    return ((utime ?? 0) + (stime ?? 0)) * 10;
  };
  const took: number[] = [];
  const statuses = new Map<number, number>();
  const resident: number[] = [];
  // The first answers are those of code that is not compiled yet.
  for (let count = 0; count < perSecond; count++)
    await ask("HEAD", `/v2/${repository}/manifests/${lock.version}`);
  const processes = [child.pid, prober(), empty.pid];
  const before = processes.map(spentMs);
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
      all.push(ask("HEAD", "/", emptyPort).then(() => {}));
      if (sent % (perSecond * 10) === 0) all.push(residentMiB().then((size) => void resident.push(size)));
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(all);
  const [own, probing, least] = processes.map(
    (pid, which) => (spentMs(pid) - (before[which] ?? 0)) / took.length,
  );
  const figures = (ms = 0) => `${ms.toFixed(3)} ms`;
  took.sort((a, b) => a - b);
  const at = (share: number) => (took[Math.floor((took.length - 1) * share)] ?? 0).toFixed(1);
  const lasted = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `${took.length} HEADs in ${lasted} s, ${Object.keys(lock.images).length} images, statuses ${JSON.stringify([...statuses])}\n` +
      `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms, longest ${at(1)} ms\n` +
      `resident every 10 s, MiB: ${resident.join(" ")}, at the end ${await residentMiB()}, and what asks the host ${probeMiB()}\n` +
      `processor time of an answer ${figures(own)}, of what asks the host ${figures(probing)}, of an empty server ${figures(least)}\n` +
      `ratio to the empty server ${((own ?? 0) / (least ?? 1)).toFixed(2)}  (aim: at most 1.5)\n`,
  );
} finally {
  agent.destroy();
  child.kill();
  empty.kill();
  rmSync(folder, { recursive: true, force: true });
}
