/** A program that is installed and cannot work is named once, with its own words, and fails no test. */

import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "./folders.ts";
import { tryProgram, whyNot } from "./programs.ts";

/** A program that counts its calls, says something and ends with that status. */
function stub(status: number, says: string) {
  const folder = makeFolder({});
  const path = join(folder, "stub");
  writeFileSync(path, `#!/bin/sh\necho . >>"${folder}/calls"\n${says}\nexit ${status}\n`);
  chmodSync(path, 0o755);
  return { folder, path };
}

describe("a program", () => {
  const install = "apt-get install it";

  it("that ends well is there, with what it says", () => {
    const { path } = stub(0, "echo 'stub 1.2.3'");
    expect(tryProgram(path, ["--version"], { install })).toEqual({ works: true, said: "stub 1.2.3" });
  });

  it("that is not installed is named with the way to get it", () => {
    expect(whyNot("imgmatch-no-such-program", [], { install })).toBe(
      "no imgmatch-no-such-program (apt-get install it)",
    );
  });

  it("that fails at its work is named with its last words", () => {
    const { path } = stub(1, "echo Error: >&2; echo 'crun: cgroups in hybrid mode not supported' >&2");
    expect(whyNot(path, ["run"], { install })).toBe(
      `${path} does not work: crun: cgroups in hybrid mode not supported`,
    );
    const silent = stub(7, "");
    expect(whyNot(silent.path, [], { install })).toBe(`${silent.path} does not work: status 7`);
  });

  it("is tried once, and again where PATH is another", () => {
    const { folder, path } = stub(1, "");
    const calls = () =>
      tryProgram("wc", ["-l", join(folder, "calls")], { install, input: String(Math.random()) });
    for (let count = 0; count < 3; count++) whyNot(path, [], { install });
    expect(calls()).toMatchObject({ said: expect.stringMatching(/^1 /) });
    whyNot(path, [], { install, env: { PATH: `/bin${delimiter}/usr/bin` } });
    expect(calls()).toMatchObject({ said: expect.stringMatching(/^2 /) });
  });
});
