import { describe, expect, it } from "vitest";
import { formatTable, wrapLine } from "../../src/io/table.ts";

const fleet = [
  ["hosts", "GPU", "image", "how"],
  ["1", "H100 80GB HBM3 (9.0)", "12.8.1_9.0a_sapphirerapids_3.12", "native, sm_90a"],
  ["12", "-", "-", "x86-64-v3, 3 CPU features unused"],
];

describe("formatTable", () => {
  it("aligns all cells but the last of each row", () => {
    expect(
      formatTable([
        ["a", "bcd", "e"],
        ["fg", "h, which is longer than column two"],
        ["i", "j", "k"],
      ]),
    ).toEqual(["a   bcd  e", "fg  h, which is longer than column two", "i   j    k"]);
  });

  it("moves the widest columns below their rows, with their names", () => {
    expect(formatTable(fleet, { width: 40, heads: true })).toEqual([
      "hosts  GPU",
      "1      H100 80GB HBM3 (9.0)",
      "    image: 12.8.1_9.0a_sapphirerapids_3.12",
      "    how: native, sm_90a",
      "12     -",
      "    how: x86-64-v3, 3 CPU features",
      "      unused",
    ]);
  });

  it("breaks the last cell of a row below its column, if the column has room", () => {
    const rows = [
      ["driver", "at least 525.60.13"],
      ["not decided", "which of two libraries of that name is loaded"],
    ];
    expect(formatTable(rows, { width: 40 })).toEqual([
      "driver       at least 525.60.13",
      "not decided  which of two libraries of",
      "             that name is loaded",
    ]);
    expect(formatTable(rows, { width: 32 })).toEqual([
      "driver       at least 525.60.13",
      "not decided",
      "    which of two libraries of",
      "    that name is loaded",
    ]);
  });

  it.each([1, 20, 30, 50, 70, 90, 110])("loses and cuts no word at %d columns", (width) => {
    const lines = formatTable(fleet, { width, heads: true });
    const words = new Set(lines.join(" ").split(/\s+/));
    const wanted = fleet
      .slice(1)
      .flat()
      .filter((text) => text !== "-");
    expect(wanted.flatMap((text) => text.split(" ")).filter((word) => !words.has(word))).toEqual([]);
    expect(lines.filter((line) => line.length > width && /^ +\S+: \S+ \S/.test(line))).toEqual([]);
  });
});

describe("wrapLine", () => {
  it("sets further lines in", () => {
    expect(wrapLine("  fix: install a driver of branch 580", 24)).toEqual([
      "  fix: install a driver",
      "    of branch 580",
    ]);
  });
});
