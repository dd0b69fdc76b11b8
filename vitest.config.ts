import { defineConfig } from "vitest/config";
import { forgetTried } from "./test/support/programs.ts";
import { keepTogether } from "./test/support/temporary.ts";

forgetTried();
keepTogether();

/** These count what code costs, in steps, seconds or memory: each has a process of its own. */
const counted = [
  "test/hostile/memory.test.ts",
  "test/inspect/**/*.cost.test.ts",
  "test/inspect/image/archive-budget.test.ts",
  "test/properties/linear*.test.ts",
];
/** Half a minute or more each: compilers, emulators, shells, a browser, an installed package. */
const longUnit = [
  "test/cover/page/browser/**/*.test.ts",
  "test/docs/examples.test.ts",
  "test/execution/**/*.test.ts",
  "test/fleet/publish/publish-index.quirks.test.ts",
  "test/fleet/publish/publish-index.race.test.ts",
  "test/hardware/cpu-marches.agrees.test.ts",
  "test/hostile/faults/**/*.test.ts",
  "test/inspect/amd/code-object.agrees.test.ts",
  "test/inspect/cpu/cpu-need.wild.test.ts",
  "test/inspect/nvidia/cubin.agrees.test.ts",
  "test/inspect/measured-requirement.helper-code.test.ts",
  "test/lock/store/update-lock.test.ts",
  "test/node/launch/served-devices.agrees.test.ts",
  "test/node/sh/fleet-script.fixtures.agrees.test.ts",
  "test/node/sh/fleet-script.long-answers.test.ts",
  "test/node/sh/fleet-script.agrees.test.ts",
  "test/node/sh/fleet-script.states.agrees.test.ts",
  "test/node/sh/guard-script.agrees.test.ts",
  "test/package/**/*.test.ts",
  "test/third-vendor.test.ts",
  "test/trust/tuf-conformance.test.ts",
  "test/world/world.test.ts",
];
/** Of the end-to-end tests `npm test` takes the main path: build, push, publish, resolve, run, inspect. */
const quickE2e = ["inspect", "launch", "local-images", "publish", "registry"].map(
  (name) => `test/e2e/${name}.test.ts`,
);

// Four times what the slowest takes on an idle machine; a test that needs more says why.
const unit = { testTimeout: 60_000, hookTimeout: 60_000 };
/** A third of the time would go to loading the same modules for each file. */
const shared = { isolate: false };
/** On a slow machine CI has no time for all of them. */
const long = { runner: "./test/support/in-time.ts" };
const e2e = {
  testTimeout: 240_000,
  hookTimeout: 240_000,
  // One engine and one registry serve every file, so they run one after the other.
  fileParallelism: false,
  globalSetup: ["test/e2e/support/global-setup.ts"],
};

export default defineConfig({
  test: {
    // Many tests wait for a process, a clock or a disk: one worker for each core, and none kept back.
    maxWorkers: "100%",
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["text-summary", "html", "json-summary"],
    },
    // A busy machine needs more than the second that is the default.
    expect: { poll: { timeout: 20_000 } },
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
          exclude: ["test/e2e/**", ...counted, ...longUnit],
          ...unit,
          ...shared,
        },
      },
      { extends: true, test: { name: "e2e", include: quickE2e, ...e2e } },
      { extends: true, test: { name: "unit-long", include: longUnit, ...unit, ...shared, ...long } },
      { extends: true, test: { name: "unit-counted", include: counted, ...unit, ...long } },
      {
        extends: true,
        test: {
          name: "e2e-long",
          include: ["test/e2e/**/*.test.ts"],
          exclude: quickE2e,
          ...e2e,
          ...long,
        },
      },
    ],
  },
});
