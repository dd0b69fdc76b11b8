/**
 * States in which the driver answers and CUDA fails before the first kernel, or later, or in containers alone: a row for each, with the facts
 * that show the state.
 */

import { groupBy } from "../io/collections.ts";
import { fieldsOf } from "../io/json.ts";
import {
  type GpuFacts,
  type HostFacts,
  type HostProblem,
  type NvidiaFacts,
  type RecoveryAction,
  type RuntimeFacts,
  recoveryActions,
} from "./facts.ts";
import { gpuLabel } from "./host-problems.ts";
import { specificationCure } from "./toolkit-cures.ts";

/** The value of a fact in a row. A list is told by being empty. */
type Told<Value> = Value extends readonly unknown[]
  ? "empty"
  : Value extends string | boolean
    ? Value
    : never;

type ConditionOn<Of, Facts> = {
  readonly [Fact in keyof Facts & string]-?: {
    readonly of: Of;
    readonly fact: Fact;
    readonly is: readonly Told<Facts[Fact]>[];
  };
}[keyof Facts & string];

/** `gpu` finds the visible GPUs that are in the state; `driver`, `containers` and `every gpu` say whether the host may be. */
export type Condition =
  | ConditionOn<"gpu" | "every gpu", GpuFacts>
  | ConditionOn<"driver", NvidiaFacts>
  | ConditionOn<"containers", RuntimeFacts>;

/**
 * In texts stand `{gpus}` for labels, `{indexes}` for what `nvidia-smi -i` takes, `{values}` for those of the first fact of a GPU, `{words}`
 * for the same as words, `{driver}` for the version between commas, `{source}` for the place of the fact
 * about containers, `{generate}` for the command of this toolkit.
 */
export interface BrokenState {
  readonly code: HostProblem["code"];
  /** All must hold. */
  readonly when: readonly Condition[];
  /** CUDA starts in this state, and fails later. In others a start that was seen disproves the state. */
  readonly afterStart?: true;
  readonly message: string;
  /** One for each value of the first fact of a GPU, where the cure depends on the value: each value is a problem of its own. */
  readonly fix: string | Readonly<Record<string, string>>;
  /** For a script, which has no room: `{gpu}` is the index of one GPU, `{value}` what the driver says. Absent where a script cannot ask. */
  readonly brief?: string;
  /** For docs/compatibility.md: the state, the place of the fact, the answer of CUDA, and the cure. */
  readonly docs: readonly [state: string, where: string, says: string, cure: string];
}

type Action = Exclude<RecoveryAction, "none">;

/** What to do for each action (NVIDIA, nvidia-smi, "GPU Recovery Action"). No new work belongs on a GPU that waits for one. */
const recoveries: Readonly<Record<Action, string>> = {
  reset: "end the programs on the GPU and reset it: nvidia-smi -i {indexes} --gpu-reset",
  reboot: "reboot this machine",
  "drain-p2p":
    "end the programs that exchange data between GPUs, turn persistence mode off, and see what nvidia-smi -q then names as GPU Recovery Action",
  "drain-and-reset": "let the programs on the GPU end, and reset it: nvidia-smi -i {indexes} --gpu-reset",
  other: "do what nvidia-smi -q names as GPU Recovery Action",
};

export const brokenStates: readonly BrokenState[] = [
  {
    // CUDA waits for the registration with the fabric, and fails with 802 where none comes (NVIDIA, Fabric Manager User Guide).
    code: "HOST_FABRIC_NOT_READY",
    when: [{ of: "gpu", fact: "fabric", is: ["not-started", "in-progress", "failed"] }],
    message:
      "the NVSwitch fabric is not up ({words}) for GPU {gpus}: CUDA fails with 802, system not yet initialized",
    // The fabric manager refuses a driver of another version (NVIDIA, Fabric Manager User Guide).
    fix: "install nvidia-fabricmanager of the driver's version{driver} and start it: systemctl enable --now nvidia-fabricmanager (for GB200 racks on the switch trays); /var/log/fabricmanager.log says why it fails",
    brief: "GPU {gpu} waits for the NVSwitch fabric: start nvidia-fabricmanager of the version of the driver",
    docs: [
      "the NVSwitch fabric is not up",
      "NVML, nvidia-smi, from Hopper on; an A100's fabric is told by nothing",
      "802, not yet initialized",
      "start `nvidia-fabricmanager` of the driver's version",
    ],
  },
  {
    code: "HOST_MIG_EMPTY",
    when: [{ of: "gpu", fact: "mig", is: ["empty"] }],
    message: "MIG mode is on and no instance is there on GPU {gpus}: CUDA finds no device",
    fix: "make instances: nvidia-smi mig -i {indexes} -cgi PROFILE -C (nvidia-smi mig -lgip lists the profiles), or turn MIG off: nvidia-smi -i {indexes} -mig 0",
    brief:
      "GPU {gpu} is in MIG mode without an instance: nvidia-smi mig -cgi PROFILE -C makes one, nvidia-smi -mig 0 ends the mode",
    docs: [
      "MIG mode is on without an instance",
      'NVML, nvidia-smi; node labels tell it no better than "unknown" (`MIG-INVALID`)',
      "100, no device",
      "`nvidia-smi mig -cgi PROFILE -C`, or `nvidia-smi -mig 0`",
    ],
  },
  {
    code: "HOST_NO_UVM",
    when: [{ of: "driver", fact: "uvm", is: [false] }],
    message: "this container has a GPU and no /dev/nvidia-uvm: CUDA fails with 999, unknown error",
    fix: "make the node on the host: nvidia-modprobe -u -c=0; then start the container anew with it: --device /dev/nvidia-uvm, or an entry for it in the container's configuration (LXC)",
    brief:
      "no /dev/nvidia-uvm in this container: make it on the host (nvidia-modprobe -u -c=0), and start the container with it",
    docs: [
      "a container was given CUDA without `/dev/nvidia-uvm`",
      "device nodes; only with the capability `compute` or `all` in `NVIDIA_DRIVER_CAPABILITIES`, or where neither this variable nor `NVIDIA_VISIBLE_DEVICES` is set. A rootless container finds no node where nothing on the host has made one",
      "999, unknown error",
      "`nvidia-modprobe -u -c=0` on the host; `--device /dev/nvidia-uvm`",
    ],
  },
  {
    // Programs leave out such a GPU where another takes work (CUDA C++ Programming Guide, "Compute Modes").
    code: "HOST_GPU_NOT_READY",
    afterStart: true,
    when: [{ of: "every gpu", fact: "computeMode", is: ["prohibited"] }],
    message: "the compute mode of GPU {gpus} is Prohibited: CUDA fails with 46, device unavailable",
    fix: "allow programs: nvidia-smi -i {indexes} -c DEFAULT",
    brief: "all are Prohibited: nvidia-smi -c DEFAULT",
    docs: [
      "the compute mode of every GPU is Prohibited",
      "NVML, nvidia-smi; a GPU beside one that takes programs is no fault, nor is the mode Exclusive",
      "46, device unavailable",
      "`nvidia-smi -c DEFAULT`",
    ],
  },
  {
    code: "HOST_GPU_NOT_READY",
    afterStart: true,
    when: [
      {
        of: "gpu",
        fact: "recovery",
        is: recoveryActions.filter((action): action is Action => action !== "none"),
      },
    ],
    message: 'after a fault the driver asks for the recovery action "{values}" on GPU {gpus}',
    fix: recoveries,
    brief: "GPU {gpu}: recovery action {value}",
    docs: [
      "after a fault the driver asks for a recovery action",
      "NVML from R565 on, nvidia-smi from R590 on",
      "errors until then",
      "the action: reset the GPU (`nvidia-smi --gpu-reset`), or reboot",
    ],
  },
  {
    // DCGM fails such a GPU, and takes it out of service (NVIDIA/DCGM: DcgmHealthWatch.cpp, DCGM_FR_ROW_REMAP_FAILURE).
    code: "HOST_GPU_NOT_READY",
    afterStart: true,
    when: [{ of: "gpu", fact: "remapFailed", is: [true] }],
    message: "a memory row of GPU {gpus} is broken and could not be remapped",
    fix: "take the GPU out of service and have it replaced; the others serve where it is hidden (--gpus)",
    brief: "GPU {gpu}: broken memory, replace it",
    docs: [
      "a memory row could not be remapped",
      "NVML, nvidia-smi from R590 on; not for a GPU with MIG instances",
      "errors where programs use the row",
      "have the GPU replaced; hide it until then (`--gpus`, `CUDA_VISIBLE_DEVICES`)",
    ],
  },
  {
    // NVML_CC_ACCEPTING_CLIENT_REQUESTS_FALSE (nvml.h). No nvidia-smi query has it.
    code: "HOST_GPU_NOT_READY",
    when: [{ of: "driver", fact: "ready", is: [false] }],
    message:
      "confidential computing is on, and the GPUs take no work yet: CUDA fails with 802, system not yet initialized",
    fix: "attest the GPUs, then set them ready: nvidia-smi conf-compute -srs 1",
    docs: [
      "confidential computing is on, and the GPUs are not ready",
      "NVML alone",
      "802, not yet initialized",
      "attest the GPUs, then `nvidia-smi conf-compute -srs 1`",
    ],
  },
  {
    // The driver's own words for the two stages: Unlicensed (Unrestricted), Unlicensed (Restricted).
    code: "HOST_GPU_UNLICENSED",
    afterStart: true,
    when: [{ of: "gpu", fact: "licensed", is: [false] }],
    message:
      "the vGPU {gpus} has no licence: it works for a while, and then the driver restricts it (nvidia-smi -q, License Status)",
    fix: "license this virtual machine: put the client configuration token into /etc/nvidia/ClientConfigToken, then systemctl restart nvidia-gridd",
    docs: [
      "a vGPU has no licence",
      "NVML in the virtual machine; `nvidia-smi -q`, License Status; no problem of the image",
      "nothing at first, then less speed and errors",
      "the token in `/etc/nvidia/ClientConfigToken`, `systemctl restart nvidia-gridd`",
    ],
  },
  {
    // NVIDIA/nvidia-container-toolkit#520: the library is libnvdxgdmal.so.1.
    code: "HOST_CONTAINERS_OUTDATED",
    afterStart: true,
    when: [{ of: "containers", fact: "outdated", is: ["toolkit"] }],
    message:
      "{source} is older than 1.14.4 and does not know a library of the Windows driver{driver} here: CUDA fails with 500, named symbol not found, in containers",
    fix: "update nvidia-container-toolkit to 1.14.4 or newer (Docker Desktop: 4.31 or newer)",
    docs: [
      "under WSL2 the container toolkit is older than the Windows driver",
      "the toolkit's version before 1.14.4, the driver's from 555 on; the toolkit of Docker Desktop shows nowhere",
      "500, named symbol not found, in containers",
      "nvidia-container-toolkit 1.14.4, Docker Desktop 4.31",
    ],
  },
  {
    code: "HOST_CONTAINERS_OUTDATED",
    afterStart: true,
    when: [{ of: "containers", fact: "outdated", is: ["specification"] }],
    message:
      "{source} names another driver's libraries, the driver{driver} is loaded: containers do not start, or find no libcuda",
    fix: "write the specification again: {generate}",
    docs: [
      "a CDI specification names another driver's libraries",
      "the versions of libcuda and libnvidia-ml in all specifications of NVIDIA's",
      "nothing: the container does not start, or finds no libcuda",
      "`nvidia-ctk cdi generate`; from toolkit 1.18 on the service nvidia-cdi-refresh",
    ],
  },
];

type Facts = GpuFacts | NvidiaFacts | RuntimeFacts;

function toldOf(facts: Facts, fact: string): unknown {
  const value = fieldsOf(facts)[fact];
  return Array.isArray(value) && value.length === 0 ? "empty" : value;
}

function holds({ fact, is }: Condition, facts: Facts): boolean {
  const wanted: readonly unknown[] = is;
  return wanted.includes(toldOf(facts, fact));
}

/** The problems of one row. */
function problemsOf(
  { code, when, message, fix }: BrokenState,
  nvidia: NvidiaFacts,
  { runtime, sources }: Pick<HostFacts, "runtime" | "sources">,
): readonly HostProblem[] {
  const { gpus, driver } = nvidia;
  const about = { driver: nvidia, containers: runtime };
  const own = when.filter(({ of }) => of === "gpu");
  const isPossible = when.every(
    (condition) =>
      condition.of === "gpu" ||
      (condition.of === "every gpu"
        ? gpus.every((gpu) => holds(condition, gpu))
        : holds(condition, about[condition.of])),
  );
  const found = isPossible ? gpus.filter((gpu) => own.every((condition) => holds(condition, gpu))) : [];
  if (found.length === 0) return [];
  const valueIn = (gpu: GpuFacts) => String(toldOf(gpu, own[0]?.fact ?? ""));
  const write = (text: string, group: readonly GpuFacts[]) => {
    const values = [...new Set(group.map(valueIn))].join(", ");
    const parts: Readonly<Record<string, string>> = {
      gpus: group.map(gpuLabel).join(", "),
      indexes: group.map(({ index }) => index).join(","),
      values,
      words: values.replaceAll("-", " "),
      driver: driver === null ? "" : `, ${driver},`,
      source: sources["runtime.outdated"] ?? "what hands GPUs to containers",
      generate: specificationCure(runtime.toolkit),
    };
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => parts[name] ?? whole);
  };
  if (typeof fix === "string") return [{ code, message: write(message, found), fix: write(fix, found) }];
  const groups = groupBy(found, valueIn);
  return Object.entries(fix).flatMap(([value, cure]) => {
    const group = groups.get(value);
    return group === undefined ? [] : [{ code, message: write(message, group), fix: write(cure, group) }];
  });
}

/** Adds the problems that the facts of driver and GPUs prove and that no reader has named. */
export function withBrokenStates(facts: HostFacts, states: readonly BrokenState[] = brokenStates): HostFacts {
  const { nvidia, problems } = facts;
  const named = new Set(problems.map(({ code }) => code));
  const found =
    nvidia == null
      ? []
      : states
          .filter(({ afterStart = false }) => afterStart || nvidia.starts !== true)
          .flatMap((state) => problemsOf(state, nvidia, facts))
          .filter(({ code }) => !named.has(code));
  return found.length === 0 ? facts : { ...facts, problems: [...problems, ...found] };
}
