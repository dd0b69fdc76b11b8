/** Compares `resolve` from a warm cache with a key, with a policy that refuses downgrades, and without signatures. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatHostFacts } from "../src/facts/format-facts.ts";
import { whyNoRegistry, startRegistry } from "../test/e2e/support/registry.ts";
import { createSigningKey, publishFleet } from "../test/e2e/support/signed-fleet.ts";
import { cpuHost } from "../test/resolve/support/hosts.ts";
import { measure } from "./measure.ts";
import { line, median } from "./report.ts";

const rounds = 30;

/** Runs the ways in turn, so that all meet the same machine, and compares processor time. */
export async function trustedFleet(folder: string): Promise<void> {
  if (whyNoRegistry() !== null)
    return line("resolve by key", "no docker-registry (apt-get install docker-registry)");
  mkdirSync(folder, { mode: 0o755 });
  const registry = await startRegistry();
  try {
    const repository = `${registry.host}/bench/app`;
    const { index } = await publishFleet(
      repository,
      "1.0.0",
      Array.from({ length: 40 }, (_, cell) => `c${cell}`),
    );
    const key = createSigningKey();
    await key.sign(repository, index);
    const write = (name: string, text: string): void =>
      writeFileSync(join(folder, name), text, { mode: 0o644 });
    write("cosign.pub", key.pem);
    write("host.json", formatHostFacts(cpuHost()));
    write(
      "trust.yaml",
      `repositories: {"${repository}": {signers: [{key: cosign.pub}], downgrade: refuse}}\n`,
    );
    const ways = {
      "asking nobody": [],
      "by key": ["--key", "cosign.pub"],
      "by policy, forward only": ["--trust", "trust.yaml"],
    };
    const times = new Map<string, number[]>();
    for (let round = 0; round <= rounds; round++)
      for (const [name, flags] of Object.entries(ways)) {
        const args = [
          "resolve",
          `${repository}:1.0.0`,
          "--host",
          "host.json",
          "--cache",
          `cache-${flags.length === 0}-${flags[0]}`,
        ];
        const { cpuMs } = await measure([...args, ...flags], folder);
        // The first one fills the cache.
        if (round > 0) times.set(name, [...(times.get(name) ?? []), cpuMs]);
      }
    const plain = times.get("asking nobody") ?? [];
    for (const [name, taken] of times) {
      const ratio = median(taken.map((ms, round) => ms / (plain[round] ?? Number.NaN)));
      line(
        `resolve from a registry, ${name}`,
        `${median(taken).toFixed(1)} ms of processor, ${ratio.toFixed(2)}`,
      );
    }
  } finally {
    await registry.stop();
  }
}
