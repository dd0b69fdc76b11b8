/** Reads whether CUDA can open `/dev/nvidia-uvm`, which it needs beside the device of the GPU. */

import { isContainer } from "../container-runtime.ts";
import type { HostIo } from "../host-io.ts";

/**
 * undefined where the node's absence proves nothing: on a bare host, where nvidia-modprobe makes the node for the first program, and in a
 * container that was not given CUDA, or no driver at all.
 */
export function readUvm(io: HostIo): boolean | undefined {
  const isGiven = isContainer(io) && io.exists("/dev/nvidiactl") && isGivenCuda(io);
  return isGiven ? io.exists("/dev/nvidia-uvm") : undefined;
}

/**
 * NVIDIA's container toolkit brings the node and libcuda with the capability `compute` alone (libnvidia-container, `src/nvc_mount.c`). A
 * container without a mark of the toolkit got its devices by hand: LXC, `--device`.
 */
function isGivenCuda({ env }: HostIo): boolean {
  const { NVIDIA_DRIVER_CAPABILITIES: granted, NVIDIA_VISIBLE_DEVICES: devices } = env;
  if (granted === undefined) return devices === undefined;
  return granted.split(",").some((each) => ["all", "compute"].includes(each.trim()));
}
