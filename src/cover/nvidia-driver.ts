/** A host under another NVIDIA driver. */

import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import type { HostFacts } from "../facts/facts.ts";
import { viewHost } from "../resolve/host-view.ts";

/**
 * Replaces the versions of driver, library and CUDA. Hosts without a driver, broken hosts, WSL and Jetson, whose drivers count
 * otherwise, stay as they are.
 */
export function withDriver(facts: HostFacts, driver: string): HostFacts {
  const { nvidia } = facts;
  if (nvidia == null || nvidia.driver === null) return facts;
  if (viewHost(facts).nvidia?.driverScale !== "linux") return facts;
  const library = nvidia.library === null ? null : driver;
  return { ...facts, nvidia: { ...nvidia, driver, library, cuda: cudaOfDriver(driver) } };
}
