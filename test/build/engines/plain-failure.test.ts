import { describe, expect, it } from "vitest";
import { plainFailure } from "../../../src/build/engines/buildx/plain-failure.ts";

describe("the end of docker buildx build", () => {
  it("is read as the step, its last lines and the message", () => {
    const text = `#5 [2/2] RUN busybox echo oops; exit 3
#5 0.055 oops
#5 ERROR: process "/bin/sh -c busybox echo oops; exit 3" did not complete successfully: exit code: 3
------
 > [2/2] RUN busybox echo oops; exit 3:
0.055 oops
------
Dockerfile:3
--------------------
   3 | >>> RUN busybox echo oops; exit 3
--------------------
ERROR: failed to solve: process "/bin/sh -c busybox echo oops; exit 3" did not complete successfully: exit code: 3`;
    expect(plainFailure(text.split("\n"))).toEqual({
      step: "[2/2] RUN busybox echo oops; exit 3",
      message:
        'failed to solve: process "/bin/sh -c busybox echo oops; exit 3" did not complete successfully: exit code: 3',
      lastLines: ["oops"],
    });
  });

  it("has no step when none is to blame", () => {
    expect(plainFailure(['ERROR: no builder "nope" found'])).toEqual({
      step: null,
      message: 'no builder "nope" found',
      lastLines: [],
    });
    expect(plainFailure([])).toMatchObject({ step: null, message: "no word of it" });
  });
});
