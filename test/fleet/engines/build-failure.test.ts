import { describe, expect, it } from "vitest";
import { adviceFor } from "../../../src/fleet/engines/advice.ts";
import { buildFailure } from "../../../src/fleet/engines/build-failure.ts";

const request = { cell: "cell", dockerfile: "FROM scratch\n" };

describe("why a build failed", () => {
  it.each([
    ["[internal] load metadata for docker.io/library/debian:12", "no such host", "BASE_UNRESOLVED"],
    [null, "pull access denied for x, repository does not exist", "BASE_UNRESOLVED"],
    ["[2/3] RUN make", "write /x: no space left on device", "ENGINE_FAILED"],
    [
      null,
      "failed to solve with frontend dockerfile.v0: unsupported frontend capability moby.buildkit.frontend.contexts",
      "ENGINE_FAILED",
    ],
    ["[2/3] RUN make", "exit code: 2", "BUILD_FAILED"],
    [null, "dockerfile parse error line 2: unknown instruction: FOO", "BUILD_FAILED"],
  ])("%s: %s is %s", (step, message, code) => {
    expect(buildFailure(request, { step, message, lastLines: [] }, adviceFor("engine"))).toMatchObject({
      code,
    });
  });

  it("is the disk also where only what the step runs says so", () => {
    const lastLines = ["dd: error writing '/x': No space left on device", "4+0 records in"];
    const full = { step: "[2/2] RUN dd", message: "exit code: 1", lastLines };
    const failure = buildFailure(request, full, adviceFor("engine"));
    expect(failure).toMatchObject({ code: "ENGINE_FAILED" });
    expect(failure.message).toContain("error writing");
  });

  it("is a here-document where the engine takes its lines for instructions", () => {
    const dockerfile = "FROM base\nRUN <<EOF\nSET -e\nEOF\n";
    const failure = {
      step: null,
      message: "dockerfile parse error line 3: unknown instruction: SET",
      lastLines: [],
    };
    const [{ fix }] = buildFailure({ cell: "cell", dockerfile }, failure, adviceFor("engine")).problems;
    expect(fix).toMatch(/reads no here-documents, as in: RUN <<EOF; begin the Dockerfile with # syntax=/);
    expect(buildFailure(request, failure, adviceFor("engine")).problems[0].fix).toBeUndefined();
  });
});
