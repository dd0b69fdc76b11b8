import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { errorOf, verdictsOf } from "../../../bench/wild/compare.ts";
import { packages, readRecord } from "../../../bench/wild/corpus.ts";
import { rootOf } from "../../../bench/wild/fetch.ts";
import { needs } from "../../support/needs.ts";

const small = packages.filter((each) => each.small);
const whyNot =
  process.env.IMGMATCH_WILD === undefined
    ? "no public packages (IMGMATCH_WILD=/folder, as .ci/provide wild-packages fills it)"
    : null;

describe("a public package", needs(whyNot), () => {
  const record = readRecord();

  it("has a folder and a result of the emulator each", () => {
    expect(small).toHaveLength(10);
    expect(small.filter((each) => !existsSync(rootOf(each)))).toEqual([]);
    expect(small.filter(({ name }) => record[name] === undefined)).toEqual([]);
  });

  it.each(small)("runs where it runs under the emulator, and dies where it dies: $name", async (each) => {
    const verdicts = await verdictsOf(each, rootOf(each), record[each.name]?.models ?? {});
    expect(verdicts.map(({ outcome }) => outcome)).not.toContain("none");
    expect(verdicts.filter((verdict) => errorOf(verdict) !== null)).toEqual([]);
  });
});
