import { defineConfig } from "vitest/config";
import { forgetTried } from "./test/support/programs.ts";

forgetTried();

export default defineConfig({
  test: {
    // Many tests wait for a process, a clock or a disk: one worker for each core, and none kept back.
    maxWorkers: "100%",
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["text-summary", "html", "json-summary"],
    },
    reporters: [
      "default",
      ...(process.env.GITHUB_ACTIONS ? ["github-actions"] : []),
      "./test/support/skip-reporter.ts",
    ],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**"],
          // Four times what the slowest takes on an idle machine; a test that needs more says why.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // One engine and one registry serve every file, so they run one after the other.
          fileParallelism: false,
          globalSetup: ["test/e2e/support/global-setup.ts"],
        },
      },
    ],
  },
});
