import { expect, test } from "vitest";
import { byDigest, parseImmutableReference, referenceParts } from "../../src/oci/immutable-reference.ts";

const digest = `sha256:${"ab".repeat(32)}`;

test.each([
  [`registry.example.com:5000/team/app:1.0@${digest}`, "registry.example.com:5000/team/app", "1.0"],
  [`docker.io/library/debian:12@${digest}`, "docker.io/library/debian", "12"],
  [`debian:12@${digest}`, "debian", "12"],
  [`localhost:5000/app@${digest}`, "localhost:5000/app", null],
])("%s keeps its name as written", (text, repository, tag) => {
  const reference = parseImmutableReference(text);
  expect(referenceParts(reference)).toEqual({ repository, tag, digest });
  expect(byDigest(reference)).toBe(`${repository}@${digest}`);
});

test.each([
  "app:1.0",
  "app",
  `--privileged@${digest}`,
  `a b:1@${digest}`,
  `app:1@${digest}\n`,
  "app:1@sha256:aa",
])("%j is refused", (text) => {
  expect(() => parseImmutableReference(text)).toThrowError(/REFERENCE_INVALID/);
});
