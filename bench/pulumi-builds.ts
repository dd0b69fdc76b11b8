/** Compares `build --push --engine pulumi` with the Docker Engine that Pulumi uses. */

import { findParts } from "../src/pulumi/missing-parts.ts";
import { measure } from "./measure.ts";
import { type BuildPlace, writeProject } from "./project.ts";
import { line, median, seconds } from "./report.ts";

const cells = 24;
const turns = 3;

/** The images have one small file, so that the engine itself takes nearly no time. */
export async function pulumiBuilds(place: BuildPlace): Promise<void> {
  const parts = await findParts(place.env).catch(() => null);
  if (parts === null) return line("builds by Pulumi", "skipped: no pulumi with its docker plug-in");
  const times = { docker: [] as number[], pulumi: [] as number[] };
  for (let turn = 0; turn < turns; turn++) {
    const engines = ["docker", "pulumi"] as const;
    for (const engine of turn % 2 === 0 ? engines : engines.toReversed())
      times[engine].push(await build(place, engine, turn));
  }
  const [docker, pulumi] = [median(times.docker), median(times.pulumi)];
  line(`build --push of ${cells} small images, by the engine`, seconds(docker));
  line(`the same by pulumi ${parts.version}, a new stack`, seconds(pulumi));
  line(
    "ratio of the medians",
    `${(pulumi / docker).toFixed(2)}  (${turns} turns each; ${seconds((pulumi - docker) / cells)} more an image)`,
  );
}

async function build(place: BuildPlace, engine: string, turn: number): Promise<number> {
  const name = `by-${engine}-${turn}`;
  const root = writeProject(place, name, cells, {
    template: `FROM {{base}}\nCOPY content /content\nENV NUMBER={{number}} TURN=${name}\n`,
    keys: "base: scratch\nmeasure: false",
    files: { content: "hello\n" },
  });
  const flags = ["--push", "--engine", engine, "--concurrency", "4"];
  return (await measure(["build", ...flags], root, place.env)).ms;
}
