import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { adviceFor } from "../../../../src/fleet/build/engines/advice.ts";
import { buildFailure, createBuildOutput } from "../../../../src/fleet/build/engines/docker/build-output.ts";
import { readTrace } from "../../../../src/oci/engine/trace.ts";

// Streams of real engines (20.10.24, 28.5.2 with the containerd store): POST /build?version=2 of a Dockerfile with two RUN steps.
const stream = (name: string): unknown[] =>
  readFileSync(new URL(`../../../fixtures/build/${name}.jsonl`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line));

function replay(messages: readonly unknown[]) {
  const lines: string[] = [];
  const output = createBuildOutput((line) => lines.push(line));
  for (const message of messages) output.read(message);
  return { ...output.end(), lines };
}

describe("build output", () => {
  it("reads a build that succeeds", () => {
    const { imageId, failure, lines } = replay(stream("docker-20.10-done"));
    expect(imageId).toBe("sha256:54d9e9060349d14beeb0f54e4eedfba906cebae028cf76975b8db30af782f0e2");
    expect(failure).toBeNull();
    expect(lines.map((line) => line.replace(/ \d+\.\d+s$/, ""))).toMatchInlineSnapshot(`
      [
        "#1 [internal] load remote build context",
        "#1 DONE",
        "#2 copy /context /",
        "#2 DONE",
        "#3 [1/2] COPY busybox /bin/busybox",
        "#3 CACHED",
        "#4 [2/2] RUN ["/bin/busybox","sh","-c","echo compiling größe; echo warning: unused >&2; busybox printf 'no line end'"]",
        "#4 CACHED",
        "#5 exporting to image",
        "#5 DONE",
        "Successfully tagged fx:done",
      ]
    `);
  });

  it.each([
    ["20.10", "executor failed running [/bin/busybox sh -c echo last words; exit 3]: exit code: 3"],
    [
      "28.5",
      'process "/bin/busybox sh -c echo last words; exit 3" did not complete successfully: exit code: 3',
    ],
  ])(
    "reads a build of Docker %s that fails: the step, its output, the engine's words",
    (version, message) => {
      const { imageId, failure, lines } = replay(stream(`docker-${version}-failing`));
      expect(imageId).toBeNull();
      expect(failure).toEqual({
        step: '[3/3] RUN ["/bin/busybox","sh","-c","echo last words; exit 3"]',
        message,
        lastLines: ["last words"],
      });
      for (const printed of ["compiling größe", "warning: unused", "no line end", "last words"]) {
        expect(lines.filter((line) => /^#\d+ /.test(line) && line.endsWith(` ${printed}`))).toHaveLength(1);
      }
      expect(lines.at(-1)).toBe(`ERROR: ${message}`);
    },
  );

  it("understands an engine without BuildKit", () => {
    const { imageId, lines } = replay([
      { stream: "Step 1/2 : FROM scratch\n ---> \nStep 2/2" },
      { stream: " : COPY a /\n" },
      { aux: { ID: "sha256:abc" } },
      { stream: "Successfully built" },
    ]);
    expect(lines).toEqual(["Step 1/2 : FROM scratch", " ---> ", "Step 2/2 : COPY a /", "Successfully built"]);
    expect(imageId).toBe("sha256:abc");
  });

  it("joins lines and characters that the stream cuts apart, and keeps the two outputs of a step apart", () => {
    const log = (streamNumber: number, bytes: Uint8Array) =>
      trace([
        [
          3,
          [
            [1, "v"],
            [3, streamNumber],
            [4, bytes],
          ],
        ],
      ]);
    const text = Buffer.from("größe\n");
    const { lines } = replay([
      trace([
        [
          1,
          [
            [1, "v"],
            [3, "step"],
            [5, [[1, 1]]],
          ],
        ],
      ]),
      log(1, text.subarray(0, 3)),
      log(2, Buffer.from("error\r\n10%\r20%\r")),
      log(1, text.subarray(3)),
      trace([
        [
          1,
          [
            [1, "v"],
            [3, "step"],
            [5, [[1, 1]]],
            [
              6,
              [
                [1, 3],
                [2, 500_000_000],
              ],
            ],
          ],
        ],
      ]),
    ]);
    expect(lines).toEqual(["#1 step", "#1 error", "#1 10%", "#1 20%", "#1 größe", "#1 DONE 2.5s"]);
  });

  it("blames the step that failed, not one that was cancelled with it", () => {
    const step = (digest: string, error: string) =>
      trace([
        [
          1,
          [
            [1, digest],
            [3, `step ${digest}`],
            [5, [[1, 1]]],
            [6, [[1, 2]]],
            [7, error],
          ],
        ],
      ]);
    const { failure } = replay([
      step("a", "context canceled"),
      step("b", "exit code: 1"),
      { errorDetail: { message: "exit code: 1" } },
    ]);
    expect(failure?.step).toBe("step b");
  });

  it("never fails on bytes that are no trace", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { vertexes, logs } = readTrace(Buffer.from(bytes).toString("base64"));
        expect(vertexes.length + logs.length).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});

describe("why a build failed", () => {
  it.each([
    ["[internal] load metadata for docker.io/library/debian:12", "no such host", "BASE_UNRESOLVED"],
    [null, "pull access denied for x, repository does not exist", "BASE_UNRESOLVED"],
    ["[2/3] RUN make", "write /x: no space left on device", "ENGINE_FAILED"],
    ["[2/3] RUN make", "exit code: 2", "BUILD_FAILED"],
    ["[2/3] RUN --mount=type=secret,id=t make", "no active sessions", "ENGINE_NOT_FOUND"],
    [null, "dockerfile parse error line 2: unknown instruction: FOO", "BUILD_FAILED"],
  ])("%s: %s is %s", (step, message, code) => {
    expect(buildFailure("cell", { step, message, lastLines: [] }, adviceFor("engine"))).toMatchObject({
      code,
    });
  });

  it("is the disk also where only what the step runs says so", () => {
    const lastLines = ["dd: error writing '/x': No space left on device", "4+0 records in"];
    const full = { step: "[2/2] RUN dd", message: "exit code: 1", lastLines };
    const failure = buildFailure("cell", full, adviceFor("engine"));
    expect(failure).toMatchObject({ code: "ENGINE_FAILED" });
    expect(failure.message).toContain("error writing");
  });
});

type Message = readonly (readonly [number, number | string | Uint8Array | Message])[];

/** Writes protobuf, as the engine does. */
function encode(message: Message): Buffer {
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
  return Buffer.concat(
    message.map(([number, value]) => {
      if (typeof value === "number") return Buffer.from([...varint(number * 8), ...varint(value)]);
      const bytes =
        typeof value === "string"
          ? Buffer.from(value)
          : value instanceof Uint8Array
            ? Buffer.from(value)
            : encode(value);
      return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
    }),
  );
}

function trace(message: Message): unknown {
  return { id: "moby.buildkit.trace", aux: encode(message).toString("base64") };
}
