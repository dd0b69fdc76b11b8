/** A stage that cells share is built once, however many cells there are and however many are built at a time. */

import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Engine } from "../../src/fleet/engines/engine.ts";
import { createDockerEngine } from "../../src/fleet/engines/docker/docker-engine.ts";
import { connectDocker, type DockerApi } from "../../src/oci/engine/api.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { type BusyboxContext, makeBusyboxContext, whyNoBusybox } from "./support/busybox.ts";
import { rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const reason = stack.available ? whyNoBusybox : stack.reason;

describe("Shared stages", needs(reason), () => {
  const silent = { signal: new AbortController().signal, onLog: () => {} };
  setMaxListeners(0, silent.signal);
  let engine: Engine;
  let api: DockerApi;
  let context: BusyboxContext;
  let platform: string;

  beforeAll(async () => {
    if (!stack.available) return;
    engine = await createDockerEngine({ env: { ...process.env, ...stack.engineEnv } });
    api = await connectDocker(stack.engineEnv);
    platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
    context = await makeBusyboxContext({ "src/main.c": "int main() { return 0; }\n" });
  });
  afterAll(async () => context?.remove());

  const requestFor = (cell: string, dockerfile: string) => ({
    cell,
    dockerfile,
    contextDir: context.folder,
    contextFiles: context.files,
    contextDigest: digestOf(Buffer.from(context.folder)),
    platform,
    target: null,
    args: {},
    labels: {},
    tags: [`imgmatch-test/${cell}:local`],
  });
  const layersOf = async (id: string): Promise<readonly string[]> => {
    const { RootFS } = (await api.json("GET", `/images/${id}/json`)) as { RootFS: { Layers: string[] } };
    return RootFS.Layers;
  };

  // Every run of the step makes another file, so equal layers are one run. All files are copied, so that whatever
  // differs between cells and reaches the build context shows.
  const most: readonly (readonly [number, string])[] = [
    [8, "bin /bin"],
    [1, ". /"],
    [1, "bin /bin"],
    [8, ". /"],
  ];
  it.each(most.slice(0, rounds(2, 4)))(
    "runs an expensive step once for 8 cells, %i at a time, after COPY %s",
    async (concurrency, copy) => {
      const salt = `${concurrency} ${copy} ${process.pid}`;
      const limit = pLimit(concurrency);
      const images = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          limit(() =>
            engine.build(
              requestFor(
                `share-${index}`,
                [
                  "FROM scratch AS expensive",
                  `COPY ${copy}`,
                  `RUN busybox echo ${salt} && busybox sleep 1 && busybox cat /proc/sys/kernel/random/uuid > /made`,
                  "FROM scratch",
                  "COPY --from=expensive /made /made",
                  `LABEL cell=${index}`,
                  "",
                ].join("\n"),
              ),
              silent,
            ),
          ),
        ),
      );
      expect(new Set(images.map(({ id }) => id)).size).toBe(8);
      const layers = await Promise.all(images.map(async ({ id }) => (await layersOf(id)).join(" ")));
      expect(new Set(layers).size).toBe(1);
    },
  );

  it("gives every cell that a shared step fails what the step printed, in message and log", async () => {
    const salt = `${process.pid}-${Math.random()}`;
    const script = `busybox echo compiling ${salt}; busybox sleep 0.5; busybox echo main.c:1: error of ${salt} >&2; exit 3`;
    const failures = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        // Some come when the first lines are printed already.
        await sleep(index * 60);
        const dockerfile = `FROM scratch\nCOPY bin /bin\nRUN ${script}\nLABEL cell=${index}\n`;
        const log: string[] = [];
        const onLog = (line: string) => log.push(line);
        const built = engine.build(requestFor(`fail-${index}`, dockerfile), { ...silent, onLog });
        const message = await built.then(() => "built", String);
        return { message, log: log.join("\n") };
      }),
    );
    const needle = new RegExp(`^\\W*(#\\d+ )?(\\d+\\.\\d+ )?main\\.c:1: error of ${salt}$`, "m");
    for (const { message, log } of failures) {
      expect(message).toContain("BUILD_FAILED");
      expect(message).toMatch(needle);
      expect(log).toMatch(needle);
    }
  });

  it("copies the build context into images and nothing else", async () => {
    const lines: string[] = [];
    const dockerfile = `FROM scratch\nCOPY . /\nRUN busybox find / -xdev -type f -name "*.*" -exec busybox echo FOUND ${process.pid} {} +\n`;
    await engine.build(requestFor("whole-context", dockerfile), {
      ...silent,
      onLog: (line) => lines.push(line),
    });
    const found = lines.filter((line) => / FOUND /.test(line) && !/RUN/.test(line)).join();
    expect(found).toMatch(/FOUND .*\/src\/main\.c/);
    expect(found).not.toContain("Dockerfile");
  });

  it("sends files of the same size and time anew when the context is another", async () => {
    const other = await makeBusyboxContext({ "src/main.c": "int main() { return 1; }\n" });
    try {
      const dockerfile = "FROM scratch\nCOPY src /src\nLABEL a=b\n";
      const one = await engine.build(requestFor("first", dockerfile), silent);
      const request = requestFor("second", dockerfile);
      const digest = digestOf(Buffer.from(other.folder));
      const changed = { contextDir: other.folder, contextFiles: other.files, contextDigest: digest };
      const two = await engine.build({ ...request, ...changed }, silent);
      expect(await layersOf(two.id)).not.toEqual(await layersOf(one.id));
    } finally {
      await other.remove();
    }
  });
});
