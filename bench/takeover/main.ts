/**
 * Takes public definitions over with `imgmatch init`, and compares each build that it calls equal with what the evaluator says. `fetch` does
 * no more than that, `expect` prints the evaluator's builds, `compare` both. `--held-back` takes the third that is looked at last, `--all`
 * both; other words name definitions by a part of their names.
 */

import { compare } from "./compare.ts";
import { definitions, fetchDefinition, isHeldBack, nameOf } from "./definitions.ts";
import { evaluate } from "./evaluate.ts";

const [command, ...words] = process.argv.slice(2);
const names = words.filter((word) => !word.startsWith("--"));
const chosen = definitions.filter((each) =>
  names.length > 0
    ? names.some((name) => nameOf(each).includes(name))
    : words.includes("--all") || isHeldBack(each) === words.includes("--held-back"),
);

const total = { equal: 0, named: 0, wrong: 0 };
for (const each of chosen) {
  const folder = fetchDefinition(each);
  if (command === "expect") {
    process.stdout.write(`${nameOf(each)}\n`);
    for (const build of evaluate(each, folder)) process.stdout.write(`  ${JSON.stringify(build)}\n`);
  }
  if (command !== "compare") continue;
  const { equal, named, wrong, told } = await compare(each, folder);
  total.equal += equal;
  total.named += named;
  total.wrong += wrong.length;
  process.stdout.write(`${nameOf(each)}: equal ${equal}, named ${named}, wrong ${wrong.length}\n`);
  for (const text of wrong) process.stdout.write(`    WRONG ${text}\n`);
  for (const text of told) process.stdout.write(`    ${text.slice(0, 300)}\n`);
}
if (command === "compare") process.stdout.write(`${JSON.stringify(total)}\n`);
