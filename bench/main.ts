/** `npm run bench`: measures the figures of bench/README.md in one run. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { nodeHostIo } from "../src/host/node-host-io.ts";
import { probeHost } from "../src/host/probe-host.ts";
import { coverManyHosts } from "./cover.ts";
import { builds } from "./engine.ts";
import { openedImages } from "./inspect.ts";
import { resolveOnGpuHost } from "./gpu-host.ts";
import { largeCases, largeMatrix } from "./large-matrix.ts";
import { benchLock } from "./lock.ts";
import { cli, measure } from "./measure.ts";
import { manyHosts } from "./many-hosts.ts";
import { openedPage } from "./page.ts";
import { publishedFleet } from "./published.ts";
import { nodeScript } from "./node-script.ts";
import { readersOfText } from "./readers.ts";
import { line, median, seconds } from "./report.ts";
import { noOpOfManyCells } from "./scale.ts";
import { trustedFleet } from "./trusted.ts";
import { writeFiles } from "./project.ts";

// Node reads these certificates when it starts, an empty script too: they would hide what a program takes.
delete process.env.NODE_EXTRA_CA_CERTS;
const folder = mkdtempSync(join(tmpdir(), "imgmatch-bench-"));
try {
  process.stdout.write(`Node ${process.version} on ${cpus().length} × ${cpus()[0]?.model.trim()}\n\n`);
  startOfResolve();
  resolveOnGpuHost(join(folder, "gpu"));
  await probe();
  await readersOfText();
  await manyHosts(25);
  await manyHosts(400);
  await coverManyHosts(join(folder, "cover"), 10_000, 400);
  await openedPage(folder);
  await nodeScript(join(folder, "script"));
  await planAndRender(10_000);
  await publishedFleet(join(folder, "published"), 10_000);
  await trustedFleet(join(folder, "trusted"));
  await openedImages(folder);
  await builds();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Compares the start of `imgmatch resolve` with an empty script, turn by turn, so that both meet the same machine. */
function startOfResolve(): void {
  const root = write("resolve", { "images/imgmatch.lock.json": benchLock(58), "empty.mjs": "" });
  const empty = [join(root, "empty.mjs")];
  const question = [cli, "resolve", "--lock", join(root, "images/imgmatch.lock.json")];
  const rounds = 60;
  const times = { empty: [] as number[], resolve: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.empty.push(timeOf(empty));
    times.resolve.push(timeOf(question));
  }
  const [one, other] = [median(times.empty), median(times.resolve)];
  line("empty Node script", `${one.toFixed(1)} ms`);
  line("imgmatch resolve, 58 images", `${other.toFixed(1)} ms`);
  line("ratio of the medians", `${(other / one).toFixed(2)}  (${rounds} rounds, aim: at most 1.2)`);
}

/** The time of a probe in a running program. */
async function probe(): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < 30; round++) {
    const started = performance.now();
    await probeHost(nodeHostIo());
    times.push(performance.now() - started);
  }
  line("facts of this host, median of 30", `${median(times).toFixed(1)} ms`);
}

async function planAndRender(cells: number): Promise<void> {
  const root = write("large", largeMatrix(cells));
  const plan = await measure(["plan", "--offline", "--json"], root);
  const render = await measure(["render"], root);
  line(`plan of ${cells} cells`, `${seconds(plan.ms)}, ${plan.peakMiB} MiB at most`);
  line(`render of ${cells} cells`, `${seconds(render.ms)}, ${render.peakMiB} MiB at most, files included`);
  const cases = await measure(
    ["plan", "--offline", "--json"],
    write("cases", largeMatrix(cells, largeCases)),
  );
  line(`plan of ${cells} cells with cases`, `${seconds(cases.ms)}, ${cases.peakMiB} MiB at most`);
  line("both", `${seconds(plan.ms + render.ms)}  (aim: 2 s, 400 MiB)`);
  await noOpOfManyCells(root, cells);
}

function timeOf(args: readonly string[]): number {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  if (status !== 0) throw new Error(`${args.join(" ")} failed: ${stderr}`);
  return performance.now() - started;
}

function write(name: string, files: Readonly<Record<string, string>>): string {
  const root = join(folder, name);
  writeFiles(root, files);
  return root;
}
