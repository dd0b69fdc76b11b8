import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import {
  formatImageReference,
  type ImageReference,
  isRepository,
  parseImageReference,
  withDigest,
  withTag,
} from "../../src/oci/reference.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}` as const;
const hex = "1a3f5e7d9c1b3a5f7e9d1c3b5a7f9e1d3c5b7a9f1e3d5d7c9b1a3f5e7d9c1b3a";

describe("parseImageReference", () => {
  const cases: readonly [text: string, registry: string, repository: string, tag?: string][] = [
    ["debian", "docker.io", "library/debian"],
    ["debian:12", "docker.io", "library/debian", "12"],
    ["docker.io/debian", "docker.io", "library/debian"],
    ["index.docker.io/library/debian:12", "docker.io", "library/debian", "12"],
    ["docker.io/library/foo/bar", "docker.io", "library/foo/bar"],
    ["team/app", "docker.io", "team/app"],
    ["test_com/foo", "docker.io", "test_com/foo"],
    ["localhost/app", "localhost", "app"],
    ["localhost:5000/app:1", "localhost:5000", "app", "1"],
    // Without a slash there is no host: this is the image "localhost" with tag 5000.
    ["localhost:5000", "docker.io", "library/localhost", "5000"],
    ["192.168.0.1:80", "docker.io", "library/192.168.0.1", "80"],
    ["test:5000/repo:tag", "test:5000", "repo", "tag"],
    ["[2001:db8::1]/repo", "[2001:db8::1]", "repo"],
    ["[::1]:5000/a/b:tag", "[::1]:5000", "a/b", "tag"],
    [
      "b.gcr.io/test.example.com/my-app:test.example.com",
      "b.gcr.io",
      "test.example.com/my-app",
      "test.example.com",
    ],
    ["Foo/bar", "Foo", "bar"],
    ["docker---rules/dock__er", "docker.io", "docker---rules/dock__er"],
    [`docker.io/${hex}`, "docker.io", `library/${hex}`],
    [
      `r.example/${"a/".repeat(127)}a:tag-puts-this-over-max`,
      "r.example",
      `${"a/".repeat(127)}a`,
      "tag-puts-this-over-max",
    ],
  ];
  test.each(cases)("%s", (text, registry, repository, tag) => {
    expect(parseImageReference(text)).toEqual({ registry, repository, tag: tag ?? null, digest: null });
  });

  test("tag and digest together", () => {
    expect(parseImageReference(`r.example/a:1@${digest}`)).toEqual({
      registry: "r.example",
      repository: "a",
      tag: "1",
      digest,
    });
  });

  const faults: readonly [text: string, says: string][] = [
    ["", "empty"],
    [":justtag", "not a repository"],
    [`@${digest}`, "not a repository"],
    ["repo:", "not a tag"],
    ["repo:-x", "not a tag"],
    [`repo:${"t".repeat(129)}`, "129 characters"],
    ["repo@sha256:ffff", "not a digest"],
    [`repo@sha512:${"f".repeat(128)}`, "not a digest"],
    [`repo@sha256:${"F".repeat(64)}`, "not a digest"],
    [`repo@${digest}@${digest}`, "not a digest"],
    [`repo@${digest}:tag`, "not a digest"],
    ["Uppercase:tag", "upper-case"],
    ["docker.io/docker/Docker", "upper-case"],
    ["test:5000/Uppercase/lowercase:tag", "upper-case"],
    ["https://github.com/docker/docker", "URL"],
    ["-docker/docker", "not a repository"],
    ["docker-/docker", "not a repository"],
    ["-docker.io/docker/docker", "not a registry host"],
    ["docker///docker", "not a repository"],
    ["dock..er/docker", "not a registry host"],
    ["team/dock_.er", "not a repository"],
    ["docker/", "not a repository"],
    ["a b/c", "not a repository"],
    ["app\n", "not a repository"],
    ["[fc00::1]", "not a repository"],
    ["fc00::1:5000/debian", "not a registry host"],
    ["[fe80::1%eth0]:5000/debian", "not a registry host"],
    ["[2001:db8:3:4::192.0.2.33]:5000/debian", "not a registry host"],
    [hex, "image id"],
    [`r.example/${"a/".repeat(128)}a`, "257 characters"],
  ];
  test.each(faults)("refuses %j", (text, says) => {
    const error = thrownBy(() => parseImageReference(text));
    expect(error.code).toBe("REFERENCE_INVALID");
    expect(error.message).toContain(JSON.stringify(text));
    expect(error.message).toContain(says);
  });
});

describe("formatImageReference", () => {
  test.each([
    ["docker.io/library/debian:12", "debian:12", "docker.io/library/debian"],
    ["docker.io/team/app", "team/app", "docker.io/team/app"],
    ["library/foo/bar", "library/foo/bar", "docker.io/library/foo/bar"],
    ["localhost:5000/app", "localhost:5000/app", "localhost:5000/app"],
    // Shortened further, these two would be read as a host and as an image id.
    ["docker.io/foo.bar/baz", "docker.io/foo.bar/baz", "docker.io/foo.bar/baz"],
    [`docker.io/${hex}`, `docker.io/${hex}`, `docker.io/library/${hex}`],
  ])("%s", (text, familiar, full) => {
    const reference = parseImageReference(text);
    expect(formatImageReference(reference)).toBe(familiar);
    expect(`${reference.registry}/${reference.repository}`).toBe(full);
  });

  test("is read back as the same reference", () => {
    fc.assert(
      fc.property(references, (reference) => {
        expect(parseImageReference(formatImageReference(reference))).toEqual(reference);
      }),
    );
  });

  test("any text is read or refused with REFERENCE_INVALID, and what is read has one form", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z0-9.:/@_-]{0,40}$/)), (text) => {
        let reference: ImageReference;
        try {
          reference = parseImageReference(text);
        } catch (error) {
          expect(error).toMatchObject({ code: "REFERENCE_INVALID" });
          return;
        }
        expect(parseImageReference(formatImageReference(reference))).toEqual(reference);
      }),
      { numRuns: 2000 },
    );
  });
});

test("withTag and withDigest check what they are given", () => {
  const app = parseImageReference(`r.example/app:1@${digest}`);
  expect(formatImageReference(withTag(app, "2"))).toBe("r.example/app:2");
  expect(formatImageReference(withDigest(withTag(app, "2"), digest))).toBe(`r.example/app:2@${digest}`);
  expect(thrownBy(() => withTag(app, "a b")).message).toContain("r.example/app:a b");
  expect(thrownBy(() => withDigest(app, "sha256:1")).code).toBe("REFERENCE_INVALID");
});

const registries = fc.constantFrom(
  "docker.io",
  "localhost",
  "localhost:5000",
  "[::1]:5000",
  "r.example",
  "Host",
);
const component = fc.stringMatching(/^[a-z0-9]{1,6}(([._]|__|-{1,3})[a-z0-9]{1,4}){0,2}$/);
const references: fc.Arbitrary<ImageReference> = fc
  .record({
    registry: registries,
    path: fc.array(component, { minLength: 1, maxLength: 4 }),
    tag: fc.option(fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}$/)),
    digest: fc.option(fc.constant(digest)),
  })
  .map(({ registry, path, tag, digest }) => {
    const named = registry === "docker.io" && path.length === 1 ? ["library", ...path] : path;
    return { registry, repository: named.join("/"), tag, digest };
  });

function thrownBy(action: () => unknown): ImgmatchError {
  try {
    action();
  } catch (error) {
    if (error instanceof ImgmatchError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("hosts that are none", () => {
  test.each([
    "reg.example.com:99999/x",
    "reg.example.com:0/x",
    "reg.example.com:/x",
    "256.1.1.1/x",
    "1.2.3.4.5/x",
    "1.2.3/x",
    "0x7f.1/x",
    "010.0.0.1/x",
    "[::1:5000/x",
    "[:::]/x",
    "[fe80::1%eth0]/x",
    "user:secret@reg.example.com/x",
    "reg.example.com:80:80/x",
    `${"a".repeat(64)}.example/x`,
    `${"a.".repeat(127)}example/x`,
    "-v/x",
    "--mount=type=bind,source=/,target=/host",
    "reg.example.com\u0007/x",
  ])("%s", (text) => {
    expect(() => parseImageReference(text)).toThrow(ImgmatchError);
    expect(isRepository(text)).toBe(false);
  });

  test.each(["[::1]:5000/x", "REG.example.com/x", "127.0.0.1:65535/x", "xn--nxasmq6b.example/x"])(
    "%s is one",
    (text) => {
      expect(isRepository(text)).toBe(true);
    },
  );

  test("wrong Punycode is a host where this Node can make a request to it", () =>
    expect(isRepository("xn--a.example/x")).toBe(URL.canParse("https://xn--a.example/")));

  test("every host that is taken makes an address", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-zA-Z0-9:.[\]-]{1,20}$/), (host) => {
        if (!isRepository(`${host}/x`)) return;
        const { registry, repository } = parseImageReference(`${host}/x`);
        expect(new URL(`https://${registry}/v2/${repository}/`).username).toBe("");
      }),
    );
  });
});
