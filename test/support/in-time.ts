/** Runs tests until `IMGMATCH_UNTIL`, in seconds since 1970: what has not begun by then is skipped, and stands in the list of skips. */

import type { Suite, Task } from "@vitest/runner";
import { TestRunner } from "vitest";

const isLate = () => Date.now() > Number(process.env.IMGMATCH_UNTIL ?? Number.POSITIVE_INFINITY) * 1000;

export default class InTime extends TestRunner {
  override onBeforeRunSuite(suite: Suite): Promise<void> {
    // A group that does not begin prepares nothing.
    if (isLate()) for (const hooks of Object.values(TestRunner.getSuiteHooks(suite))) hooks.length = 0;
    return super.onBeforeRunSuite(suite);
  }

  override onBeforeRunTask(test: Task): Promise<void> {
    if (isLate() && test.mode === "run") {
      const meta = { ...test.meta, missing: "no time was left" };
      Object.assign(test, { mode: "skip", meta, result: { state: "skip" } });
    }
    return super.onBeforeRunTask(test as never);
  }
}
