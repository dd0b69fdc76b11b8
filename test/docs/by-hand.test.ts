/** The table of docs/coming-from.md: what was done by hand, and the commands of today. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { problemCodes } from "../../src/problem-codes.ts";
import { efforts } from "../../src/resolve/verdict.ts";
import { describedCommands } from "./support/commands.ts";
import { root } from "./support/markdown.ts";

const text = readFileSync(join(root, "docs/coming-from.md"), "utf8");
const [, section = ""] = /^## What was done by hand\n(.*?)^## /ms.exec(text) ?? [];
const rows = [...section.matchAll(/^\| (.*) \| (.*) \| (.*) \| `(test\/[\w./-]+\.test\.ts)` \|$/gm)].map(
  ([, source = "", then = "", now = "", test = ""]) => ({ source, then, now, test }),
);

it("has rows from each of the five sources, and nothing that is no row", () => {
  expect([...new Set(rows.map(({ source }) => source))]).toEqual([
    "QNIB",
    "nvidia-docker",
    "Mesos",
    "swarm, Kubernetes",
    "GoCD, Jenkins",
  ]);
  // A head and a line.
  expect(section.split("\n").filter((line) => line.startsWith("|"))).toHaveLength(rows.length + 2);
  expect(section.match(/\]\(https:/g)).toHaveLength(5);
});

it.each(rows)("has a real command against: $then", ({ now, test }) => {
  const commands = [...now.matchAll(/`imgmatch ([^`]+)`/g)].map(([, words = ""]) => words.split(" "));
  expect(commands.length).toBeGreaterThan(0);
  for (const words of commands) {
    const name = words.slice(0, 2).join(" ");
    const command =
      describedCommands.find((each) => each.name === name) ??
      describedCommands.find((each) => each.name === words[0]);
    expect(command, words.join(" ")).toBeDefined();
    const flags = command?.flags.map((flag) => flag.split(" ")[0]);
    for (const flag of words.filter((word) => word.startsWith("--"))) expect(flags).toContain(flag);
  }
  const codes = [...now.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, code = ""]) => code);
  const known = [...Object.keys(problemCodes), ...Object.keys(efforts)];
  expect(codes.filter((code) => !known.includes(code))).toEqual([]);
  // The test speaks of the row's first code, else of its target, else of its command.
  const [[name = "", target] = []] = commands;
  const word = codes[0] ?? (name === "launch" ? target : name) ?? "";
  expect([word, readFileSync(join(root, test), "utf8").includes(word)]).toEqual([word, true]);
});
