/** Time that passes when a test says so, while sockets and files stay real: no busy machine makes it pass sooner. */

import { onTestFinished, vi } from "vitest";

/** Until the test ends. @returns lets so many milliseconds pass, in steps, and what lies in sockets arrive after each */
export function fakeTime(): (ms: number, stepMs: number) => Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  return async (ms, stepMs) => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      vi.advanceTimersByTime(stepMs);
      // A turn of the event loop for each hand that the bytes go through, and some to spare.
      for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done));
    }
  };
}
