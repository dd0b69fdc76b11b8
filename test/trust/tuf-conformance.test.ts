/** TUF's conformance suite, in place, with a client around what fetches the public root. */

import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { isLong } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";

const suite = fileURLToPath(new URL("../../../shared/suites/tuf-conformance", import.meta.url));
const client = fileURLToPath(new URL("support/tuf-client.mjs", import.meta.url));
const { IMGMATCH_TUF_PACKAGES: packages = "" } = process.env;
// The suite brings its tests and no packages: .ci/provide has the versions that it asks for.
const env = { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: "1" };
const whyNone =
  (existsSync(suite) ? null : "no ../shared/suites/tuf-conformance beside the checkout") ??
  (packages === "" ? "IMGMATCH_TUF_PACKAGES names no folder (.ci/provide tuf-packages)" : null) ??
  whyNot("python3", ["-c", "import tuf, pytest, pytest_jsonreport"], {
    install: "apt-get install python3",
    env,
  }) ??
  whyNot("faketime", ["2030-01-01", "true"], { install: "apt-get install faketime" });

interface Report {
  readonly tests: readonly { readonly nodeid: string; readonly outcome: string }[];
}

async function run(files: readonly string[]): Promise<Report["tests"]> {
  const report = join(makeFolder({}), "report.json");
  const options = ["-q", "-p", "no:cacheprovider", "--json-report", `--json-report-file=${report}`];
  const entrypoint = ["--entrypoint", `${process.execPath} ${client}`];
  // It exits with 1 where a test has failed, which the report tells.
  await promisify(execFile)("python3", ["-m", "pytest", ...options, ...entrypoint, ...files], {
    ...{ cwd: suite, env, maxBuffer: 2 ** 26 },
  }).catch(({ code }) => expect(code).toBe(1));
  return (JSON.parse(readFileSync(report, "utf8")) as Report).tests;
}

/** The client is a package, of one version: CI asks anew what an attacker of the public root would try first. */
const inCi = ["test_rollback.py", "test_expiration.py", "test_file_download.py", "test_keys.py"];

describe("TUF's conformance suite", needs(whyNone), () => {
  it(`passes: rollback, freeze, ${isLong ? "rotation, delegation" : "keys, targets"}`, {
    timeout: 900_000,
  }, async () => {
    const files = readdirSync(join(suite, "tuf_conformance"))
      .filter((name) => (isLong ? /^test_.*\.py$/.test(name) : inCi.includes(name)))
      .map((name) => join("tuf_conformance", name));
    // Two halves at once: each waits for its client.
    const [even, odd] = [0, 1].map((half) => run(files.filter((_, at) => at % 2 === half)));
    const tests = [...((await even) ?? []), ...((await odd) ?? [])];
    expect(tests.filter(({ outcome }) => outcome !== "passed").map(({ nodeid }) => nodeid)).toEqual([]);
    expect(tests.length).toBeGreaterThan(isLong ? 105 : 30);
  });
});
