import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CoverReport } from "../../src/cover/cover-report.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { runInProcess } from "../support/run-cli.ts";

const vision = "docs/examples/vision";
const lock = ["--lock", `${vision}/images/imgmatch.lock.json`];
const hosts = `${vision}/hosts`;
const h100 = JSON.parse(readFileSync(`${hosts}/h100.json`, "utf8")) as {
  nvidia: { gpus: { name: string }[] };
};
const cover = (args: readonly string[], stdin = "") =>
  runInProcess(["cover", ...args], { readStdin: async () => stdin });

describe("imgmatch cover", () => {
  it("answers as resolve does for each host, from standard input too", async () => {
    const facts = JSON.stringify(h100);
    const { exit, out } = await cover(["-", ...lock, "--json"], `${facts}\n${facts}\n`);
    const resolved = await runInProcess(["resolve", "--host", `${hosts}/h100.json`, ...lock]);
    const report = JSON.parse(out) as CoverReport;
    expect([exit, report.schemaVersion, report.counts.hosts, report.classes.length]).toEqual([0, 1, 2, 1]);
    expect(`${report.classes[0]?.match?.reference}\n`).toBe(resolved.out);
    expect(report).not.toHaveProperty("whatIf");
    expect(report).not.toHaveProperty("violations");
  });

  it("takes the version of a matrix where the matrix says that it is", async () => {
    const folder = mkdtempSync(join(tmpdir(), "imgmatch-cover-"));
    const matrix = join(folder, "matrix.yaml");
    const text = readFileSync(`${vision}/matrix.yaml`, "utf8");
    writeFileSync(matrix, text.replace(/^version:.*$/m, "version: { env: VERSION }"));
    const args = ["cover", hosts, "--matrix", matrix, "--suggest", join(folder, "less.yaml"), "--json"];
    const { exit, out } = await runInProcess(args, { env: { VERSION: "7.1" } });
    expect([exit, (JSON.parse(out) as CoverReport).fleet.version]).toEqual([0, "7.1"]);
    expect(readFileSync(join(folder, "less.yaml"), "utf8")).toContain("version: { env: VERSION }\n");
    expect((await runInProcess(["cover", hosts, "--matrix", matrix])).err).toContain("VERSION_UNKNOWN");
    rmSync(folder, { recursive: true });
  });

  it("counts apart what loses by a pin that nobody gave, and names host and cell", async () => {
    const { out } = await cover([hosts, ...lock]);
    expect(out).toMatch(/, \d+ images? only with a pin\n/);
    expect(out).toMatch(
      /images? for those who pin\n(.*\n)* {2}none_x86-64-v3_3\.12 +the answer for \d hosts/,
    );
    expect(out).not.toMatch(/this host|the image's cell/);
    expect(out).toContain("DRIVER_TOO_OLD: needs NVIDIA driver >= 580.65.06, h100 has 570.172.08");
    const policy = await cover([hosts, ...lock, "--check", "no unused image"]);
    expect(policy.out).not.toContain("no unused image: none_x86-64-v3_3.12");
  });

  it("says of machine types that they are that", async () => {
    const { out } = await cover(["--host-type", "p2.xlarge,p2.8xlarge", "--driver", "570.172.08", ...lock]);
    expect(out).toContain(": 2 machine types in ");
    expect(out).toContain("images that no machine type gets");
    expect(out).not.toMatch(/\bhosts? with|no host/);
    // A K80 beside others of its kind: hidden, none would be left.
    expect(out).not.toContain("hide");
  });

  it.each([
    ["a terminal", []],
    ["Markdown", ["--markdown"]],
  ])("and so in every part of the report, for %s", async (_, format) => {
    const types = ["--host-type", "p2.xlarge,p5.48xlarge", "--driver", "570.172.08"];
    const folder = mkdtempSync(join(tmpdir(), "imgmatch-cover-"));
    const asked = ["--what-if", "driver=580.95.05", "--check", "every host native"];
    const matrix = ["--matrix", `${vision}/matrix.yaml`, "--suggest", join(folder, "less.yaml")];
    const { out } = await cover([...types, ...matrix, ...asked, ...format]);
    rmSync(folder, { recursive: true });
    expect(out).toMatch(/what if driver=580/i);
    expect(out.split("\n").filter((line) => /^machine types |^\| machine types \|/.test(line))).toHaveLength(
      1,
    );
    expect(out.replaceAll("every host native", "")).not.toMatch(/\bhosts?\b/);
  });

  it("ends with 1 where a policy does not hold, and says what breaks it", async () => {
    const policy = ["--check", "every host served"];
    const broken = await cover([hosts, ...lock, ...policy]);
    expect([broken.exit, broken.out]).toEqual([
      1,
      expect.stringContaining("every host served: c3 (1 host) gets no image"),
    ]);
    const holds = await cover([`${hosts}/h100.json`, ...lock, ...policy]);
    expect([holds.exit, holds.out]).toEqual([0, expect.stringContaining("every policy holds")]);
    const json = await cover([hosts, ...lock, ...policy, "--json"]);
    expect([json.exit, (JSON.parse(json.out) as CoverReport).violations?.length]).toEqual([1, 1]);
  });

  it("reads no markup of a host into Markdown", async () => {
    const [gpu] = h100.nvidia.gpus;
    const name =
      "<img src=x onerror=alert(1)> | [a](http://b.example) @team `x` **b** www.c.example\u001b[31m";
    const hostile = { ...h100, nvidia: { ...h100.nvidia, gpus: [{ ...gpu, name, compute: "5.0" }] } };
    const { out } = await cover(
      ["-", ...lock, "--markdown", "--require-gpu"],
      JSON.stringify({ name, facts: hostile }),
    );
    const page = out.replace(/<\/?(details|summary|br)>/g, "");
    expect(page).toContain("img src=x onerror=alert\\(1\\)");
    expect(page).not.toMatch(/<[a-z]|(?<!\\)\]\(|@team|:\/\/|www\.|(?<!\\)`/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is the one that must not be there
    expect(page).not.toMatch(/\u001b/);
    for (const line of page.split("\n").filter((each) => each.startsWith("| ") && !each.includes("---")))
      expect([3, 8]).toContain(line.match(/(?<!\\)\|/g)?.length);
  });

  it("shows what would change in Markdown too", async () => {
    const { out } = await cover([
      hosts,
      ...lock,
      "--markdown",
      "--what-if",
      "driver=580.95.05",
      "--check",
      "no unused image",
    ]);
    expect(out).toContain("### What if driver=580.95.05");
    expect(out).toMatch(/\| c4 \| 1 \| better \| 12\.8\.1\\_8\.0/);
    expect(out).toMatch(/### \d+ against the policies/);
  });

  it("takes machine types beside hosts of files, and says where their facts are from", async () => {
    const types = ["--host-type", "p4d.24xlarge,p6-b200.48xlarge", "--driver", "580.95.05"];
    const { exit, out } = await cover([`${hosts}/h100.json`, ...lock, ...types]);
    expect([exit, out]).toEqual([0, expect.stringContaining("3 hosts in 3 classes")]);
    expect(out).toMatch(
      /where CPU features are known from\n {2}c2 {2}lscpu of p4d.24xlarge\n {2}c3 {2}no capture/,
    );
    expect(out).toMatch(/ x86-64-v3\+ /);
    const markdown = await cover([...lock, ...types, "--markdown"]);
    expect(markdown.out).toContain("<details><summary>Where CPU features are known from</summary>");
    const json = JSON.parse((await cover([...lock, ...types, "--json"])).out) as CoverReport;
    expect(json.classes.map(({ host }) => [host.nativeUndecided, host.cpuSources])).toEqual([
      [false, ["lscpu of p4d.24xlarge"]],
      [true, ["no capture of Intel there: x86-64-v3, as every CPU of Intel here"]],
    ]);
  });

  it("counts what images cost as far as the lock knows", async () => {
    const json = async (args: readonly string[]) =>
      JSON.parse((await cover([`${hosts}/h100.json`, ...args, "--json"])).out) as CoverReport;
    const { images } = JSON.parse(readFileSync(`${vision}/images/imgmatch.lock.json`, "utf8")) as Lock;
    const bytesOf = (cells: readonly string[]) => {
      const blobs = new Map(cells.flatMap((cell) => Object.entries(images[cell]?.blobs ?? {})));
      return [...blobs.values()].reduce((sum, bytes) => sum + bytes, 0);
    };
    const cells = Object.keys(images);
    const sized = {
      images: 12,
      registryBytes: bytesOf(cells),
      unsized: 0,
      // Eight with GPU code of 412 s, four without of 138 s.
      buildMinutes: 64.1,
      untimed: 0,
    };
    expect((await json(lock)).cost).toEqual(sized);
    // Of a plan, by the lock that lies beside the matrix.
    expect((await json(["--matrix", `${vision}/matrix.yaml`])).cost).toEqual(sized);
    const less = await json([...lock, "--what-if", "drop:cuda=none"]);
    expect(less.whatIf?.after.cost).toMatchObject({
      images: 8,
      registryBytes: bytesOf(cells.filter((cell) => !cell.startsWith("none_"))),
      buildMinutes: 54.9,
    });
    const folder = mkdtempSync(join(tmpdir(), "imgmatch-cost-"));
    try {
      const ask = ["--matrix", `${vision}/matrix.yaml`, "--suggest", join(folder, "matrix.yaml")];
      const { suggestion } = await json(ask);
      const kept = suggestion?.cells[0]?.cell ?? "";
      expect(suggestion?.cost).toMatchObject({
        kept: { images: 1, registryBytes: bytesOf([kept]), buildMinutes: 6.9 },
        // Without what the one that stays has too.
        dropped: { images: 11, registryBytes: bytesOf(cells) - bytesOf([kept]), buildMinutes: 57.3 },
        added: { images: 0, registryBytes: 0, buildMinutes: 0, after: [] },
      });
      const alone = join(folder, "alone.yaml");
      writeFileSync(alone, readFileSync(`${vision}/matrix.yaml`, "utf8"));
      expect((await json(["--matrix", alone])).cost).toMatchObject({
        ...{ registryBytes: null, unsized: 12, buildMinutes: null, untimed: 12 },
      });
      expect((await cover([`${hosts}/h100.json`, "--matrix", alone])).out).toContain(
        "12 images: size in the registry unknown, build minutes unknown",
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("writes the matrix that it suggests, and over nothing", async () => {
    const folder = mkdtempSync(join(tmpdir(), "imgmatch-cover-"));
    const file = join(folder, "matrix.yaml");
    const ask = ["--matrix", `${vision}/matrix.yaml`, "--suggest", file];
    try {
      const { exit, out } = await cover([`${hosts}/h100.json`, ...ask]);
      expect([exit, out]).toEqual([0, expect.stringMatching(/suggested: 1 cell: 1 host with native code/)]);
      const planned = await cover([`${hosts}/h100.json`, "--matrix", file, "--json"]);
      expect((JSON.parse(planned.out) as CoverReport).counts).toMatchObject({ hosts: 1, native: 1 });
      const again = await cover([`${hosts}/h100.json`, ...ask]);
      expect([again.exit, again.err]).toEqual([2, expect.stringContaining("FILE_EXISTS")]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("writes a page beside its answer, over an older one and over nothing else", async () => {
    const folder = mkdtempSync(join(tmpdir(), "imgmatch-cover-"));
    const file = join(folder, "report.html");
    const ask = [hosts, ...lock, "--html", file];
    try {
      const policy = await cover([...ask, "--check", "every host served"]);
      expect([policy.exit, policy.out]).toEqual([1, expect.stringContaining("1 violation")]);
      const first = readFileSync(file, "utf8");
      const json = await cover([...ask, "--json", "--what-if", "driver=580.95.05", "--pin", "python=3.12"]);
      expect([json.exit, JSON.parse(json.out)]).toEqual([0, expect.objectContaining({ schemaVersion: 1 })]);
      const page = readFileSync(file, "utf8");
      expect([first === page, page.slice(0, 15), page.includes("driver=580.95.05")]).toEqual([
        false,
        "<!doctype html>",
        true,
      ]);
      const other = await cover([hosts, ...lock, "--html", `${hosts}/h100.json`]);
      expect([other.exit, other.err]).toEqual([
        2,
        expect.stringContaining("is not a page that imgmatch wrote"),
      ]);
      expect(JSON.parse(readFileSync(`${hosts}/h100.json`, "utf8"))).toEqual(h100);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ["a suggestion without a matrix", [hosts, ...lock, "--suggest", "new.yaml"], "--suggest needs --matrix"],
    ["a bound of nothing", [hosts, ...lock, "--max-images", "3"], "--max-images needs --suggest"],
    [
      "a pinned suggestion",
      [hosts, "--matrix", "matrix.yaml", "--suggest", "new.yaml", "--cpu"],
      "--suggest does not take --pin",
    ],
    ["no hosts", lock, "no hosts are named"],
    ["machine types without a driver", [...lock, "--catalog", "aws"], "--driver nvidia=580.95.05"],
    [
      "a driver for hosts that have one",
      [`${hosts}/h100.json`, ...lock, "--driver", "580.95.05"],
      "--driver is for hosts whose facts name none: h100 has driver 570.172.08",
    ],
    [
      "a machine type that is none",
      [...lock, "--host-type", "p5.48xlarge,g6.12xlage", "--driver", "580.95.05"],
      "did you mean g6.12xlarge?",
    ],
    ["two answers", [hosts, ...lock, "--json", "--markdown"], "--json and --markdown exclude each other"],
    [
      "two fleets",
      [hosts, ...lock, "--matrix", "matrix.yaml"],
      "the fleet is that of --matrix matrix.yaml or of --lock",
    ],
    ["no such change", [hosts, ...lock, "--what-if", "more"], '--what-if "more" is not a change'],
    ["no such policy", [hosts, ...lock, "--check", "be nice"], '--check "be nice" is not a policy'],
    ["an axis that no image has", [hosts, ...lock, "--pin", "colour=red"], "no image has the axis colour"],
  ] as const)("refuses %s", async (_, args, message) => {
    const { exit, out, err } = await cover(args);
    expect([exit, `${out}${err}`]).toEqual([2, expect.stringContaining(message)]);
  });
});
