/** Values of a policy with their places: each mistake is reported where it stands, and reading goes on. */

import type { Place, Problem } from "../../errors.ts";
import { isRecord } from "../../io/json.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";

export type PolicyPath = readonly (string | number)[];

export interface PolicyReader {
  readonly problems: readonly Problem[];
  readonly report: (path: PolicyPath, message: string, fix: string) => void;
  readonly reportAt: (at: Place, message: string, fix: string) => void;
  readonly placeOf: (path: PolicyPath) => Place;
  readonly placeOfKey: (path: PolicyPath) => Place;
  /** The mapping, its unknown keys reported; empty where something else stands. */
  readonly mapping: (
    value: unknown,
    path: PolicyPath,
    known: readonly string[],
  ) => Readonly<Record<string, unknown>>;
  readonly someText: (value: unknown, path: PolicyPath, fix: string) => string;
  /** The first word where none of them stands. */
  readonly choice: <const T extends string>(
    value: unknown,
    path: PolicyPath,
    words: readonly [T, ...T[]],
  ) => T;
}

export function createPolicyReader(source: YamlSource): PolicyReader {
  const problems: Problem[] = [];
  const { placeOf, placeOfKey } = source;
  const reportAt = (at: Place, message: string, fix: string): void => {
    problems.push({ code: "TRUST_POLICY", message, fix, at });
  };
  const report = (path: PolicyPath, message: string, fix: string): void =>
    reportAt(placeOf(path), message, fix);
  return {
    problems,
    report,
    reportAt,
    placeOf,
    placeOfKey,
    mapping: (value, path, known) => {
      const keys = `the keys here are ${known.join(", ")}`;
      if (!isRecord(value)) {
        report(path, `${nameOf(path)} must be a mapping`, keys);
        return {};
      }
      for (const key of Object.keys(value).filter((each) => !known.includes(each)))
        reportAt(placeOfKey([...path, key]), `unknown key ${JSON.stringify(key)} in ${nameOf(path)}`, keys);
      return value;
    },
    someText: (value, path, fix) => {
      if (typeof value === "string" && value.trim() !== "") return value.trim();
      report(path, `${nameOf(path)} must be a text that is not empty`, fix);
      return "";
    },
    choice: (value, path, words) => {
      const found = words.find((word) => word === value);
      if (found === undefined)
        report(path, `${nameOf(path)} must be ${words.join(" or ")}`, `write ${words[0]}`);
      return found ?? words[0];
    },
  };
}

export function nameOf(path: PolicyPath): string {
  return path.length === 0 ? "the policy" : path.map(String).join(".");
}
