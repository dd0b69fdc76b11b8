/** Checks artifacts against expectations: the words of `--expect`, or the patterns of a file. */

import { type Place, throwProblems } from "../../errors.ts";
import { quoteLine } from "../../io/limits.ts";
import type { ImageInspection } from "../inspection.ts";
import { type Expectation, type Expectations, parseExpectations, wordsIn } from "./parse-expectations.ts";

export type ExpectationRules = readonly ExpectationRule[];

export interface ExpectationRule {
  readonly pattern: string;
  readonly at: Place;
  readonly isAbout: (subject: string) => boolean;
  readonly expectations: Expectations;
}

/** Throws `EXPECT_INVALID` with every mistake. */
export function rulesOfWords(text: string): ExpectationRules {
  const placeOf = (offset: number): Place => {
    const column = offset + 1;
    const quoted = quoteLine(text, column);
    return { file: "--expect", column, ...(quoted === undefined ? {} : { text: quoted }) };
  };
  const { expectations, problems } = parseExpectations(wordsIn(text, placeOf), placeOf(0));
  throwProblems(problems);
  return [{ pattern: "*", at: placeOf(0), isAbout: () => true, expectations }];
}

export interface ExpectationAnswer {
  /** Every word that a subject does not meet, and every pattern that matches no subject. */
  readonly failures: readonly UnmetExpectation[];
  /** Subjects that no pattern of the file matches. */
  readonly unmatched: readonly string[];
}

export interface FailedExpectation {
  readonly kind: Expectation["kind"];
  /** The word, as it was written. */
  readonly expected: string;
  readonly found: string;
  /** The file that shows it; null for all files together. */
  readonly file: string | null;
  /** The artifact may meet the word: nobody can tell. */
  readonly isUnknown: boolean;
  readonly at: Place;
}

export interface UnmetExpectation extends Omit<FailedExpectation, "kind"> {
  readonly kind: FailedExpectation["kind"] | "pattern";
  /** null for a pattern that matches none. */
  readonly subject: string | null;
}

export function checkSubjects(
  subjects: readonly ImageInspection[],
  rules: ExpectationRules,
): ExpectationAnswer {
  const rulesFor = (subject: string) => rules.filter(({ isAbout }) => isAbout(subject));
  const ofSubjects = subjects.flatMap((inspection) =>
    rulesFor(inspection.subject)
      .flatMap(({ expectations }) => checkExpectations(inspection, expectations))
      .map((failure): UnmetExpectation => ({ subject: inspection.subject, ...failure })),
  );
  const names = subjects.map(({ subject }) => subject);
  const unused = rules
    .filter(({ isAbout }) => !names.some(isAbout))
    .map(
      ({ pattern, at }): UnmetExpectation => ({
        subject: null,
        kind: "pattern",
        expected: pattern,
        found: "nothing that this pattern is about",
        file: null,
        isUnknown: false,
        at,
      }),
    );
  return {
    failures: [...ofSubjects, ...unused],
    unmatched: names.filter((name) => rulesFor(name).length === 0),
  };
}

/** In the order of the words. */
export function checkExpectations(
  inspection: ImageInspection,
  { words, perLibrary }: Expectations,
): readonly FailedExpectation[] {
  return words.flatMap(({ kind, word, at, check }) => {
    const values = words.filter((each) => each.kind === kind).map(({ value }) => value);
    const findings = check({ inspection, perLibrary, values });
    return findings.map(({ found, file, isUnknown = false }) => {
      return { kind, expected: word, found, file, isUnknown, at };
    });
  });
}

/** One sentence. */
export function unmetText({ subject, expected, found, file }: UnmetExpectation): string {
  return `${subject === null ? "" : `${subject}: `}expected ${expected}, found ${found}${file === null ? "" : ` in ${file}`}`;
}
