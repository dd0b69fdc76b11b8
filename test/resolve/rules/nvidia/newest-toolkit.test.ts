/** The newest toolkit of a driver: its CUDA version, its floor, and the GPUs decide. */

import { expect, it } from "vitest";
import type { DriverScale } from "../../../../src/facts/facts.ts";
import { viewHost } from "../../../../src/resolve/host-view.ts";
import { newestToolkit } from "../../../../src/resolve/rules/nvidia/newest-toolkit.ts";
import { gpu, gpuHost } from "../../support/hosts.ts";

it.each<
  readonly [driver: string | null, cuda: string | null, DriverScale, computes: string, toolkit: string | null]
>([
  ["580.95.05", "13.0", "linux", "9.0", "13.0"],
  [null, "13.0", "linux", "9.0", null],
  ["430.10", null, "linux", "7.0", null],
  ["525.60.13", "12.0", "linux", "8.0", "12.0"],
  ["520.61.05", "12.8", "linux", "8.0", "11.8"],
  ["540.4.0", "13.0", "l4t", "8.7", "13.0"],
  ["580.95.05", "13.0", "linux", "3.7 9.0", "11.8"],
  ["580.95.05", "13.0", "linux", "9.0 ?", null],
  ["580.95.05", "13.0", "linux", "3.7 10.0", null],
])("driver %s, CUDA %s, %s, GPUs %s: %s", (driver, cuda, driverScale, computes, toolkit) => {
  const gpus = computes.split(" ").map((each) => gpu({ compute: each === "?" ? null : each }));
  const { nvidia } = viewHost(gpuHost(gpus, driver, cuda, { nvidiaChange: { driverScale } }));
  expect(nvidia && newestToolkit(nvidia)).toBe(toolkit);
});
