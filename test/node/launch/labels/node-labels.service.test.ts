/** The systemd service of docs/launch, which writes labels for Node Feature Discovery. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-labels-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("docs/launch/imgmatch-labels.service", () => {
  const unit = readFileSync("docs/launch/imgmatch-labels.service", "utf8");

  it("replaces the feature file whole, and not at all when imgmatch fails", () => {
    const line = /^ExecStart=\/bin\/sh -ec '(.*)'$/m.exec(unit)?.[1] ?? "";
    const features = join(folder, "features.d");
    const run = (script: string) =>
      spawnSync(
        "/bin/sh",
        ["-ec", `mkdir -p "$FEATURES"; ${line.replace("/usr/local/bin/imgmatch", script)}`],
        {
          env: { PATH: "/usr/bin:/bin", FEATURES: features },
          encoding: "utf8",
        },
      );
    const good = join(folder, "good");
    const bad = join(folder, "bad");
    writeFileSync(good, "#!/bin/sh\necho imgmatch.dev/driver=580.1\n", { mode: 0o755 });
    writeFileSync(bad, "#!/bin/sh\necho half; exit 4\n", { mode: 0o755 });
    expect(run(good)).toMatchObject({ status: 0, stderr: "" });
    expect(run(bad).status).not.toBe(0);
    expect(readFileSync(join(features, "imgmatch"), "utf8")).toBe("imgmatch.dev/driver=580.1\n");
  });
});
