/** The brand of a GPU as `NVIDIA_REQUIRE_CUDA` spells it: the names of NVML's brand enumeration. */

import { type DriverVersion, driverBranch } from "../hardware/driver-version.ts";
import type { GpuFacts } from "../host/facts.ts";

/**
 * Facts carry no brand, so it is read from the product's name; null where name and driver do not settle it.
 * Data-centre cards were `Tesla` and became `NVIDIA`: drivers up to R440 print the first, from R515 on the second
 * (`product_brand` in nvidia-smi's XML of a Tesla T4, an A10G, an A100 and an H100), between them it is not known.
 */
export function brandOf(gpu: Pick<GpuFacts, "name" | "class">, driver: DriverVersion | null): string | null {
  const name = gpu.name?.replace(/^NVIDIA\s+/i, "") ?? "";
  const named = brandsByName.find(([pattern]) => pattern.test(name));
  if (named !== undefined) return named[1];
  if (gpu.class !== "datacenter" || driver === null) return null;
  const branch = driverBranch(driver);
  if (branch <= 440) return "tesla";
  return branch >= 515 ? "nvidia" : null;
}

/** Source: `product_brand` beside `product_name` in captured nvidia-smi XML (RTX 3090, RTX 4000 SFF Ada, Quadro P2000). */
export const brandsByName: readonly (readonly [RegExp, string])[] = [
  [/^GeForce\b/i, "geforce"],
  [/^TITAN\b/i, "titan"],
  [/^Quadro RTX\b/i, "quadrortx"],
  [/^Quadro\b/i, "quadro"],
  [/^RTX\b/i, "nvidiartx"],
  [/^NVS\b/i, "nvs"],
];
