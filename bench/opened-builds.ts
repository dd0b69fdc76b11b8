/** What a build pays for opening its images: four cells on one base of 1.5 GB, opened against `measure: false`. */

import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createDockerEngine } from "../src/fleet/build/engines/docker/docker-engine.ts";
import { readContext } from "../src/fleet/dockerfile/context.ts";
import { parseImageReference } from "../src/oci/reference.ts";
import { addBusybox } from "../test/e2e/support/busybox.ts";
import { measure } from "./measure.ts";
import { line, seconds } from "./report.ts";
import { writeFiles } from "./write-files.ts";

const baseMiB = 1500;
const cells = 4;
const turns = 3;

interface OpenedBuilds {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Host of a registry. */
  readonly registry: string;
  readonly platform: string;
  readonly march: string;
}

/** Each turn has files of its own, so that nothing but the base is known; the first build with a push opens the base. */
export async function openedBuilds(bench: OpenedBuilds): Promise<void> {
  const env = { ...bench.env, XDG_CACHE_HOME: join(bench.folder, "cache") };
  await pushBase(bench);
  for (const push of [true, false]) {
    const run = async (name: string, isOpened: boolean) => {
      const root = await project(bench, `${name}-${push ? "push" : "engine"}`, isOpened);
      return (await measure(["build", ...(push ? ["--push"] : [])], root, env)).ms;
    };
    const first = await run("first", true);
    const times = { shut: [] as number[], opened: [] as number[] };
    for (let turn = 0; turn < turns; turn++) {
      times.shut.push(await run(`shut-${turn}`, false));
      times.opened.push(await run(`opened-${turn}`, true));
    }
    const [shut, opened] = [median(times.shut), median(times.opened)];
    const what = `build ${push ? "--push " : ""}of ${cells} cells on a base of ${baseMiB} MiB`;
    line(`${what}, measure: false`, seconds(shut));
    line("the same, opened", seconds(opened));
    line("ratio of the medians", `${(opened / shut).toFixed(2)}  (${turns} turns each)`);
    line("the first one, which opens the base", seconds(first));
  }
}

async function pushBase({ folder, env, registry, platform }: OpenedBuilds): Promise<void> {
  const contextDir = join(folder, "base");
  mkdirSync(contextDir);
  const layers = 3;
  for (let layer = 0; layer < layers; layer++) {
    const block = Buffer.concat(Array(256).fill(randomBytes(4096)));
    for (let size = 0; size < baseMiB / layers; size++) appendFileSync(join(contextDir, `${layer}`), block);
  }
  const dockerfile = `FROM scratch\n${Array.from({ length: layers }, (_, layer) => `COPY ${layer} /base/\n`).join("")}`;
  const contextFiles = (await readContext(contextDir, { file: "matrix.yaml" })).entries;
  const engine = await createDockerEngine({ env });
  const watch = { signal: new AbortController().signal, onLog: () => {} };
  const built = { cell: "base", args: {}, labels: {}, tags: [], target: null };
  const image = await engine.build({ ...built, dockerfile, contextDir, contextFiles, platform }, watch);
  await engine.push(image, parseImageReference(`${registry}/bench/base:1`), watch);
}

async function project(
  { folder, env, registry, march }: OpenedBuilds,
  name: string,
  isOpened: boolean,
): Promise<string> {
  const root = join(folder, name);
  const numbers = Array.from({ length: cells }, (_, number) => `"${number}"`);
  writeFiles(root, {
    "matrix.yaml": `name: ${name}\nversion: "1"\nregistry: ${registry}/bench\ntemplate: context.hbs\ncontext: context\nbase: ${registry}/bench/base:1\nmeasure: ${isOpened}\naxes:\n  march: [${march}]\n  number: [${numbers}]\n`,
    "context.hbs": "FROM {{base}}\nCOPY bin /app/bin\nCOPY content{{number}} /app/\n",
    ...Object.fromEntries(
      Array.from({ length: cells }, (_, number) => [`context/content${number}`, `${name} ${number}\n`]),
    ),
  });
  await addBusybox(join(root, "context"));
  await measure(["render"], root, env);
  return root;
}

export function median(times: readonly number[]): number {
  return [...times].sort((one, other) => one - other)[times.length >> 1] ?? Number.NaN;
}
