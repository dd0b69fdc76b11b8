import { describe, expect, it } from "vitest";
import { plainFailure } from "../../../src/fleet/engines/docker-build.ts";

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

  it("of docker 20.10 has the step's last lines above", () => {
    const text = `#4 [1/3] RUN sleep 9
#5 0.100 beside
#6 [2/3] RUN make
#6 sha256:f862d6ddb9fefc888724b898fb96a09ef0712c1e7d020af2a8ce7ed3def60c9e
#6 0.229 cc: error
#4 CANCELED
#6 0.230 last words
#6 ERROR: executor failed running [/bin/sh -c make]: exit code: 2
#5 ERROR: context canceled
------
 > [2/3] RUN make:
------
executor failed running [/bin/sh -c make]: exit code: 2`;
    expect(plainFailure(text.split("\n"))).toEqual({
      step: "[2/3] RUN make",
      message: "executor failed running [/bin/sh -c make]: exit code: 2",
      lastLines: ["cc: error", "last words"],
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
