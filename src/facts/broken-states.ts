/** States in which the driver answers and CUDA fails before the first kernel, with the facts that show each state. */

import type { FabricState, GpuFacts, HostFacts, HostProblem, NvidiaFacts, RecoveryAction } from "./facts.ts";
import { gpuLabel } from "./host-problems.ts";

interface State {
  readonly code: HostProblem["code"];
  /** The visible GPUs that are in the state. */
  readonly find: (nvidia: NvidiaFacts) => readonly GpuFacts[];
  readonly message: (labels: string, found: readonly GpuFacts[]) => string;
  /** `indexes` are for `nvidia-smi -i`. */
  readonly fix: (indexes: string, nvidia: NvidiaFacts) => string;
}

const each =
  (holds: (gpu: GpuFacts) => boolean): State["find"] =>
  ({ gpus }) =>
    gpus.filter(holds);

/** CUDA waits for the registration with the fabric, and fails with 802 where none comes (NVIDIA, Fabric Manager User Guide). */
const isUp = {
  none: true,
  completed: true,
  "not-started": false,
  "in-progress": false,
  failed: false,
} as const satisfies Record<FabricState, boolean>;

/** What to do for each action (NVIDIA, nvidia-smi, "GPU Recovery Action"). No new work belongs on a GPU that waits for one. */
const recoveries: Readonly<Record<Exclude<RecoveryAction, "none">, (indexes: string) => string>> = {
  reset: (indexes) => `end the programs on the GPU and reset it: nvidia-smi -i ${indexes} --gpu-reset`,
  reboot: () => "reboot this machine",
  "drain-p2p": () =>
    "end the programs that exchange data between GPUs, turn persistence mode off, and see what nvidia-smi -q then names as GPU Recovery Action",
  "drain-and-reset": (indexes) =>
    `let the programs on the GPU end, and reset it: nvidia-smi -i ${indexes} --gpu-reset`,
  other: () => "do what nvidia-smi -q names as GPU Recovery Action",
};

export const brokenStates: readonly State[] = [
  {
    code: "HOST_FABRIC_NOT_READY",
    find: each(({ fabric = "none" }) => !isUp[fabric]),
    message: (labels, found) =>
      `the NVSwitch fabric is not up (${[...new Set(found.map(({ fabric }) => fabric?.replace("-", " ")))].join(", ")}) for GPU ${labels}: CUDA fails with 802, system not yet initialized`,
    // The fabric manager refuses a driver of another version (NVIDIA, Fabric Manager User Guide).
    fix: (_, { driver }) =>
      `install nvidia-fabricmanager of the driver's version${driver === null ? "" : `, ${driver},`} and start it: systemctl enable --now nvidia-fabricmanager (for GB200 racks on the switch trays); /var/log/fabricmanager.log says why it fails`,
  },
  {
    code: "HOST_MIG_EMPTY",
    find: each(({ mig }) => mig?.length === 0),
    message: (labels) => `MIG mode is on and no instance is there on GPU ${labels}: CUDA finds no device`,
    fix: (indexes) =>
      `make instances: nvidia-smi mig -i ${indexes} -cgi PROFILE -C (nvidia-smi mig -lgip lists the profiles), or turn MIG off: nvidia-smi -i ${indexes} -mig 0`,
  },
  {
    code: "HOST_NO_UVM",
    find: ({ uvm, gpus }) => (uvm === false ? gpus : []),
    message: () => "this container has a GPU and no /dev/nvidia-uvm: CUDA fails with 999, unknown error",
    fix: () =>
      "make the node on the host: nvidia-modprobe -u -c=0; then start the container anew with it: --device /dev/nvidia-uvm, or an entry for it in the container's configuration (LXC)",
  },
  {
    // Programs leave out such a GPU where another takes work (CUDA C++ Programming Guide, "Compute Modes").
    code: "HOST_GPU_NOT_READY",
    find: ({ gpus }) => (gpus.every(({ computeMode }) => computeMode === "prohibited") ? gpus : []),
    message: (labels) =>
      `the compute mode of GPU ${labels} is Prohibited: CUDA fails with 46, device unavailable`,
    fix: (indexes) => `allow programs: nvidia-smi -i ${indexes} -c DEFAULT`,
  },
  ...Object.entries(recoveries).map(
    ([action, fix]): State => ({
      code: "HOST_GPU_NOT_READY",
      find: each(({ recovery }) => recovery === action),
      message: (labels) =>
        `after a fault the driver asks for the recovery action "${action}" on GPU ${labels}`,
      fix,
    }),
  ),
  {
    // DCGM fails such a GPU, and takes it out of service (NVIDIA/DCGM: DcgmHealthWatch.cpp, DCGM_FR_ROW_REMAP_FAILURE).
    code: "HOST_GPU_NOT_READY",
    find: each(({ remapFailed }) => remapFailed === true),
    message: (labels) => `a memory row of GPU ${labels} is broken and could not be remapped`,
    fix: () =>
      "take the GPU out of service and have it replaced; the others serve where it is hidden (--gpus)",
  },
  {
    // NVML_CC_ACCEPTING_CLIENT_REQUESTS_FALSE (nvml.h).
    code: "HOST_GPU_NOT_READY",
    find: ({ ready, gpus }) => (ready === false ? gpus : []),
    message: () =>
      "confidential computing is on, and the GPUs take no work yet: CUDA fails with 802, system not yet initialized",
    fix: () => "attest the GPUs, then set them ready: nvidia-smi conf-compute -srs 1",
  },
];

function stateProblems(nvidia: NvidiaFacts, states: readonly State[]): readonly HostProblem[] {
  return states.flatMap(({ code, find, message, fix }) => {
    const found = find(nvidia);
    if (found.length === 0) return [];
    const indexes = found.map(({ index }) => index).join(",");
    return [{ code, message: message(found.map(gpuLabel).join(", "), found), fix: fix(indexes, nvidia) }];
  });
}

/** Adds the problems that the facts of driver and GPUs prove and that no reader has named. */
export function withBrokenStates(facts: HostFacts, states = brokenStates): HostFacts {
  const { nvidia, problems } = facts;
  const named = new Set(problems.map(({ code }) => code));
  const found = nvidia == null ? [] : stateProblems(nvidia, states).filter(({ code }) => !named.has(code));
  return found.length === 0 ? facts : { ...facts, problems: [...problems, ...found] };
}
