import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openFromFolder } from "../../../src/inspect/image/from-folder.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { openOptions } from "../../../src/inspect/open-subject.ts";
import { makeProgram } from "../support/make-amd.ts";
import { makeFolder } from "../../support/folders.ts";

const names = ["a.so", "b.so", "c.so"];
function programs(): string {
  const root = makeFolder({});
  for (const name of names) writeFileSync(join(root, name), makeProgram([]));
  return root;
}

it("leaves out and counts the files that vanish while it reads a folder", async () => {
  const root = programs();
  let steps = 0;
  const onProgress = () => {
    // The folder is listed, and one file is open.
    if (++steps === names.length + 1) for (const name of names) rmSync(join(root, name));
  };
  const opened = await openFromFolder(root, { platform: "linux/amd64", cache: noCache, onProgress });
  expect(opened.vanished).toBe(2);
  const { files, unopened, vanished } = inspectionOf(opened);
  expect([files.length, unopened, vanished]).toEqual([1, [], 2]);
  expect(
    inspectionOf(await openFromFolder(programs(), { platform: "linux/amd64", cache: noCache })),
  ).not.toHaveProperty("vanished");
});

it("ends between two files where a signal is aborted", async () => {
  const root = programs();
  const controller = new AbortController();
  const seen: number[] = [];
  const options = openOptions(
    {
      onEvent: (event) => {
        if (event.type === "open") seen.push(event.bytes);
        if (event.type === "open" && event.bytes > 0) controller.abort(new Error("told to stop"));
      },
    },
    { env: {}, signal: controller.signal },
  );
  await expect(openFromFolder(root, { ...options, cache: noCache })).rejects.toThrow("told to stop");
  expect(seen.filter((bytes) => bytes > 0)).toHaveLength(1);
});
