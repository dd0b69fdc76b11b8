/** Words of scripts are those that a shell gives a program, wherever they are said to be understood. */

import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commandsOf } from "../../../src/fleet/init/shell-words.ts";
import { needs } from "../../support/needs.ts";
import { whyNot } from "../../support/programs.ts";

const whyNoBash = whyNot("bash", ["-c", "exit"], { install: "apt-get install bash" });
const env = { V: "v", TWO: "two words", EMPTY: "", STAR: "*" };
const contexts = { matrix: {}, env, inputs: null };

/** The arguments of each `p`, as sh gives them; null for a script that sh refuses. */
function bySh(script: string): readonly (readonly string[])[] | null {
  // No name of a file can be made of an unquoted * here: there is none.
  const whole = `exec 9>&1\np() { { printf '%s\\0' "$@"; printf '\\001'; } >&9; }\n${script}\n`;
  const { status, stdout } = spawnSync("/bin/sh", ["-c", whole], {
    env: { ...env, PATH: "/nowhere" },
    cwd: "/",
  });
  if (status !== 0) return null;
  return stdout
    .toString("utf8")
    .split("\u0001")
    .slice(0, -1)
    .map((each) => (each === "\0" ? [] : each.split("\0").slice(0, -1)));
}

function byUs(script: string) {
  return commandsOf(script, contexts).filter(({ words }) => words[0]?.text === "p");
}

const parts = [
  ...[
    "a",
    "b=c",
    " ",
    " ",
    " ",
    "'",
    '"',
    "\\",
    "\\\n",
    "$V",
    "${V}",
    "$TWO",
    '"$TWO"',
    "$EMPTY",
    "$STAR",
    "$",
    "-x",
  ],
  ...[
    "${V:-d}",
    "${EMPTY:-d}",
    "${EMPTY-d}",
    '"${EMPTY:-d e}"',
    "${V:+d}",
    "${EMPTY:+d}",
    "${EMPTY+d}",
    "${V:?d}",
    "${V%v}",
    "${NONE:-d}",
    "$(echo a b)",
    "`echo c`",
    "#",
    ";",
    "\np ",
    " && p ",
    "*",
    "~",
    "{a,b}",
    "$1",
    " 2>/dev/null ",
    "'$V'",
    ":",
  ],
];

test("by a shell too", () => {
  let understood = 0;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 12 }), (texts) => {
      const script = `p ${texts.join("")}`;
      const commands = byUs(script);
      const isUnderstood = commands.every(({ words }) =>
        words.every((word) => word.isKnown && word.isUnderstood),
      );
      const expected = isUnderstood ? bySh(script) : null;
      if (expected === null) return;
      understood += 1;
      const sorted = (all: readonly (readonly string[])[]) => all.map((words) => words.join("\0")).sort();
      const own = commands.map(({ words }) => words.slice(1).map(({ text }) => text));
      expect(sorted(own)).toEqual(sorted(expected));
    }),
    { numRuns: 400, seed: 56 },
  );
  expect(understood).toBeGreaterThan(50);
});

describe("a command", () => {
  const { script: scripts } = fc.letrec<{ command: string; script: string }>((tie) => ({
    command: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom("p", "p", "f", ": # done", "cat <<E >/dev/null\np no\nE", "p '}' done", "p fi"),
      tie("script").map((body) => `for x in 1 2; do ${body}\ndone`),
      tie("script").map((body) => `for x in 1 2\ndo\n${body}; done </dev/null`),
      tie("script").map((body) => `until p; do ${body}\ndone`),
      tie("script").map((body) => `h() { ${body}\n}`),
      tie("script").map((body) => `h ( )\n{\n${body}\n}`),
      tie("script").map((body) => `function h { ${body}\n}`),
      tie("script").map((body) => `case x in\n  y) p ;;\n  *) ${body}\n;;\nesac`),
      tie("script").map((body) => `{ ${body}\n}`),
      tie("script").map((body) => `( ${body} )`),
      tie("script").map((body) => `if true; then ${body}\nfi`),
      tie("script").map((body) => `if ! true; then :; else ${body}\nfi`),
    ),
    script: fc
      .array(tie("command"), { minLength: 1, maxLength: 3 })
      .chain((all) => fc.constantFrom("\n", "\n\n").map((between) => all.join(between))),
  }));

  // A process that has run many files starts each shell slowly.
  const slow = { ...needs(whyNoBash), timeout: 240_000 };
  test("in no loop, case or function is one that bash runs once", slow, () => {
    let inBlocks = 0;
    fc.assert(
      fc.property(scripts, (text) => {
        let number = 0;
        const script = text.replace(/\bp\b(?! no)/g, () => `p ${number++}`);
        const whole = `p() { printf '%s\\n' "$1" >&9; }\nf() { :; }\n${script}\n`;
        const { status, stdout } = spawnSync("bash", ["-c", `exec 9>&1\n${whole}`], {
          encoding: "utf8",
          timeout: 10_000,
        });
        if (status !== 0) return;
        const runs = stdout.split("\n").slice(0, -1);
        const isOutside = (block: string) => block === "group" || block === "if";
        for (const { words, blocks } of commandsOf(script, contexts)) {
          const at = words.findIndex(({ text: word }) => word === "p");
          const own = words[at + 1]?.text;
          if (at < 0 || own === undefined) continue;
          if (blocks.every(isOutside))
            expect([script, own, runs.filter((each) => each === own)]).toEqual([script, own, [own]]);
          else inBlocks += 1;
        }
      }),
      { numRuns: 300, seed: 66 },
    );
    expect(inBlocks).toBeGreaterThan(50);
  });
});
