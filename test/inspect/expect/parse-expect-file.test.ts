import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { checkSubjects, unmetText } from "../../../src/inspect/expect/expectation-rules.ts";
import { parseExpectFile } from "../../../src/inspect/expect/parse-expect-file.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { madeFile, madeImage } from "../support/made-opened.ts";

const subject = (name: string, targets: readonly string[]) => ({
  ...inspectionOf(madeImage([madeFile({ path: "/a.so", targets, toolkit: "12.8" })])),
  subject: name,
});

function mistakes(text: string): string[] {
  try {
    parseExpectFile(text, "expect.yaml");
    return [];
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return error.problems.map(
      ({ at, message, fix }) => `${at?.line}:${at?.column} ${message}; ${fix?.split("?")[0]}`,
    );
  }
}

describe("a file of expectations", () => {
  const text = `"*": driver<=550
"app-*.whl": sm_80 sm_90
"dist/old/*":
  - "!sm_90"
  - sm_80
"gone-*": no-gpu-code
`;
  const subjects = [
    subject("dist/app-1.whl", ["sm_80"]),
    subject("dist/old/x.so", ["sm_90"]),
    subject("app-2.whl/", ["sm_80", "sm_90"]),
  ];

  it("is about artifacts by their names, each under every pattern that it has", () => {
    const { failures, unmatched } = checkSubjects(subjects, parseExpectFile(text, "expect.yaml"));
    expect(failures.map((each) => `${each.at.line}:${each.at.column} ${unmetText(each)}`)).toEqual([
      "2:20 dist/app-1.whl: expected sm_90, found sm_80",
      "4:6 dist/old/x.so: expected !sm_90, found sm_90 in /a.so",
      "5:5 dist/old/x.so: expected sm_80, found sm_90",
      "6:1 expected gone-*, found nothing that this pattern is about",
    ]);
    expect(unmatched).toEqual([]);
  });

  it("says what it is not about", () => {
    const rules = parseExpectFile("app-*: sm_80\n", "expect.yaml");
    expect(checkSubjects(subjects, rules).unmatched).toEqual(["dist/old/x.so"]);
  });

  it.each([
    [
      "a: sm_80 sm90\nb: [sm_80, x=1]\n",
      ["1:10 sm90 is no word that --expect knows; did you mean sm_90", "2:12 x=1 is no word"],
    ],
    ["a: 'sm_80 glib<=2'\n", ["1:11 glib<=2 is no word"]],
    ["a:\n", ["1:3 nothing is expected here"]],
    ["a: {b: c}\n", ["1:4 nothing is expected here"]],
    ["- sm_80\n", ["1:1 the file has no pattern"]],
    ["", ["1:1 the file has no pattern"]],
    ["a: sm_80\na: sm_90\n", ["2:1 the key a stands twice here"]],
    [
      "a: !sm_70\n",
      ['1:4 not YAML: Unresolved tag: !sm_70; YAML reads ! as a tag: write "!sm_70" in quotation marks'],
    ],
    ["a: [sm_80\n", ["2:1 not YAML"]],
  ])("tells the mistakes of %j with their places", (given, expected) => {
    const found = mistakes(given);
    expect(found).toHaveLength(expected.length);
    for (const [index, each] of expected.entries()) expect(found[index]).toContain(each);
  });
});
