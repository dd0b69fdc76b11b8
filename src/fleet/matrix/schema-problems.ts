/** Turns the findings of zod into problems of the matrix. */

import type { z } from "zod";
import type { Problem } from "../../errors.ts";
import { mistake } from "./matrix-problems.ts";
import { keysAt } from "./matrix-schema.ts";
import { suggest } from "../../io/suggest.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";

type Issue = z.core.$ZodIssue;

export function schemaProblems(
  issues: readonly Issue[],
  source: YamlSource,
  prefix: YamlPath = [],
): Problem[] {
  return issues.flatMap((issue) => describeIssue(issue, source, prefix));
}

function describeIssue(issue: Issue, source: YamlSource, prefix: YamlPath): Problem[] {
  const path = [...prefix, ...issue.path];
  const here = (message: string, fix: string) => [mistake(message, fix, source.placeOf(path))];
  const name = path.length === 0 ? "the matrix" : path.map(String).join(".");
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => {
        const known = keysAt(path);
        const near = suggest(key, known);
        const fix = near === null ? `the keys here are ${known.join(", ")}` : `did you mean ${near}?`;
        const message = `unknown key ${JSON.stringify(key)} in ${name}`;
        return mistake(message, fix, source.placeOfKey([...path, key]));
      });
    case "invalid_union": {
      if (issue.input === undefined) return here(`${name} is missing`, addFix(path));
      if (issue.discriminator !== undefined) {
        return here(`${name} must be host, bundled or compat`, "write one of them");
      }
      const branch = nearestBranch(issue.errors);
      if (branch !== null) return schemaProblems(branch, source, path);
      const kinds = issue.errors.flatMap(([first]) =>
        first?.code === "invalid_type" ? [expectedWord(first.expected)] : [],
      );
      return here(`${name} must be ${[...new Set(kinds)].join(" or ")}`, "see imgmatch schema");
    }
    case "invalid_type": {
      const missing = issue.input === undefined;
      const message = missing ? `${name} is missing` : `${name} must be ${expectedWord(issue.expected)}`;
      return here(message, missing ? addFix(path) : "see imgmatch schema");
    }
    case "invalid_value": {
      const words = issue.values.map(String);
      return here(`${name} must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`, "write one of them");
    }
    case "invalid_key":
      return here(`the name ${name} ${issue.issues[0]?.message ?? "is not valid"}`, "choose another name");
    case "too_small":
      if (issue.origin !== "array") return here(`${name} must not be empty`, "write a value");
      return here(`${name} has no value`, "list at least one");
    default:
      return here(`${name} ${issue.message}`, "see imgmatch schema");
  }
}

function addFix(path: YamlPath): string {
  return `add ${String(path.at(-1))}: …`;
}

/** The branch of a union whose kind of value is right: its findings lie inside the value. */
function nearestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const inside = branches.filter((issues) =>
    issues.every((issue) => issue.path.length > 0 || issue.code !== "invalid_type"),
  );
  return inside[0] ?? null;
}

function expectedWord(expected: string): string {
  return { string: "text", array: "a list", object: "a mapping", record: "a mapping" }[expected] ?? expected;
}
