import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileTagPattern, parseAxes } from "../../../src/fleet/cells/tag-pattern.ts";

describe("a pattern over tags", () => {
  it.each<[string, string, Record<string, string> | null]>([
    ["{pytorch}-cuda*-{flavor}", "2.5.1-cuda12.4-runtime", { pytorch: "2.5.1", flavor: "runtime" }],
    ["{pytorch}-cuda*-cudnn*-{flavor}", "2.5.1-cuda12.4-cudnn9-devel", { pytorch: "2.5.1", flavor: "devel" }],
    ["{python}", "3.12", { python: "3.12" }],
    ["v{release}-*", "v1.0-cu118", { release: "1.0" }],
    ["*-{os}", "a-b-c", { os: "b-c" }],
    ["{os}-py", "jammy-py-py", { os: "jammy-py" }],
    ["{python}-cpu", "3.12-cu118", null],
    ["{python}-cpu", "-cpu", null],
    ["fixed", "other", null],
  ])("%s of %s", (pattern, tag, axes) => expect(compileTagPattern(pattern)(tag)).toEqual(axes));

  it("reads what it wrote, for values without the text between them", () => {
    const value = fc.stringMatching(/^[a-z0-9.]{1,12}$/);
    fc.assert(
      fc.property(value, value, (one, other) => {
        const read = compileTagPattern("{one}-x_{other}");
        expect(read(`${one}-x_${other}`)).toEqual({ one, other });
      }),
    );
  });

  it.each([
    ["{cuda}-{python}", "cuda is measured, so a pattern cannot name it"],
    ["{a}{b}", "two values with nothing between them"],
    ["{a}-{a}", "an axis twice"],
    ["{A}", "is no name of an axis"],
    ["{}", "is no name of an axis"],
  ])("refuses %s", (pattern, why) => expect(() => compileTagPattern(pattern)).toThrow(why));
});

describe("--axis", () => {
  it("reads each once", () =>
    expect(parseAxes(["python=3.12", "os=a=b"])).toEqual({ python: "3.12", os: "a=b" }));
  it.each([
    [["python"], "is not axis=value"],
    [["python="], "is not axis=value"],
    [["python=1", "python=2"], "given twice"],
    [["march=x"], "march is measured, so a pattern cannot name it"],
  ])("refuses %j", (given, why) => expect(() => parseAxes(given)).toThrow(why));
});
