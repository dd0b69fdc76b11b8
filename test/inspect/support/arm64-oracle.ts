/** Asks LLVM which AArch64 words it knows with and without a feature. */

import { spawnSync } from "node:child_process";
import { whyNot } from "../../support/programs.ts";

/** 14 is what Debian 12 calls LLVM; 22 knows extensions of ten years more, and the attribute `+all`. */
export type Llvm = "llvm-mc" | "llvm-mc-22";

export function whyNoLlvm(llvm: Llvm): string | null {
  return whyNot(llvm, ["--disassemble", "--triple=aarch64", "-"], {
    install: `apt-get install ${llvm === "llvm-mc" ? "llvm" : "llvm-22"}`,
    input: "0x1f 0x20 0x03 0xd5",
  });
}

/** For each word whether it is an instruction; `attributes` as `+all,-sve`. */
export function knownWords(
  words: Uint32Array,
  attributes: string,
  llvm: Llvm = "llvm-mc",
): readonly boolean[] {
  const text = [...words]
    .map((word) => [0, 8, 16, 24].map((shift) => `0x${((word >>> shift) & 0xff).toString(16)}`).join(" "))
    .join("\n");
  const run = spawnSync(llvm, ["--disassemble", "--triple=aarch64", `--mattr=${attributes}`, "-"], {
    input: text,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const wrong = new Set(
    [...run.stderr.matchAll(/^<stdin>:(\d+):\d+: warning/gm)].map((match) => Number(match[1]) - 1),
  );
  return [...words.keys()].map((index) => !wrong.has(index));
}
