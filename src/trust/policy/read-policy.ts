/** Reads a policy from its file. Loads the reader of YAML. */

import { inputLimits } from "../../io/limits.ts";
import { readTextFile } from "../../io/files.ts";
import { parseTrustPolicy } from "./parse-policy.ts";
import type { TrustPolicy } from "./policy.ts";
import { requireSafe } from "../trusted-signers.ts";

/** Throws `FILE_NOT_FOUND`, `TRUST_POLICY` with every mistake, and `TRUST_UNSAFE` if another user than this one and root can change the file. */
export async function readTrustPolicy(file: string): Promise<TrustPolicy> {
  requireSafe(file);
  return parseTrustPolicy(await readTextFile(file, inputLimits.trustPolicy), file);
}
