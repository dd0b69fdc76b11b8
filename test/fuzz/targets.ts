/** What a coverage-guided fuzzer gives bytes to: each reader ends, or refuses with one of our own errors. */

import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { ImgmatchError } from "../../src/errors.ts";
import { problemCodes } from "../../src/problem-codes.ts";
import { mayBuildIn } from "../../src/fleet/init/build-programs.ts";
import { commandsOf } from "../../src/fleet/init/shell-words.ts";
import { brokenExpressions, partsOf, settled, textWith } from "../../src/fleet/init/workflow-expressions.ts";
import {
  parseSmiComplaint,
  parseSmiCsv,
  parseSmiHeader,
  parseSmiList,
} from "../../src/host/nvidia/nvidia-smi.ts";
import { memorySource } from "../../src/inspect/byte-source.ts";
import { archiveBudget } from "../../src/inspect/image/archive-budget.ts";
import { inspectContent } from "../../src/inspect/image/inspect-content.ts";
import { inspectLayer } from "../../src/inspect/image/layer.ts";
import { collect } from "../../src/inspect/image/opened-file.ts";
import { inspectFile } from "../../src/inspect/inspect-file.ts";
import { inThisThread } from "../../src/inspect/workers/file-inspector.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";

type Target = (bytes: Buffer) => unknown;

const contexts = { matrix: { a: "1", b: ["x", "y"] }, env: { HOME_OF: "a b" }, inputs: null };

async function* chunks(bytes: Buffer) {
  yield bytes.subarray(0, 700);
  yield bytes.subarray(700);
}

const archive =
  (name: string): Target =>
  (bytes) =>
    inspectContent(name, chunks(bytes), collect("file", inThisThread).sink, archiveBudget());

const targets = {
  elf: (bytes) => inspectFile(memorySource(bytes), false),
  fatbin: (bytes) => inspectFile(memorySource(bytes), true),
  ccob: (bytes) => inspectFile(memorySource(bytes), true),
  kpack: (bytes) => inspectFile(memorySource(bytes), true),
  zip: archive("x.whl"),
  tar: (bytes) => inspectLayer({ chunks: chunks(bytes), digest: null }, "layer 1"),
  lock: (bytes) => parseLock(bytes.toString(), "imgmatch.lock.json"),
  facts: (bytes) => {
    const text = formatHostFacts(parseHostFacts(bytes.toString(), "facts.json"));
    if (formatHostFacts(parseHostFacts(text, "facts.json")) !== text)
      throw new Error("the facts do not survive a file");
  },
  smi: (bytes) => {
    const text = bytes.toString();
    return [
      parseSmiCsv(text),
      parseSmiHeader(text),
      parseSmiList(text),
      parseSmiComplaint(text, "580.95.05", false),
    ];
  },
  words: (bytes) => [commandsOf(bytes.toString(), contexts), mayBuildIn(bytes.toString())],
  expressions: (bytes) => {
    const text = bytes.toString();
    return [partsOf(text), textWith(text, contexts), settled(text, contexts), brokenExpressions(text)];
  },
} satisfies Record<string, Target>;

/** Anything that is no refusal of ours is a crash. */
export const { elf, fatbin, ccob, kpack, zip, tar, lock, facts, smi, words, expressions } =
  Object.fromEntries(
    Object.entries(targets).map(([name, target]) => [
      name,
      async (bytes: Buffer) => {
        try {
          await target(bytes);
        } catch (error) {
          if (!(error instanceof ImgmatchError) || !Object.hasOwn(problemCodes, error.code)) throw error;
        }
      },
    ]),
  ) as Record<keyof typeof targets, (bytes: Buffer) => Promise<void>>;
