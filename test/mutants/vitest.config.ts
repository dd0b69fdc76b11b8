import { defineConfig } from "vitest/config";

/** The tests of the rules alone: what other tests find by chance is no test of a rule. */
export default defineConfig({
  test: {
    include: [
      "test/resolve/**/*.test.ts",
      "test/facts/broken-states*.test.ts",
      "test/properties/oracle.test.ts",
    ],
    testTimeout: 60_000,
    isolate: false,
    maxWorkers: 1,
  },
});
