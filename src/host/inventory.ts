/** The answers of `systeminformation` about a machine without `/proc`. */

import type { Inventory } from "./host-io.ts";

/** null when the package is not there or fails. */
export async function readInventory(): Promise<Inventory | null> {
  try {
    const { default: system } = await import("systeminformation");
    const [cpu, os, graphics] = await Promise.all([system.cpu(), system.osInfo(), system.graphics()]);
    return {
      vendor: cpu.vendor === "" ? null : cpu.vendor,
      model: cpu.brand === "" ? null : cpu.brand,
      flags: cpu.flags,
      kernel: os.kernel === "" ? null : os.kernel,
      gpus: graphics.controllers.map(({ vendor, model, driverVersion }) => ({
        vendor,
        name: model,
        driver: driverVersion ?? null,
      })),
    };
  } catch {
    return null;
  }
}
