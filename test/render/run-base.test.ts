import { describe, expect, it } from "vitest";
import { runBaseOf } from "../../src/render/run-base.ts";

describe("runBaseOf", () => {
  it.each([
    ["FROM debian:12\n", null, "debian:12"],
    ["FROM gcc:14 AS build\nRUN make\nFROM --platform=linux/amd64 debian:12 AS run\n", null, "debian:12"],
    ["FROM debian:12 AS Base\nFROM base AS build\nFROM base\n", null, "debian:12"],
    ["FROM a AS one\nFROM b AS two\n", "one", "a"],
    ["FROM a AS one\nFROM b AS two\n", "0", "a"],
    ["FROM scratch\nCOPY a /a\n", null, "scratch"],
    // A stage of the name of its own base is no loop.
    ["FROM debian AS debian\nFROM debian\n", null, "debian"],
  ])("of %j for target %j is %s", (dockerfile, target, base) => {
    expect(runBaseOf(dockerfile, target)).toBe(base);
  });
});
