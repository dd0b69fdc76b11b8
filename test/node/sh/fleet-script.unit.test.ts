import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { needs } from "../../support/needs.ts";
import { whyNoVersion } from "../../support/programs.ts";

const file = "docs/node/imgmatch-image.service";
const whyNoSystemd = whyNoVersion("systemd-analyze", "apt-get install systemd");
const folder = mkdtempSync(join(tmpdir(), "imgmatch-unit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe(file, () => {
  test("is a unit that systemd takes", needs(whyNoSystemd), () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
    expect(stderr.split("\n").filter((line) => line.includes("imgmatch"))).toEqual([]);
    expect(status).toBe(0);
  });

  test("writes the image whole or not at all", () => {
    const commands = [...readFileSync(file, "utf8").matchAll(/^ExecStart(?:Pre)?=(.*)$/gm)].map(
      ([, words]) => words,
    );
    mkdirSync(join(folder, "run"));
    const here = commands
      .join("\n")
      .replaceAll("/run/imgmatch", join(folder, "run"))
      .replace("/etc/imgmatch", folder);
    const start = (script: string) => {
      writeFileSync(join(folder, "fleet.sh"), script);
      return spawnSync("sh", ["-ec", here]).status;
    };
    expect(start("echo repo:tag@sha256:1")).toBe(0);
    expect(readFileSync(join(folder, "run/image"), "utf8")).toBe("repo:tag@sha256:1\n");
    expect(start("echo half; exit 4")).not.toBe(0);
    expect(existsSync(join(folder, "run/image"))).toBe(false);
  });
});
