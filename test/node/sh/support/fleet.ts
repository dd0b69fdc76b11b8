/** A fleet that asks the script for everything that a rule can: marches of four architectures, every driver mode, expressions. */

import { marchFeatures, findMarch } from "../../../../src/hardware/cpu-marches.ts";
import type { Lock, LockedImage } from "../../../../src/lock/lock.ts";
import type { CudaRequirement } from "../../../../src/lock/requirement.ts";
import { cuda, image, lockOf } from "../../../resolve/support/locks.ts";

const platforms = {
  amd64: ["x86-64", "x86-64-v3", "x86-64-v4", "arrowlake"],
  arm64: ["armv8-a", "neoverse-n1"],
  ppc64le: ["power8", "power9"],
  riscv64: ["rv64gc", "rva20u64", "rva22u64"],
};

export const requirements: Readonly<Record<string, CudaRequirement | null>> = {
  none: null,
  "10.2": cuda("10.2.89", ["sm_60", "sm_70", "sm_75", "compute_75"], {
    driver: { mode: "host", minimum: "440.33" },
  }),
  "11.8": cuda("11.8.0", ["sm_70", "sm_80", "sm_86", "sm_87", "sm_90"], {
    driver: { mode: "host", minimum: "450.80.02" },
  }),
  "12.2t": cuda("12.2.2", ["sm_87"], {
    driver: { mode: "host", minimum: "525.60.13", l4t: "36" },
  }),
  // Another release of L4T than that of JetPack 6.
  "12.6t": cuda("12.6.3", ["sm_87"], {
    driver: { mode: "host", minimum: "525.60.13", l4t: "35" },
  }),
  // Linked with what the driver of JetPack 7 no longer has; its PTX runs on a Thor.
  "12.6l": cuda("12.6.3", ["sm_87", "compute_87"], {
    driver: {
      ...{ mode: "host", minimum: "525.60.13", l4t: "36" },
      links: { "libnvdla_compiler.so": "/usr/lib/aarch64-linux-gnu/libnvinfer.so.10.3.0" },
    },
  }),
  "12.8": cuda("12.8.1", ["sm_80", "sm_90", "compute_90"]),
  "12.8a": cuda("12.8.1", ["sm_90a", "sm_100f", "sm_120"]),
  "13.0": cuda("13.0.2", ["sm_75", "sm_80", "sm_90", "sm_110", "compute_110"], {
    driver: { mode: "host", minimum: "580.65.06" },
  }),
  "13.0c": cuda("13.0.2", ["sm_70", "sm_80", "sm_89"], {
    driver: {
      mode: "compat",
      package: "580.95.05",
      cuda: "13.0",
      branches: ["535", "550", "570"],
      onPath: "never",
    },
  }),
  // No row of the tables, and code for a card that CUDA 13 has dropped.
  "13.9": cuda("13.9", ["sm_70", "sm_75", "compute_90"], {
    driver: { mode: "host", minimum: "580.65.06" },
  }),
  // Without GPU code of its own.
  "12.4n": cuda("12.4.1", []),
  "12.2b": cuda("12.2.2", ["sm_75", "sm_80", "sm_86"], {
    driver: { mode: "bundled", version: "535.183.06" },
  }),
  "12.4r": cuda("12.4.1", ["sm_80", "sm_86", "sm_90"], {
    require:
      "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=nvidia,driver>=535,driver<536 brand=geforce,driver>=535,driver<536",
  }),
};

/** As many images as there are platforms, marches and requirements. */
export function wholeFleet(choose: (cell: string) => boolean = () => true): Lock {
  const images: Record<string, LockedImage> = {};
  for (const [architecture, marches] of Object.entries(platforms)) {
    for (const name of marches) {
      const march = findMarch(name);
      if (march === null) throw new Error(`no march ${name}`);
      for (const [id, requires] of Object.entries(requirements)) {
        const cell = `${id}_${name}`;
        if (!choose(cell)) continue;
        images[cell] = image({
          axes: { cuda: id, march: name },
          platform: `linux/${architecture}`,
          digest: `sha256:${Buffer.from(cell.padEnd(32, "-")).toString("hex").slice(0, 64)}`,
          requires: {
            cpu: { march: name, features: marchFeatures(march) },
            cuda: requires,
            ...(id === "13.0" ? { kernel: "5.4" } : {}),
          },
        });
      }
    }
  }
  return lockOf(images);
}
