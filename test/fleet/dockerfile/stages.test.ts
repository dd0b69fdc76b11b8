import { describe, expect, it } from "vitest";
import { runBaseOf } from "../../../src/fleet/dockerfile/stages.ts";

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
    ["FROM debian:12\nRUN <<SQL cat\nSELECT *\nFROM users\nSQL\n", null, "debian:12"],
    ["FROM debian:12 \\\n  AS run\nFROM gcc:14\n", "run", "debian:12"],
    [`ARG TAG=12\nARG BASE=debian:\${TAG}\nFROM \${BASE} AS run\nFROM run\n`, null, "debian:12"],
    ["ARG TAG=12\nFROM debian:$TAG-$TARGETARCH\n", null, "debian:12-arm64"],
    [`ARG RUN=debian:12\nFROM \${RUN}\n`, null, "ubuntu:24.04"],
    [`FROM \${NOBODY}\n`, null, `\${NOBODY}`],
  ])("of %j for target %j is %s", (dockerfile, target, base) => {
    const options = { args: { RUN: "ubuntu:24.04" }, platform: "linux/arm64" };
    expect(runBaseOf(dockerfile, target, options)).toBe(base);
  });
});
