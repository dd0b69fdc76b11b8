/** What a build pays for Pulumi: the same images by `--engine pulumi` and by the Docker Engine that it uses, pushed. */

import { join } from "node:path";
import { findParts } from "../src/pulumi/missing-parts.ts";
import { measure } from "./measure.ts";
import { median, type OpenedBuilds } from "./opened-builds.ts";
import { line, seconds } from "./report.ts";
import { writeFiles } from "./write-files.ts";

const cells = 24;
const turns = 3;

/** Images of one small file, which take the engine no time: what is left is what goes between imgmatch and the engine. */
export async function pulumiBuilds(bench: OpenedBuilds): Promise<void> {
  const parts = await findParts(bench.env).catch(() => null);
  if (parts === null) return line("builds by Pulumi", "skipped: no pulumi with its docker plug-in");
  const times = { docker: [] as number[], pulumi: [] as number[] };
  for (let turn = 0; turn < turns; turn++) {
    const engines = ["docker", "pulumi"] as const;
    for (const engine of turn % 2 === 0 ? engines : engines.toReversed())
      times[engine].push(await build(bench, engine, turn));
  }
  const [docker, pulumi] = [median(times.docker), median(times.pulumi)];
  line(`build --push of ${cells} small images, by the engine`, seconds(docker));
  line(`the same by pulumi ${parts.version}, a new stack`, seconds(pulumi));
  line(
    "ratio of the medians",
    `${(pulumi / docker).toFixed(2)}  (${turns} turns each; ${seconds((pulumi - docker) / cells)} more an image)`,
  );
}

async function build({ folder, env, registry, march }: OpenedBuilds, engine: string, turn: number) {
  const name = `by-${engine}-${turn}`;
  const root = join(folder, name);
  const numbers = Array.from({ length: cells }, (_, index) => `"${index}"`).join(", ");
  writeFiles(root, {
    "matrix.yaml": `name: ${name}\nversion: "1"\nregistry: ${registry}/bench\ntemplate: app.hbs\ncontext: context\nbase: scratch\nmeasure: false\naxes:\n  march: [${march}]\n  number: [${numbers}]\n`,
    "app.hbs": `FROM {{base}}\nCOPY content /content\nENV NUMBER={{number}} TURN=${name}\n`,
    "context/content": "hello\n",
  });
  return (await measure(["build", "--push", "--engine", engine, "--concurrency", "4"], root, env)).ms;
}
