/** Measures the time that a build spends on opening its images: four cells on a base of 1.5 GB, with and without `measure`. */

import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createDockerEngine } from "../src/fleet/engines/docker/docker-engine.ts";
import { parseImageReference } from "../src/oci/reference.ts";
import { addBusybox } from "../test/e2e/support/busybox.ts";
import { measure } from "./measure.ts";
import { line, median, seconds } from "./report.ts";
import { type BuildPlace, platform, writeProject } from "./project.ts";
import { readContext } from "../test/support/context-entries.ts";

const baseMiB = 1500;
const cells = 4;
const turns = 3;

/** Each turn has new files, so that only the base is known. The first build with a push opens the base. */
export async function openedBuilds(place: BuildPlace): Promise<void> {
  const env = { ...place.env, XDG_CACHE_HOME: join(place.folder, "cache") };
  await pushBase(place);
  for (const push of [true, false]) {
    const run = async (name: string, isOpened: boolean) => {
      const root = await project(place, `${name}-${push ? "push" : "engine"}`, isOpened);
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

async function pushBase({ folder, env, registry }: BuildPlace): Promise<void> {
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

async function project(place: BuildPlace, name: string, isOpened: boolean): Promise<string> {
  const numbers = Array.from({ length: cells }, (_, number) => number);
  const root = writeProject(place, name, cells, {
    template: "FROM {{base}}\nCOPY bin /app/bin\nCOPY content{{number}} /app/\n",
    keys: `base: ${place.registry}/bench/base:1\nmeasure: ${isOpened}`,
    files: Object.fromEntries(numbers.map((number) => [`content${number}`, `${name} ${number}\n`])),
  });
  await addBusybox(join(root, "context"));
  await measure(["render"], root, place.env);
  return root;
}
