/** `resolve --hosts` and `why-not --hosts`: many hosts at once. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const vision = join(import.meta.dirname, "../../docs/examples/vision");
const lock = ["--lock", join(vision, "images/imgmatch.lock.json"), "--pin", "python=3.12"];
const facts = (name: string) => readFileSync(join(vision, `hosts/${name}.json`), "utf8");
const oneLine = (name: string) => JSON.stringify(JSON.parse(facts(name)));

describe("many hosts", () => {
  test("of a folder get one line each, in the order of the names, and exit 3 where one has no image", async () => {
    const folder = makeFolder({ "b.json": facts("h100"), "a.json": facts("rtx4090") });
    const { exit, out } = await runInProcess(["resolve", "--hosts", folder, ...lock]);
    const lines = out.trimEnd().split("\n");
    expect(lines.map((line) => line.split(/\s+/)[0])).toEqual(["a", "b"]);
    expect(lines[1]).toMatch(/^b\s+registry\.example\.com\/team\/vision:\S+@sha256:[0-9a-f]{64}$/);
    const single = await runInProcess(["resolve", "--host", join(folder, "a.json"), ...lock]);
    expect(lines[0]?.split(/\s+/)[1]).toBe(single.exit === 0 ? single.out.trim() : "-");
    expect(exit).toBe(single.exit);
  });

  test("of JSON lines on standard input answer as resolve does for each", async () => {
    const names = ["h100", "laptop", "rtx4090", "v100-no-driver", "mismatch"];
    const { exit, out } = await runInProcess(["resolve", "--hosts", "-", "--json", ...lock], {
      readStdin: async () => names.map(oneLine).join("\n"),
    });
    const answers = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers).toHaveLength(names.length);
    const singles = [];
    for (const [at, name] of names.entries()) {
      const file = join(vision, `hosts/${name}.json`);
      const single = await runInProcess(["resolve", "--host", file, "--json", ...lock]);
      singles.push(single.exit);
      const { host, nearest, ...answer } = answers[at];
      expect(host).toBe(`standard input:${at + 1}`);
      expect(nearest === null).toBe(answer.match !== null);
      const { reference, ...alone } = JSON.parse(single.out);
      expect(answer).toEqual(alone);
      expect(reference).toBe(answer.match?.reference);
    }
    expect(exit).toBe(singles.includes(3) ? 3 : singles.includes(4) ? 4 : 0);
  });

  test("of kubectl have the nodes' names", async () => {
    const node = (name: string, march: string) => ({
      kind: "Node",
      metadata: { name, labels: { "kubernetes.io/arch": march, "kubernetes.io/os": "linux" } },
    });
    const list = { kind: "List", apiVersion: "v1", items: [node("gpu-1", "amd64"), node("gpu-2", "arm64")] };
    const { exit, out } = await runInProcess(["resolve", "--hosts", "-", ...lock], {
      readStdin: async () => JSON.stringify(list),
    });
    expect(out.split("\n").map((line) => line.split(/\s+/)[0])).toEqual(["gpu-1", "gpu-2", ""]);
    expect(out).toContain("gpu-2  -");
    expect(exit).toBe(3);
  });

  test("are asked why not, too", async () => {
    const folder = makeFolder({ "a.jsonl": `${oneLine("h100")}\n${oneLine("laptop")}\n` });
    const { exit, out } = await runInProcess([
      "why-not",
      "none_x86-64-v3_3.12",
      "--hosts",
      folder,
      ...lock.slice(0, 2),
    ]);
    expect(out.trimEnd().split("\n")).toHaveLength(2);
    expect(out).toContain("a:1");
    expect([0, 3]).toContain(exit);
  });

  test("all served exit 0", async () => {
    const folder = makeFolder({ "a.json": facts("h100"), "b.json": facts("h100") });
    expect((await runInProcess(["resolve", "--hosts", folder, ...lock])).exit).toBe(0);
  });
});

test.each([
  [["--hosts", "a", "--host", "b"], "--host names one host and --hosts many"],
  [["--hosts", "a", "--gpus", "0"], "--gpus narrows"],
  [["--hosts", "a", "--explain"], "--explain is about one host"],
  [["--hosts", "/nowhere.json"], "/nowhere.json: FILE_NOT_FOUND"],
])("%j is refused", async (flags, words) => {
  const { exit, err } = await runInProcess(["resolve", ...flags, ...lock]);
  expect(exit).toBe(2);
  expect(err).toContain(words);
});

test("a folder without facts is refused", async () => {
  const { err } = await runInProcess(["resolve", "--hosts", makeFolder({}), ...lock]);
  expect(err).toContain("a folder without files");
});
