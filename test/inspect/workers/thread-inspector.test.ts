/** A thread that opens files finds the same as this thread, and reports what goes wrong in it. */

import { mkdirSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { ImgmatchError, type Problem } from "../../../src/errors.ts";
import { openFromFolder } from "../../../src/inspect/image/from-folder.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { inspectLayer } from "../../../src/inspect/image/layer.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import type { SpooledFile } from "../../../src/inspect/image/spool.ts";
import { failureAnswer, readAnswer } from "../../../src/inspect/workers/file-answer.ts";
import { type FileInspector, inThisThread, stoppable } from "../../../src/inspect/workers/file-inspector.ts";
import { threadInspector, threadsFor } from "../../../src/inspect/workers/thread-inspector.ts";
import { bundled } from "../../support/bundle.ts";
import { makeFolder } from "../../support/folders.ts";
import { gpuFile, gzipped, makeTar, type MadeFile } from "../support/make-image.ts";

const MiB = 2 ** 20;
let program: URL;

beforeAll(async () => {
  const file = await bundled(
    "src/inspect/workers/inspect-worker.ts",
    "thread-inspector-test/inspect-worker.cjs",
  );
  program = pathToFileURL(file);
}, 120_000);

const memory = (length: number): SpooledFile => ({
  kind: "memory",
  buffer: new ArrayBuffer(length),
  size: length,
});

/** A thread whose program has a few lines, for what goes wrong. */
function inspectorOf(lines: string, count = 1): FileInspector {
  const folder = makeFolder({
    "worker.mjs": `import { parentPort } from "node:worker_threads";\nparentPort.on("message", ({ file }) => {${lines}});\n`,
  });
  return threadInspector(pathToFileURL(join(folder, "worker.mjs")), count);
}

/** Programs of this machine, archives in archives, code that is damaged, and a file that is too large for memory. */
function entries(): MadeFile[] {
  const folder = "/usr/bin";
  const small = readdirSync(folder)
    .sort()
    .filter((name) => statSync(join(folder, name)).isFile() && statSync(join(folder, name)).size < MiB / 4)
    .slice(0, 60)
    .map((name) => ({ path: `bin/${name}`, content: readFileSync(join(folder, name)) }));
  const cut = readFileSync(process.execPath).subarray(0, 17 * MiB);
  const archive = makeTar([90, 80, 70].map((arch) => ({ path: `${arch}.fatbin`, content: gpuFile(arch) })));
  return [
    { path: "cut", content: cut },
    ...small,
    { path: "a.tgz", content: gzipped(archive) },
    { path: "twice", content: gpuFile(75) },
    { path: "twice", content: gpuFile(89) },
    { path: "broken", content: readFileSync(process.execPath).subarray(0, 5000) },
  ];
}

describe("what is found", () => {
  it("is the same in another thread and in this one", { timeout: 180_000 }, async () => {
    const tar = makeTar(entries());
    const layer = async (inspector: FileInspector) => {
      const pieces = async function* () {
        for (let at = 0; at < tar.length; at += MiB) yield tar.subarray(at, at + MiB);
      };
      return JSON.stringify(
        await inspectLayer({ chunks: pieces(), digest: null }, "layer 1", () => {}, inspector),
      );
    };
    const alone = await layer(inThisThread);
    expect(alone.match(/"checksums"/g)?.length).toBeGreaterThan(10);
    expect(await layer(threadInspector(program))).toBe(alone);
    expect(await layer(threadInspector(program, 4))).toBe(alone);
  });

  it("in a folder too", { timeout: 180_000 }, async () => {
    const root = makeFolder({});
    for (const { path, content = Buffer.alloc(0) } of entries()) {
      mkdirSync(join(root, path, ".."), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    const options = { platform: "linux/amd64", cache: noCache };
    const found = async (inspector: FileInspector) =>
      JSON.stringify(await openFromFolder(root, { ...options, inspector }));
    const alone = await found(inThisThread);
    expect(await found(threadInspector(program))).toBe(alone);
    expect(await found(threadInspector(program, 3))).toBe(alone);
  });
});

/** Answers files in another order than they came: the last of every `among` first. */
function shuffled(inspector: FileInspector, among: number): FileInspector {
  const held: (() => void)[] = [];
  const release = () => {
    for (const go of held.splice(0).reverse()) go();
  };
  return {
    inspect(file, mayBePackaged) {
      const turn = new Promise<void>((go) => held.push(go));
      if (held.length >= among) release();
      else setTimeout(release, 20);
      const { found, stop } = inspector.inspect(file, mayBePackaged);
      return { accepted: Promise.resolve(), found: found.then((answer) => turn.then(() => answer)), stop };
    },
  };
}

describe("the order in which files are answered", () => {
  it("changes nothing", { timeout: 180_000 }, async () => {
    const root = makeFolder({});
    for (const { path, content = Buffer.alloc(0) } of entries().slice(1)) {
      mkdirSync(join(root, path, ".."), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    const found = async (inspector: FileInspector) => {
      const opened = await openFromFolder(root, { platform: "linux/amd64", cache: noCache, inspector });
      return JSON.stringify(inspectionOf(opened));
    };
    const alone = await found(inThisThread);
    for (const among of [2, 7, 100]) expect(await found(shuffled(inThisThread, among))).toBe(alone);
    expect(await found(shuffled(threadInspector(program, 4), 5))).toBe(alone);
  });
});

it.each([
  [1, 16, 0],
  [2, 16, 1],
  [3, 16, 3],
  [4, 16, 4],
  [64, 64, 4],
  [16, 1.2, 2],
  [16, 0.1, 1],
])("with %i processors and %f GiB free there are %i threads", (processors, free, threads) =>
  expect(threadsFor(processors, free * 2 ** 30)).toBe(threads),
);

it("of several threads one that dies ends its own file alone, and all are at work at once", async () => {
  const started = makeFolder({});
  const inspector = inspectorOf(
    `process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(started)} + "/" + file.size, ""); if (file.size === 2) process.exit(3); if (file.size < 5) setTimeout(() => parentPort.postMessage({ answer: { found: null }, file }), 1000);`,
    4,
  );
  const jobs = [1, 2, 3, 4].map((size) => inspector.inspect(memory(size), false).found);
  const ends = Promise.allSettled(jobs);
  await expect.poll(() => readdirSync(started).sort(), { timeout: 5000 }).toEqual(["1", "2", "3", "4"]);
  expect((await ends).map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
});

describe("what goes wrong in a thread", () => {
  const problem: Problem = {
    code: "IMAGE_INVALID",
    message: "is damaged",
    fix: "push it again",
    at: { file: "layer.tar", line: 7 },
  };
  it("keeps its code and its place", () => {
    const thrown = () => readAnswer(structuredClone(failureAnswer(new ImgmatchError(problem))));
    expect(thrown).toThrow(ImgmatchError);
    expect(thrown).toThrow("layer.tar:7: IMAGE_INVALID: is damaged\n  fix: push it again");
  });

  it("keeps the system's code, and where in the program it was", async () => {
    // A folder can be opened and not be read.
    const file: SpooledFile = { kind: "open", descriptor: openSync("/", "r"), size: 8192 };
    const error: unknown = await threadInspector(program)
      .inspect(file, false)
      .found.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "EISDIR", message: expect.stringContaining("EISDIR") });
    expect(error instanceof Error ? error.stack : "").toContain("inspect-worker");
  });

  it("ends the layer with its error", async () => {
    const failing = inspectorOf(
      `parentPort.postMessage({ answer: { problems: [${JSON.stringify(problem)}] }, file });`,
    );
    const tar = makeTar([{ path: "x", content: gpuFile(90) }]);
    const pieces = async function* () {
      yield tar;
    };
    await expect(
      inspectLayer({ chunks: pieces(), digest: null }, "layer 1", () => {}, failing),
    ).rejects.toThrow("layer.tar:7");
  });

  it("is the end of that file alone where the thread dies", async () => {
    const inspector = inspectorOf(
      "if (file.size === 1) process.exit(3); parentPort.postMessage({ answer: { found: null }, file });",
    );
    await expect(inspector.inspect(memory(1), false).found).rejects.toThrow(
      "a thread that opens files ended with 3",
    );
    await expect(inspector.inspect(memory(2), false).found).resolves.toBeNull();
  });

  it("is told where there is no program", async () => {
    const inspector = threadInspector(pathToFileURL("/nowhere/worker.cjs"));
    await expect(inspector.inspect(memory(1), false).found).rejects.toThrow("/nowhere/worker.cjs");
  });
});

it("takes no more files than have room, and one that is larger alone", async () => {
  const inspector = inspectorOf("");
  const isAccepted = async (bytes: number) => {
    const { accepted, found } = inspector.inspect(memory(bytes), false);
    // Its program is gone before it starts.
    found.catch(() => {});
    return Promise.race([accepted.then(() => true), new Promise((done) => setTimeout(done, 50, false))]);
  };
  expect(await isAccepted(100 * MiB)).toBe(true);
  expect(await isAccepted(1)).toBe(false);
});

describe("a signal", () => {
  it("ends the work of a thread on a file, and the files that wait for it", async () => {
    const started = makeFolder({});
    const thread = inspectorOf(
      `if (file.size === 1) { process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(join(started, "yes"))}, ""); for (;;); } parentPort.postMessage({ answer: { found: null }, file });`,
    );
    const controller = new AbortController();
    const inspector = stoppable(thread, controller.signal);
    const jobs = [1, 2, 100 * MiB].map((size) => inspector.inspect(memory(size), false));
    await expect.poll(() => readdirSync(started)).toEqual(["yes"]);
    const reason = new Error("told to stop");
    controller.abort(reason);
    for (const { found } of jobs) await expect(found).rejects.toBe(reason);
    await expect(jobs[2]?.accepted).rejects.toBe(reason);
    // A thread at work on that file would never come to this one.
    await expect(thread.inspect(memory(3), false).found).resolves.toBeNull();
  });

  it("ends the work in this thread before the file's end", async () => {
    const descriptor = openSync(process.execPath, "r");
    const job = inThisThread.inspect(
      { kind: "open", descriptor, size: statSync(process.execPath).size },
      false,
    );
    await new Promise(setImmediate);
    job.stop();
    await expect(job.found).rejects.toThrow("stopped");
  });
});
