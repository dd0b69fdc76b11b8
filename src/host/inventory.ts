/**
 * Reads the inventory of a machine without `/proc` from `systeminformation`. A file of its own, as the program's cached code imports no
 * package.
 */

import type { Inventory } from "./host-io.ts";

/** Rejects without the package. */
export async function readInventory(): Promise<Inventory> {
  const { default: system } = await import("systeminformation");
  const [cpu, os, graphics] = await Promise.all([system.cpu(), system.osInfo(), system.graphics()]);
  return {
    vendor: cpu.vendor || null,
    model: cpu.brand || null,
    flags: cpu.flags,
    kernel: os.kernel || null,
    gpus: graphics.controllers.map(({ vendor, model, driverVersion }) => ({
      vendor,
      name: model,
      driver: driverVersion ?? null,
    })),
  };
}
