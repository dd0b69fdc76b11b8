/** The steps that compare the times of files. */

import { describe, expect, test } from "vitest";
import { timeComparing } from "../../../src/fleet/context/fixed-times.ts";
import { parseDockerfile } from "../../../src/fleet/dockerfile/instructions.ts";

function steps(text: string, target: string | null = null): readonly string[] {
  const dockerfile = parseDockerfile(text);
  return timeComparing(dockerfile, target, {}, (ref) => ref === "parent").map((each) =>
    each.text.slice(0, 60),
  );
}

const cache = (target: string) => `RUN --mount=type=cache,target=${target}`;

describe("a step that compares times", () => {
  test.each<[string, string]>([
    ["has its objects in a cache below the sources", `WORKDIR /src\nCOPY . .\n${cache("/src/build")} make`],
    ["names the cache by a relative path", `WORKDIR /src\nCOPY . .\n${cache("target")} cargo build`],
    ["works in the base's folder", `COPY . .\n${cache("target")} cargo build`],
    ["has its sources in the cache", `COPY src/ /build/src/\n${cache("/build")} ./compile.sh`],
    ["builds beside the sources", `COPY . /src\n${cache("/build")} cmake -S /src -B /build`],
    ["mounts the sources", `RUN --mount=target=/src --mount=type=cache,dst=/src/out ninja -C /src/out`],
    ["copies a file", `COPY Makefile main.c /src/\n${cache("/src/obj")} make`],
  ])("%s", (_, body) => {
    expect(steps(`FROM base\n${body}\n`)).toEqual([body.split("\n").at(-1)?.slice(0, 60)]);
  });

  test.each<[string, string]>([
    ["a cache of packages", `WORKDIR /root\nCOPY . .\n${cache("/root/.cache/pip")} pip install .`],
    ["a cache elsewhere", `COPY . /src\n${cache("/var/cache/apt")} apt-get install -y make`],
    ["no cache", "COPY . /src\nRUN make -C /src"],
    ["files of another stage alone", `COPY --from=base /src /src\n${cache("/src/build")} make`],
    ["sources that are touched", `COPY . /src\n${cache("/src/build")} find /src -exec touch {} + && make`],
    ["sources that come later", `${cache("/src/build")} make\nCOPY . /src`],
  ])("is none with %s", (_, body) => {
    expect(steps(`FROM base\n${body}\n`)).toEqual([]);
  });

  test("compiles in an image that starts from a parent's, and in a stage above", () => {
    const build = "WORKDIR /src\nCOPY . .\nRUN make";
    expect(steps(`FROM parent\n${build}\n`)).toEqual(["RUN make"]);
    expect(steps(`FROM parent AS one\nCOPY . .\nFROM one\nRUN python3 -m compileall .\n`)).toEqual([
      "RUN python3 -m compileall .",
    ]);
    expect(steps(`FROM parent\nCOPY . .\nRUN ./test.sh\n`)).toEqual([]);
  });

  test("is none in a stage that the target does not need", () => {
    const text = `FROM base AS one\nCOPY . /src\n${cache("/src/o")} make\nFROM base AS two\n`;
    expect(steps(text)).toEqual([]);
    expect(steps(text, "one")).toHaveLength(1);
  });
});
