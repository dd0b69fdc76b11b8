/** The expectations of artifacts, by `--expect` or by the patterns of a file, and those that are not met. */

import { type Place, throwProblems } from "../../errors.ts";
import { quoteLine } from "../../io/limits.ts";
import type { ImageInspection } from "../inspection.ts";
import { checkExpectations, type FailedExpectation } from "./check-expectations.ts";
import { type Expectations, parseExpectations, wordsIn } from "./parse-expectations.ts";

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
  /** Every word that is not met, of every subject, and every pattern that is about none. */
  readonly failures: readonly UnmetExpectation[];
  /** Subjects that no pattern of the file is about. */
  readonly unmatched: readonly string[];
}

export interface UnmetExpectation extends Omit<FailedExpectation, "kind"> {
  readonly kind: FailedExpectation["kind"] | "pattern";
  /** null for a pattern that is about none of them. */
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

/** One sentence. */
export function unmetText({ subject, expected, found, file }: UnmetExpectation): string {
  return `${subject === null ? "" : `${subject}: `}expected ${expected}, found ${found}${file === null ? "" : ` in ${file}`}`;
}
