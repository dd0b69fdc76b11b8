/** Names the packages with GPU code that a package lacks for the cards of a host. */

import type { HostFacts } from "../facts/facts.ts";
import type { DevicePackage } from "../inspect/claims/claim-files.ts";

export function lackingDeviceNotes(lacking: readonly DevicePackage[], { amd }: HostFacts): readonly string[] {
  const targets = amd?.gpus.map(({ target }) => target) ?? [];
  const wanted = lacking.filter(({ target }) => targets.includes(target));
  return wanted.map(({ name, target }) => `lacks ${name}, its code for ${target}`);
}
