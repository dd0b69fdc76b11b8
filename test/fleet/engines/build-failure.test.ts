import { describe, expect, it } from "vitest";
import { adviceFor } from "../../../src/fleet/engines/advice.ts";
import { buildFailure } from "../../../src/fleet/engines/build-failure.ts";

const request = { cell: "cell", dockerfile: "FROM scratch\n", platform: "linux/arm64" };

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

  // Printed by BuildKit of Docker 20.10, where nothing is registered for arm64.
  it("no program of the cell's platform starts: names QEMU and other builders", () => {
    const lastLines = ["exec /h: exec format error"];
    const failed = { step: "[3/3] RUN /h", message: "executor failed running [/h]: exit code: 1", lastLines };
    const { problems } = buildFailure(request, failed, adviceFor("engine"));
    expect(problems[0]).toMatchObject({
      code: "BUILD_FAILED",
      fix: expect.stringMatching(/no programs of linux\/arm64.*qemu-user-static.*--builder/),
    });
  });

  // Printed by gcc 12.2, its cross compiler for aarch64, and clang 16 and 22.
  it.each([
    ["cc1: error: bad value (‘znver5’) for ‘-march=’ switch", "znver5 are gcc 14"],
    ["cc1: error: bad value ('znver5') for '-march=' switch", "znver5 are gcc 14"],
    ["aarch64-linux-gnu-gcc: error: unknown value ‘neoverse-v3’ for ‘-mcpu’", "neoverse-v3 are gcc 15"],
    ["error: unknown target CPU 'znver5'", "znver5 are gcc 14"],
    ["clang: error: unsupported argument 'neoverse-v3' to option '-mcpu='", "neoverse-v3 are gcc 15"],
  ])("%s: names the first compiler", (line, words) => {
    const failed = {
      step: "[2/2] RUN make",
      message: "exit code: 1",
      lastLines: [line, "make: *** Error 1"],
    };
    const { problems } = buildFailure(request, failed, adviceFor("engine"));
    expect(problems[0]).toMatchObject({ code: "BUILD_FAILED", fix: expect.stringContaining(words) });
  });

  it("names no compiler for a march of no table, and for another fault", () => {
    for (const line of ["error: unknown target CPU 'toaster'", "znver5.c:1: error: expected ';'"]) {
      const failed = { step: "[2/2] RUN make", message: "exit code: 1", lastLines: [line] };
      expect(buildFailure(request, failed, adviceFor("engine")).problems[0].fix).toBeUndefined();
    }
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
    const [{ fix }] = buildFailure({ ...request, dockerfile }, failure, adviceFor("engine")).problems;
    expect(fix).toMatch(/reads no here-documents, as in: RUN <<EOF; begin the Dockerfile with # syntax=/);
    expect(buildFailure(request, failure, adviceFor("engine")).problems[0].fix).toBeUndefined();
    // Printed by Podman 4.3.1.
    const copies = {
      step: "STEP 3/19: COPY <<END /text",
      message: 'building at STEP "COPY <<END /text": copier: stat: "/<<END": no such file or directory',
      lastLines: [],
    };
    const copied = "FROM base\nCOPY <<END /text\nthe first line\nEND\n";
    const { problems } = buildFailure({ ...request, dockerfile: copied }, copies, adviceFor("containers"));
    expect(problems[0].fix).toContain("reads no here-documents, as in: COPY <<END /text");
  });
});
