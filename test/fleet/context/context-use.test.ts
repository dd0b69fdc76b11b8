import { describe, expect, test } from "vitest";
import { takenFiles } from "../../../src/fleet/context/context-inputs.ts";
import { readContextUse } from "../../../src/fleet/context/context-use.ts";
import { linesToHide } from "../../../src/fleet/context/cell-context.ts";
import { parseDockerfile } from "../../../src/fleet/dockerfile/instructions.ts";

const links: Readonly<Record<string, string>> = { now: "src", "src/up": "../lib/x.h", "deep/way": "/lib" };

const files = [
  ...["README.md", "a.txt", "b.txt", "build.log", "lib/x.h", "lib/y.h", "src/a.c", "src/b.o", "src/in/b.c"],
  ...["src/in/c.o", "deep/er/Makefile", "deep/er/xMakefile", "constructor", "we ird", ...Object.keys(links)],
];

const entries = [...new Set([...files.flatMap(foldersOf), ...files])].sort().map((path) => ({
  path,
  kind: path in links ? ("symlink" as const) : files.includes(path) ? ("file" as const) : ("folder" as const),
  target: links[path] ?? "",
}));

function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

interface Options {
  readonly target?: string;
  readonly args?: Readonly<Record<string, string>>;
}

function inputs(text: string, { target, args = {} }: Options = {}) {
  const use = readContextUse(parseDockerfile(text), target ?? null, { args, platform: "linux/amd64" });
  return takenFiles(use, entries);
}

/** Files and links that the instructions of a stage from scratch take. */
function taken(instructions: string, options: Options = {}): string[] {
  const { whole, taken: all } = inputs(`FROM scratch\n${instructions}\n`, options);
  expect(whole).toBeNull();
  return [...new Set(all.flatMap(({ paths }) => paths))].filter((path) => files.includes(path)).sort();
}

describe("what an instruction takes", () => {
  test.each([
    ["COPY a.txt /", ["a.txt"]],
    ["COPY ./a.txt ../b.txt /", ["a.txt", "b.txt"]],
    ["COPY *.txt /", ["a.txt", "b.txt"]],
    ["COPY src/*.[!c] /", ["src/a.c"]],
    ["COPY src/*.[^c] /", ["src/b.o"]],
    ["COPY src/in/ /x/", ["src/in/b.c", "src/in/c.o"]],
    ["COPY lib /x/", ["lib/x.h", "lib/y.h"]],
    ["COPY . /", files],
    ['COPY "" /', files],
    ['COPY ["we ird", "/"]', ["we ird"]],
    ["COPY --from=other src /", []],
    ["COPY --from= a.txt /", ["a.txt"]],
    ["COPY --exclude=*.o --exclude=in src /x/", ["src/a.c", "src/up"]],
    ["COPY --exclude=*.o s*c /x/", ["src/a.c", "src/in/b.c", "src/in/c.o", "src/up"]],
    ["COPY --exclude=**/*.o s*c /x/", ["src/a.c", "src/in/b.c", "src/up"]],
    ["COPY --parents src/./in/*.c /x/", ["src/in/b.c"]],
    ["COPY --parents src/**/*.o /x/", ["src/b.o", "src/in/c.o"]],
    ["COPY --parents **/Makefile /x/", ["deep/er/Makefile"]],
    ["COPY --parents constructor /x/", ["constructor"]],
    ["COPY now /x/", ["now", "src/a.c", "src/b.o", "src/in/b.c", "src/in/c.o", "src/up"]],
    ["COPY now/in/*.c /x/", ["now", "src/in/b.c"]],
    ["COPY src/u* /x/", ["lib/x.h", "src/up"]],
    ["COPY deep/way/x.h /x/", ["deep/way", "lib/x.h"]],
    ["ADD https://example.com/a.txt /x/", []],
    ["ADD a.txt https://example.com/b.txt /x/", ["a.txt"]],
    ["COPY <<EOF /x/\na.txt\nEOF", []],
    ["RUN cat a.txt", []],
    ["RUN --mount=target=/x make", files],
    ["RUN --mount=type=bind,source=src/in,target=/x make", ["src/in/b.c", "src/in/c.o"]],
    ["RUN --network=none --mount=src=a.txt,dst=/x make", ["a.txt"]],
    ["RUN --mount=type=bind,from=other,source=src,target=/x make", []],
    ["RUN --mount=type=cache,target=/x --mount=type=secret,id=a --mount=type=tmpfs,target=/y make", []],
    ["COPY \\\n  # a comment\n  a.txt \\\n  /", ["a.txt"]],
  ])("%s", (instruction, paths) => expect(taken(instruction)).toEqual([...paths].sort()));

  test("folders are among it, empty ones too", () => {
    const found = takenFiles(readContextUse(parseDockerfile("FROM scratch\nCOPY empty /x/\n"), null), [
      { path: "empty", kind: "folder", target: "" },
    ]);
    expect(found.taken).toEqual([{ instruction: "COPY empty /x/", paths: ["empty"], isAll: false }]);
  });
});

describe("variables", () => {
  test.each<readonly [string, Options["args"], readonly string[]]>([
    ["ARG F=a\nCOPY $F.txt /", {}, ["a.txt"]],
    ["ARG F=a\nCOPY ${F}.txt /", { F: "b" }, ["b.txt"]],
    ["ARG D=src\nENV E=$D/in\nCOPY $E /x/", {}, ["src/in/b.c", "src/in/c.o"]],
    ["ENV F=a.txt F=b.txt\nCOPY ${F} /", {}, ["b.txt"]],
  ])("%s with %j", (text, args = {}, paths) => expect(taken(text, { args })).toEqual(paths));

  test("of the whole file, and the platform's", () => {
    expect(inputs("ARG F=a\nFROM scratch\nARG F\nCOPY $F.txt /\n").taken[0]?.paths).toEqual(["a.txt"]);
    expect(inputs("FROM scratch\nARG TARGETARCH\nCOPY $TARGETARCH /\n").whole).toBeNull();
  });

  test.each([
    "COPY $GONE.txt /",
    "COPY ${GONE:-a}.txt /",
    "ARG F\nCOPY $F /",
    "ARG F=a.txt\nENV F=b.txt\nCOPY $F /",
    "ENV F=b.txt\nARG F=a.txt\nCOPY $F /",
    "ARG BUILDARCH\nCOPY $BUILDARCH /",
    "ARG IMGMATCH_REVISION\nCOPY $IMGMATCH_REVISION /",
    "ENV A=$PATH\nCOPY $A /",
    "COPY $1 /",
    'COPY "a.txt /',
  ])("%s is not known", (text) => {
    expect(inputs(`FROM scratch\n${text}\n`)).toEqual({
      whole: expect.stringContaining("it is not known what"),
      taken: [],
    });
  });

  test("an argument that two stages set is not known", () => {
    const text = "FROM scratch AS a\nARG F=a.txt\nFROM a\nCOPY $F /\n";
    expect(inputs(text).whole).toContain("COPY $F /");
  });
});

describe("stages", () => {
  const text = [
    "FROM scratch AS one\nCOPY a.txt /",
    "FROM scratch AS two\nCOPY b.txt /",
    "FROM one AS three\nCOPY lib/x.h /",
    "FROM scratch\nCOPY --from=three / /\nCOPY README.md /\n",
  ].join("\n");
  const of = (target?: string) =>
    inputs(text, target === undefined ? {} : { target }).taken.flatMap(({ paths }) => paths);

  test("only those that the target needs", () => {
    expect(of()).toEqual(["a.txt", "lib/x.h", "README.md"]);
    expect(of("two")).toEqual(["b.txt"]);
    expect(of("THREE")).toEqual(["a.txt", "lib/x.h"]);
  });

  test.each([
    'RUN --mount=type=bind,"from=two",target=/x true',
    "COPY --fr\\om=1 / /",
    'COPY --from="TWO" / /',
  ])("%s needs the other", (instruction) => {
    const { taken: all, whole } = inputs(`${text}${instruction}\n`);
    expect(whole !== null || all.some(({ paths }) => paths.includes("b.txt"))).toBe(true);
  });
});

test("what tools leave is named with the line that hides it, once, and not where an instruction names it", () => {
  const of = (paths: readonly string[], taken: readonly string[]) => ({
    entries: paths.map((path) => ({ path, kind: "file" as const, mode: 0o644, content: "", size: 0 })),
    digest: `sha256:${"a".repeat(64)}` as const,
    named: [],
    inputs: {
      whole: null,
      taken: taken.map((instruction) => ({ instruction, paths, isAll: / [.] /.test(instruction) })),
    },
  });
  const paths = ["web/node_modules/x/index.js", "node_modules/y.js", "build.log", "catalog", ".gitignore"];
  expect(linesToHide([of(paths, ["COPY . /"]), of(paths, ["COPY . /"])])).toEqual([
    "**/*.log",
    "**/node_modules",
  ]);
  expect(linesToHide([of(paths, ["COPY node_modules /x/", "COPY . /"])])).toEqual(["**/*.log"]);
  expect(linesToHide([of(paths, ["COPY web /"])])).toEqual([]);
});

describe("all of the context, and why", () => {
  test.each([
    ["# syntax=example.com/own\nFROM scratch\n", "front end is example.com/own"],
    ["FROM scratch AS a\nONBUILD COPY . /\nFROM a\n", "ONBUILD"],
    ["FROM --platform=$BUILDPLATFORM debian\n", "another platform"],
    ["FROM scratch\nCOPY [z-a] /\n", "no pattern"],
  ])("%j", (text, why) => expect(inputs(text)).toEqual({ whole: expect.stringContaining(why), taken: [] }));

  test("not by docker's own front end", () => {
    expect(inputs("# syntax=docker/dockerfile:1.7-labs\nFROM scratch\n").whole).toBeNull();
    expect(inputs("FROM scratch\n", { args: { BUILDKIT_SYNTAX: "x/y@sha256:0" } }).whole).not.toBeNull();
  });

  test("the bases that decide, with the arguments that they may set", () => {
    const use = readContextUse(
      parseDockerfile("FROM debian:12 AS a\nARG F=a.txt\nCOPY $F /\nFROM alpine\nCOPY --from=a / /\n"),
      null,
    );
    expect(use).toMatchObject({
      bases: [
        { ref: "debian:12", names: ["F"] },
        { ref: "alpine", names: [] },
      ],
    });
  });
});
