/** Compares builds with those of the plain engine, which gets the same Dockerfiles. Needs an engine and a registry. */

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pLimit from "p-limit";
import { addBusybox, whyNoBusybox } from "../test/e2e/support/busybox.ts";
import { engineAvailable, startEngine } from "../test/e2e/support/engine.ts";
import { whyNoRegistry, startRegistry } from "../test/e2e/support/registry.ts";
import { measure } from "./measure.ts";
import { openedBuilds } from "./opened-builds.ts";
import { line, median, seconds } from "./report.ts";
import { type BuildPlace, platform, writeProject } from "./project.ts";

const concurrency = 4;
const run = promisify(execFile);

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
    const place = { folder, env, registry: registry.host };
    await coldBuild(place);
    await largeContext(place);
    await noOp(place);
    await openedBuilds(place);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await engine.stop();
    await registry.stop();
  }
}

/** Builds 24 cells that share one stage; each has a second's work of its own. imgmatch and the engine begin in turn. */
async function coldBuild(place: BuildPlace): Promise<void> {
  const cells = 24;
  const times = { imgmatch: [] as number[], engine: [] as number[] };
  const turns = 4;
  const build = {
    imgmatch: async (root: string) =>
      (await measure(["build", "--concurrency", String(concurrency)], root, place.env)).ms,
    engine: (root: string) => buildPlainly(place, root),
  };
  for (let turn = 0; turn < turns; turn++) {
    const ways = ["imgmatch", "engine"] as const;
    for (const way of turn % 2 === 0 ? ways : ways.toReversed()) {
      // The salt makes every step new to the engine.
      const root = await project(place, `${way}-${turn}`, cells, coldTemplate(`${way} ${turn}`));
      times[way].push(await build[way](root));
    }
  }
  const [one, other] = [median(times.imgmatch), median(times.engine)];
  line(`cold build of ${cells} cells, ${concurrency} at a time`, seconds(one));
  line("the plain engine, same Dockerfiles", seconds(other));
  line("ratio of the medians", `${(one / other).toFixed(2)}  (${turns} turns each, aim: at most 1.00)`);
}

/** Builds one cell that copies 500 MB of new files, and does not open it afterwards. imgmatch and the engine begin in turn. */
async function largeContext(place: BuildPlace): Promise<void> {
  const turns = 4;
  const times = { imgmatch: [] as number[], engine: [] as number[] };
  for (let turn = 0; turn < turns; turn++) {
    const ways = ["imgmatch", "engine"] as const;
    for (const way of turn % 2 === 0 ? ways : ways.toReversed()) {
      const template = "FROM {{base}}\nCOPY large /large\nENV NUMBER={{number}}\n";
      const root = writeProject(place, `large-${way}-${turn}`, 1, {
        template,
        keys: "base: scratch\nmeasure: false",
        files: {},
      });
      for (let folder = 0; folder < 25; folder++) {
        const at = join(root, "context/large", String(folder));
        mkdirSync(at, { recursive: true });
        for (let file = 0; file < 20; file++) writeFileSync(join(at, String(file)), randomBytes(1_000_000));
      }
      await measure(["render"], root, place.env);
      const ms =
        way === "engine" ? await buildPlainly(place, root) : (await measure(["build"], root, place.env)).ms;
      times[way].push(ms);
      rmSync(root, { recursive: true });
    }
  }
  const [one, other] = [median(times.imgmatch), median(times.engine)];
  line("build with a context of 500 MB", seconds(one));
  line("the plain engine, same files", seconds(other));
  line("ratio of the medians", `${(one / other).toFixed(2)}  (${turns} turns each, aim: at most 1.30)`);
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

/** Builds 1,000 cells that a registry has already, and asks the engine, which has each in its cache. */
async function noOp(place: BuildPlace): Promise<void> {
  const cells = Number(process.env.IMGMATCH_BENCH_CELLS ?? 1000);
  const root = await project(
    place,
    "no-op",
    cells,
    "FROM {{base}}\nCOPY content /content\nENV NUMBER={{number}}\n",
  );
  const first = await measure(["build", "--push", "--concurrency", "8"], root, place.env);
  line(`first build --push of ${cells} cells`, seconds(first.ms));
  const again = await measure(["build", "--push"], root, place.env);
  if (!again.stderr.includes("nothing to build")) throw new Error(again.stderr);
  const cached = await buildPlainly(place, root);
  line(`no-op build --push of ${cells} cells`, `${seconds(again.ms)}, ${again.peakMiB} MiB  (aim: 2 s)`);
  line(
    "the same through the engine's cache",
    `${seconds(cached)}, ${(cached / again.ms).toFixed(0)} times as long`,
  );
}

async function project(place: BuildPlace, name: string, cells: number, template: string): Promise<string> {
  const files = { content: "hello\n" };
  const root = writeProject(place, name, cells, { template, keys: "base: scratch", files });
  await addBusybox(join(root, "context"));
  await measure(["render"], root, place.env);
  return root;
}

/** Builds every Dockerfile of `images/` as a script around `docker build` does, as many at a time as imgmatch. */
async function buildPlainly({ env }: BuildPlace, root: string): Promise<number> {
  const plan = JSON.parse((await measure(["plan", "--offline", "--json"], root)).stdout) as {
    readonly cells: readonly { readonly cell: string; readonly dockerfile: string }[];
  };
  const limit = pLimit(concurrency);
  const started = performance.now();
  await Promise.all(
    plan.cells.map(({ cell, dockerfile }) =>
      limit(async () => {
        const flags = [
          "--platform",
          platform,
          "--tag",
          `plain/${cell.toLowerCase()}:1`,
          "--file",
          dockerfile,
        ];
        await run("docker", ["build", "--quiet", ...flags, "context"], {
          ...{ cwd: root, env: { ...env, DOCKER_BUILDKIT: "1" } },
        });
      }),
    ),
  );
  return performance.now() - started;
}
