/** GPU architectures by compute capability. */

import type { SourceKey } from "./sources.ts";

export interface ArchitectureRow {
  readonly compute: string;
  readonly name: string;
  readonly platform: "desktop" | "tegra";
  readonly chips: readonly string[];
  readonly firstToolkit: string;
  /** null: still a target of the newest toolkit that was read, 13.4. */
  readonly lastToolkit: string | null;
  /** Newest driver branch that drives it; null: still driven by the newest branch that was read, R615, or no branch (Tegra). */
  readonly lastDriverBranch: number | null;
  /** NVIDIA's open kernel module; null where no document says. */
  readonly openModule: "required" | "supported" | "unsupported" | null;
  /** First toolkit of each specific target: `90a` → `12.0`. */
  readonly specific: Readonly<Record<string, string>>;
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

// biome-ignore format: one row per line
export const architectureRows: readonly ArchitectureRow[] = [
  { compute: "2.0", name: "Fermi", platform: "desktop", chips: ["GF100", "GF110"], firstToolkit: "3.0", lastToolkit: "8.0", lastDriverBranch: 390, openModule: "unsupported", specific: {}, source: ["MATRIX", "SPACKBS", "DEPR", "KMOD"] },
  { compute: "2.1", name: "Fermi", platform: "desktop", chips: ["GF104", "GF106", "GF108", "GF114", "GF116", "GF117", "GF119"], firstToolkit: "3.2", lastToolkit: "8.0", lastDriverBranch: 390, openModule: "unsupported", specific: {}, source: ["SPACKBS", "MATRIX", "DEPR", "KMOD"], note: "nvcc has sm_21 but no compute_21: its virtual architecture is compute_20" },
  { compute: "3.0", name: "Kepler", platform: "desktop", chips: ["GK104", "GK106", "GK107"], firstToolkit: "5.0", lastToolkit: "10.2", lastDriverBranch: 470, openModule: "unsupported", specific: {}, source: ["MATRIX", "SPACKBS", "KMOD"] },
  { compute: "3.2", name: "Kepler", platform: "tegra", chips: ["GK20A"], firstToolkit: "5.0", lastToolkit: "10.2", lastDriverBranch: null, openModule: null, specific: {}, source: ["SPACKBS", "CMAKESEL", "CMAKE"] },
  { compute: "3.5", name: "Kepler", platform: "desktop", chips: ["GK110", "GK110B", "GK180", "GK208", "GK208B"], firstToolkit: "5.0", lastToolkit: "11.8", lastDriverBranch: 470, openModule: "unsupported", specific: {}, source: ["MATRIX", "SPACKBS", "KMOD"] },
  { compute: "3.7", name: "Kepler", platform: "desktop", chips: ["GK210"], firstToolkit: "6.5", lastToolkit: "11.8", lastDriverBranch: 470, openModule: "unsupported", specific: {}, source: ["SPACKBS", "MATRIX", "KMOD"], note: "R470 offers CUDA 11.4: toolkits 11.5 to 11.8 rely on minor-version compatibility here" },
  { compute: "5.0", name: "Maxwell", platform: "desktop", chips: ["GM107", "GM108"], firstToolkit: "6.0", lastToolkit: "12.9", lastDriverBranch: 580, openModule: "unsupported", specific: {}, source: ["MATRIX", "SPACKBS", "RN131", "KMOD"] },
  { compute: "5.2", name: "Maxwell", platform: "desktop", chips: ["GM200", "GM204", "GM206"], firstToolkit: "6.5", lastToolkit: "12.9", lastDriverBranch: 580, openModule: "unsupported", specific: {}, source: ["MATRIX", "SPACKBS", "RN131", "KMOD"] },
  { compute: "5.3", name: "Maxwell", platform: "tegra", chips: ["GM20B"], firstToolkit: "6.5", lastToolkit: "12.9", lastDriverBranch: null, openModule: null, specific: {}, source: ["SPACKBS", "RN131"] },
  { compute: "6.0", name: "Pascal", platform: "desktop", chips: ["GP100"], firstToolkit: "8.0", lastToolkit: "12.9", lastDriverBranch: 580, openModule: "unsupported", specific: {}, source: ["MATRIX", "SPACKBS", "CMAKE", "RN131", "KMOD"] },
  { compute: "6.1", name: "Pascal", platform: "desktop", chips: ["GP102", "GP104", "GP106", "GP107", "GP108"], firstToolkit: "8.0", lastToolkit: "12.9", lastDriverBranch: 580, openModule: "unsupported", specific: {}, source: ["MATRIX", "SPACKBS", "CMAKE", "RN131", "KMOD"] },
  { compute: "6.2", name: "Pascal", platform: "tegra", chips: ["GP10B"], firstToolkit: "8.0", lastToolkit: "12.9", lastDriverBranch: null, openModule: null, specific: {}, source: ["SPACKBS", "CMAKE", "RN131"] },
  { compute: "7.0", name: "Volta", platform: "desktop", chips: ["GV100"], firstToolkit: "9.0", lastToolkit: "12.9", lastDriverBranch: 580, openModule: "unsupported", specific: {}, source: ["MATRIX", "SPACKBS", "CMAKE", "RN131", "KMOD"] },
  { compute: "7.2", name: "Volta", platform: "tegra", chips: ["GV11B"], firstToolkit: "9.1", lastToolkit: "12.9", lastDriverBranch: null, openModule: null, specific: {}, source: ["LLVM", "SPACKBS", "CMAKE", "RN131"], note: "LLVM says 9.1, CMake and Spack 9.0: the later one is safe; nvcc 13.0 has no sm_72" },
  { compute: "7.5", name: "Turing", platform: "desktop", chips: ["TU102", "TU104", "TU106", "TU116", "TU117"], firstToolkit: "10.0", lastToolkit: null, lastDriverBranch: null, openModule: "supported", specific: {}, source: ["MATRIX", "SPACKBS", "CMAKE", "LLVM", "KMOD"] },
  { compute: "8.0", name: "Ampere", platform: "desktop", chips: ["GA100"], firstToolkit: "11.0", lastToolkit: null, lastDriverBranch: null, openModule: "supported", specific: {}, source: ["MATRIX", "SPACKBS", "CMAKE", "KMOD"] },
  { compute: "8.6", name: "Ampere", platform: "desktop", chips: ["GA102", "GA103", "GA104", "GA106", "GA107"], firstToolkit: "11.1", lastToolkit: null, lastDriverBranch: null, openModule: "supported", specific: {}, source: ["MATRIX", "SPACKBS", "CMAKE", "LLVM", "KMOD"], note: "CUDA 11.0 cannot compile for it, but its sm_80 code runs here" },
  { compute: "8.7", name: "Ampere", platform: "tegra", chips: ["GA10B"], firstToolkit: "11.4", lastToolkit: null, lastDriverBranch: null, openModule: null, specific: {}, source: ["SPACKBS", "CMAKE", "LLVM"], note: "sm_80 and sm_86 code does not run here" },
  { compute: "8.8", name: "Ampere", platform: "tegra", chips: [], firstToolkit: "13.0", lastToolkit: null, lastDriverBranch: null, openModule: null, specific: {}, source: ["NVCC130", "CMAKE"], note: "known to nvcc 13.0; no product was found; presumed Tegra, since nvlink joins it with nothing else" },
  { compute: "8.9", name: "Ada", platform: "desktop", chips: ["AD102", "AD103", "AD104", "AD106", "AD107"], firstToolkit: "11.8", lastToolkit: null, lastDriverBranch: null, openModule: "supported", specific: {}, source: ["MATRIX", "SPACKBS", "CMAKE", "LLVM", "KMOD"] },
  { compute: "9.0", name: "Hopper", platform: "desktop", chips: ["GH100"], firstToolkit: "11.8", lastToolkit: null, lastDriverBranch: null, openModule: "supported", specific: { "90a": "12.0" }, source: ["MATRIX", "SPACKBS", "CMAKE", "LLVM", "KMOD"], note: "Spack says 12.0; CMake and LLVM 11.8, which compiles it. Grace Hopper needs the open module" },
  { compute: "10.0", name: "Blackwell", platform: "desktop", chips: ["GB100", "GB102"], firstToolkit: "12.8", lastToolkit: null, lastDriverBranch: null, openModule: "required", specific: { "100a": "12.8", "100f": "12.9" }, source: ["MATRIX", "SPACKBS", "CMAKE", "NIXWIKI"] },
  { compute: "10.1", name: "Blackwell", platform: "tegra", chips: ["GB10B"], firstToolkit: "12.8", lastToolkit: "12.9", lastDriverBranch: null, openModule: null, specific: { "101a": "12.8", "101f": "12.9" }, source: ["SPACKBS", "CMAKE", "RN131"], note: "name of Thor in CUDA 12.8 and 12.9 only; 13.0 renames it 11.0" },
  { compute: "10.3", name: "Blackwell Ultra", platform: "desktop", chips: ["GB110"], firstToolkit: "12.9", lastToolkit: null, lastDriverBranch: null, openModule: "required", specific: { "103a": "12.9", "103f": "12.9" }, source: ["SPACKBS", "CMAKE", "NIXWIKI", "CUTLASS"], note: "CUTLASS asks for 13.0 for the products; 12.9 compiles" },
  { compute: "10.7", name: "Rubin", platform: "desktop", chips: ["GR100", "GR102"], firstToolkit: "13.4", lastToolkit: null, lastDriverBranch: null, openModule: null, specific: { "107a": "13.4", "107f": "13.4" }, source: ["RN134", "PG", "K8SDP"], note: "the k8s device plugin maps major 13 to Rubin, which is NVML's number of the architecture" },
  { compute: "11.0", name: "Blackwell", platform: "tegra", chips: ["GB10B"], firstToolkit: "13.0", lastToolkit: null, lastDriverBranch: null, openModule: null, specific: { "110a": "13.0", "110f": "13.0" }, source: ["NVCC130", "SPACKBS", "CMAKE"], note: "called 10.1 by CUDA 12.8 and 12.9" },
  { compute: "12.0", name: "Blackwell", platform: "desktop", chips: ["GB202", "GB203", "GB205", "GB206", "GB207"], firstToolkit: "12.8", lastToolkit: null, lastDriverBranch: null, openModule: "supported", specific: { "120a": "12.8", "120f": "12.9" }, source: ["MATRIX", "SPACKBS", "CMAKE", "KMOD"], note: "NVIDIA asks for the open module on Blackwell in data centres; GeForce is not stated" },
  { compute: "12.1", name: "Blackwell", platform: "desktop", chips: ["GB20B"], firstToolkit: "12.9", lastToolkit: null, lastDriverBranch: null, openModule: "supported", specific: { "121a": "12.9", "121f": "12.9" }, source: ["SPACKBS", "CMAKE", "KMOD"], note: "GB10 uses the normal SBSA driver, not L4T" },
];
