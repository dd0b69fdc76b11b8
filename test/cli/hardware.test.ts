import { describe, expect, it } from "vitest";
import {
  describeHardware,
  type HardwareKind,
  hardwareKinds,
} from "../../src/node/tables/describe-hardware.ts";
import { hardwareLines } from "../../src/cli/hardware.ts";
import { styleFor } from "../../src/cli/report/style.ts";

async function text(kind?: HardwareKind, name?: string, columns = 80): Promise<string> {
  const report = await describeHardware(kind, name);
  if (report === null) throw new Error(`nothing about ${kind} ${name}`);
  return hardwareLines(report, styleFor(false), columns);
}

describe("hardwareLines", () => {
  it("shows one toolkit with its sources by number", async () => {
    const lines = (await text("cuda", "12.8.1")).split("\n");
    expect(lines[0]).toMatch(/^CUDA toolkits \[[\d ]+\]$/);
    expect(lines[1]).toMatch(/^release +stage +floor +minimum driver +bundled driver$/);
    expect(lines[2]).toMatch(/^12\.8\.1 +update +525\.60\.13 +570\.124\.06 +570\.124\.06$/);
    expect(lines).toContain("Sources");
    expect(lines.some((line) => /^\[1\] {2}[A-Z0-9]+: /.test(line))).toBe(true);
  });

  it.each([undefined, ...hardwareKinds])("cites no number that the sources lack: %s", async (kind) => {
    const shown = await text(kind);
    const [tables = "", sources = ""] = shown.split("\nSources\n");
    const known = new Set([...sources.matchAll(/^\[(\d+)\]/gm)].map(([, number]) => number));
    const cited = [...tables.matchAll(/\[([\d ]+)\]$/gm)].flatMap(([, numbers = ""]) => numbers.split(" "));
    expect(cited.length).toBeGreaterThan(0);
    expect(cited.filter((number) => !known.has(number))).toEqual([]);
    expect([...known].filter((number) => number !== undefined && !cited.includes(number))).toEqual([]);
  });

  it.each([60, 80, 120])("breaks prose at %d columns, and loses no word", async (columns) => {
    const shown = await text("cpu", "sapphirerapids", columns);
    const prose = shown.split("\n").filter((line) => /^ {4,}/.test(line));
    expect(prose.filter((line) => line.length > columns && line.trim().includes(" "))).toEqual([]);
    const report = await describeHardware("cpu", "sapphirerapids");
    const features = report?.tables[0]?.rows[0]?.features;
    const words = new Set(shown.split(/\s+/));
    expect([features ?? []].flat().filter((feature) => !words.has(String(feature)))).toEqual([]);
  });

  it("counts features in the list of all marches", async () => {
    const shown = await text("cpu");
    expect(shown).toMatch(/^x86-64-v2 +amd64 +generic +11 +12 +16$/m);
    expect(shown).toContain("name one to see its features");
  });
});
