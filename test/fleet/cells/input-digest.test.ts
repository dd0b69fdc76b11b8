import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { describe, expect, test } from "vitest";
import { type BuildInputs, inputDigest, shortDigest } from "../../../src/fleet/cells/input-digest.ts";

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const inputs: BuildInputs = {
  dockerfile: digestOf("FROM debian:12\n"),
  context: digest("a"),
  args: { A: "1", B: "2" },
  target: null,
  platform: "linux/amd64",
  bases: [
    { ref: "debian:12", digest: digest("b") },
    { ref: "gcc:14", digest: digest("c") },
  ],
  builder: "dockerfile.v0",
};

describe("the input digest", () => {
  test("is the same on every machine, for ever", () => {
    expect(inputDigest(inputs)).toBe(
      "sha256:651ae3041166024afe377401305c74f397c22f9731c00b9c68a36d613d1ce7ea",
    );
    expect(shortDigest(inputDigest(inputs))).toHaveLength(12);
  });

  test("does not see in which order arguments and bases are named", () => {
    const turned = { ...inputs, args: { B: "2", A: "1" }, bases: inputs.bases.toReversed() };
    expect(inputDigest(turned)).toBe(inputDigest(inputs));
  });

  const changes: Record<string, Partial<BuildInputs>> = {
    "the Dockerfile": { dockerfile: digestOf("FROM debian:12 \n") },
    "the context": { context: digest("d") },
    "an argument's value": { args: { A: "1", B: "3" } },
    "an argument's name": { args: { A: "1", C: "2" } },
    "an argument more": { args: { ...inputs.args, C: "" } },
    "the target": { target: "build" },
    "a target whose name is null": { target: "null" },
    "the platform": { platform: "linux/arm64" },
    "the digest of any base": {
      bases: [
        { ref: "debian:12", digest: digest("b") },
        { ref: "gcc:14", digest: digest("e") },
      ],
    },
    "the name of a base": {
      bases: [
        { ref: "debian:13", digest: digest("b") },
        { ref: "gcc:14", digest: digest("c") },
      ],
    },
    "a base less": { bases: inputs.bases.slice(1) },
    "the builder": { builder: "dockerfile.v1" },
  };
  test.each(Object.entries(changes))("changes with %s", (_, change) => {
    expect(inputDigest({ ...inputs, ...change })).not.toBe(inputDigest(inputs));
  });
});
