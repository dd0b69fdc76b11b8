/**
 * Compares `imgmatch check` with what public packages do on each CPU model. `record` writes the oracle's answers, `compare` prints the
 * verdicts, `fetch` does nothing more. `--held-back` takes the third that is looked at last, `--all` both, `--small` what CI inspects; other
 * words name packages. `--h200=FACTS` also judges, for such a host, the packages that somebody has used on one.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { isHeldBack, packages, readRecord, recordFile } from "./corpus.ts";
import { fetchPackage } from "./fetch.ts";
import { askOracle } from "./oracle.ts";

const [command, ...words] = process.argv.slice(2);
const names = words.filter((word) => !word.startsWith("--"));
const chosen = packages.filter(({ name, small }) =>
  names.length > 0 || words.includes("--small")
    ? names.includes(name) || (small && words.includes("--small"))
    : words.includes("--all") || isHeldBack(name) === words.includes("--held-back"),
);

if (command === "fetch") for (const each of chosen) fetchPackage(each);
else if (command === "record") {
  for (const each of chosen) {
    const started = Date.now();
    try {
      const { root, files } = fetchPackage(each);
      const found = { files, ...askOracle(each, root) };
      const record = { ...readRecord(), [each.name]: found };
      const sorted = Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
      writeFileSync(recordFile, `${JSON.stringify(sorted, null, 2)}\n`);
      process.stdout.write(
        `${each.name} ${JSON.stringify(found.models)} ${Math.round((Date.now() - started) / 1000)} s\n`,
      );
    } catch (error) {
      process.stdout.write(`${each.name}: ${error instanceof Error ? error.message.slice(0, 300) : error}\n`);
    }
  }
} else {
  const { compare } = await import("./compare.ts");
  const { parseHostFacts } = await import("../../src/facts/parse-facts.ts");
  const file = words.find((word) => word.startsWith("--h200="))?.split("=")[1];
  await compare(chosen, file === undefined ? undefined : parseHostFacts(readFileSync(file, "utf8"), file));
}
