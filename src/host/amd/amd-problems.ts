/** The problems of machines with AMD GPUs: a function for each state, which says what happened and how to cure it. */

import type { HostProblem } from "../../facts/facts.ts";

const container = "start the container with its GPUs: docker run --device /dev/kfd --device /dev/dri";

export function noDriver(devices: readonly string[], driver: string | null): HostProblem {
  const found = count(devices);
  return {
    code: "HOST_AMD_NO_DRIVER",
    message: driver === null ? `${found} and no amdgpu module that drives it` : `${driver} holds ${found}`,
    fix:
      driver === null
        ? "load the driver (modprobe amdgpu), and see dmesg for lines of amdgpu"
        : `unbind the GPU from ${driver} and bind it to amdgpu, or resolve inside its virtual machine`,
  };
}

/** Sources: Linux, kfd_device.c ("skipped device …, PCI rejects atomics"), drivers/gpu/drm/amd/amdkfd/Kconfig. */
export function skipped(devices: readonly string[]): HostProblem {
  return {
    code: "HOST_AMD_GPU_SKIPPED",
    message: `amdgpu drives ${count(devices)}, and its compute driver does not list it`,
    fix: "see dmesg for lines of kfd (a slot without PCIe atomics, a kernel without CONFIG_HSA_AMD)",
  };
}

export function noDevices(missing: string, inContainer: boolean): HostProblem {
  return {
    code: "HOST_AMD_NO_DEVICES",
    message: `${inContainer ? "inside a container without" : "there is no"} ${missing}, through which programs reach AMD GPUs`,
    fix: inContainer ? container : "load the driver anew (modprobe amdgpu), and see dmesg for lines of kfd",
  };
}

export function masked(gpus: number): HostProblem {
  return {
    code: "HOST_AMD_NO_DEVICES",
    message: `none of ${gpus} AMD GPUs of this machine is given to this container`,
    fix: container,
  };
}

export function noPermission(device: string, inContainer: boolean): HostProblem {
  return {
    code: "HOST_AMD_NO_PERMISSION",
    message: `no permission for ${device}`,
    fix: inContainer
      ? "start the container with the groups of the devices, by their numbers: docker run --group-add $(getent group render | cut -d: -f3)"
      : "run as a user of the groups render and video (usermod -aG render,video USER), or as root",
  };
}

export function targetUnknown(gpu: string): HostProblem {
  return {
    code: "HOST_AMD_TARGET_UNKNOWN",
    message: `AMD GPU ${gpu} does not tell its target`,
    fix: "update the kernel; if the GPU is new, its target can be given in a facts file (--host)",
  };
}

export function unclear(source: string, entry: string, reader: "HIP" | "ROCr"): HostProblem {
  return {
    code: "HOST_AMD_VISIBLE_DEVICES_UNCLEAR",
    message: `${source}: there is no AMD GPU ${JSON.stringify(entry)}; ${reader} ignores it and every entry after it`,
    fix: "correct the variable or unset it",
  };
}

function count(devices: readonly string[]): string {
  return `${devices.length} AMD GPU${devices.length === 1 ? "" : "s"} (${devices.join(", ")})`;
}
