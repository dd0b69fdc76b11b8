import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cellLogPath } from "../../../src/fleet/engines/cell-log.ts";
import type { BuildWatch } from "../../../src/oci/engine/built-image.ts";
import type { Examine } from "../../../src/fleet/audit/image-examiner.ts";
import type { ExaminedImage } from "../../../src/oci/engine/built-image.ts";
import type { BuildEvent } from "../../../src/fleet/engines/built-cell.ts";
import type { BuildJob } from "../../../src/fleet/engines/jobs.ts";
import { buildJobs, type BuildJobsOptions } from "../../../src/fleet/run/build-cells.ts";
import { ImgmatchError } from "../../../src/errors.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import type { AttestImage } from "../../../src/fleet/publish/attest-image.ts";
import { createMemoryRegistry } from "../publish/support/memory-registry.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "imgmatch-schedule-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const inputsOf = (cell: string) => digestOf(Buffer.from(cell));

function job(cell: string, push = false): BuildJob {
  const request = {
    cell,
    dockerfile: "",
    contextDir: "/",
    contextFiles: [],
    platform: "linux/amd64",
    target: null,
    args: {},
    labels: {},
    tags: [],
  };
  const reference = push ? parseImageReference(`registry.example.com/app:${cell}`) : null;
  return { cell, request, reference, inputDigest: inputsOf(cell) };
}

interface Steps {
  readonly build?: (cell: string, watch: BuildWatch) => Promise<void>;
  readonly push?: (tag: string, watch: BuildWatch) => Promise<void>;
}

function fleet({ build = async () => {}, push = async () => {} }: Steps = {}) {
  const registry = createMemoryRegistry();
  const publishing = { registry, attest: null, signing: null };
  const events: BuildEvent[] = [];
  const engine: BuildJobsOptions["engine"] = {
    async build({ cell }, watch) {
      await build(cell, watch);
      return { id: cell, size: cell.length };
    },
    async push({ id }, to, watch) {
      await push(id, watch);
      return registry.pushImage(to.tag ?? "", { "dev.imgmatch.inputs": inputsOf(id) }, id);
    },
  };
  const run = (jobs: readonly BuildJob[], options: Partial<BuildJobsOptions> = {}) =>
    buildJobs(jobs, {
      engine,
      publishing,
      examine: null,
      concurrency: 4,
      logFolder: folder,
      onEvent: (event) => events.push(event),
      onBuilt: async () => {},
      ...options,
    });
  return { publishing, registry, events, run };
}

/** As an engine ends when it is told to: with the signal's reason. */
function untilAborted({ signal }: BuildWatch): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

const statuses = (cells: readonly { readonly cell: string; readonly status: string }[]) =>
  cells.map(({ cell, status }) => `${cell} ${status}`);

describe("buildJobs", () => {
  it("builds at most as many at once as it may, and as many as it may", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 0, max: 15 }),
        async (concurrency, count) => {
          let [running, most] = [0, 0];
          const { run } = fleet({
            build: async () => {
              most = Math.max(most, ++running);
              // Not before as many run as may: opening their logs takes as long as the disk takes.
              do await sleep(1);
              while (most < Math.min(concurrency, count));
              running--;
            },
          });
          const jobs = Array.from({ length: count }, (_, index) => job(`c${index}`));
          const cells = await run(jobs, { concurrency });
          expect(most).toBe(Math.min(concurrency, count));
          expect(statuses(cells)).toEqual(jobs.map(({ cell }) => `${cell} built`));
        },
      ),
      { numRuns: 20 },
    );
  });

  it("attests what it has pushed before it has its tag, and nothing that was there already", async () => {
    const { publishing, registry, run } = fleet();
    const locked = { matrix: digestOf("matrix") };
    const attested: string[] = [];
    const attest: AttestImage = async ({ cell, reference, digest, startedAt, finishedAt }) => {
      expect(registry.tags.has(cell)).toBe(false);
      expect(reference.digest).toBe(digest);
      expect(finishedAt.getTime()).toBeGreaterThanOrEqual(startedAt.getTime());
      attested.push(cell);
      if (cell === "b") throw new ImgmatchError({ code: "ENGINE_FAILED", message: "no provenance" });
      return locked;
    };
    const options = { publishing: { ...publishing, attest } };
    const cells = await run([job("a", true), job("b", true), job("c")], options);
    expect(statuses(cells)).toEqual(["a built", "b failed", "c built"]);
    expect([...registry.tags.keys()]).toEqual(["a"]);
    expect(attested.sort()).toEqual(["a", "b"]);
    expect(cells[0]).toMatchObject({ how: "pushed", attested: locked });
    const again = await run([job("a", true)], options);
    expect(again[0]).toMatchObject({ how: "adopted" });
    expect(again[0]).not.toHaveProperty("attested");
    expect(attested).toEqual(["a", "b"]);
  });

  it("goes on when a cell fails, and says which, why and where its log is", async () => {
    const { run, events } = fleet({
      build: async (cell, { onLog }) => {
        onLog(`compiling ${cell}`);
        if (cell === "b")
          throw new ImgmatchError({ code: "BUILD_FAILED", message: "step 3 failed: exit code 1" });
      },
    });
    const cells = await run([job("a"), job("b"), job("c")]);
    expect(statuses(cells)).toEqual(["a built", "b failed", "c built"]);
    const failed = cells[1];
    expect(failed).toMatchObject({ problems: [{ code: "BUILD_FAILED" }], log: join(folder, "b.log") });
    expect(await readFile(join(folder, "b.log"), "utf8")).toBe("compiling b\nstep 3 failed: exit code 1\n");
    const ofB = events.filter(({ cell }) => cell === "b").map(({ type }) => type);
    expect(ofB).toEqual(["start", "log", "failed"]);
  });

  it("begins no other cell after so many have failed, and ends what runs", async () => {
    const { run, events } = fleet({
      build: async (cell) => {
        if (cell !== "a") throw new ImgmatchError({ code: "BUILD_FAILED", message: "no luck" });
        while (!events.some(({ type }) => type === "failed")) await sleep(1);
      },
    });
    const cells = await run(
      ["a", "b", "c", "d"].map((cell) => job(cell)),
      { concurrency: 2, maxFailures: 1 },
    );
    expect(statuses(cells)).toEqual(["a built", "b failed", "c interrupted", "d interrupted"]);
  });

  it("ends the build of a cell whose step hangs, and builds the others", async () => {
    const { run } = fleet({ build: async (cell, watch) => (cell === "b" ? untilAborted(watch) : undefined) });
    const cells = await run([job("a"), job("b"), job("c", true)], { cellTimeoutMs: 60 });
    expect(statuses(cells)).toEqual(["a built", "b failed", "c built"]);
    expect(cells[1]).toMatchObject({
      problems: [{ code: "BUILD_TIMEOUT", message: expect.stringContaining("0.001 min") }],
    });
  });

  it("counts a build that was interrupted before its time as interrupted", async () => {
    const drain = new AbortController();
    const { run } = fleet({
      build: (_, watch) => {
        drain.abort();
        return untilAborted(watch);
      },
    });
    const cells = await run([job("a")], { cellTimeoutMs: 60_000, drain: drain.signal });
    expect(statuses(cells)).toEqual(["a interrupted"]);
  });

  it("writes the log while it builds", async () => {
    const { run } = fleet({
      build: async (_, { onLog }) => {
        onLog("first line");
        await expect.poll(() => readFile(join(folder, "streaming.log"), "utf8")).toBe("first line\n");
      },
    });
    expect(statuses(await run([job("streaming")]))).toEqual(["streaming built"]);
  });

  it("records before it says done, never two records at a time, and builds meanwhile", async () => {
    const started: string[] = [];
    const { run, events } = fleet({ build: async (cell) => void started.push(cell) });
    const records: string[][] = [];
    let writing = false;
    const jobs = ["a", "b", "c", "d"].map((cell) => job(cell, true));
    await run(jobs, {
      concurrency: 1,
      onBuilt: async (finished) => {
        expect(writing).toBe(false);
        writing = true;
        for (const { job: one, built } of finished) {
          expect(events.some((event) => event.type === "done" && event.cell === one.cell)).toBe(false);
          expect(built).toMatchObject({ how: "pushed", digest: expect.stringMatching(/^sha256:/) });
        }
        records.push(finished.map(({ job: one }) => one.cell));
        if (records.length === 1) while (started.length < 4) await sleep(1);
        writing = false;
      },
    });
    expect(records.flat()).toEqual(["a", "b", "c", "d"]);
    expect(records[0]).toEqual(["a"]);
    expect(events.filter(({ type }) => type === "done")).toHaveLength(4);
  });

  it("adopts what the registry has, without building", async () => {
    const { run, registry } = fleet({ build: () => expect.unreachable() });
    const theirs = registry.pushImage("a", { "dev.imgmatch.inputs": inputsOf("a") }, "theirs");
    const cells = await run([job("a", true)]);
    expect(cells).toMatchObject([
      { status: "built", how: "adopted", digest: theirs, image: null, buildMs: null },
    ]);
  });

  it("tells how long the engine worked at what it pushed or keeps, without the push, and not at what others pushed", async () => {
    const { run, registry } = fleet({ build: () => sleep(60), push: () => sleep(2000) });
    const [kept] = await run([job("kept")]);
    const [pushed] = await run([job("pushed", true)]);
    for (const one of [kept, pushed])
      expect(one?.status === "built" && (one.buildMs ?? 0) >= 59 && (one.buildMs ?? 0) < 2000).toBe(true);
    // Somebody else is first while it is built here.
    const late = fleet({
      build: async () =>
        void registry.pushImage("late", { "dev.imgmatch.inputs": inputsOf("late") }, "theirs"),
    });
    const options = { publishing: { ...late.publishing, registry } };
    expect(await late.run([job("late", true)], options)).toMatchObject([{ how: "adopted", buildMs: null }]);
  });

  it("fails a cell before it is built when its tag holds something else", async () => {
    const { run, registry } = fleet({ build: () => expect.unreachable() });
    registry.pushImage("a", {}, "foreign");
    expect(await run([job("a", true)])).toMatchObject([
      { status: "failed", problems: [{ code: "TAG_CONFLICT" }] },
    ]);
  });

  it("at the first interruption starts nothing, ends builds and finishes pushes", async () => {
    const drain = new AbortController();
    const recorded: string[] = [];
    const { run, events } = fleet({
      build: (cell, watch) => (cell === "building" ? untilAborted(watch) : Promise.resolve()),
      push: async (_, { signal }) => {
        drain.abort();
        await sleep(20);
        signal.throwIfAborted();
      },
    });
    const cells = await run([job("pushing", true), job("building"), job("waiting")], {
      concurrency: 2,
      drain: drain.signal,
      onBuilt: async (finished) => void recorded.push(...finished.map((one) => one.job.cell)),
    });
    expect(statuses(cells)).toEqual(["pushing built", "building interrupted", "waiting interrupted"]);
    expect(recorded).toEqual(["pushing"]);
    expect(
      events
        .filter(({ type }) => type === "interrupted")
        .map(({ cell }) => cell)
        .sort(),
    ).toEqual(["building", "waiting"]);
  });

  it("at the second interruption ends pushes too", async () => {
    const [drain, stop] = [new AbortController(), new AbortController()];
    const { run, registry } = fleet({
      push: async (_, watch) => {
        drain.abort();
        setTimeout(() => stop.abort(), 10);
        await untilAborted(watch);
      },
    });
    const cells = await run([job("a", true), job("b", true)], {
      concurrency: 1,
      drain: drain.signal,
      stop: stop.signal,
    });
    expect(statuses(cells)).toEqual(["a interrupted", "b interrupted"]);
    expect(registry.tags.size).toBe(0);
  });

  it("calls a cell failed that failed by itself while the others are interrupted", async () => {
    const drain = new AbortController();
    const { run } = fleet({
      build: async () => {
        drain.abort();
        throw new ImgmatchError({ code: "BUILD_FAILED", message: "exit code 1" });
      },
    });
    expect(statuses(await run([job("a")], { drain: drain.signal }))).toEqual(["a failed"]);
  });

  it("stops when a result cannot be recorded, but still tries to record what is under way", async () => {
    const tried: string[] = [];
    const { run } = fleet({
      build: (cell, watch) =>
        cell === "c" ? untilAborted(watch) : sleep(cell === "a" ? 1 : 20).then(() => {}),
    });
    const running = run([job("a"), job("b"), job("c")], {
      concurrency: 2,
      onBuilt: async (finished) => {
        const cells = finished.map((one) => one.job.cell);
        tried.push(...cells);
        if (cells.includes("a")) throw new ImgmatchError({ code: "WRITE_FAILED", message: "disk full" });
      },
    });
    await expect(running).rejects.toMatchObject({ code: "WRITE_FAILED" });
    expect(tried).toEqual(["a", "b"]);
  });

  it("opens what it has pushed before it has its tag, and gives none to what is not as declared", async () => {
    const lie = { code: "AUDIT_CPU_BEYOND_MARCH", message: "/app has code for avx2" } as const;
    const measured = { rules: 1, cpu: { unused: ["waitpkg"] }, cuda: null };
    const warning = { code: "AUDIT_BASE_BEYOND_MARCH", message: "look" } as const;
    const opened: ExaminedImage[] = [];
    const { run, registry, events } = fleet();
    const tagsWhenOpened = new Map<string, string[]>();
    const examine: Examine = async (subject) => {
      opened.push(subject);
      tagsWhenOpened.set(subject.cell, [...registry.tags.keys()]);
      if (subject.cell === "liar") throw new ImgmatchError(lie);
      return { measured, warnings: [warning] };
    };
    const cells = await run([job("liar", true), job("honest", true), job("local")], { examine });
    expect(cells).toMatchObject([
      { status: "failed", problems: [lie] },
      { status: "built", how: "pushed", measured, warnings: [warning] },
      { status: "built", how: "built", measured },
    ]);
    expect(opened.map(({ cell }) => cell).sort()).toEqual(["honest", "liar", "local"]);
    const of = (wanted: string) => events.filter(({ cell }) => cell === wanted).map(({ type }) => type);
    expect(of("liar")).toEqual(["start", "push", "open", "failed"]);
    expect(of("honest")).toEqual(["start", "push", "open", "done"]);
    expect(of("local")).toEqual(["start", "open", "done"]);
    // From the registry and by digest, where only the local one is the engine's; no tag was there before, none but one is after.
    expect(opened.filter(({ image }) => !("registry" in image)).map(({ cell }) => cell)).toEqual(["local"]);
    expect(tagsWhenOpened.get("honest")).not.toContain("honest");
    expect([...registry.tags.keys()]).toEqual(["honest"]);

    // An image that others have pushed is opened where it is.
    const digest = await registry.pushImage(
      "theirs",
      { "dev.imgmatch.inputs": inputsOf("theirs") },
      "theirs",
    );
    const adopted = await run([job("theirs", true)], { examine });
    expect(adopted).toMatchObject([{ how: "adopted", image: null, measured }]);
    expect(opened.at(-1)).toMatchObject({ cell: "theirs", image: { digest } });
  });

  it("throws a bug of an engine instead of calling it a failed cell", async () => {
    const { run } = fleet({ build: () => Promise.reject(new TypeError("x is not a function")) });
    await expect(run([job("a")])).rejects.toThrow(TypeError);
  });

  it("fails a cell whose log cannot be opened", async () => {
    await writeFile(join(folder, "a-file"), "");
    const { run } = fleet();
    const cells = await run([job("a")], { logFolder: join(folder, "a-file") });
    expect(cells).toMatchObject([{ status: "failed", problems: [{ code: "WRITE_FAILED" }], log: null }]);
  });
});

describe("cellLogPath", () => {
  it("keeps plain ids", () => {
    expect(cellLogPath("logs", "9.0+ptx-x86-64-v3")).toBe(join("logs", "9.0+ptx-x86-64-v3.log"));
  });

  it("is one file directly in the folder for any id, and a different one for each", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.string({ minLength: 1 }), (one, other) => {
        const path = cellLogPath("/logs", one);
        expect(path).toBe(`/logs/${basename(path)}`);
        expect(basename(path)).toMatch(/^[a-zA-Z0-9_+-][a-zA-Z0-9._+-]*\.log$/);
        expect(path === cellLogPath("/logs", other)).toBe(one === other);
      }),
    );
  });
});
