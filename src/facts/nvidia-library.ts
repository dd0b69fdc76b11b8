/** NVIDIA's kernel module and its library, as facts tell them. */

import { compareVersionTexts } from "../hardware/driver-version.ts";
import type { HostFacts } from "./facts.ts";
import { libraryMismatch } from "./host-problems.ts";

/** NVML refuses a kernel module and a library of two versions, whatever problems the facts name. */
export function withMismatch(facts: HostFacts): HostFacts {
  const { nvidia, problems } = facts;
  if (nvidia?.driver == null || nvidia.library === null || nvidia.starts === true) return facts;
  const { driver, library, driverScale = "linux", gpus } = nvidia;
  const isNumbered = driverScale === "linux" && !gpus.some((gpu) => gpu.class === "tegra");
  const found = libraryMismatch(driver, library);
  const isKnown = problems.some(({ code }) => code === found.code);
  return !isNumbered || isKnown || compareVersionTexts(driver, library) === 0
    ? facts
    : { ...facts, problems: [...problems, found] };
}
