/** Public definitions, each read by another program too: what `init` calls equal is what that program says, and no build is lost. */

import { existsSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { compare } from "../../../bench/takeover/compare.ts";
import { definitions, folderOf, isHeldBack, nameOf } from "../../../bench/takeover/definitions.ts";
import { evaluate } from "../../../bench/takeover/evaluate.ts";
import { pathWithBuildx, whyNoBuildxPlugin } from "../../support/buildx.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";

const missing =
  process.env.IMGMATCH_TAKEOVER === undefined
    ? "no public definitions (IMGMATCH_TAKEOVER=/folder, as npx tsx bench/takeover/main.ts fetch --all fills it)"
    : null;

test("each is at a commit, and a third is held back", () => {
  expect(new Set(definitions.map(nameOf)).size).toBe(definitions.length);
  expect(definitions.filter(({ commit }) => !/^[0-9a-f]{40}$/.test(commit))).toEqual([]);
  expect(definitions.filter(isHeldBack)).toHaveLength(10);
});

describe("a public definition", needs(missing ?? whyNoBuildxPlugin), () => {
  test.each(definitions.map((each) => [nameOf(each), each] as const))("%s", async (_, definition) => {
    expect(existsSync(folderOf(definition))).toBe(true);
    vi.stubEnv("PATH", pathWithBuildx());
    const { wrong, told, equal } = await compare(definition, folderOf(definition));
    expect([wrong, equal + told.length > 0]).toEqual([[], true]);
  });
});

describe("the other reader of workflows", () => {
  const builds = (text: string) =>
    evaluate({ repository: "", commit: "", file: "w.yml", by: "github" }, makeFolder({ "w.yml": text }));
  const job = (matrix: string, steps: string) =>
    `on: push\nenv: { A: a }\njobs:\n  j:\n    strategy: { matrix: ${matrix} }\n    steps:\n${steps}`;

  test("makes the rows that GitHub's documentation has", () => {
    const matrix =
      "{ fruit: [apple, pear], animal: [cat, dog], include: [{ color: green }, { color: pink, animal: cat }, { fruit: apple, shape: circle }, { fruit: banana }, { fruit: banana, animal: cat }] }";
    const args = ["fruit", "animal", "color", "shape"]
      .map((key) => `${key}=\${{ matrix.${key} }}`)
      .join("\\n");
    const found = builds(
      job(matrix, `      - uses: docker/build-push-action@v6\n        with: { build-args: "${args}" }\n`),
    );
    expect(found.map((build) => Object.values(build.args).join(" ").trim())).toEqual([
      "apple cat pink circle",
      "apple dog green circle",
      "pear cat pink",
      "pear dog green",
      "banana",
      "banana cat",
    ]);
  });

  test("has bash read scripts, and starts no program", () => {
    const script = `touch /tmp/ran; docker build --build-arg X="$A b" --build-arg=Y=$(echo 1) -f 'f' \${A:+ctx} && /bin/false`;
    const [build] = builds(job("{}", `      - run: ${JSON.stringify(script)}\n`));
    expect(build).toEqual({
      dockerfile: "f",
      context: "ctx",
      target: "",
      platform: "",
      args: { X: "a b", Y: "1" },
    });
  });
});
