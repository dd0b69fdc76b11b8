/** Measures `imgmatch cover` of 10,000 hosts, whose facts are lines of one file. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cover } from "../src/cover/cover-classes.ts";
import { benchLock } from "./lock.ts";
import { differentHosts } from "./many-hosts.ts";
import { measure } from "./measure.ts";
import { line, seconds } from "./report.ts";
import { writeFiles } from "./project.ts";

export async function coverManyHosts(root: string, hosts: number, images: number): Promise<void> {
  // Some of them differ only in facts that no rule asks for.
  const kinds = differentHosts().slice(0, 220);
  const facts = Array.from({ length: hosts }, (_, index) => {
    const each = kinds[index % kinds.length];
    const gpus = each?.nvidia?.gpus.map((gpu) => ({ ...gpu, uuid: `GPU-${index}`, memoryMiB: 81_559 }));
    return JSON.stringify({ ...each, nvidia: each?.nvidia == null ? null : { ...each.nvidia, gpus } });
  });
  writeFiles(root, { "images/imgmatch.lock.json": benchLock(images) });
  writeFileSync(join(root, "hosts.jsonl"), `${facts.join("\n")}\n`);
  const run = await measure(["cover", "hosts.jsonl", "--json"], root);
  const { counts } = JSON.parse(run.stdout) as Cover;
  if (counts.hosts !== hosts || counts.classes !== 200)
    throw new Error(`${counts.hosts} of ${hosts} hosts, ${counts.classes} of 200 classes`);
  line(
    `cover of ${hosts} hosts, ${counts.classes} classes, ${images} images`,
    `${seconds(run.ms)}, ${seconds(run.cpuMs)} of processors, ${run.peakMiB} MiB at most  (aim: 2 s, 300 MiB)`,
  );
}
