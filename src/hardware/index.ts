/** Hardware facts as data, each with its source. */

export {
  type ComputeCapability,
  compareComputeCapability,
  formatComputeCapability,
  parseComputeCapability,
} from "./compute-capability.ts";
export { hiddenFeatures, inferHiddenFeatures } from "./cpu-hidden-features.ts";
export {
  type CpuArchitecture,
  compilerFlags,
  cpuLevel,
  findMarch,
  type March,
  marchCompiles,
  marchFeatures,
  marchNames,
  marchPlatform,
  unknownWithout,
} from "./cpu-marches.ts";
export {
  type CudaToolkit,
  cudaOfDriver,
  cudaToolkits,
  driverFloor,
  findToolkit,
  type SupportedTargets,
  supportedTargets,
  toolkitCompiles,
} from "./cuda-toolkits.ts";
export { describeHardware, type HardwareKind, hardwareKinds } from "./describe-hardware.ts";
export {
  type CompatPackage,
  compatAllowsClass,
  compatPackages,
  findCompatPackage,
} from "./forward-compat.ts";
export {
  branchDrives,
  findArchitecture,
  type GpuArchitecture,
  gpuArchitectures,
} from "./gpu-architectures.ts";
export { classifyGpu, type GpuClass } from "./gpu-class.ts";
export { findGpuByName, findGpuByPci, type GpuProduct, searchGpus } from "./gpu-products.ts";
export {
  formatGpuTarget,
  type GpuTarget,
  parseGpuTarget,
  targetRunsOn,
  virtualTarget,
} from "./gpu-target.ts";
export type { HardwareReport, ReportRow, ReportTable } from "./report.ts";
export { hardwareSources, type SourceKey } from "./sources.ts";
export {
  type CudaVersion,
  compareCudaVersions,
  compareDriverVersions,
  type DriverVersion,
  driverBranch,
  parseCudaVersion,
  parseDriverVersion,
} from "./version.ts";
