/** Gives damaged input to the probe and to the reader of facts files, with counter-examples made small. test/hostile gives more of it. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { describeHostFacts } from "../../src/cli/probe-lines.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import type { HostIo } from "../../src/host/host-io.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";

const root = fileURLToPath(new URL("../fixtures/hosts", import.meta.url));
const names = readdirSync(root);
const numRuns = 2000;
const options = { numRuns, interruptAfterTimeLimit: 600_000, markInterruptAsFailure: true };
const timeoutMs = 660_000;

/** One change to a text: a stretch of it replaced by something else. */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.nat(3), fc.nat(400)),
  text: fc.oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.constantFrom(
      "\0",
      "\n",
      "\r\n",
      ":",
      ",",
      "[N/A]",
      "ERR!",
      "99999999999999999999",
      "-1",
      "__proto__",
      "\u001b[2J",
      "\uFEFF",
      "{",
      "}",
      "null",
    ),
    fc.nat(200).map((count) => "A1.".repeat(count * 50)),
  ),
});
const changes = fc.array(change, { minLength: 1, maxLength: 4 });
type Change = { readonly at: number; readonly length: number; readonly text: string };

function mutate(text: string, list: readonly Change[]): string {
  return list.reduce((now, { at, length, text: inserted }) => {
    const start = Math.floor(at * now.length);
    return now.slice(0, start) + inserted + now.slice(start + length);
  }, text);
}

/** A machine whose every file and every program output is damaged in the same way. */
function damaged(name: string, list: readonly Change[]): HostIo {
  const io = fixtureHostIo(`${root}/${name}`);
  return {
    ...io,
    readText: (path) => {
      const text = io.readText(path);
      return typeof text === "string" ? mutate(text, list) : text;
    },
    readLink: (path) => {
      const target = io.readLink(path);
      return target === null ? null : mutate(target, list);
    },
    run: async (command, args, limits) => {
      const answer = await io.run(command, args, limits);
      return answer === null ? null : { ...answer, stdout: mutate(answer.stdout, list) };
    },
  };
}

describe("hostile input", () => {
  it("a damaged machine is still probed, and its facts are facts", { timeout: timeoutMs }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), changes, async (name, list) => {
        const facts = await probeHost(damaged(name, list));
        const text = formatHostFacts(facts);
        expect(parseHostFacts(text, "facts.json")).toEqual(facts);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
        expect(describeHostFacts(facts).join("")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      }),
      options,
    );
  });

  it("a program that prints anything is a problem in the facts", { timeout: timeoutMs }, async () => {
    const silent = names.filter((name) => existsSync(`${root}/${name}/nvidia-smi.json`));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...silent),
        fc.record({
          // The shell's words for a program that cannot be started: that one is not there.
          status: fc.option(fc.nat(255).filter((status) => status !== 126 && status !== 127)),
          stdout: fc.string({ unit: "binary" }),
          stderr: fc.string(),
          timedOut: fc.boolean(),
        }),
        async (name, answer) => {
          const facts = await probeHost({ ...fixtureHostIo(`${root}/${name}`), run: async () => answer });
          expect(facts.problems.length).toBeGreaterThan(0);
        },
      ),
      options,
    );
  });

  it("a damaged facts file gives facts or our own error", { timeout: timeoutMs }, () => {
    const texts = names.map((name) => readFileSync(`${root}/${name}/expected.json`, "utf8"));
    fc.assert(
      fc.property(fc.constantFrom(...texts), changes, (text, list) => {
        expectFactsOrOurError(mutate(text, list));
      }),
      options,
    );
  });

  it("any JSON gives facts or our own error", { timeout: timeoutMs }, () => {
    fc.assert(fc.property(fc.json(), expectFactsOrOurError), options);
    const fields = {
      schemaVersion: fc.constant(1),
      platform: fc.constant("linux/amd64"),
      cpu: fc.jsonValue(),
      nvidia: fc.jsonValue(),
      problems: fc.jsonValue(),
      sources: fc.jsonValue(),
      runtime: fc.jsonValue(),
    };
    fc.assert(
      fc.property(fc.record(fields), (facts) => expectFactsOrOurError(JSON.stringify(facts))),
      options,
    );
  });

  it("a file of many megabytes is read", () => {
    const flags = `flags\t\t: ${Array.from({ length: 300 }, (_, index) => `flag${index}`).join(" ")}\n`;
    const io = fixtureHostIo(`${root}/${names[0]}`);
    const cpuinfo = flags.repeat(4096);
    return probeHost({
      ...io,
      arch: "x64",
      readText: (path) => (path === "/proc/cpuinfo" ? cpuinfo : io.readText(path)),
    }).then((facts) => {
      expect(facts.cpu.features).toHaveLength(300);
    });
  });
});

function expectFactsOrOurError(text: string): void {
  try {
    const facts = parseHostFacts(text, "facts.json");
    expect(parseHostFacts(formatHostFacts(facts), "again.json")).toEqual(facts);
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    expect(error.problems.every(({ code }) => code === "FACTS_SYNTAX" || code === "FACTS_SCHEMA")).toBe(true);
  }
}
