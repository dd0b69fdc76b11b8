/** Words of scripts are those that a shell gives a program, wherever they are said to be understood. */

import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { commandsOf } from "../../../src/fleet/init/shell-words.ts";

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
