/** Ends every run with the list of what it skipped; a skip without a reason fails it. */

import { relative } from "node:path";
import type { Reporter, TestModule, TestSuite, Vitest } from "vitest/node";
import { describeSkipped, type SkippedTest } from "./skipped.ts";

export default class SkipReporter implements Reporter {
  #root = process.cwd();
  /** `-t` and `file:line` leave tests out because somebody asked for others. */
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
    this.#isFiltered =
      vitest.config.testNamePattern !== undefined || process.argv.some((word) => /\.ts:\d+$/.test(word));
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) => skippedIn(module, relative(this.#root, module.moduleId)));
    const listed = this.#isFiltered ? skipped.filter(({ why }) => why !== null) : skipped;
    if (listed.length > 0) console.log(["", ...describeSkipped(listed), ""].join("\n"));
    if (listed.some(({ why }) => why === null)) process.exitCode = 1;
  }
}

function skippedIn(module: TestModule, file: string): readonly SkippedTest[] {
  const tests = [...module.children.allTests()].flatMap((test): SkippedTest[] => {
    const result = test.result();
    if (result.state !== "skipped") return [];
    return [{ file, why: test.meta().missing ?? result.note ?? null }];
  });
  // A group whose tests are made from what is missing has none: it counts as one.
  const groups = [...module.children.allSuites()].filter(isEmpty).flatMap((suite): SkippedTest[] => {
    const why = suite.meta().missing;
    return why === undefined ? [] : [{ file, why }];
  });
  return [...tests, ...groups];
}

function isEmpty(suite: TestSuite): boolean {
  return suite.children.size === 0;
}
