import { describe, expect, it } from "vitest";
import { capture, must } from "../../demo/process.ts";

describe("capture", () => {
  it("answers status and output", async () => {
    const { status, stdout, stderr } = await capture(["sh", "-c", "echo out; echo err >&2; exit 3"]);
    expect({ status, stdout, stderr }).toEqual({ status: 3, stdout: "out\n", stderr: "err\n" });
  });

  it("gives a missing program the shell's status", async () => {
    expect((await capture(["imgmatch-no-such-program"])).status).toBe(127);
  });

  it("stops a process and its children when aborted", async () => {
    const controller = new AbortController();
    // The child holds the pipe open: without the group's signal this would last longer than a test may.
    const running = capture(["sh", "-c", "sleep 1000 & wait"], { signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    expect((await running).status).not.toBe(0);
  });

  it("stops a process after its time", async () => {
    const { status } = await capture(["sleep", "10"], { timeoutMs: 100 });
    expect(status).not.toBe(0);
  });
});

describe("must", () => {
  it("throws the command and the end of its output", async () => {
    await expect(must(["sh", "-c", "echo no space left >&2; exit 1"])).rejects.toThrow(
      /sh -c .* status 1:\n {2}no space left/,
    );
  });
});
