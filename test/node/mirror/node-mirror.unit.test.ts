import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { needs } from "../../support/needs.ts";
import { whyNoVersion } from "../../support/programs.ts";

const file = "docs/node/imgmatch-mirror.service";
const whyNoSystemd = whyNoVersion("systemd-analyze", "apt-get install systemd");

test(`${file} is a unit that systemd takes`, needs(whyNoSystemd), () => {
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
  expect(stderr.split("\n").filter((line) => line.includes("imgmatch"))).toEqual([]);
  expect(status).toBe(0);
});
