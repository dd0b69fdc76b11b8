/** The CUDA version that a driver branch offers, for hosts that cannot be asked. */

import type { SourceKey } from "./sources.ts";

export interface BranchRow {
  readonly branch: number;
  /** null where drivers of the branch offer different versions. */
  readonly cuda: string | null;
  /** nvidia-smi prints a CUDA version from R410 on. */
  readonly printed: boolean;
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

// biome-ignore format: one row per line
export const branchRows: readonly BranchRow[] = [
  { branch: 346, cuda: "7.0", printed: false, source: ["RN131", "RN134"] },
  { branch: 352, cuda: "7.5", printed: false, source: ["RN131", "RN134"] },
  { branch: 367, cuda: "8.0", printed: false, source: ["RN131", "RN134"] },
  { branch: 375, cuda: "8.0", printed: false, source: ["RN131", "RN134"] },
  { branch: 384, cuda: "9.0", printed: false, source: ["RN131", "RN134", "REQ"] },
  { branch: 387, cuda: "9.1", printed: false, source: ["SPACK"] },
  { branch: 390, cuda: "9.1", printed: false, source: ["RN131", "RN134", "OBSERVED"], note: "nvidia-smi -q -x of 390.157 prints no <cuda_version> element (1Panel-dev/1Panel#9504)" },
  { branch: 396, cuda: "9.2", printed: false, source: ["RN131", "RN134", "OBSERVED"], note: "nvidia-smi table of 396.26/396.44/396.45/396.54 prints no CUDA Version" },
  { branch: 410, cuda: "10.0", printed: true, source: ["RN131", "RN134", "OBSERVED"], note: "410.72 -> 10.0 (netdata/netdata#4892)" },
  { branch: 418, cuda: "10.1", printed: true, source: ["RN131", "RN134", "TELE"], note: "418.43 -> 10.1 (telegraf quadro-p400.xml)" },
  { branch: 430, cuda: null, printed: true, source: ["OBSERVED"], note: "drivers of the branch print 10.1 or 10.2" },
  { branch: 435, cuda: null, printed: true, source: ["OBSERVED"], note: "drivers of the branch print 10.0 or 10.1" },
  { branch: 440, cuda: "10.2", printed: true, source: ["RN131", "RN134"] },
  { branch: 450, cuda: "11.0", printed: true, source: ["RN131", "RN134", "OBSERVED"], note: "450.57 -> 11.0 (rossumai/nvgpu#15)" },
  { branch: 455, cuda: "11.1", printed: true, source: ["RN131", "RN134"] },
  { branch: 460, cuda: "11.2", printed: true, source: ["RN131", "RN134", "OBSERVED"], note: "Windows preview 460.15 -> 11.1 (microsoft/WSL#6014): early builds of a branch may report the previous version" },
  { branch: 465, cuda: "11.3", printed: true, source: ["RN131", "RN134"] },
  { branch: 470, cuda: "11.4", printed: true, source: ["RN131", "RN134", "OBSERVED"], note: "470.182.03 -> 11.4 (huggingface/candle#733)" },
  { branch: 495, cuda: "11.5", printed: true, source: ["RN131", "RN134"] },
  { branch: 510, cuda: "11.6", printed: true, source: ["RN131", "RN134", "OBSERVED"], note: "510.06 -> 11.6 (NVIDIA/nvidia-docker#1604, WSL)" },
  { branch: 515, cuda: "11.7", printed: true, source: ["RN131", "RN134", "TELE"], note: "515.105.01 -> 11.7 (telegraf tesla-t4.xml)" },
  { branch: 520, cuda: "11.8", printed: true, source: ["RN131", "RN134", "OBSERVED"], note: "520.56.06 -> 11.8 (lestofante/ksysguard-gpu#27)" },
  { branch: 525, cuda: "12.0", printed: true, source: ["RN131", "RN134", "TELE", "OBSERVED"], note: "525.85.12, 525.89.02, 525.125.06, 525.147.05 -> 12.0 (dfdx#788, i3status-rust#1769, telegraf)" },
  { branch: 530, cuda: "12.1", printed: true, source: ["RN131", "RN134"] },
  { branch: 535, cuda: "12.2", printed: true, source: ["RN131", "RN134", "FWD", "TELE"], note: "535.54.03 -> 12.2 (telegraf a100-sxm4-v12.xml)" },
  { branch: 545, cuda: "12.3", printed: true, source: ["RN131", "RN134"] },
  { branch: 550, cuda: "12.4", printed: true, source: ["RN131", "RN134"] },
  { branch: 555, cuda: "12.5", printed: true, source: ["RN131", "RN134", "OBSERVED"], note: "WSL hosts: Windows drivers 555.85 and 555.99 (nvidia-smi 555.42.03 / 555.52.01) -> 12.5 (Nevuly/WSL2-Linux-Kernel-Rolling#13, microsoft/WSL#11277); no Linux capture read" },
  { branch: 560, cuda: "12.6", printed: true, source: ["RN131", "RN134"] },
  { branch: 565, cuda: "12.7", printed: true, source: ["OBSERVED"], note: "565.57.01 -> 12.7, 565.90 (Windows) -> 12.7; there is no CUDA toolkit 12.7" },
  { branch: 570, cuda: "12.8", printed: true, source: ["RN131", "RN134", "FWD", "TELE", "OBSERVED"], note: "570.133.07 -> 12.8 (canonical/inference-snaps#128), 570.195.03 -> 12.8, 570.124.04 -> 12.8 (telegraf rtx-3060-v12.xml)" },
  { branch: 575, cuda: "12.9", printed: true, source: ["RN131", "RN134"] },
  { branch: 580, cuda: "13.0", printed: true, source: ["RN131", "FWD", "OBSERVED"], note: "580.95.05 -> 13.0 (ethanwharris/gnome-nvidia-extension#221)" },
  { branch: 590, cuda: "13.1", printed: true, source: ["RN131", "FWD", "CAPT"], note: "590.48.01 -> 13.1 (CAPT h100)" },
  { branch: 595, cuda: "13.2", printed: true, source: ["SPACK", "CFCOMPAT", "FWD", "CAPT", "TELE"], note: "595.71.05, 595.80, 595.58.03, 595.84 -> 13.2 (CAPT, telegraf)" },
  { branch: 610, cuda: "13.3", printed: true, source: ["RNQUOTE", "FWD", "CAPT"], note: "610.57.04 -> 13.3 (CAPT, printed as \"CUDA UMD Version\")" },
  { branch: 615, cuda: "13.4", printed: true, source: ["FWD", "OBSERVED"], note: "615.71.09 -> 13.4" },
];
