/** The sources of AMD's facts. What the kernel prints: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c; codes: hip_runtime_api.h. */

import type { FactEvidence } from "../evidence.ts";

export const amdEvidence: readonly FactEvidence[] = [
  {
    fact: "the cards, and whether they work",
    rows: [
      { source: "hipInit, where it is asked", answer: "0", means: "value" },
      { source: "hipInit, where it is asked", answer: "2, 3, 999, no answer", means: "HOST_AMD_HIP_FAILED" },
      {
        source: "hipInit, where it is asked",
        answer: "fewer devices: a library counts the GPUs that it knows",
        means: "silent",
      },
      { source: "/sys/class/kfd", answer: "a node with SIMDs", means: "value" },
      {
        source: "/sys/class/kfd",
        answer: "absent, and amdgpu holds a card",
        means: "HOST_AMD_GPU_SKIPPED",
        inContainer: "silent",
      },
      { source: "/sys/class/kfd", answer: "a node that may not be read", means: "HOST_AMD_NO_DEVICES" },
      { source: "/dev/kfd", answer: "absent", means: "HOST_AMD_NO_DEVICES" },
      { source: "/dev/kfd", answer: "refused by open", means: "HOST_AMD_NO_PERMISSION" },
      { source: "/dev/dri/renderD128", answer: "absent", means: "HOST_AMD_NO_DEVICES" },
      { source: "/dev/dri/renderD128", answer: "refused by open", means: "HOST_AMD_NO_PERMISSION" },
      { source: "/sys/bus/pci/devices", answer: "empty", means: "silent" },
      { source: "/dev/dxg", answer: "there: WSL shows cards of AMD in no file", means: "unknown" },
    ],
  },
  {
    fact: "the target",
    rows: [
      { source: "gfx_target_version of the node", answer: "a number", means: "value" },
      {
        source: "gfx_target_version of the node",
        answer: "0 or absent: the device id tells it",
        means: "silent",
      },
      { source: "the device id, in the tables", answer: "unknown", means: "HOST_AMD_TARGET_UNKNOWN" },
    ],
  },
  {
    fact: "the GPUs that XGMI joins, where several are asked for",
    rows: [
      { source: "io_links of the node", answer: "of type 11, to a GPU", means: "value" },
      { source: "io_links of the node", answer: "of other types alone: no link", means: "value" },
      { source: "io_links of the node", answer: "fewer than the node counts", means: "unknown" },
    ],
  },
  {
    fact: "the driver's version",
    rows: [
      { source: "/sys/module/amdgpu/version", answer: "a version", means: "value" },
      {
        source: "/sys/module/amdgpu/version",
        answer: "absent: the kernel's own module has none",
        means: "unknown",
      },
    ],
  },
];
