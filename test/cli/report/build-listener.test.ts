/** The output of a running build: on a terminal, in a log, with --progress. */

import { describe, expect, test, vi } from "vitest";
import type { BuildEvent, BuiltCell } from "../../../src/fleet/engines/built-cell.ts";
import type { SummaryEvent } from "../../../src/fleet/run/build-events.ts";
import type { ProgressName } from "../../../src/cli/flags/fleet-options.ts";
import { annotating, buildReporters, failuresByCause } from "../../../src/cli/report/build-reporters.ts";
import { buildMarkdown } from "../../../src/cli/report/build-markdown.ts";
import { junitText } from "../../../src/cli/report/junit.ts";
import { styleFor } from "../../../src/cli/report/style.ts";
import { listenerFor } from "../../../src/cli/report/build-listener.ts";
import type { CommandContext } from "../../../src/cli/command.ts";
import type { PlanJson } from "../../../src/fleet/plan/plan-json.ts";
import {
  keptLines,
  progressLines,
  readLine,
  type RunningCell,
} from "../../../src/cli/report/running-cells.ts";
import { terminalText } from "../../../src/cli/report/terminal-text.ts";

const counts = { build: 2 } as PlanJson["counts"];
const summary = { type: "summary", schemaVersion: 1, adopted: 0, interrupted: 0, kept: 0 } as const;
const start = (cell: string): BuildEvent => ({ type: "start", cell, log: "log" });
const log = (cell: string, line: string): BuildEvent => ({ type: "log", cell, line });
const problems = [{ code: "BUILD_FAILED", message: "no luck" }] as const;
const failed = (cell: string) => ({ status: "failed", cell, problems, log: null, durationMs: 1 }) as const;
const built = (cell: string): BuiltCell => ({
  status: "built",
  cell,
  inputDigest: `sha256:${"a".repeat(64)}`,
  how: "built",
  differs: false,
  digest: null,
  manifest: null,
  blobs: null,
  buildMs: null,
  image: null,
  measured: null,
  warnings: [],
  log: null,
  durationMs: 1000,
});

/** The output of a build with two cells, one of which may fail. */
function shown(
  progress: ProgressName,
  {
    animated = false,
    env = {},
    fails = false,
  }: { animated?: boolean; env?: NodeJS.ProcessEnv; fails?: boolean } = {},
): string {
  let text = "";
  const terminal = {
    animated,
    interactive: false,
    columns: 60,
    width: Number.POSITIVE_INFINITY,
    color: { out: false, err: false },
  };
  const err = (part: string) => {
    text += terminalText(part);
  };
  const context = { err, out: err, env, terminal, takeSignals: () => {} } as unknown as CommandContext;
  const tell = listenerFor({ progress }, context, { summary: false });
  const results = [built("a"), fails ? failed("b") : built("b")] as const;
  tell({ type: "plan", counts });
  tell(start("a"));
  tell(log("a", "#3 [2/2] RUN make"));
  tell(log("a", "#3 \u001b[32mcc\u001b[0m -O3 app.c"));
  tell(start("b"));
  tell({ type: "done", ...results[0] });
  if (results[1].status === "failed") tell({ type: "failed", ...results[1] });
  else tell({ type: "done", ...results[1] });
  tell({ ...summary, results, built: fails ? 1 : 2, failed: fails ? 1 : 0 } satisfies SummaryEvent);
  return text;
}

describe("--progress", () => {
  test("auto is one line for each thing that happens to a cell, without what steps print, in a log", () => {
    expect(shown("auto")).toBe(
      "[0/2] build  a\n[0/2] build  b\n[1/2] done   a  built  1.0 s\n[2/2] done   b  built  1.0 s\n2 built\n",
    );
    expect(shown("auto", { env: { GITHUB_ACTIONS: "true" }, animated: true })).toBe(shown("auto"));
  });

  test("plain has what steps print, each line behind its cell", () => {
    expect(shown("plain").split("\n").slice(0, 3)).toEqual([
      "[0/2] build  a",
      "a: #3 [2/2] RUN make",
      "a: #3 \\u001b[32mcc\\u001b[0m -O3 app.c",
    ]);
  });

  test("quiet says nothing of what succeeds, and why the rest fails", () => {
    expect(shown("quiet")).toBe("");
    expect(shown("quiet", { fails: true })).toBe("b:\nBUILD_FAILED: no luck\n1 built, 1 failed\n");
  });

  test("keeps annotations on GitHub, whatever people see", () => {
    for (const progress of ["auto", "plain", "quiet"] as const)
      expect(shown(progress, { env: { GITHUB_ACTIONS: "true" }, fails: true })).toContain(
        "::error title=b%3A BUILD_FAILED::no luck\n",
      );
  });

  test("tty, and auto on a terminal, show what a running cell prints, and leave only results behind", () => {
    vi.useFakeTimers();
    try {
      const text = shown("tty");
      expect(shown("auto", { animated: true })).toBe(text);
      // The second cell began: what the first prints is drawn then.
      expect(text).toContain("0/2 done, 2 running");
      expect(text).toContain("\n    [2/2] RUN make (0 s)\n      cc -O3 app.c\n");
      expect(onScreen(text)).toEqual(["done   a  built  1.0 s", "done   b  built  1.0 s", "2 built", ""]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("is for people: not with --json", () => {
    const made = (progress: ProgressName) =>
      listenerFor({ json: true, progress }, {} as CommandContext, { summary: false });
    expect(() => made("plain")).toThrow(/--json and --progress/);
    expect(() => made("auto")).not.toThrow();
  });
});

/** The lines that a terminal shows in the end (ECMA-48: CR, EL, CUU and newlines). */
function onScreen(text: string): string[] {
  const lines = [""];
  let at = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what a terminal acts on
  for (const part of text.split(/(\r\u001b\[K|\u001b\[A|\n)/)) {
    if (part === "\r\u001b[K") lines[at] = "";
    else if (part === "\u001b[A") at--;
    else if (part === "\n") lines[++at] ??= "";
    else lines[at] += part;
  }
  return lines.slice(0, at + 1);
}

describe("failures of one cause", () => {
  const because = (cell: string, step: string, said: string) => ({
    ...failed(cell),
    problems: [
      {
        code: "BUILD_FAILED",
        message: `${cell}: step ${step} failed: exit code: 2`,
        details: ["    cc -O3", said],
      },
    ] as const,
    log: `/logs/${cell}.log`,
  });
  const many = Array.from({ length: 63 }, (_, index) =>
    because(`8.${index}_v${index % 4}`, "[2/3] RUN make", `    app.c:12: error of 8.${index}_v${index % 4}`),
  );
  const results = [...many, because("other", "[3/3] RUN make test", "    1 test failed")];
  const event: SummaryEvent = { ...summary, results, built: 0, failed: 64 };

  test("are told once, with all names, also as annotations and Markdown", () => {
    let text = "";
    const options = {
      write: (part: string) => (text += part),
      style: styleFor(false),
      total: 64,
      columns: 80,
      clock: () => 0,
    };
    annotating(buildReporters.plain(options), options)(event);
    const shown = terminalText(text, {});
    expect(shown.match(/^BUILD_FAILED: /gm)).toHaveLength(2);
    expect(shown).toContain(`63 cells: ${many.map(({ cell }) => cell).join(", ")}:\n`);
    expect(
      shown.match(/^::error title=63 cells%3A 8\.0_v0%2C 8\.1_v1%2C 8\.2_v2 …%3A BUILD_FAILED::/gm),
    ).toHaveLength(1);
    expect(shown.match(/^::error /gm)).toHaveLength(2);
    const answer = {
      schemaVersion: 1,
      results,
      kept: 3,
      signatures: null,
      index: null,
      variants: [],
    } as const;
    const markdown = buildMarkdown("matrix.yaml", answer);
    expect(markdown[2]).toBe("0 built, 0 adopted, 64 failed, 0 not done, 3 kept.");
    expect(markdown.filter((line) => line.startsWith("| BUILD"))).toHaveLength(2);
  });

  test("are told once for cells whose steps differ in the values of axes, and apart where the cures do", () => {
    const marches = ["haswell", "broadwell", "skylake", "znver2", "znver3", "icelake-server", "ivybridge"];
    const cells = ["sandybridge", "nehalem", "westmere", ...marches].map((march) =>
      because(`12.8.1_9.0_${march}`, `[2/2] RUN cc -march=${march} a.c`, "    a.c:1: no such file"),
    );
    const lacking = ["znver6", "novalake"].map((march) => {
      const cell = because(`12.8.1_9.0_${march}`, `[2/2] RUN cc -march=${march} a.c`, "    bad value");
      return {
        ...cell,
        problems: [{ ...cell.problems[0], fix: `the first compilers with ${march}` }] as const,
      };
    });
    const groups = failuresByCause([...cells, ...lacking]);
    expect(groups.map((alike) => alike.map(({ cell }) => cell))).toEqual([
      cells.map(({ cell }) => cell),
      ...lacking.map(({ cell }) => [cell]),
    ]);
  });

  test("are a case each in JUnit", () => {
    const xml = junitText({
      suite: "a<b>",
      results: [built("a"), ...results, { status: "interrupted", cell: "c" }],
      problems,
    });
    expect(xml).toContain('<testsuite name="a&lt;b&gt;" tests="67" failures="64" errors="1" skipped="1">');
    expect(xml).toContain('<testcase classname="a&lt;b&gt;" name="a" time="1.000"></testcase>');
    expect(xml).toMatch(
      /name="other" time="0\.001"><failure type="BUILD_FAILED" message="other: step \[3\/3\][^>]*>.*\n.*cc -O3\n.*1 test failed<\/failure><system-out>log: \/logs\/other\.log</,
    );
    expect(xml).toContain('name="c"><skipped message="not done"/>');
    expect(xml).toContain('name="BUILD_FAILED"><error type="BUILD_FAILED" message="no luck">');
  });
});

describe("the lines of running cells", () => {
  const running = (count: number) =>
    new Map(
      Array.from({ length: count }, (_, index) => [
        `cell-${index}`,
        { since: 0, steps: new Map(), lines: Array.from({ length: keptLines }, (_, line) => `line ${line}`) },
      ]),
    );
  const shape = { total: 20, done: 1, failed: 0, started: 0, now: 61_000, columns: 40 };

  test.each([1, 2, 4, 9, 15])("of %i are no more than fit", (count) => {
    const lines = progressLines({ ...shape, running: running(count) });
    expect(lines[0]).toBe(`1/20 done, ${count} running, 0 failed, 1:01`);
    expect(lines.length).toBeLessThanOrEqual(keptLines + 1);
    expect(lines.join("\n")).toContain("line 8");
  });

  test("are never wider than the terminal, and hold nothing that moves its cursor", () => {
    const wide = new Map([
      [
        "cell",
        { since: 0, steps: new Map(), lines: ["x".repeat(100), "字".repeat(50), "a\tb\u001b[2Jc\rd"] },
      ],
    ]);
    const lines = progressLines({ ...shape, running: wide });
    const width = (line: string) => [...line].reduce((sum, one) => sum + (one === "字" ? 2 : 1), 0);
    for (const line of lines) expect(width(line)).toBeLessThan(40);
    expect(lines.at(-1)).toBe("      a bc\\u000dd");
  });

  test("have each running step with its time, and no step that ended", () => {
    const cell: RunningCell = { since: 0, steps: new Map(), lines: [] };
    const shown = () => progressLines({ ...shape, columns: 60, running: new Map([["cell", cell]]) }).slice(2);
    const said = [
      ...["#1 [internal] load build definition from Dockerfile", "#1 DONE 0.1s"],
      ...["#5 [build 2/3] RUN make", "#5 0.312 cc -c a.c", "#6 [get 2/2] RUN curl", "#5 ..."],
      ...["#6 CACHED", "#7 [get 3/3] RUN tar", "#5 [build 2/3] RUN make", "#5 4.001 cc -c b.c"],
    ];
    for (const [second, line] of said.entries()) readLine(cell, line, second * 1000);
    expect(shown()).toEqual([
      "    [build 2/3] RUN make (59 s)",
      "    [get 3/3] RUN tar (54 s)",
      "      cc -c a.c",
      "      cc -c b.c",
    ]);
    // As Podman has it.
    readLine(cell, "[2/2] STEP 3/4: RUN make install", 60_000);
    readLine(cell, "done", 60_000);
    expect(shown()).toEqual([
      "    [2/2] STEP 3/4: RUN make install (1 s)",
      "      cc -c a.c",
      "      cc -c b.c",
      "      done",
    ]);
    const many = new Map(Array.from({ length: 9 }, (_, index) => [`c${index}`, cell]));
    expect(progressLines({ ...shape, columns: 80, running: many })[1]).toBe(
      "  c0 (61 s)  [2/2] STEP 3/4: RUN make install (1 s)  done",
    );
  });
});
