/** What needs a container engine and a registry: builds, against the plain engine given the same Dockerfiles. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pLimit from "p-limit";
import { connectDocker, type DockerApi } from "../src/oci/engine/api.ts";
import { contextTar, dockerfileName } from "../src/fleet/build/engines/context-archive.ts";
import { readContext } from "../src/fleet/dockerfile/context.ts";
import { addBusybox, whyNoBusybox } from "../test/e2e/support/busybox.ts";
import { engineAvailable, startEngine } from "../test/e2e/support/engine.ts";
import { whyNoRegistry, startRegistry } from "../test/e2e/support/registry.ts";
import { measure } from "./measure.ts";
import { median, openedBuilds } from "./opened-builds.ts";
import { line, seconds } from "./report.ts";
import { writeFiles } from "./write-files.ts";

const concurrency = 4;
const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";

export async function builds(): Promise<void> {
  const reason = engineAvailable() ?? (whyNoRegistry() === null ? whyNoBusybox : "no docker-registry");
  if (reason !== null) return line("builds", `skipped: ${reason}`);
  const registry = await startRegistry();
  const engine = await startEngine().catch(async (error: unknown) => {
    await registry.stop();
    throw error;
  });
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-bench-"));
  const env = { ...process.env, ...engine.env };
  try {
    const api = await connectDocker(env);
    await coldBuild({ folder, env, api, registry: registry.host });
    await noOp({ folder, env, api, registry: registry.host });
    await openedBuilds({ folder, env, registry: registry.host, platform, march });
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await engine.stop();
    await registry.stop();
  }
}

interface Bench {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly api: DockerApi;
  readonly registry: string;
}

/** 24 cells that share one stage, each with a second's work of its own; who begins a turn changes, the medians are compared. */
async function coldBuild(bench: Bench): Promise<void> {
  const cells = 24;
  const times = { imgmatch: [] as number[], engine: [] as number[] };
  const turns = 4;
  const build = {
    imgmatch: async (root: string) =>
      (await measure(["build", "--concurrency", String(concurrency)], root, bench.env)).ms,
    engine: (root: string) => buildPlainly(bench, root),
  };
  for (let turn = 0; turn < turns; turn++) {
    const ways = ["imgmatch", "engine"] as const;
    for (const way of turn % 2 === 0 ? ways : ways.toReversed()) {
      // Another salt makes every step new to the engine.
      const root = await project(bench, `${way}-${turn}`, cells, coldTemplate(`${way} ${turn}`));
      times[way].push(await build[way](root));
    }
  }
  const [one, other] = [median(times.imgmatch), median(times.engine)];
  line(`cold build of ${cells} cells, ${concurrency} at a time`, seconds(one));
  line("the plain engine, same Dockerfiles", seconds(other));
  line("ratio of the medians", `${(one / other).toFixed(2)}  (${turns} turns each, aim: at most 1.00)`);
}

function coldTemplate(salt: string): string {
  const work = (megabytes: number) =>
    `busybox dd if=/dev/zero bs=1M count=${megabytes} 2>/dev/null | busybox sha256sum`;
  return `FROM {{base}} AS shared
COPY bin /bin
RUN echo ${salt} && ${work(150)} > /shared

FROM shared AS build
RUN echo {{number}} && ${work(60)} > /own

FROM {{base}}
COPY --from=build /shared /own /
`;
}

/** 1,000 locked cells in a registry: nothing to do, against asking the engine, which has each of them in its cache. */
async function noOp(bench: Bench): Promise<void> {
  const cells = Number(process.env.IMGMATCH_BENCH_CELLS ?? 1000);
  const root = await project(
    bench,
    "no-op",
    cells,
    "FROM {{base}}\nCOPY content /content\nENV NUMBER={{number}}\n",
  );
  const first = await measure(["build", "--push", "--concurrency", "8"], root, bench.env);
  line(`first build --push of ${cells} cells`, seconds(first.ms));
  const again = await measure(["build", "--push"], root, bench.env);
  if (!again.stderr.includes("nothing to build")) throw new Error(again.stderr);
  const cached = await buildPlainly(bench, root);
  line(`no-op build --push of ${cells} cells`, `${seconds(again.ms)}, ${again.peakMiB} MiB  (aim: 2 s)`);
  line(
    "the same through the engine's cache",
    `${seconds(cached)}, ${(cached / again.ms).toFixed(0)} times as long`,
  );
}

async function project(
  { folder, env, registry }: Bench,
  name: string,
  cells: number,
  template: string,
): Promise<string> {
  const root = join(folder, name);
  const numbers = Array.from({ length: cells }, (_, index) => `"${index}"`);
  writeFiles(root, {
    "matrix.yaml": `name: ${name}\nversion: "1"\nregistry: ${registry}/bench\ntemplate: context.hbs\ncontext: context\nbase: scratch\naxes:\n  march: [${march}]\n  number: [${numbers}]\n`,
    "context.hbs": template,
    "context/content": "hello\n",
  });
  await addBusybox(join(root, "context"));
  await measure(["render"], root, env);
  return root;
}

/** What a script around `docker build` does: every Dockerfile of `images/`, as many at a time as imgmatch. */
async function buildPlainly({ api }: Bench, root: string): Promise<number> {
  const plan = JSON.parse((await measure(["plan", "--offline", "--json"], root)).stdout) as {
    readonly cells: readonly { readonly cell: string; readonly dockerfile: string }[];
  };
  const context = await readContext(join(root, "context"), { file: "matrix.yaml" });
  const contextFiles = context.entries;
  const limit = pLimit(concurrency);
  const started = performance.now();
  await Promise.all(
    plan.cells.map(({ cell, dockerfile }) =>
      limit(async () => {
        if (!existsSync(join(root, dockerfile))) throw new Error(`no ${dockerfile}`);
        const text = readFileSync(join(root, dockerfile), "utf8");
        const body = contextTar({
          contextDir: join(root, "context"),
          contextFiles,
          dockerfile: text,
          mtime: 0,
        });
        const query = {
          version: "2",
          dockerfile: dockerfileName,
          t: `plain/${cell.toLowerCase()}:1`,
          platform,
        };
        const headers = { "Content-Type": "application/x-tar" };
        for await (const message of api.stream("POST", "/build", { query, headers, body })) {
          const { error } = message as { readonly error?: string };
          if (error !== undefined) throw new Error(error);
        }
      }),
    ),
  );
  return performance.now() - started;
}
