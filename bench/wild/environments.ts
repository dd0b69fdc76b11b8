/** Judges a folder of packages with `check` itself: on the CPU models of the corpus, which have no GPU, and on other hosts. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HostFacts } from "../../src/facts/facts.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { check, type HostCheck } from "../../src/index.ts";

/** In the order of the hosts. */
export async function judgeEnvironment(
  root: string,
  hosts: readonly (readonly [name: string, facts: HostFacts])[],
): Promise<readonly HostCheck[]> {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-wild-"));
  try {
    const files = hosts.map(([name, facts]) => {
      const file = join(folder, `${name}.json`);
      writeFileSync(file, formatHostFacts(facts));
      return file;
    });
    const [first = "", ...others] = files;
    return await check({ subjects: [root], hosts: [first, ...others] });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
