/** Mistakes of syntax in YAML, in the words of someone who edits a matrix. */

import type { YAMLError } from "yaml";
import type { Place, Problem } from "../errors.ts";

/** `at` is where the reader stumbled. */
export function describeYamlError({ code, message }: YAMLError, at: Place): Problem {
  const [what, fix] =
    code === "MULTIPLE_DOCS"
      ? ["the file holds several YAML documents", "keep one; --- may stand only at the beginning"]
      : [`not YAML: ${message}`, "correct the YAML here, or just before"];
  return { code: "MATRIX_SYNTAX", message: what, fix, at };
}
