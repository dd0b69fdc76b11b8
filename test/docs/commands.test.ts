/**
 * Every command of the documentation runs, and prints what the page shows. `UPDATE_DOCS=1` writes what it printed into the
 * pages; shorten it with `…` afterwards. `<!-- not run: why -->` before a block leaves it out; `<!-- needs: buildx -->` skips it without buildx.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { pathWithBuildx, whyNoBuildxPlugin } from "../support/buildx.ts";
import { needs } from "../support/needs.ts";
import { isShown, runSteps, type Step, stepsOf } from "./support/console.ts";
import { type Block, blocksOf, type Page, readPages, root } from "./support/markdown.ts";
import { createWorkplace } from "./support/workplace.ts";

const workplace = createWorkplace();
afterAll(() => workplace.remove());

const isCommands = ({ language }: Block) => ["console", "sh", "bash"].includes(language);

describe.each(readPages().filter((page) => blocksOf(page).some(isCommands)))("$path", (page) => {
  for (const block of blocksOf(page).filter(isCommands)) {
    const title = `line ${block.line}: ${block.text.split("\n")[0]}`;
    const reason = block.notes.get("not run");
    if (reason !== undefined) {
      test(`${title} (not run: ${reason})`, () => {
        expect(reason.length, "say why it cannot run here").toBeGreaterThan(15);
        const covering = /test\/[\w/.-]+\.ts/.exec(reason)?.[0];
        if (covering !== undefined) readFileSync(join(root, covering));
      });
      continue;
    }
    const ofBuildx = block.notes.get("needs") === "buildx";
    test(title, needs(ofBuildx ? whyNoBuildxPlugin : null), () => {
      expect(block.language, "a block that is run shows its output: ```console").toBe("console");
      const steps = stepsOf(block.text);
      const cwd = workplace.folderOf(page.path, block.notes.get("in"));
      const { env } = workplace;
      const outputs = runSteps(steps, cwd, ofBuildx ? { ...env, PATH: pathWithBuildx(env.PATH) } : env);
      expect(outputs).toHaveLength(steps.length);
      if (process.env.UPDATE_DOCS && !matches(steps, outputs)) return update(page, block, steps, outputs);
      for (const [index, step] of steps.entries()) {
        const printed = outputs[index] ?? [];
        if (!isShown(step.shown, printed)) expect(printed, `$ ${step.command}`).toEqual(step.shown);
      }
    });
  }
});

function matches(steps: readonly Step[], outputs: readonly string[][]): boolean {
  return steps.every(({ shown }, index) => isShown(shown, outputs[index] ?? []));
}

function update({ path }: Page, block: Block, steps: readonly Step[], outputs: readonly string[][]): void {
  const lines = steps.flatMap(({ command }, index) => [
    `$ ${command.replaceAll("\n", "\n> ")}`,
    ...(outputs[index] ?? []),
  ]);
  const file = join(root, path);
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(block.text, () => lines.join("\n")),
  );
}
