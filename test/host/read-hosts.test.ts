import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { readHost } from "../support/read-hosts.ts";
import { readHostFiles } from "../support/read-hosts.ts";
import { readHosts } from "../support/read-hosts.ts";
import { inputLimits } from "../../src/io/limits.ts";

const machine = (name: string) =>
  JSON.parse(readFileSync(`test/fixtures/hosts/${name}/expected.json`, "utf8")) as HostFacts;
const names = readdirSync("test/fixtures/hosts").slice(0, 3);
const [one, two, three] = names.map(machine);

const node = (name: string, labels: Record<string, string>) => ({
  kind: "Node",
  metadata: { name, labels: { "kubernetes.io/arch": "amd64", ...labels } },
  status: { nodeInfo: { architecture: "amd64", operatingSystem: "linux", kernelVersion: "6.8.0-45" } },
});
const t4 = node("gpu-1", { "nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "1" });

const found = async (text: string) =>
  (await readHosts(text, "facts/fleet.jsonl")).map(({ name, facts }) => [name, facts]);
const mistakes = async (text: string) =>
  readHosts(text, "f.json").then(
    () => [],
    ({ problems }: { problems: { code: string; message: string; at: { line: number } }[] }) =>
      problems.map(({ code, message, at }) => `${at?.line ?? "-"} ${code} ${message}`),
  );

describe("many hosts in one text", () => {
  it("are facts on a line each, or printed one after the other", async () => {
    const facts = [one, two, three];
    for (const indent of [0, 2])
      expect(
        (await found(facts.map((each) => JSON.stringify(each, null, indent)).join("\n"))).map(
          ([, each]) => each,
        ),
      ).toEqual(facts);
    expect((await found(`${JSON.stringify(one)}\n\n${JSON.stringify(two)}`)).map(([name]) => name)).toEqual([
      "fleet:1",
      "fleet:3",
    ]);
  });

  it("are one, which has the name of the file", async () => {
    expect(await found(JSON.stringify(one, null, 2))).toEqual([["fleet", one]]);
  });

  it("are a list, and facts beside a name", async () => {
    expect(await found(JSON.stringify([one, { name: "gpu-7", facts: two }]))).toEqual([
      ["fleet[0]", one],
      ["gpu-7", two],
    ]);
  });

  it("are nodes as kubectl prints them, each as if it were asked for alone", async () => {
    const cpu = node("cpu-1", { "feature.node.kubernetes.io/cpu-cpuid.AVX2": "true" });
    const facts = await Promise.all([t4, cpu].map((each) => readHost(JSON.stringify(each), "f")));
    const expected = [
      ["gpu-1", facts[0]],
      ["cpu-1", facts[1]],
    ];
    expect(await found(JSON.stringify({ kind: "List", items: [t4, cpu] }))).toEqual(expected);
    expect(await found([t4, cpu].map((each) => JSON.stringify(each)).join("\n"))).toEqual(expected);
    expect(await found(JSON.stringify(t4.metadata.labels))).toMatchObject([
      ["fleet", { platform: "linux/amd64" }],
    ]);
  });

  it("are what Ansible keeps of a command", async () => {
    const kept = { changed: true, rc: 0, stderr: "", stdout: JSON.stringify(one, null, 2) };
    expect(await found(JSON.stringify(kept))).toEqual([["fleet", one]]);
    expect(await mistakes(JSON.stringify({ ...kept, rc: 127, stdout: "" }))).toEqual([
      "1 FACTS_SCHEMA the command that was to print its facts ended with 127",
    ]);
    expect(await mistakes(JSON.stringify({ rc: 0, stdout: JSON.stringify(kept) }))).toEqual([
      "1 FACTS_SCHEMA stdout: expected the facts of one host",
    ]);
  });

  it("are refused with every mistake of each, and its line", async () => {
    const text = [
      "ssh: connect to host gpu-3 port 22: No route to host",
      JSON.stringify(one),
      JSON.stringify({ ...one, platform: "x", kernel: 7 }),
      JSON.stringify({ kind: "List", items: [t4, { kind: "Pod" }] }),
      JSON.stringify({ kind: "List", items: [] }),
      JSON.stringify([[one]]),
      JSON.stringify({ name: 1, facts: one }),
    ].join("\n");
    expect(await mistakes(text)).toEqual([
      expect.stringMatching(/^1 FACTS_SYNTAX no JSON/),
      expect.stringMatching(/^3 FACTS_SCHEMA platform: expected a platform/),
      expect.stringMatching(/^3 FACTS_SCHEMA kernel: expected/),
      "- FACTS_SCHEMA items[1] is no Node",
      "- FACTS_SCHEMA a list of no nodes",
      "6 FACTS_SCHEMA a list in a list is no host",
      "7 FACTS_SCHEMA name: expected text of 1 to 253 characters beside facts",
    ]);
    expect(await mistakes("\n")).toEqual(["1 FACTS_SCHEMA there is no host in it"]);
    expect(await mistakes("x\n".repeat(1000))).toHaveLength(50);
  });

  it("are shown in one line each, whatever their names hold", async () => {
    const [first] = await readHosts(JSON.stringify({ name: "a\u001b[31m\u202eb", facts: one }), "f");
    expect(first?.name).toBe("a\\u001b[31m\\u202eb");
  });

  it("are not read beyond the limit", async () => {
    await expect(readHosts(" ".repeat(inputLimits.hosts.bytes + 1), "f")).rejects.toMatchObject({
      problems: [{ code: "INPUT_TOO_LARGE" }],
    });
  });
});

describe("hosts in files and folders", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-hosts-"));
    for (const [index, name] of ["b.json", "a.example.com", ".hidden"].entries())
      writeFileSync(join(folder, name), JSON.stringify([one, two, {}][index]));
    mkdirSync(join(folder, "more"));
    writeFileSync(join(folder, "more/b.json"), JSON.stringify(three));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const named = async (...paths: string[]) =>
    (await readHostFiles(paths, () => JSON.stringify(three))).map(({ name, facts }) => [name, facts]);

  it("come in the order of their names, and hidden files and folders do not count", async () => {
    expect(await named(folder)).toEqual([
      ["a.example.com", two],
      ["b", one],
    ]);
    expect(await named("-", join(folder, "b.json"))).toEqual([
      ["standard input", three],
      ["b", one],
    ]);
  });

  it("are told apart by their files where their names are one", async () => {
    expect((await named(folder, join(folder, "more"))).map(([name]) => name)).toEqual([
      "a.example.com",
      `${join(folder, "b.json")}: b`,
      `${join(folder, "more/b.json")}: b`,
    ]);
  });

  it("are refused all at once", async () => {
    writeFileSync(join(folder, "c.json"), "");
    mkdirSync(join(folder, "none"));
    await expect(named(folder, join(folder, "lost.json"), join(folder, "more/b.json"))).rejects.toMatchObject(
      {
        problems: [
          { code: "FACTS_SCHEMA", at: { file: join(folder, "c.json") } },
          { code: "FILE_NOT_FOUND" },
        ],
      },
    );
    await expect(named(join(folder, "none"))).rejects.toMatchObject({
      problems: [{ message: "a folder without files" }],
    });
  });
});
