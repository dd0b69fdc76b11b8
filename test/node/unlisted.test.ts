import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { tablesDate } from "../../src/hardware/tables-date.ts";
import { gpu, gpuHost, h100 } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, lockOf } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const listed = gpuImage(cuda("12.8.1", ["sm_80", "compute_80"]));
const strange = gpuImage(cuda("13.9.0", ["sm_80"], { driver: { mode: "host", minimum: "580.65.06" } }));
const unknown = gpu({ name: "NVIDIA Z2" });
const rubin = gpu({ name: "NVIDIA Z1", compute: "14.0" });

const folder = makeFolder({
  "listed.json": formatLock(lockOf({ listed })),
  "strange.json": formatLock(
    lockOf({
      strange: { ...strange, requires: { ...strange.requires, cpu: { march: "pentium9", features: [] } } },
    }),
  ),
  "plain-host.json": formatHostFacts(gpuHost([h100], "580.95.05", null)),
  "branch.json": formatHostFacts(gpuHost([h100], "630.10", null)),
  "card.json": formatHostFacts(gpuHost([rubin, unknown], "580.95.05", "13.0")),
});

const run = (...args: string[]) => {
  const whole = args.map((each) => (each.endsWith(".json") ? join(folder, each) : each));
  return runInProcess(whole, { env: { HOME: folder }, cwd: folder });
};

const branch = `unlisted: driver branch 630 (CUDA 13.5 or more, by the floor): no table of ${tablesDate} has it\n`;

describe("an answer that meets what no table has", () => {
  it.each([
    ["resolve", ["resolve", "--lock", "listed.json", "--host", "branch.json"]],
    ["resolve --explain", ["resolve", "--explain", "--lock", "listed.json", "--host", "branch.json"]],
    ["resolve --hosts", ["resolve", "--lock", "listed.json", "--hosts", "branch.json"]],
    ["why-not", ["why-not", "listed", "--lock", "listed.json", "--host", "branch.json"]],
    ["why-not --hosts", ["why-not", "listed", "--lock", "listed.json", "--hosts", "branch.json"]],
    ["cover", ["cover", "--lock", "listed.json", "branch.json"]],
    ["launch", ["launch", "docker", "--lock", "listed.json", "--host", "branch.json"]],
  ])("names it, with the tables' date: %s", async (_, args) => {
    const { err } = await run(...args);
    expect(err.split(branch)).toHaveLength(2);
  });

  it("names cards, toolkits and marches together", async () => {
    const { err } = await run("resolve", "--lock", "strange.json", "--host", "card.json");
    expect(err).toContain(
      `unlisted: compute capability 14.0, GPU 1 (NVIDIA Z2), CUDA 13.9.0, march pentium9: no table of ${tablesDate} has them\n`,
    );
  });

  it("and nothing else has such a line", async () => {
    const { err, exit } = await run("resolve", "--lock", "listed.json", "--host", "plain-host.json");
    expect([exit, err.includes("unlisted")]).toEqual([0, false]);
  });

  it("check names a host's branch", async () => {
    const { err } = await run("check", "branch.json", "--host", "branch.json");
    expect(err).toContain(branch);
  });

  it("hardware ends with the date", async () => {
    const { out } = await run("hardware", "cuda", "12.8");
    expect(out).toMatch(new RegExp(`\\nTables of ${tablesDate}\\n$`));
    const { out: json } = await run("hardware", "cuda", "12.8", "--json");
    expect(JSON.parse(json)).toMatchObject({ date: tablesDate });
  });
});
