/** What an image needs, from outside: one check for the lock, for the index and for the label of the image itself. */

import {
  anyText,
  type Check,
  checked,
  ifPresent,
  list,
  oneOf,
  orNull,
  shape,
  someText,
  variants,
} from "../io/checks.ts";
import { readJson } from "../io/json.ts";
import type { CpuRequirement, CudaRequirement, DriverRequirement, Requirement } from "./lock.ts";

export type ParsedRequirement =
  | { readonly ok: true; readonly requires: Requirement }
  /** What is wrong with the text, one line per mistake. */
  | { readonly ok: false; readonly mistakes: readonly string[] };

/**
 * Reads the value of the label `dev.imgmatch.requires`.
 *
 * @example
 * parseRequirement('{"cpu":{"march":"x86-64","features":["sse2"]},"cuda":null}');
 */
export function parseRequirement(text: string): ParsedRequirement {
  const json = readJson(text);
  if (!json.ok) return { ok: false, mistakes: [`it is ${json.fault}`] };
  const reading = checked(json.value, requirement, "it");
  return reading.ok ? { ok: true, requires: reading.value } : reading;
}

const names = list(anyText);

export const requirement: Check<Requirement> = shape({
  cpu: shape<CpuRequirement>({ march: someText, features: names }),
  kernel: ifPresent(someText),
  cuda: orNull(
    shape<CudaRequirement>({
      toolkit: someText,
      code: names,
      require: ifPresent(someText),
      driver: variants<DriverRequirement>("mode", {
        host: shape({ mode: oneOf("host"), minimum: someText }),
        bundled: shape({ mode: oneOf("bundled"), version: someText }),
        compat: shape({ mode: oneOf("compat"), package: someText, cuda: someText, branches: names }),
      }),
    }),
  ),
});
