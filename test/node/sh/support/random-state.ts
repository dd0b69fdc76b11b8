/**
 * What NVML says of a GPU and of its state, by chance. Facts that harm nothing today vary as freely as any: a row of `broken-states.ts` that
 * the script lacks may join two of them.
 */

import type { NvmlDevice } from "../../../../src/host/nvidia/nvml-reading.ts";
import { type Chance, pick } from "./chance.ts";

/** Facts of which some value keeps CUDA from starting. */
export const harms = ["fabric", "mig", "computeMode", "recovery", "remapFailed"] as const;
export type Harm = (typeof harms)[number];

type State = Pick<NvmlDevice, "memory" | "processes" | Harm>;

interface About {
  readonly index: number;
  readonly compute: readonly [major: number, minor: number];
  readonly driver: string;
  /** The fact that keeps CUDA from starting, if any. */
  readonly harm: Harm | null;
}

const up = { state: 3, status: 0 };
const notUp = [
  { state: 1, status: 0 },
  { state: 2, status: 0 },
  { state: 3, status: 999 },
];

export function randomState(chance: Chance, { index, compute, driver, harm }: About): State {
  const hasFabric = compute[0] === 9 || compute[0] === 10;
  const hasMig = compute[0] >= 8;
  const totalBytes = pick(chance, [2 ** 34, 2 ** 36]);
  const usedBytes = Math.floor(pick(chance, [0, 0, 0.01, 0.5, 1]) * totalBytes);
  const instances = pick(chance, [null, null, null, null, null, 1, 2]);
  return {
    memory: { value: { totalBytes, usedBytes } },
    processes: pick(chance, [{ value: 0 }, { value: 1 }, { value: 40 }, { code: 3 }]),
    mig: {
      value:
        harm === "mig"
          ? []
          : instances === null || !hasMig
            ? null
            : Array.from({ length: instances }, (_, place) => ({
                uuid: `MIG-${index}a-${place + 1}`,
                name: "NVIDIA MIG 3g.40gb",
              })),
    },
    fabric:
      harm === "fabric"
        ? { value: pick(chance, notUp) }
        : hasFabric
          ? pick(chance, [{ value: up }, { value: up }, { value: { state: 0, status: 0 } }, { code: 3 }])
          : { code: 3 },
    // Any but Prohibited.
    computeMode:
      harm === "computeMode"
        ? { value: 2 }
        : pick(chance, [{ value: 0 }, { value: 0 }, { value: 1 }, { value: 3 }, { value: 3 }, { code: 3 }]),
    // Older drivers know no recovery action and no failed row, and their nvidia-smi is not asked.
    ...(Number.parseInt(driver, 10) >= 590 && {
      recovery: { value: harm === "recovery" ? pick(chance, [1, 2, 3, 4, 6]) : 0 },
      remapFailed:
        harm === "remapFailed"
          ? { value: true }
          : pick<NonNullable<NvmlDevice["remapFailed"]>>(chance, [{ value: false }, { code: 3 }]),
    }),
  };
}
