import { describe, expect, it } from "vitest";
import { adviceFor } from "../../../src/fleet/engines/advice.ts";
import { pushFailure, retryPush } from "../../../src/fleet/engines/push-failure.ts";

const digest = `sha256:${"ab".repeat(32)}` as const;

function pushing(words: string, failures: number) {
  const waits: number[] = [];
  const lines: string[] = [];
  let pushes = 0;
  const push = async () => {
    if (pushes++ < failures) throw pushFailure("r/a:1", words, adviceFor("engine"));
    return digest;
  };
  const watch = { signal: new AbortController().signal, onLog: (line: string) => lines.push(line) };
  const result = retryPush(push, watch, { sleep: async (ms) => waits.push(ms), random: () => 1 });
  return { result, waits, lines, pushes: () => pushes };
}

describe("a push that fails", () => {
  it.each([
    "received unexpected HTTP status: 500 Internal Server Error",
    "unexpected status from PUT request to http://r/v2/a/blobs/uploads/1: 503 Service Unavailable",
    "error from registry: unknown error",
    "toomanyrequests: slow down",
    "unexpected status from PUT request to http://r/v2/a/manifests/1: 400 Bad Request",
    "errors:\ndigest invalid: provided digest did not match uploaded content\nmanifest blob unknown: blob unknown to registry",
    'Put "http://r/v2/a/manifests/1": EOF',
    "read tcp 1.2.3.4: connection reset by peer",
  ])("is tried again after: %s", async (words) => {
    const { result, waits, lines } = pushing(words, 2);
    expect(await result).toBe(digest);
    expect(waits).toEqual([500, 1000]);
    expect(lines[0]).toMatch(/^[^\n]*; try 2 of 4 in 0\.5 s$/);
  });

  it("is given up after four tries, with the last words", async () => {
    const { result, pushes } = pushing("received unexpected HTTP status: 503", 9);
    await expect(result).rejects.toThrow("503");
    expect(pushes()).toBe(4);
  });

  it("is not tried again where it would fail again", async () => {
    const { result, pushes } = pushing("denied: quota exceeded", 1);
    await expect(result).rejects.toThrow("quota");
    expect(pushes()).toBe(1);
  });
});
