import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatProblem, ImgmatchError } from "../../src/errors.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { parseRequirement } from "../../src/lock/parse-requirement.ts";

const text = readFileSync("test/fixtures/locks/v2.json", "utf8");

function report(given: string): string {
  try {
    parseLock(given, "lock.json");
  } catch (error) {
    if (error instanceof ImgmatchError) return error.problems.map(formatProblem).join("\n");
    throw error;
  }
  return "";
}

test("a lock, and a label, may begin with a byte order mark", () => {
  expect(parseLock(`\uFEFF${text}`, "v2.json")).toEqual(parseLock(text, "v2.json"));
  const label = '{"cpu":{"march":"x86-64","features":["sse2"]},"cuda":null}';
  expect(parseRequirement(`\uFEFF${label}`)).toEqual(parseRequirement(label));
});

test("a lock is read", () => {
  const lock = parseLock(text, "v2.json");
  expect(Object.keys(lock.images)).toEqual([
    "12.6.3_8.0_broadwell",
    "9.2.148_5.2_broadwell",
    "none_x86-64-v2",
  ]);
  expect(lock.images["12.6.3_8.0_broadwell"]?.requires.cuda?.driver).toEqual({
    mode: "compat",
    package: "560.35.05",
    cuda: "12.6",
    branches: ["535"],
  });
});

test("what was measured by rules that this version does not know is kept and not judged", () => {
  const lock = JSON.parse(text);
  const measured = { rules: 2, cpus: "another shape" };
  lock.images["none_x86-64-v2"].measured = measured;
  expect(parseLock(JSON.stringify(lock), "lock.json").images["none_x86-64-v2"]?.measured).toEqual(measured);
});

test("a lock has no more images than a matrix can have cells", () => {
  const images = Object.fromEntries(Array.from({ length: 100_001 }, (_, index) => [`k${index}`, {}]));
  const given = JSON.stringify({ ...JSON.parse(text), images });
  expect(report(given)).toContain("images: expected at most 100000 members, found 100001");
});

describe("a lock that is no JSON", () => {
  test("conflict markers are named as such, at the first", () => {
    const merged = text.replace(
      '  "name": "cv-tf",',
      '<<<<<<< HEAD\n  "name": "cv-tf",\n=======\n  "name": "cv",\n>>>>>>> other',
    );
    expect(report(merged)).toBe(
      [
        "lock.json:58:1: LOCK_SYNTAX: the lock holds the conflict markers of a merge",
        "  <<<<<<< HEAD",
        "  ^",
        "  fix: take one side whole, as git checkout --ours images/imgmatch.lock.json does, and run imgmatch build --push: what is published is adopted",
      ].join("\n"),
    );
  });

  test.each<[string, string, RegExp]>([
    ["empty", "", /^lock\.json: LOCK_SYNTAX: the lock is empty\n {2}fix: /],
    ["cut off", text.slice(0, 500), /^lock\.json:\d+:\d+: LOCK_SYNTAX: the lock is not JSON\n/],
    [
      "a comma too many",
      text.replace('"size": null,\n      "tag"', '"size": null,,\n      "tag"'),
      /^lock\.json:42:20: LOCK_SYNTAX: /,
    ],
    [
      "a comma too few",
      text.replace('"schemaVersion": 2,', '"schemaVersion": 2'),
      /^lock\.json:61:3: LOCK_SYNTAX: /,
    ],
    ["YAML", "schemaVersion: 2\n", /^lock\.json:1:1: LOCK_SYNTAX: /],
  ])("%s", (_, given, expected) => expect(report(given)).toMatch(expected));
});

describe("a lock in which a key stands twice", () => {
  test("is refused with both places", () => {
    const entry = '    "none_x86-64-v2": {';
    const twice = text
      .replace('  "name": "cv-tf",', '$&\n  "name": "cv-tf",')
      .replace(entry, `${entry}},\n${entry}`);
    const lineOf = (line: string, last = false) => {
      const lines = twice.split("\n");
      return (last ? lines.lastIndexOf(line) : lines.findIndex((each) => each.startsWith(line))) + 1;
    };
    expect(report(twice)).toBe(
      [
        `lock.json:${lineOf(entry, true)}:5: LOCK_SYNTAX: images["none_x86-64-v2"] stands twice, first at lock.json:${lineOf(entry)}:5`,
        `  ${entry}`,
        "      ^",
        "  fix: take one side whole, as git checkout --ours images/imgmatch.lock.json does, and run imgmatch build --push: what is published is adopted",
        `lock.json:${lineOf('  "name": "cv-tf",', true)}:3: LOCK_SYNTAX: name stands twice, first at lock.json:${lineOf('  "name": "cv-tf",')}:3`,
        '    "name": "cv-tf",',
        "    ^",
        "  fix: take one side whole, as git checkout --ours images/imgmatch.lock.json does, and run imgmatch build --push: what is published is adopted",
      ].join("\n"),
    );
  });
});

describe("a lock that is no lock", () => {
  test.each([
    [1, "delete it and build again: what is published is adopted"],
    [3, "update imgmatch"],
  ])("of schema version %d: nothing else is judged", (version, fix) => {
    expect(report(`{ "schemaVersion": ${version}, "cells": [] }`)).toBe(
      `lock.json: LOCK_VERSION: the lock has schemaVersion ${version}, this imgmatch reads 2\n  fix: ${fix}`,
    );
  });

  test.each(["[]", "null", "1", '"lock"'])("%s", (given) => {
    expect(report(given)).toMatch(/^lock\.json: LOCK_SCHEMA: the lock: expected an object, found /);
  });

  const edits: readonly [string, (lock: Edited) => void, string][] = [
    ["schemaVersion", (lock) => delete lock.schemaVersion, "schemaVersion: expected 2, found nothing"],
    [
      "name",
      (lock) => Object.assign(lock, { name: "" }),
      'name: expected a text that is not empty, found text ""',
    ],
    [
      "repository",
      (lock) => Object.assign(lock, { repository: "a b" }),
      'repository: expected a repository, found text "a b"',
    ],
    [
      "repository that is an option",
      (lock) => Object.assign(lock, { repository: "--mount=type=bind,source=/,target=/host" }),
      'repository: expected a repository, found text "--mount=type=bind,source=/,target=/host"',
    ],
    [
      "repository with a tag",
      (lock) => Object.assign(lock, { repository: "a.example/b:1" }),
      'repository: expected a repository, found text "a.example/b:1"',
    ],
    [
      "repository on a port that is none",
      (lock) => Object.assign(lock, { repository: "a.example:99999/b" }),
      'repository: expected a repository, found text "a.example:99999/b"',
    ],
    ["images", (lock) => Object.assign(lock, { images: [] }), "images: expected an object, found a list"],
    [
      "image",
      (lock) => Object.assign(lock.images, { x: null }),
      'images["x"]: expected an object, found null',
    ],
    ...(
      [
        ["axes", { cuda: 12 }, '.axes["cuda"]: expected a text that is not empty, found number 12'],
        ["platform", "linux", '.platform: expected a platform, found text "linux"'],
        ["tag", "a tag", '.tag: expected a tag, found text "a tag"'],
        [
          "manifest",
          { mediaType: "a/b\r\nx: y", size: 1 },
          '.manifest.mediaType: expected a media type, found text "a/b\\r\\nx: y"',
        ],
        [
          "local",
          { engine: "rm -rf", id: "sha256:1" },
          '.local.engine: expected docker, podman, found text "rm -rf"',
        ],
        ["local", { engine: "docker", id: "app:1" }, '.local.id: expected a digest, found text "app:1"'],
        ["inputDigest", null, ".inputDigest: expected a digest, found null"],
        ["digest", "sha256:XYZ", '.digest: expected a digest, found text "sha256:XYZ"'],
        ["digest", undefined, ".digest: expected a digest, found nothing"],
        ["bases", undefined, ".bases: expected a list, found nothing"],
        ["bases", [{ ref: "a" }], ".bases[0].digest: expected a digest, found nothing"],
        ["builder", 1, ".builder: expected a text that is not empty, found number 1"],
        ["created", "yesterday", '.created: expected a time, found text "yesterday"'],
        ["size", "1 MB", '.size: expected a whole number from 0, found text "1 MB"'],
        ["requires", undefined, ".requires: expected an object, found nothing"],
        [
          "requires",
          { cpu: { march: "a", features: "avx" }, cuda: null },
          '.requires.cpu.features: expected a list, found text "avx"',
        ],
        [
          "requires",
          { cpu: { march: "a", features: [] } },
          ".requires.cuda: expected an object, found nothing",
        ],
        [
          "requires",
          { cpu: { march: "a", features: [] }, cuda: { toolkit: "1", code: [], driver: { mode: "magic" } } },
          '.requires.cuda.driver.mode: expected host, bundled, compat, found text "magic"',
        ],
        [
          "requires",
          { cpu: { march: "a", features: [] }, cuda: { toolkit: "1", code: [], driver: { mode: "host" } } },
          ".requires.cuda.driver.minimum: expected a text that is not empty, found nothing",
        ],
        [
          "requires",
          { cpu: { march: "a", features: [], or: [{ march: "b" }] }, cuda: null },
          ".requires.cpu.or[0].features: expected a list, found nothing",
        ],
        [
          "requires",
          { cpu: { march: "a", features: [], or: Array(16).fill({ march: "b", features: [] }) }, cuda: null },
          ".requires.cpu.or: expected at most 15 entries, found 16",
        ],
        [
          "requires",
          { cpu: { march: "a", features: Array(513).fill("\n") }, cuda: null },
          ".requires.cpu.features: expected at most 512 entries, found 513",
        ],
        [
          "axes",
          Object.fromEntries(Array.from({ length: 513 }, (_, at) => [`${at}`, "\n"])),
          ".axes: expected at most 512 members, found 513",
        ],
        ["bases", Array(513).fill("\n"), ".bases: expected at most 512 entries, found 513"],
        ["measured", [], ".measured: expected an object, found a list"],
        ["measured", {}, ".measured.rules: expected a whole number from 0, found nothing"],
        ["measured", { rules: 1, cuda: null }, ".measured.cpu: expected an object, found nothing"],
        [
          "measured",
          { rules: 1, cpu: {}, cuda: null },
          ".measured.cpu.unused: expected a list, found nothing",
        ],
        [
          "measured",
          { rules: 1, cpu: { unused: ["avx", "--privileged"] }, cuda: null },
          '.measured.cpu.unused[1]: expected a feature, found text "--privileged"',
        ],
        [
          "measured",
          { rules: 1, cpu: { unused: Array(513).fill("avx") }, cuda: null },
          ".measured.cpu.unused: expected at most 512 entries, found 513",
        ],
        [
          "measured",
          { rules: 1, cpu: { unused: [], own: "native" }, cuda: null },
          '.measured.cpu.own: expected baseline, found text "native"',
        ],
        ["code", { torch: 5 }, '.code["torch"]: expected an object, found number 5'],
        ["code", { "": { sm_80: -1 } }, '.code[""]["sm_80"]: expected a whole number'],
        [
          "code",
          Object.fromEntries(Array.from({ length: 513 }, (_, index) => [`p${index}`, {}])),
          ".code: expected at most 512 members, found 513",
        ],
        ["measured", { rules: 1, cpu: { unused: [] } }, ".measured.cuda: expected an object, found nothing"],
        [
          "measured",
          { rules: 1, cpu: { unused: [] }, cuda: { code: ["90a"], minimum: null } },
          '.measured.cuda.code[0]: expected a GPU target, found text "90a"',
        ],
        [
          "measured",
          { rules: 1, cpu: { unused: [] }, cuda: { code: [], minimum: "new" } },
          '.measured.cuda.minimum: expected a driver version, found text "new"',
        ],
      ] as const
    ).map(([key, value, message]): [string, (lock: Edited) => void, string] => [
      key,
      (lock) => Object.assign(lock.images["none_x86-64-v2"] ?? {}, { [key]: value }),
      `images["none_x86-64-v2"]${message}`,
    ]),
  ];
  test("a value nested deeper than a function can call itself", () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const lock = JSON.stringify({ ...JSON.parse(text), name: "DEEP" }).replace('"DEEP"', deep);
    expect(report(lock)).toContain("lock.json: LOCK_SYNTAX: the lock is nested more than 100 deep");
  });

  test.each(edits)("a hand edit of %s", (_, edit, message) => {
    const lock = JSON.parse(text);
    edit(lock);
    expect(report(JSON.stringify(lock))).toContain(`lock.json: LOCK_SCHEMA: ${message}`);
    expect(report(JSON.stringify(lock))).toContain("fix: restore the lock from version control");
  });

  test("every mistake is reported at once", () => {
    const lock = JSON.parse(text);
    lock.name = 1;
    lock.images["none_x86-64-v2"].tag = "";
    lock.images["9.2.148_5.2_broadwell"].size = "big";
    expect(report(JSON.stringify(lock)).match(/LOCK_SCHEMA/g)).toHaveLength(3);
  });

  test("whatever was changed, the answer is a lock or problems", () => {
    fc.assert(
      fc.property(fc.nat(text.length), fc.nat(8), fc.string({ maxLength: 4 }), (at, removed, added) => {
        const edited = text.slice(0, at) + added + text.slice(at + removed);
        try {
          formatLock(parseLock(edited, "lock.json"));
        } catch (error) {
          expect(error).toBeInstanceOf(ImgmatchError);
        }
      }),
      { numRuns: 500 },
    );
  });
});

type Edited = Record<string, unknown> & { images: Record<string, Record<string, unknown>> };
