/** The distribution's Chromium. */

import { spawnSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";

const program =
  process.env.IMGMATCH_CHROMIUM_PROGRAM ?? placeOf("chromium", "chromium-browser", "google-chrome");

export const whyNoChromium =
  program === null ? "no chromium (apt-get install chromium, or IMGMATCH_CHROMIUM_PROGRAM)" : null;

function placeOf(...names: readonly string[]): string | null {
  for (const name of names) {
    const { status, stdout } = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" });
    if (status === 0) return stdout.trim();
  }
  return null;
}

export async function launchChromium(): Promise<Browser> {
  if (program === null) throw new Error("no chromium");
  // Root has no sandbox; a container's /dev/shm is small.
  return chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}
