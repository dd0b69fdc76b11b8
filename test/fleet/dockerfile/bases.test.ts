import type { Digest } from "../../../src/oci/digest.ts";
import { DockerfileParser } from "dockerfile-ast";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findBases, pinBases } from "../../../src/fleet/dockerfile/bases.ts";
import type { StageOptions } from "../../../src/fleet/dockerfile/stages.ts";

const found = (text: string, options?: StageOptions) =>
  findBases(text, "Dockerfile", options).map(({ ref, line }) => `${line} ${ref}`);
const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;

describe("findBases", () => {
  it.each<[string, string, readonly string[]]>([
    ["one base", "FROM debian:12\n", ["1 debian:12"]],
    ["any case and tabs", "\tfrom\tdebian:12\tas\tBuild\n", ["1 debian:12"]],
    ["no final newline", "FROM debian", ["1 debian"]],
    ["CRLF and a byte order mark", "\ufeff# syntax=x/y:1\r\nFROM debian\r\n", ["1 x/y:1", "2 debian"]],
    [
      "a platform flag",
      "FROM --platform=$BUILDPLATFORM golang:1 AS b\nFROM scratch\nCOPY --from=b / /\n",
      ["1 golang:1"],
    ],
    [
      "stages in any case",
      "FROM a AS Build\nFROM BUILD\nCOPY --from=build / /\nCOPY --from=0 / /\n",
      ["1 a"],
    ],
    ["an image named like a later stage", "FROM later\nFROM a AS later\n", ["1 later", "2 a"]],
    ["the same image twice", "FROM a\nFROM a\n", ["1 a", "2 a"]],
    [
      "a copied image",
      "FROM scratch\nCOPY --chown=1 --from=busybox:1 /bin /bin\nCOPY --from='x' / /\n",
      ["2 busybox:1", "3 x"],
    ],
    ["a copied image behind a flag in the sources", "FROM a\nCOPY x --from=y z\n", ["1 a"]],
    [
      "a mounted image",
      "FROM a\nRUN --mount=type=bind,from=tool:1,target=/t --mount=from=a2 true --mount=from=no\n",
      ["1 a", "2 tool:1", "2 a2"],
    ],
    ["a port and a digest", `FROM r:5000/a/b:c@${digest("1")}\n`, [`1 r:5000/a/b:c@${digest("1")}`]],
    ["a global ARG", "ARG V=12 IMAGE=debian:$V\nFROM ${IMAGE}-slim\n", ["2 debian:12-slim"]],
    ["quotes", 'ARG A="deb"\'ian\'\nFROM "$A":12\n', ["2 debian:12"]],
    [
      "defaults and alternatives",
      "ARG E=\nARG S=x\nFROM ${E:-a}${E-b}${U:-c$S}${S:+d}${U+${V}}${S:-${nope}}\n",
      ["3 acxdx"],
    ],
    ["an ARG after FROM", "ARG V=1\nFROM a:$V\nARG V=2\nFROM b:$V\n", ["2 a:1", "4 b:1"]],
    ["a redefined ARG", "ARG V=1\nARG V=2\nARG V\nFROM a:$V\n", ["4 a:2"]],
    ["an escaped dollar that is no variable", "FROM a\nRUN echo \\$X\n", ["1 a"]],
    [
      "continuations with comments",
      "FROM \\\n# a comment\n\n  --platform=linux/arm64 \\\n  deb\\\nian:12 \\\n AS x\n",
      ["1 debian:12"],
    ],
    ["another escape", "# escape=`\nFROM `\n a\nRUN dir C:\\\nFROM b\n", ["2 a", "5 b"]],
    [
      "a directive that comes too late",
      "# a comment\n# escape=`\n# syntax=x\nFROM a\nRUN a \\\n FROM b\n",
      ["4 a"],
    ],
    [
      "a here-document",
      'FROM a\nRUN <<EOF bash <<-"B C"\nFROM b\nEOF\n\tFROM c\n\tB C\nFROM d\n',
      ["1 a", "7 d"],
    ],
    [
      "a here-document that ends",
      "FROM a\nCOPY <<-'X' <<Y /to\nFROM b\n\tX\nFROM c\nY\nFROM d\n",
      ["1 a", "7 d"],
    ],
    [
      "shifts that are no here-document",
      "FROM a\nRUN echo $((1<<2)) \"<<EOF\" '<<EOF' << 2\nFROM b\n",
      ["1 a", "3 b"],
    ],
    [
      "text that only looks like FROM",
      'FROM a\nRUN echo \\\n  FROM b\n# FROM c\nLABEL x="\\\nFROM d"\n',
      ["1 a"],
    ],
    ["a trigger for other builds", "FROM a\nONBUILD COPY --from=b / /\n", ["1 a"]],
  ])("finds %s", (_, text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it("takes build arguments and the platform where they are given", () => {
    const text = "ARG V=1\nARG W\nFROM a:$V-${W}\nFROM b-${TARGETARCH}${TARGETVARIANT}\n";
    expect(found(text, { args: { V: "2", W: "w", X: "unused" }, platform: "linux/arm64/v8" })).toEqual([
      "3 a:2-w",
      "4 b-arm64v8",
    ]);
  });

  it("reports every reference that cannot be decided, each with its line", () => {
    const text =
      'ARG EMPTY=\nFROM $UNKNOWN AS a\nFROM ${EMPTY}\nFROM a b\nFROM\nFROM x AS\nFROM ${TARGETARCH}\nFROM ${A%b}\nFROM ${OPEN\nCOPY --from=$a / /\nFROM "x\n';
    try {
      findBases(text, "images/c/Dockerfile");
      expect.unreachable();
    } catch (error) {
      const problems = (error as { problems: { code: string; at: { file: string; line: number } }[] })
        .problems;
      expect(problems.map(({ code, at }) => `${at.file}:${at.line} ${code}`)).toEqual(
        [2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((line) => `images/c/Dockerfile:${line} DOCKERFILE_INVALID`),
      );
    }
  });

  it.each(["", "# only a comment\n", "RUN true\n"])("wants a FROM: %j", (text) => {
    expect(() => found(text)).toThrow(/there is no FROM/);
  });
});

describe("pinBases", () => {
  it("changes the references and nothing else", () => {
    const text =
      "# syntax=docker/dockerfile:1\nARG V=12\nFROM  --platform=linux/amd64   debian:${V}  AS b # x\nFROM deb\\\nian\nCOPY --from='tool:1' / /\nRUN --mount=from=tool:1,target=/t true\nCOPY --from=b / /\n";
    const bare = text.replace(" # x", "");
    const digests = new Map([
      ["docker/dockerfile:1", digest("a")],
      ["debian:12", digest("b")],
      ["debian", digest("c")],
      ["tool:1", digest("d")],
    ]);
    expect(pinBases(bare, digests)).toBe(
      `# syntax=docker/dockerfile:1@${digest("a")}\nARG V=12\nFROM  --platform=linux/amd64   debian:12@${digest("b")}  AS b\nFROM debian@${digest("c")}\nCOPY --from=tool:1@${digest("d")} / /\nRUN --mount=from=tool:1@${digest("d")},target=/t true\nCOPY --from=b / /\n`,
    );
  });

  it("puts replacements in place, and leaves a digest that is already there", () => {
    const text = `FROM debian:12\nFROM b@${digest("1")}\nFROM c@${digest("1")}\n`;
    const pinned = pinBases(
      text,
      new Map([
        ["debian:12", digest("2")],
        [`c@${digest("1")}`, digest("3")],
      ]),
      new Map([["debian:12", "127.0.0.1:5000/equivalent/debian:12"]]),
    );
    expect(pinned).toBe(
      `FROM 127.0.0.1:5000/equivalent/debian:12@${digest("2")}\nFROM b@${digest("1")}\nFROM c@${digest("3")}\n`,
    );
  });

  it("names every base without a digest", () => {
    expect(() => pinBases("FROM a\nFROM b\n", new Map())).toThrow(
      /Dockerfile:1: BASE_UNRESOLVED.* a\n.*Dockerfile:2: BASE_UNRESOLVED.* b/,
    );
  });

  const name = fc
    .stringMatching(/^[a-z]{1,6}(\/[a-z]{1,4})?(:[a-z0-9]{1,4})?$/)
    .filter((text) => text !== "scratch");
  const filler = fc.constantFrom(
    "",
    "# FROM x",
    "RUN true",
    "RUN a \\\n  b",
    'ENV A="FROM"',
    "RUN <<E\nFROM q\nE",
    "LABEL a=b",
  );
  const dockerfile = fc
    .array(fc.tuple(name, fc.constantFrom("", " AS s", " as S2"), filler, fc.boolean()), {
      minLength: 1,
      maxLength: 8,
    })
    .map((stages) =>
      stages
        .map(
          ([ref, as, more, flag], index) =>
            `FROM ${flag ? "--platform=$TARGETPLATFORM " : ""}${ref}${as && as + index}\n${more}\n`,
        )
        .join(""),
    );

  it("pins all of any Dockerfile, and what is pinned stays as it is", () => {
    fc.assert(
      fc.property(dockerfile, (text) => {
        const bases = findBases(text, "Dockerfile");
        const digests = new Map(bases.map(({ ref }) => [ref, digest("e")]));
        const pinned = pinBases(text, digests);
        const after = findBases(pinned, "Dockerfile");
        expect(after.map(({ ref, line }) => `${line} ${ref}`)).toEqual(
          bases.map(({ ref, line }) => `${line} ${ref}@${digest("e")}`),
        );
        expect(pinBases(pinned, new Map())).toBe(pinned);
        expect(pinned.replaceAll(`@${digest("e")}`, "")).toBe(text);
      }),
    );
  });

  it("agrees with another parser on what FROM names", () => {
    fc.assert(
      fc.property(dockerfile, (text) => {
        // That parser knows no here-documents.
        const plain = text.replaceAll(/RUN <<E\nFROM q\nE/g, "RUN e");
        const theirs = DockerfileParser.parse(plain)
          .getFROMs()
          .map((from) => from.getImage());
        expect(findBases(plain, "Dockerfile").map(({ ref }) => ref)).toEqual(theirs);
      }),
    );
  });

  it("answers or explains any text at all", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."FROM$ARG{}:-\\\"' \n=<>#`a@\t") }), (text) => {
        try {
          for (const { ref } of findBases(text, "Dockerfile")) expect(ref).not.toBe("");
        } catch (error) {
          expect(error).toMatchObject({ code: "DOCKERFILE_INVALID" });
        }
      }),
      { numRuns: 2000 },
    );
  });
});
