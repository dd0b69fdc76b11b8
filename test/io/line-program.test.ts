/** A program that answers line by line, and what it writes unasked. */

import { setTimeout as later } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { startLineProgram } from "../../src/io/line-program.ts";

/** Writes `before` at its start and `after` a while behind each answer, in the same descriptor. */
function answering(before: string, after: string) {
  const script = `const { writeSync } = require("node:fs");
writeSync(3, ${JSON.stringify(before)});
process.stdin.on("data", (chunk) => {
  for (const line of String(chunk).split("\\n").slice(0, -1)) writeSync(3, "<" + line + ">\\n");
  setTimeout(() => writeSync(3, ${JSON.stringify(after)}), 20);
});`;
  const program = startLineProgram([process.execPath, "-e", script], process.env, 3);
  onTestFinished(program.kill);
  return program;
}

it("answers each line with a line", async () => {
  const { ask } = answering("", "");
  expect([await ask("a"), await ask("b"), await ask()]).toEqual(["<a>", "<b>", "<>"]);
});

it("takes no line that nobody asked for as an answer, nor one that stands before it", async () => {
  const { ask } = answering("", "more\n");
  expect(await ask("a")).toBe("<a>");
  await later(400);
  expect(await ask("b")).toBe("more\n<b>");
});

it("gives the start of a line to the next answer", async () => {
  const { ask } = answering("", "mo");
  await ask("a");
  await later(400);
  expect(await ask("b")).toBe("mo<b>");
});
