import fc from "fast-check";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { yamlText } from "../../src/commands/launch-output.ts";

// What libyaml and its translations (go-yaml, PyYAML) refuse or take for the end of a line.
const unprintable = /[^\t\n\r\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ud800-\udfff\ue000-\ufefe\uff00-\ufffd]/;

it("writes any text so that every YAML reader reads it again", async () => {
  const text = fc.string({
    unit: fc.constantFrom(..."ab: '\"\\\t\u007f\u0085\u009f\u2028\u2029\ufeff\uffffé😀"),
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
