import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { openFromFolder } from "../../../src/inspect/image/from-folder.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { openOptions } from "../../../src/inspect/open-subject.ts";
import { inspect } from "../../../src/inspect/inspect-subjects.ts";
import type { Notice } from "../../../src/io/world.ts";
import type { OpenEvent } from "../../../src/lock/statement.ts";
import { makeProgram } from "../support/make-amd.ts";
import { gpuFile, layoutFiles, makeImage, makeTar, savedFiles } from "../support/make-image.ts";
import { makeFolder } from "../../support/folders.ts";

const names = ["a.so", "b.so", "c.so"];
function programs(): string {
  const root = makeFolder({});
  for (const name of names) writeFileSync(join(root, name), makeProgram([]));
  return root;
}

it("leaves out and counts the files that vanish while it reads a folder", async () => {
  const root = programs();
  let isRead = false;
  const onProgress = ({ bytes }: { readonly bytes: number }) => {
    // The folder is listed, and one file is read.
    if (bytes > 0 && !isRead) for (const name of names) rmSync(join(root, name));
    isRead ||= bytes > 0;
  };
  const opened = await openFromFolder(root, { platform: "linux/amd64", cache: noCache, onProgress });
  expect(opened.vanished).toBe(2);
  const { files, unopened, vanished } = inspectionOf(opened);
  expect([files.length, unopened, vanished]).toEqual([1, [], 2]);
  expect(
    inspectionOf(await openFromFolder(programs(), { platform: "linux/amd64", cache: noCache })),
  ).not.toHaveProperty("vanished");
});

it("tells how many bytes of how many are read, of folders, archives and layouts", async () => {
  const root = programs();
  const bytes = names.reduce((sum, name) => sum + statSync(join(root, name)).size, 0);
  const image = makeImage([makeTar([{ path: "a.so", content: gpuFile(80) }]), gzipSync(makeTar([]))]);
  const layout = makeFolder({});
  for (const { path, content = Buffer.alloc(0) } of layoutFiles(image)) {
    mkdirSync(dirname(join(layout, path)), { recursive: true });
    writeFileSync(join(layout, path), content);
  }
  const saved = join(layout, "app.tar");
  writeFileSync(saved, gzipSync(makeTar(savedFiles(image))));
  const layers = image.layers.reduce((sum, { length }) => sum + length, 0);
  for (const [subject, total] of [
    [root, bytes],
    [saved, statSync(saved).size],
    [layout, layers],
  ] as const) {
    const seen: { readonly bytes: number; readonly total: number | null }[] = [];
    const onEvent = (event: OpenEvent | Notice) => void (event.type === "open" && seen.push(event));
    await inspect({ subjects: [subject], platform: "linux/amd64", cache: false, onEvent }, { env: {} });
    expect(seen.at(-1), subject).toMatchObject({ bytes: total, total });
    const order = seen.map((each) => each.bytes);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  }
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
