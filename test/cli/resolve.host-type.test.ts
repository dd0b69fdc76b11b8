/** `--host-type` and `--driver`: a machine that nobody has asked yet. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const vision = join(import.meta.dirname, "../../docs/examples/vision");
const lock = ["--lock", join(vision, "images/imgmatch.lock.json"), "--pin", "python=3.12"];
const p4d = ["--host-type", "p4d.24xlarge"];
const driver = ["--driver", "580.95.05"];

describe("a machine type as the host", () => {
  test("gets the image that cover says", async () => {
    const { exit, out } = await runInProcess(["resolve", ...p4d, ...driver, ...lock, "--json"]);
    const covered = await runInProcess(["cover", ...p4d, ...driver, ...lock, "--json"]);
    const { match } = JSON.parse(out);
    expect([exit, match.cell]).toEqual([0, "13.0.2_8.0_x86-64-v3_3.12"]);
    expect(JSON.parse(covered.out).classes[0].match.cell).toBe(match.cell);
  });

  test("without a driver is refused, and says how to name one", async () => {
    const { exit, err } = await runInProcess(["resolve", ...p4d, ...lock]);
    expect([exit, err]).toEqual([4, expect.stringMatching(/FACT_UNKNOWN[\s\S]*--driver VERSION/)]);
  });

  test.each([
    ["why-not", ["13.0.2_8.0_x86-64-v3_3.12", ...lock.slice(0, 2)], "it is what resolve prints"],
    ["labels", ["--format", "json"], "A100"],
    ["launch", ["docker", ...lock], "sha256:"],
    ["run", ["--dry-run", ...lock], "sha256:"],
    ["probe", ["--json"], '"driver": "580.95.05"'],
  ] as const)("is what %s is asked about", async (command, args, answer) => {
    const { exit, out, err } = await runInProcess([command, ...p4d, ...driver, ...args]);
    expect([exit, `${out}${err}`]).toEqual([0, expect.stringContaining(answer)]);
  });

  test("prints facts that are read back", async () => {
    const { out } = await runInProcess(["probe", ...p4d, "--json"]);
    const again = await runInProcess(["probe", "--host", "-", "--json"], { readStdin: async () => out });
    expect(again.out).toBe(out);
  });

  test("is one for which init writes a matrix", async () => {
    const folder = makeFolder({
      Dockerfile: "FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nRUN nvcc -o /x x.cu\n",
    });
    await runInProcess(["init", "--from", "Dockerfile", "--host-type", "p4d.24xlarge,g6.xlarge"], {
      cwd: folder,
    });
    expect(readFileSync(join(folder, "matrix.yaml"), "utf8")).toMatch(/compute:.*8\.0.*8\.9/);
  });
});

describe("--driver", () => {
  const facts = JSON.parse(readFileSync(join(vision, "hosts/h100.json"), "utf8"));
  const told = (nvidia: unknown) => ({ readStdin: async () => JSON.stringify({ ...facts, nvidia }) });
  const { driver: own, ...untold } = facts.nvidia;

  test("completes facts that name none, and changes none that do", async () => {
    const args = ["probe", "--host", "-", "--json", "--driver"];
    const { out } = await runInProcess([...args, "580.95.05"], told({ ...untold, cuda: null }));
    expect(JSON.parse(out).nvidia).toMatchObject({ driver: "580.95.05", cuda: "13.0" });
    expect(JSON.parse(out).nvidia).not.toHaveProperty("unknown");
    expect((await runInProcess([...args, own], told(facts.nvidia))).exit).toBe(0);
    const other = await runInProcess([...args, "580.95.05"], told(facts.nvidia));
    expect([other.exit, other.out]).toEqual([2, expect.stringContaining(`standard input has driver ${own}`)]);
    const none = await runInProcess([...args, "580.95.05"], told(null));
    expect([none.exit, none.out]).toEqual([2, expect.stringContaining("neither an NVIDIA GPU nor a driver")]);
    const open = await runInProcess([...args, "580.95.05"], told(undefined));
    expect(JSON.parse(open.out).nvidia).toMatchObject({ driver: "580.95.05", unknown: ["gpus"] });
  });

  test("is that of an AMD GPU on a machine type that has AMD's", async () => {
    const mi300x = ["--host-type", "Standard_ND96isr_MI300X_v5", "--json"];
    const open = await runInProcess(["probe", ...mi300x]);
    expect(JSON.parse(open.out).amd).toMatchObject({ driver: null, unknown: ["driver"] });
    const told = await runInProcess(["probe", ...mi300x, "--driver", "6.14.14"]);
    const { amd, nvidia, sources } = JSON.parse(told.out);
    expect([amd.driver, amd.unknown, nvidia, sources["amd.driver"]]).toEqual([
      ...["6.14.14", undefined, null],
      "--driver",
    ]);
    const others = await runInProcess(["probe", ...mi300x, "--driver", "580.95.05"]);
    expect([others.exit, others.out]).toEqual([2, expect.stringContaining("an AMD GPU, whose drivers")]);
  });

  test("of many hosts completes those without one", async () => {
    const both = [facts, { ...facts, nvidia: untold }].map((each) => JSON.stringify(each)).join("\n");
    const ask = ["resolve", "--hosts", "-", ...lock, "--json"];
    const readStdin = async () => both;
    expect((await runInProcess(ask, { readStdin })).out).toContain("FACT_UNKNOWN");
    const { out } = await runInProcess([...ask, "--driver", own], { readStdin });
    const [first, second] = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).match.cell);
    expect(first).toBe(second);
  });

  test.each([
    [["resolve", ...driver, ...lock], "this machine has its own"],
    [["resolve", "--host", "-", ...p4d, ...lock], "--host and --host-type each name the host"],
    [["resolve", "--hosts", "-", ...p4d, ...lock], "--host-type names one host and --hosts many"],
    [["resolve", ...p4d, "--driver", "580", ...lock], '--driver "580" is no version of a driver'],
    [["resolve", "--host-type", "p4d.24xlrge", ...driver, ...lock], "did you mean p4d.24xlarge?"],
    [["run", ...p4d, ...driver, ...lock], "--host-type names another machine"],
  ] as const)("%j is refused: %s", async (args, message) => {
    const { exit, err } = await runInProcess(args);
    expect([exit, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
