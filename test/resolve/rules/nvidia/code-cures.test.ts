/** Cures by other GPU code: one cell for all GPUs, the GPUs that the image serves, or a cell for as many as one toolkit compiles for. */

import { expect, it } from "vitest";
import type { DriverScale } from "../../../../src/facts/facts.ts";
import { viewHost } from "../../../../src/resolve/host-view.ts";
import { codeCures } from "../../../../src/resolve/rules/nvidia/code-cures.ts";
import type { Cure } from "../../../../src/resolve/verdict.ts";
import { gpu, gpuHost } from "../../support/hosts.ts";

interface Asked {
  readonly driver: string | null;
  /** Compute capabilities; `?` is unknown. */
  readonly computes: string;
  readonly toolkit: string;
  /** Indexes of the GPUs that run the image. */
  readonly served?: readonly number[];
  readonly scale?: DriverScale;
  /** The CUDA version that the driver reports. */
  readonly cuda?: string;
}

it.each<readonly [why: string, Asked, readonly Cure[]]>([
  [
    "its own toolkit compiles for all",
    { driver: "580.95.05", computes: "9.0 8.0 9.0", toolkit: "12.8.1" },
    [
      {
        text: 'add a cell with compute=["8.0", "9.0"]',
        remedy: { kind: "cell", axes: { compute: "8.0+9.0" } },
        adopted: "adopt an image with code for compute capability 8.0 and 9.0",
      },
    ],
  ],
  [
    "nobody knows card and toolkit",
    { driver: "700.10", computes: "9.0 14.0", toolkit: "12.x" },
    [
      {
        text: 'add a cell with compute=["9.0", "14.0"]',
        remedy: { kind: "cell", axes: { compute: "9.0+14.0" } },
        adopted: "adopt an image with code for compute capability 9.0 and 14.0",
      },
    ],
  ],
  [
    "a card is unknown, so nobody knows whether that cell is enough",
    { driver: null, computes: "9.0 ?", toolkit: "12.8.1" },
    [
      {
        text: "add compute=9.0 to the image's cell",
        remedy: null,
        adopted: "adopt an image with code for compute capability 9.0",
      },
    ],
  ],
  [
    "the same with another toolkit",
    { driver: null, computes: "12.1 ?", toolkit: "12.8.1" },
    [
      {
        text: "add a cell with compute=12.1 and CUDA 12.9 or newer: CUDA 12.8.1 does not compile for it",
        remedy: null,
        adopted: "adopt an image of CUDA 12.9 or newer, the first for compute capability 12.1",
      },
    ],
  ],
  [
    "newer toolkits compile for all, and two GPUs are served",
    { driver: "580.95.05", computes: "9.0 8.9 8.6 8.0", toolkit: "11.4.0", served: [2, 3] },
    [
      {
        text: 'add a cell with compute=["8.0", "8.6", "8.9", "9.0"] and CUDA 11.8 or newer: CUDA 11.4.0 does not compile for 8.9 and 9.0',
        remedy: { kind: "cell", axes: { cuda: "13.5", compute: "8.0+8.6+8.9+9.0" } },
        adopted:
          "adopt an image of CUDA 11.8 or newer, the first for compute capability 8.0 and 8.6 and 8.9 and 9.0",
      },
      { text: "choose the GPUs --gpus 2,3", remedy: { kind: "gpus", gpus: [2, 3] } },
    ],
  ],
  [
    "older toolkits compile for a card that is dropped",
    { driver: "580.95.05", computes: "7.0", toolkit: "13.0.2" },
    [
      {
        text: "add a cell with compute=7.0 and CUDA 9.0 to 12.9: CUDA 13.0.2 does not compile for it",
        remedy: { kind: "cell", axes: { cuda: "12.9", compute: "7.0" } },
        adopted: "adopt an image of CUDA 12: compute capability 7.0 ends with CUDA 12",
      },
    ],
  ],
  [
    "some between compile for old and new",
    { driver: "580.95.05", computes: "7.0 12.0", toolkit: "13.0.2" },
    [
      {
        text: 'add a cell with compute=["7.0", "12.0"] and CUDA 12.8 to 12.9: CUDA 13.0.2 does not compile for 7.0',
        remedy: { kind: "cell", axes: { cuda: "12.9", compute: "7.0+12.0" } },
        adopted: "adopt an image of CUDA 12.8 to 12.9, the first for compute capability 7.0 and 12.0",
      },
    ],
  ],
  [
    "each needs a newer driver",
    { driver: "550.54.15", computes: "10.7", toolkit: "12.8.1" },
    [
      {
        text: "add a cell with compute=10.7 and CUDA 13.4 (driver >= 580.65.06): CUDA 12.8.1 does not compile for it",
        remedy: null,
        adopted: "adopt an image of CUDA 13.4 (driver >= 580.65.06), the first for compute capability 10.7",
      },
    ],
  ],
  [
    "the driver is the floor of one",
    { driver: "525.60.13", computes: "12.1", toolkit: "12.8.1" },
    [
      {
        text: "add a cell with compute=12.1 and CUDA 12.9: CUDA 12.8.1 does not compile for it",
        remedy: { kind: "cell", axes: { cuda: "12.9", compute: "12.1" } },
        adopted: "adopt an image of CUDA 12.9, the first for compute capability 12.1",
      },
    ],
  ],
  [
    "a driver of the branch of the floor that is older than the floor",
    { driver: "525.60.11", computes: "12.1", toolkit: "12.8.1" },
    [
      {
        text: "add a cell with compute=12.1 and CUDA 12.9 (driver >= 525.60.13): CUDA 12.8.1 does not compile for it",
        remedy: null,
        adopted: "adopt an image of CUDA 12.9 (driver >= 525.60.13), the first for compute capability 12.1",
      },
    ],
  ],
  [
    "the driver of a Jetson, by its CUDA version",
    { driver: "540.4.0", computes: "8.7", toolkit: "11.2.2", scale: "l4t", cuda: "12.6" },
    [
      {
        text: "add a cell with compute=8.7 and CUDA 11.4 to 12.9: CUDA 11.2.2 does not compile for it",
        remedy: { kind: "cell", axes: { cuda: "12.9", compute: "8.7" } },
        adopted: "adopt an image of CUDA 11.4 to 12.9, the first for compute capability 8.7",
      },
    ],
  ],
  [
    "the driver of a Jetson whose CUDA version is not known",
    { driver: "540.4.0", computes: "8.7", toolkit: "11.2.2", scale: "l4t" },
    [
      {
        text: "add a cell with compute=8.7 and CUDA 11.4 (a driver with CUDA >= 11.0): CUDA 11.2.2 does not compile for it",
        remedy: null,
        adopted:
          "adopt an image of CUDA 11.4 (a driver with CUDA >= 11.0), the first for compute capability 8.7",
      },
    ],
  ],
  [
    "under WSL each needs a newer driver",
    { driver: "551.78", computes: "11.0", toolkit: "12.8.1", scale: "wsl", cuda: "12.4" },
    [
      {
        text: "add a cell with compute=11.0 and CUDA 13.0 (a driver with CUDA >= 13.0): CUDA 12.8.1 does not compile for it",
        remedy: null,
        adopted:
          "adopt an image of CUDA 13.0 (a driver with CUDA >= 13.0), the first for compute capability 11.0",
      },
    ],
  ],
  [
    "under WSL a driver of the first CUDA version of the major",
    { driver: "527.41", computes: "12.1", toolkit: "12.8.1", scale: "wsl", cuda: "12.0" },
    [
      {
        text: "add a cell with compute=12.1 and CUDA 12.9: CUDA 12.8.1 does not compile for it",
        remedy: { kind: "cell", axes: { cuda: "12.9", compute: "12.1" } },
        adopted: "adopt an image of CUDA 12.9, the first for compute capability 12.1",
      },
    ],
  ],
  [
    "none compiles for all, and one GPU is served",
    { driver: "580.95.05", computes: "3.7 10.0", toolkit: "13.0.2", served: [1] },
    [{ text: "choose GPU 1 (--gpus device=1)", remedy: { kind: "gpus", gpus: [1] } }],
  ],
  [
    "none compiles for all: the newest",
    { driver: "580.95.05", computes: "10.0 ? 3.7", toolkit: "12.8.1" },
    [
      {
        text: "add a cell with compute=10.0 and CUDA 12.8 or newer, and choose GPU 0 (--gpus device=0): no toolkit compiles for all",
        remedy: { kind: "cell", axes: { cuda: "13.5", compute: "10.0" }, gpus: [0] },
        adopted:
          "adopt an image of CUDA 12.8 or newer, the first for compute capability 10.0, and choose GPU 0 (--gpus device=0)",
      },
    ],
  ],
  [
    "none compiles for all: the most",
    { driver: "580.95.05", computes: "3.5 3.7 10.0", toolkit: "13.0.2" },
    [
      {
        text: 'add a cell with compute=["3.5", "3.7"] and CUDA 7.0 to 11.8, and choose the GPUs --gpus 0,1: no toolkit compiles for all',
        remedy: { kind: "cell", axes: { cuda: "11.8", compute: "3.5+3.7" }, gpus: [0, 1] },
        adopted:
          "adopt an image of CUDA 7.0 to 11.8, the first for compute capability 3.5 and 3.7, and choose the GPUs --gpus 0,1",
      },
    ],
  ],
  [
    "none compiles for all: those that the driver serves",
    { driver: "470.256.02", computes: "3.7 10.0 12.0", toolkit: "13.0.2" },
    [
      {
        text: "add a cell with compute=3.7 and CUDA 7.0 to 11.8, and choose GPU 0 (--gpus device=0): no toolkit compiles for all",
        remedy: { kind: "cell", axes: { cuda: "11.8", compute: "3.7" }, gpus: [0] },
        adopted:
          "adopt an image of CUDA 11: compute capability 3.7 ends with CUDA 11, and choose GPU 0 (--gpus device=0)",
      },
    ],
  ],
  [
    "none compiles for all: each needs a newer driver",
    { driver: "470.256.02", computes: "10.1 11.0", toolkit: "9.0.176" },
    [
      {
        text: "add a cell with compute=11.0 and CUDA 13.0 (driver >= 580.65.06), and choose GPU 1 (--gpus device=1): no toolkit compiles for all",
        remedy: null,
        adopted:
          "adopt an image of CUDA 13.0 (driver >= 580.65.06), the first for compute capability 11.0, and choose GPU 1 (--gpus device=1)",
      },
    ],
  ],
])("%s", (_, { driver, computes, toolkit, served = [], scale = "linux", cuda = null }, cures) => {
  const gpus = computes.split(" ").map((each) => gpu({ compute: each === "?" ? null : each }));
  const { nvidia } = viewHost(gpuHost(gpus, driver, cuda, { nvidiaChange: { driverScale: scale } }));
  if (nvidia === null) throw new Error("no GPUs");
  const isServed = ({ index }: { readonly index: number }) => served.includes(index);
  const sides = {
    served: nvidia.gpus.filter(isServed),
    lacking: nvidia.gpus.filter((one) => !isServed(one)),
  };
  expect(codeCures(toolkit, sides, nvidia)).toEqual(cures);
});
