/** Parses `expect.yaml`: patterns of names, each with its words. Every mistake has its place. */

import { type Place, type Problem, throwProblems } from "../../errors.ts";
import { matchesGlob } from "../../io/glob.ts";
import { isRecord } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import type { YamlKind } from "../../io/yaml/yaml-data.ts";
import { parseYamlSource } from "../../io/yaml/yaml-source.ts";
import type { ExpectationRule, ExpectationRules } from "./expectation-rules.ts";
import { parseExpectations, wordsIn } from "./parse-expectations.ts";

const code = "EXPECT_INVALID";

const expectYaml: YamlKind = { limit: inputLimits.expectFile, syntax: code, duplicate: code };

/** Throws `EXPECT_INVALID` with every mistake, `INPUT_TOO_LARGE`. */
export function parseExpectFile(text: string, file: string): ExpectationRules {
  const { source, problems } = parseYamlSource(text, file, expectYaml);
  throwProblems(problems.map(quoted));
  const { data } = source;
  if (!isRecord(data) || Object.keys(data).length === 0)
    throwProblems([
      {
        code,
        message: "the file has no pattern",
        fix: 'write "*-manylinux_2_28_x86_64.whl": sm_80 glibc<=2.28',
        at: source.placeOf([]),
      },
    ]);
  const found: Problem[] = [];
  const rules = Object.entries(isRecord(data) ? data : {}).map(([pattern, words]): ExpectationRule => {
    const written = textsOf(words).flatMap((text, index) => {
      const place = source.placeOf([pattern, index]);
      return wordsIn(text, (offset) => placeOfWord(text, offset, place));
    });
    const { expectations, problems: mistakes } = parseExpectations(written, source.placeOf([pattern, 0]));
    for (const mistake of mistakes) found.push(mistake);
    return { pattern, at: source.placeOfKey([pattern]), isAbout: aboutSubjects(pattern), expectations };
  });
  throwProblems(found);
  return rules;
}

/** `a: !sm_70` is a tag of YAML. */
function quoted(problem: Problem): Problem {
  const { column = 1, text = "" } = problem.at ?? {};
  const word = /^![\w.]+/.exec(text.slice(column - 1))?.[0];
  if (word === undefined) return problem;
  return { ...problem, fix: `YAML reads ! as a tag: write "${word}" in quotation marks` };
}

/** A text of words, or a list of texts; empty for anything else. */
function textsOf(words: unknown): readonly string[] {
  if (typeof words === "string") return [words];
  return Array.isArray(words) && words.every((each) => typeof each === "string") ? words : [];
}

/** The place of a word in its line; the value's own place if YAML writes the text with escapes. */
function placeOfWord(text: string, offset: number, value: Place): Place {
  const word = /^\S*/.exec(text.slice(offset, offset + longestWord))?.[0] ?? "";
  const { column = 1, text: line = "" } = value;
  // A quotation mark before the text shifts it by one.
  const at = [0, 1].map((quotes) => column - 1 + quotes + offset).find((each) => line.startsWith(word, each));
  return at === undefined || word === "" ? value : { ...value, column: at + 1 };
}

/** Enough characters to find the word in its line. */
const longestWord = 100;

/** A pattern without a slash matches the last part of a name: `app-*.whl` matches `dist/app-1.0.whl`. */
function aboutSubjects(pattern: string): (subject: string) => boolean {
  return (subject) => {
    const name = subject.replace(/\/+$/, "");
    return matchesGlob(pattern, pattern.includes("/") ? name : name.slice(name.lastIndexOf("/") + 1));
  };
}
