/** Kubernetes nodes as `kubectl get node -o json` prints them, with the labels of Node and GPU Feature Discovery. */

const nfd = "feature.node.kubernetes.io/";
const labels = {
  "kubernetes.io/arch": "amd64",
  "kubernetes.io/os": "linux",
  [`${nfd}cpu-cpuid.AVX2`]: "true",
  [`${nfd}cpu-cpuid.AVX512F`]: "true",
  [`${nfd}cpu-cpuid.AMXTILE`]: "true",
  [`${nfd}cpu-model.vendor_id`]: "Intel",
  [`${nfd}cpu-model.family`]: "6",
  [`${nfd}cpu-model.id`]: "143",
  [`${nfd}kernel-version.full`]: "5.15.0-105-generic",
  [`${nfd}pci-0302_10de.present`]: "true",
  "nvidia.com/cuda.driver-version.full": "550.90.07",
  "nvidia.com/cuda.driver.major": "550",
  "nvidia.com/cuda.driver.minor": "90",
  "nvidia.com/cuda.driver.rev": "07",
  "nvidia.com/cuda.runtime-version.full": "12.4",
  "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb",
  "nvidia.com/gpu.count": "2",
  "nvidia.com/gpu.memory": "40448",
  "nvidia.com/gpu.compute.major": "9",
  "nvidia.com/gpu.compute.minor": "0",
  "nvidia.com/mig.strategy": "mixed",
  "nvidia.com/mig-3g.40gb.count": "4",
};
const node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "gpu-1", labels },
  status: {
    capacity: { cpu: "96", "nvidia.com/gpu": "2" },
    nodeInfo: { architecture: "amd64", operatingSystem: "linux", kernelVersion: "5.15.0-105-generic" },
  },
};

export const nodeTexts: readonly string[] = [
  node,
  { apiVersion: "v1", kind: "List", items: [node] },
  labels,
  {
    ...node,
    metadata: { name: "arm-1", labels: { "kubernetes.io/arch": "arm64", [`${nfd}cpu-cpuid.ASIMD`]: "true" } },
  },
].map((value) => JSON.stringify(value));
