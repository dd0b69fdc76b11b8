/** An nvidia-smi that prints for ever, or more than any has to say: each shell and awk ends with the name of the problem. */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { writeMachine } from "./support/machine.ts";
import { runScripts } from "./support/run-scripts.ts";

const folder = makeFolder({});
const dialects = findDialects(join(folder, "awks"));

const header = "index, name, compute_cap";
const programs: Readonly<Record<string, readonly [program: string, expected: RegExp]>> = {
  "lines for ever": ["exec yes", /HOST_SMI_GARBAGE: nvidia-smi printed too much/],
  "a line that never ends": ["yes | tr -d '\\n'", /HOST_SMI_GARBAGE: nvidia-smi printed too much/],
  "lines for ever, after its table": [
    `printf '${header}\\n0, NVIDIA A100-SXM4-80GB, 8.0\\n'; exec yes ""`,
    /HOST_SMI_GARBAGE: nvidia-smi printed too much/,
  ],
  "more GPUs than a host has, last first": [
    `seq 300 -1 1 | awk 'BEGIN { print "${header}" } { print $1 ", NVIDIA A100-SXM4-80GB, 8.0" }'`,
    /HOST_SMI_GARBAGE: nvidia-smi printed too much/,
  ],
  "half a line, and hangs": [
    "printf half; exec sleep 30",
    /HOST_SMI_TIMEOUT: nvidia-smi gave no answer in 2 s/,
  ],
};

describe("nvidia-smi that prints", needs(whyNoDialect(dialects)), () => {
  test.each(Object.entries(programs))("%s", { timeout: 240_000 }, async (_, [program, expected]) => {
    const here = mkdtempSync(join(folder, "case-"));
    const smi = join(here, "bin");
    mkdirSync(smi);
    writeFileSync(join(smi, "nvidia-smi"), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
    const root = join(here, "root");
    const files = new Map([
      ["/proc/cpuinfo", "flags: fpu cx8 cmov mmx fxsr sse sse2 syscall lm\n"],
      ["/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  x\n"],
    ]);
    writeMachine(root, { arch: "x64", env: {}, files, nodes: [], links: {}, denied: [], smi: null });
    const script = join(here, "fleet.sh");
    const smiSeconds = expected.source.includes("TIMEOUT") ? 2 : 120;
    writeFileSync(script, (await fleetScript(wholeFleet(), { version: "1.0.0", smiSeconds })).text);
    for (const dialect of dialects) {
      const [answer] = runScripts(mkdtempSync(join(here, "out-")), dialect, [{ script, root, env: {}, smi }]);
      expect(answer, dialect.name).toMatchObject({
        status: 4,
        stdout: "",
        stderr: expect.stringMatching(expected),
      });
    }
  });
});
