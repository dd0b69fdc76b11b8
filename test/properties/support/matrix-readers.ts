/** A matrix, with texts that are hard for its reader. */

import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { numbered, type Reader, repeated } from "./reader.ts";

const head = "name: app\nversion: 1\nregistry: r.example.com/t\ntemplate: a/b\naxes:\n  march: [x86-64]\n";
const withMarches = (list: string) => head.replace("[x86-64]", list);

export const matrixReaders: Readonly<Record<string, Reader>> = {
  matrix: {
    read: (text) => parseMatrix(text, "matrix.yaml"),
    texts: {
      labels: numbered((index) => `  k${index}: v\n`, `${head}labels:\n`),
      "labels of no form": numbered((index) => `  _${index}: v\n`, `${head}labels:\n`),
      "unsafe values": numbered((index) => `  k${index}: <<\n`, `${head}args:\n`),
      "one key again and again": repeated("  k: v\n", `${head}args:\n`),
      "unknown keys": numbered((index) => `k${index}: v\n`, head),
      aliases: numbered((index) => `  k${index}: &a${index} x\n  l${index}: *a${index}\n`, `${head}args:\n`),
      "aliases of one": repeated("*a,", `${head}x: [&a b,`, "]"),
      "aliases of nothing": repeated("*a,", `${head}x: [`, "]"),
      marches: numbered(
        (index) => `x${index},`,
        withMarches("[").slice(0, withMarches("[").indexOf("[") + 1),
        "]\n",
      ),
      axes: numbered((index) => `  k${index}: [v]\n`, head),
      values: numbered((index) => `v${index},`, `${head}  x: [`, "]\n"),
      inclusions: repeated("  - march: x86-64-v2\n", `${head}include:\n`),
      exclusions: repeated("  - {march: x86-64-v2, reason: x}\n", `${head}exclude:\n`),
      preferences: repeated("march=x,", `${head}prefer: [`, "]\n"),
      '"': repeated('"'),
      "'": repeated("'"),
      "[": repeated("["),
      "{": repeated("{"),
      "]": repeated("]"),
      "[,": repeated(",", "["),
      "- ": repeated("- "),
      "? ": repeated("? "),
      ": ": repeated(": "),
      "a: ": repeated("a: "),
      "* ": repeated("* "),
      "&a ": repeated("&a "),
      "!a ": repeated("!a "),
      "%A": repeated("%A\n"),
      "---": repeated("---\n"),
      "#": repeated("#\n"),
      "spaces in quotes": repeated("\n ", 'a: "', '"'),
      "slashes behind the registry": (size) => head.replace(".com/t", `.com/t${"/".repeat(size)}_`),
      "dashes in the name": (size) => head.replace("app", `a${"-".repeat(size)}_`),
      "a tag of braces": repeated("{{", `${head}tag: `, "\n"),
      "a tag of names": repeated("{{version}}", `${head}tag: `, "\n"),
    },
  },
};
