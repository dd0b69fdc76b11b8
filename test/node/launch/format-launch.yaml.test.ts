import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { yamlText } from "../../../src/node/launch/format-launch.ts";
import { needs } from "../../support/needs.ts";
import { whyNoPython } from "../../support/programs.ts";

// Characters that libyaml and its translations (go-yaml, PyYAML) refuse or take for the end of a line.
const unprintable = /[^\t\n\r\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ud800-\udfff\ue000-\ufefe\uff00-\ufffd]/;

it("writes any text so that every YAML reader reads it again", async () => {
  const text = fc.string({
    unit: fc.constantFrom(
      ..."ab: '\"\\\t\u001b\u0007\u007f\u0085\u009f\u200b\u202e\u2028\u2029\u2066\ufeff\uffffé😀\u{e0041}",
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(text), fc.dictionary(text, text), async (args, env) => {
      const written = await yamlText({ args, env });
      expect(written).not.toMatch(unprintable);
      expect(parse(written, { version: "1.1" })).toEqual({ args, env });
    }),
  );
});

it("escapes nothing else", async () => {
  expect(await yamlText({ a: "é 😀", b: "no", c: "\u0085" })).toBe('a: é 😀\nb: "no"\nc: "\\u0085"\n');
});

it("quotes what YAML 1.1 has a type for, and a tab", async () => {
  const written = await yamlText({ "=": "=", "<<": "<<", a: "b\tc", d: " \n" });
  expect(written).toBe('"=": "="\n"<<": "<<"\na: "b\\tc"\nd: "\\ \\n"\n');
});

const whyNoPyYaml = whyNoPython("yaml", "apt-get install python3-yaml");

/** Stops at what it cannot read, as a program that uses it does. */
const readAll =
  "import sys, json, yaml; print(json.dumps([yaml.safe_load(text) for text in json.load(sys.stdin)]))";

it("writes what PyYAML reads as the same text, as value, key and item", needs(whyNoPyYaml), async () => {
  const parts = [..."=<>~!%@&*?|-:#'\"`,[]{} \t\n\r._+01289abefnoxyszNOYET\u0085\u2028é😀\\/", "  \n"];
  const drawn = fc.sample(
    fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 }).map((each) => each.join("")),
    2000,
  );
  const known = [
    "=",
    "<<",
    "~",
    "null",
    "y",
    "No",
    "12:30",
    "1_000",
    "0o7",
    "0b1",
    ".inf",
    "2001-01-01",
    "---",
    "%a",
  ];
  const values = [...known, ...drawn].map((text) => ({
    value: text,
    [text]: "key",
    items: [text, ` ${text}`],
  }));
  const texts = await Promise.all(values.map(yamlText));
  const { stdout, stderr } = spawnSync("python3", ["-c", readAll], {
    input: JSON.stringify(texts),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual(values);
});
