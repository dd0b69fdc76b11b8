/**
 * Cures by NVIDIA's container toolkit, whose versions differ in options. Source: nvidia-container-toolkit, CHANGELOG.md and `internal/config`.
 */

import { compareVersionTexts } from "../hardware/driver-version.ts";
import type { RuntimeFacts } from "./facts.ts";

const generate = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml";
const refresh = "systemctl restart nvidia-cdi-refresh";

/** True, false, or null for an unknown version. */
function isBefore(toolkit: string | undefined, version: string): boolean | null {
  return toolkit === undefined ? null : compareVersionTexts(toolkit, version) < 0;
}

/**
 * Has a CDI specification of this host's driver written. From 1.18 on a service keeps a specification in /var/run/cdi, and /var/run/cdi wins over
 * /etc/cdi (NVIDIA, "Support for Container Device Interface").
 *
 * @param toolkit null for a host without one, undefined for an unknown version
 */
export function specificationCure(toolkit: string | null | undefined): string {
  if (toolkit === null)
    return `install the NVIDIA Container Toolkit: from 1.18 on its service nvidia-cdi-refresh writes the CDI specification, before that ${generate}`;
  if (isBefore(toolkit, "1.12") === true)
    return `update the NVIDIA Container Toolkit ${toolkit} to 1.12 or newer, and run ${generate}`;
  switch (isBefore(toolkit, "1.18")) {
    case null:
      return `${generate} (toolkit 1.12 to 1.17; from 1.18 on: ${refresh})`;
    case true:
      return generate;
    case false:
      return `${refresh}, and remove what an older toolkit wrote into /etc/cdi`;
  }
}

export interface PackageCures {
  /** Puts an image's forward-compatibility package before the host's library. */
  readonly load: string;
  readonly leave: string;
}

/** 1.17.4 stops mounting the package, 1.17.5 brings the hook, 1.17.7 the option `cuda-compat-mode`, 1.18 disables hooks of specifications. */
export function packageCures({ nvidia, toolkit }: Pick<RuntimeFacts, "nvidia" | "toolkit">): PackageCures {
  const update = (to: string) => `update the NVIDIA Container Toolkit ${toolkit} to ${to} or newer`;
  const option = (mode: string) => `set cuda-compat-mode = "${mode}" in the container toolkit's config.toml`;
  const hook = "disable-cuda-compat-lib-hook";
  const write = `write the CDI specification again, with the hook enable-cuda-compat: ${specificationCure(toolkit)}`;
  const without = `write the CDI specification without the hook: NVIDIA_CTK_CDI_GENERATE_DISABLED_HOOKS=enable-cuda-compat in /etc/nvidia-container-toolkit/nvidia-cdi-refresh.env, then ${refresh}`;
  if (nvidia === "cdi")
    return {
      load: isBefore(toolkit, "1.17.5") === true ? `${update("1.17.5")}, and ${write}` : write,
      leave: isBefore(toolkit, "1.18") === true ? `${update("1.18")}, and ${without}` : without,
    };
  if (toolkit === undefined)
    return {
      load: `${option("ldconfig")} (1.17.7 or newer)`,
      leave: `${option("disabled")} (1.17.7 or newer)`,
    };
  if (isBefore(toolkit, "1.17.5") === true)
    return { load: update("1.17.7"), leave: `${update("1.17.7")}, and ${option("disabled")}` };
  if (isBefore(toolkit, "1.17.7") === true)
    return {
      load: `remove ${hook} from the container toolkit's config.toml`,
      leave: `set ${hook} = true in the features of the container toolkit's config.toml`,
    };
  // From 1.18 on the runtime hands over by CDI, and takes the hook unless the feature says no.
  const isNew = isBefore(toolkit, "1.18") === false;
  return {
    load: `${option("ldconfig")}${isNew ? `, and remove ${hook}` : ""}`,
    leave: `${option("disabled")}${isNew ? `, and ${hook} = true in its features` : ""}`,
  };
}
