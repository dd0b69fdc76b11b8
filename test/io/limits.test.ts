/** An input over a limit is refused with the numbers; one at the limit is read. */

import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseSecrets } from "../../src/fleet/engines/step-options.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { readHost } from "../support/read-hosts.ts";
import { inputLimits } from "../../src/io/limits.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { parseRequirement } from "../../src/lock/parse-requirement.ts";

describe("inputs beyond their limit are refused with the numbers", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-limits-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** A file of zeros that takes no room on the disk. */
  function fileOf(name: string, bytes: number): string {
    const path = join(folder, name);
    writeFileSync(path, "");
    truncateSync(path, bytes);
    return path;
  }
  const refusal = (bytes: number) => ({
    problems: [
      expect.objectContaining({
        code: "INPUT_TOO_LARGE",
        message: expect.stringContaining(`has ${bytes + 1} bytes, the limit is ${bytes}`),
      }),
    ],
  });

  test("a secret", () => {
    const { bytes } = inputLimits.secret;
    const given = (path: string) => () => parseSecrets([`id=a,src=${path}`], {});
    expect(given(fileOf("most", bytes))).not.toThrow();
    expect(given(fileOf("more", bytes + 1))).toThrow(expect.objectContaining(refusal(bytes)));
    expect(given("/no/such")).toThrow(expect.objectContaining({ code: "FILE_UNREADABLE" }));
    expect(parseSecrets(["id=a,env=A"], { A: "a".repeat(bytes) })).toHaveLength(1);
    expect(() => parseSecrets(["id=a,env=A"], { A: "a".repeat(bytes + 1) })).toThrow(
      expect.objectContaining(refusal(bytes)),
    );
  });

  test("facts that a program passes", async () => {
    const { bytes } = inputLimits.facts;
    const text = " ".repeat(bytes + 1);
    expect(() => parseHostFacts(text, "f")).toThrow(expect.objectContaining(refusal(bytes)));
    await expect(readHost(text, "f")).rejects.toMatchObject(refusal(bytes));
  });

  test("a lock that a program passes", () => {
    const { bytes } = inputLimits.lock;
    expect(() => parseLock(" ".repeat(bytes + 1), "l")).toThrow(expect.objectContaining(refusal(bytes)));
  });

  test("a label that is nested deeply says so", () => {
    const text = "[".repeat(500_000) + "]".repeat(500_000);
    expect(parseRequirement(text)).toMatchObject({ ok: false, mistakes: [expect.stringContaining("deep")] });
  });
});
