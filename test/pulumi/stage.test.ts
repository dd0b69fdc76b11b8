/** The provider reads the files that were hashed, and files that no build needs any more are removed. */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStaging } from "../../src/pulumi/stage.ts";
import { makeFolder, writeIn } from "../support/folders.ts";
import { readContext } from "../support/context-entries.ts";

const dockerfile = "FROM scratch\nCOPY . /all\n";

async function stage(contextDir: string, folder: string) {
  const context = await readContext(contextDir, { file: "matrix.yaml" });
  return () =>
    openStaging(folder, false).stage(
      { contextDir, contextFiles: context.entries, contextDigest: context.digest, dockerfile },
      "a.Dockerfile",
      0,
    );
}
const contexts = (folder: string) =>
  readdirSync(join(folder, "contexts")).filter((name) => !name.includes("~"));

describe("a context that is staged for Pulumi", () => {
  test("is refused when a file is not what was hashed, and nothing of it stays", async () => {
    const [from, to] = [makeFolder({ a: "old\n", b: "b\n" }), makeFolder({})];
    const staging = await stage(from, to);
    writeIn(from, "a", "new\n");
    await expect(staging()).rejects.toMatchObject({ code: "CONTEXT_CHANGED" });
    expect(contexts(to)).toEqual([]);
  });

  test.each<[string, (context: string) => void]>([
    ["another content", (context) => writeFileSync(join(context, "a"), "new\n")],
    ["a file less", (context) => rmSync(join(context, "lib/b"))],
    ["a file more", (context) => writeFileSync(join(context, "lib/c"), "")],
    [
      "another content in the copy without Dockerfiles",
      (context) => {
        rmSync(join(context, ".imgmatch/context/a"));
        writeFileSync(join(context, ".imgmatch/context/a"), "new\n");
      },
    ],
    [
      "a link in place of the Dockerfiles",
      (context) => {
        rmSync(join(context, ".imgmatch"), { recursive: true });
        symlinkSync("/etc", join(context, ".imgmatch"));
      },
    ],
  ])("is made anew where an older one holds %s", async (_, change) => {
    const [from, to] = [makeFolder({ a: "old\n", "lib/b": "b\n" }), makeFolder({})];
    const staging = await stage(from, to);
    const { context } = await staging();
    change(context);
    expect((await staging()).context).toBe(context);
    for (const copy of [context, join(context, ".imgmatch/context")]) {
      expect(readFileSync(join(copy, "a"), "utf8")).toBe("old\n");
      expect(readdirSync(join(copy, "lib"))).toEqual(["b"]);
    }
  });

  test("goes when the next version is staged, unless a living process uses it", async () => {
    const [from, to] = [makeFolder({ a: "1\n" }), makeFolder({})];
    const first = await (await stage(from, to))();
    writeIn(from, "a", "2\n");
    const second = await (await stage(from, to))();
    // This process lives.
    expect(existsSync(first.context)).toBe(true);
    for (const name of readdirSync(join(to, "contexts")).filter((each) => each.includes("~")))
      rmSync(join(to, "contexts", name));
    // A killed process has left its mark, and a copy that is not whole.
    const place = join(to, "contexts", `${"0".repeat(16)}-partial-abcdef`);
    mkdirSync(place);
    writeIn(from, "a", "3\n");
    const third = await (await stage(from, to))();
    expect([first.context, second.context, place].filter(existsSync)).toEqual([]);
    expect(readFileSync(join(third.context, "a"), "utf8")).toBe("3\n");
  });
});
