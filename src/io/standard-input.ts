/** Standard input, to its end. */

import { inputLimits, inputTooLarge } from "./limits.ts";

/** Throws `INPUT_TOO_LARGE` beyond what a list of hosts may have. */
export async function readStandardInput(): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Uint8Array);
    size += (chunk as Uint8Array).length;
    if (size > inputLimits.facts.bytes)
      throw inputTooLarge(inputLimits.facts, null, { file: "standard input" });
  }
  return Buffer.concat(chunks).toString("utf8");
}
