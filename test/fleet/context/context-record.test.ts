import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recallContext, recordContext } from "../../../src/fleet/context/context-record.ts";
import { changedFiles } from "../../../src/fleet/plan/changes.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { readContext } from "../../support/context-entries.ts";

const read = (root: string) => readContext(join(root, "src"), { file: "matrix.yaml" });

describe("the record of a context", () => {
  it("tells which files have changed since, in content, mode and kind", async () => {
    const root = makeFolder({ "src/a.c": "1", "src/b.c": "1", "src/c.c": "1", "src/d/e.c": "1" });
    const then = await read(root);
    await recordContext(root, then);
    writeIn(root, "src/a.c", "2");
    writeIn(root, "src/new.c", "1");
    rmSync(join(root, "src/b.c"));
    chmodSync(join(root, "src/c.c"), 0o755);
    const recalled = await recallContext(root, then.digest);
    expect(changedFiles(recalled ?? [], (await read(root)).entries)).toEqual({
      added: ["new.c"],
      changed: ["a.c", "c.c"],
      removed: ["b.c"],
    });
  });

  it("is taken for nothing where somebody has changed it, or another machine has built", async () => {
    const root = makeFolder({ "src/a.c": "1" });
    const context = await read(root);
    expect(await recallContext(root, context.digest)).toBeNull();
    await recordContext(root, context);
    const path = join(root, ".imgmatch/contexts", `${context.digest.slice(7)}.json`);
    writeFileSync(path, '[["a.c","file",420,"../../etc"]]');
    expect(await recallContext(root, context.digest)).toBeNull();
  });

  it("leads no write out of the project, and fails no build", async () => {
    const root = makeFolder({ "src/a.c": "1" });
    const outside = makeFolder({ keep: "" });
    mkdirSync(join(root, ".imgmatch"));
    symlinkSync(outside, join(root, ".imgmatch/contexts"));
    await recordContext(root, await read(root));
    expect(readdirSync(outside)).toEqual(["keep"]);
  });

  it("keeps the newest twenty", async () => {
    const root = makeFolder({ "src/a.c": "" });
    const digests: string[] = [];
    for (let number = 0; number < 23; number++) {
      writeIn(root, "src/a.c", `${number}`);
      const context = await read(root);
      await recordContext(root, context);
      digests.push(context.digest.slice(7));
      utimesSync(join(root, ".imgmatch/contexts", `${digests.at(-1)}.json`), 1000 + number, 1000 + number);
    }
    const left = readdirSync(join(root, ".imgmatch/contexts")).filter((name) => name.endsWith(".json"));
    // The one that is written is the newest until its time is set back above.
    expect(left.sort()).toEqual(
      digests
        .slice(-20)
        .map((digest) => `${digest}.json`)
        .sort(),
    );
  });
});
