import { describe, expect, test } from "vitest";
import { missingSources } from "../../../src/fleet/context/context-inputs.ts";
import { parseDockerfile } from "../../../src/fleet/dockerfile/instructions.ts";

const paths = new Set(["main.c", "lib/a.h", "lib/deep/b.h", "my file.txt", "a[1].txt"]);
const problemsOf = (dockerfile: string, file: string) =>
  parseDockerfile(dockerfile).instructions.flatMap((each) =>
    missingSources(each, file, { dir: "../src", paths }),
  );
const missing = (text: string) =>
  problemsOf(`FROM a AS build\n${text}\n`, "Dockerfile").map(
    ({ message }) => /names (.*), which/.exec(message)?.[1],
  );

describe("files that COPY and ADD name", () => {
  test.each([
    "COPY main.c /src/",
    "COPY . /src",
    "COPY ./lib/ /lib/",
    "COPY /lib/a.h /x",
    "COPY *.c lib/*.h lib/?.h /src/",
    "COPY li[a-z]/*.h /x",
    "COPY **/b.h /x",
    'COPY ["my file.txt", "/x"]',
    'COPY "my file.txt" /x',
    "COPY a[[]1].txt /x",
    "COPY --chown=1:1 --link main.c /x",
    "COPY --from=build /gone /x",
    "COPY --from=alpine:3 gone /x",
    "COPY $FILE gone${X} /x",
    "ADD https://example.com/gone.tar /x",
    "ADD git@github.com:a/b.git /x",
    "COPY <<EOF /x\ngone\nEOF",
    "RUN echo COPY gone /x",
    "# COPY gone /x",
    "COPY main.c \\\n  # comment\n  lib/a.h /x/",
  ])("%s has all of them", (text) => expect(missing(text)).toEqual([]));

  test.each([
    ["COPY gone.c main.c away.c /src/", ["gone.c", "away.c"]],
    ["ADD gone.tar /x", ["gone.tar"]],
    ["COPY *.cpp /x", ["*.cpp"]],
    ["COPY lib/a /x", ["lib/a"]],
    ["COPY Main.c /x", ["Main.c"]],
    ['COPY ["gone.c", "/x"]', ["gone.c"]],
    ["copy \\\n  gone.c /x", ["gone.c"]],
  ])("%s has not", (text, expected) => expect(missing(text)).toEqual(expected));

  test("the place is the instruction", () => {
    expect(problemsOf("FROM a\nRUN b\nCOPY gone /x\n", "images/x.Dockerfile")).toEqual([
      {
        code: "CONTEXT_NOT_FOUND",
        message: "COPY names gone, which is not in the build context ../src",
        fix: "create it, correct the template, or see whether .dockerignore hides it",
        at: { file: "images/x.Dockerfile", line: 3, text: "COPY gone /x" },
      },
    ]);
  });
});
