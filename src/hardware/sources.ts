/** Sources of the rows of the hardware tables. Every row names one or more of these keys. */

export const hardwareSources = {
  AMDCOMPAT:
    "ROCm/rocm-install-on-linux, commit 0802f804: docs/reference/user-kernel-space-compat-matrix.rst; the module's number as drivers print it beside their release in public issue reports",
  AMDDOCS97: "ROCm/amdgpu-docs#97: driver 30.30.2 with ROCm 6.3 to 7.2",
  AMDFIRMWARE: "ROCm/legacy-rocm-build, commit d6c823fa: docs/data/driver-firmware-support.yaml",
  AMDGPUDOC: "torvalds/linux: Documentation/gpu/amdgpu/dgpu-asic-info-table.csv and apu-asic-info-table.csv",
  AMDGPUIDS: "libdrm 2.4.134: data/amdgpu.ids (Debian package libdrm-common 2.4.134-3)",
  AMDGPUOP: "ROCm/gpu-operator, commit 6df13c17: helm-charts-k8s/templates/gpu-nfd-default-rule.yaml",
  AMDGPUUSAGE: "LLVM 22.1.8: llvm/docs/AMDGPUUsage.rst (processors, generic processors and their versions)",
  ARCHSPEC: "archspec/archspec-json, commit 90b453f: cpu/microarchitectures.json and tests/targets/",
  AZUREDOCS:
    "MicrosoftDocs/azure-compute-docs: articles/virtual-machines/sizes/gpu-accelerated/ (learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/), the page of each series",
  CAPT: "utkuozdemir/nvidia_gpu_exporter, commit e656cd81: internal/captures/ (raw nvidia-smi output)",
  CFCOMPAT: "conda-forge/cuda-compat-feedstock, commit b36f15b8: recipe/meta.yaml and its history",
  CKGENERIC94:
    "https://github.com/ROCm/composable_kernel/pull/2751: gfx9-4-generic is a target of the compiler of ROCm 6.4.1, and of no older one",
  CKGFX115X: "https://github.com/ROCm/composable_kernel/pull/2552: gfx1150 and gfx1151 with ROCm 6.4",
  CKGFX12:
    "https://github.com/ROCm/composable_kernel/pull/1560: gfx12 removed from builds with ROCm 6.2, whose compiler does not fully support it",
  CKGFX940:
    "https://github.com/ROCm/composable_kernel/pull/1944: no support of gfx940 and gfx941 from ROCm 6.5 on, which was released as 7.0",
  CKGFX941:
    "https://github.com/ROCm/composable_kernel/pull/758: gfx941 and gfx942 are targets of the compiler from ROCm 5.7 on",
  CKGFX950:
    "https://github.com/ROCm/composable_kernel/pull/2032: gfx950 is a default target from ROCm 6.4 on",
  CLANG22:
    "clang 13.0.1, 14.0.6, 15.0.6, 16.0.6, 19.1.7 and 22.1.8 (Debian 12 packages): -march=X -dM -E, also for AArch64 and RISC-V; for AArch64 --print-enabled-extensions",
  CLANG22HIP:
    "clang 22.1.8 (Debian package clang-22): -x hip --offload-arch=X, code object V6; e_flags of each object by llvm-readelf",
  CLUSTERTOOLKIT:
    "GoogleCloudPlatform/cluster-toolkit, commit 10473750: examples/gke-a4, gke-a4x and gke-a4x-max-bm (machine_type and accelerator_type)",
  CMAKE: "Kitware/CMake, commit 03676b05: Modules/Internal/CMakeCUDAArchitecturesAll.cmake",
  CMAKESEL: "Kitware/CMake, commit 03676b05: Modules/FindCUDA/select_compute_arch.cmake",
  CUTLASS: "NVIDIA/cutlass, commit 7107b05: README.md (GPUs and minimum CUDA toolkit)",
  DEPR: "NVIDIA developer forum, UNIX graphics feature deprecation schedule (topic 60588)",
  DGXB200: "https://docs.nvidia.com/dgx/dgxb200-user-guide/introduction-to-dgxb200.html",
  DSTACK: "https://github.com/dstackai/dstack/pull/4110 (p5en.48xlarge: H200 and Sapphire Rapids)",
  EMIT: "experiment: a C corpus without target intrinsics compiled with gcc 12.2 and clang 22.1 at four optimisation levels; the instructions found in the assembly",
  FWD: "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html (13.4 era)",
  GCC12:
    "gcc 12.2.0 (Debian 12, also as cross compiler for aarch64, powerpc64le and riscv64): -march=X -Q --help=target and -march=X -dM -E",
  GCCCORES:
    "gcc, gcc/config/aarch64/aarch64-cores.def on the branches of 13, 14 and 15 (mirrors iains/gcc-13-branch, commit 12bf440, gcc-14-branch, 2e9cd66, gcc-15-branch, 77f53de): Neoverse V3 and V3AE in 15 and in later releases of 14",
  GCCRISCV: "gcc-mirror/gcc: gcc/common/config/riscv/riscv-common.cc (table of profiles)",
  GCCWWW:
    "gcc.gnu.org release notes, htdocs/gcc-*/changes.html (mirror cooljeanius/gcc-wwwdocs, commit 32694ec)",
  GRAYSKY: "graysky2/kernel_compiler_patch, commit a814e64: README.md",
  HIPFFT7: "https://github.com/ROCm/hipFFT/releases/tag/rocm-7.0.0: gfx950 added, gfx940 and gfx941 removed",
  HSAKMT:
    "ROCm/rocm-systems, commit 1b1610fc: projects/rocr-runtime/libhsakmt/src/topology.c (gfxip_lookup_table)",
  K8SDP: "NVIDIA/k8s-device-plugin, commit 1b826ac: internal/lm/resource.go",
  KARPENTER:
    "aws/karpenter-provider-aws, commit 1d927085: website/content/en/docs/reference/instance-types.md (https://karpenter.sh/docs/reference/instance-types/), written from what EC2 answers",
  KFDDEVICE:
    "Linux: drivers/gpu/drm/amd/amdkfd/kfd_device.c (version of the graphics core → gfx_target_version)",
  KMOD: "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html",
  LINUX:
    "Linux 6.12: arch/x86/include/asm/cpufeatures.h and intel-family.h; arch/arm64/kernel/cpuinfo.c (hwcap_str)",
  LLVM: "llvm/llvm-project, commit 026c6392: clang/lib/Basic/Cuda.cpp (knows CUDA up to 12.4)",
  LLVM19: "llvm/llvm-project, pull request 90143: clang/docs/ReleaseNotes.rst (Neoverse V3 and V3AE)",
  LLVM20: "llvm/llvm-project, pull request 113826: RVA23 profiles are no longer experimental",
  LLVMELF: "LLVM 22.1.8: llvm/include/llvm/BinaryFormat/ELF.h (EF_AMDGPU_MACH_*)",
  LLVMMACH: "LLVM main, newer than 22.1.8: llvm/test/CodeGen/AMDGPU/elf-header-flags-mach.ll",
  LLVMREV: "LLVM reviews D45056, D137153 and D140950 (names of Intel CPUs in clang)",
  MATRIX: "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html",
  MEMORY: "not confirmed by a document that was read; used only where a wrong value cannot make an image fit",
  MESA: "Mesa, src/nouveau: nouveau_device_info sm_for_chipset() (chipset id → SM)",
  MINOR: "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
  MLPERF31:
    "mlcommons/inference_results_v3.1: closed/NVIDIA/systems/system_descriptions.tsv, closed/Dell/systems/XE9680_H100_SXM_80GBx8_TRT.json",
  MLPERF41:
    "mlcommons/inference_results_v4.1: closed/NVIDIA/systems/DGX-H100_H100-SXM-80GBx8_TRT.json and H200-SXM-141GBx8_TRT.json",
  MLPERFT07: "mlcommons/training_results_v0.7: NVIDIA/systems/ (dgx1, dgx2 and dgxa100, ngc20.06)",
  NCT: "NVIDIA/nvidia-container-toolkit, commit d34b3046: cmd/nvidia-cdi-hook/cudacompat and testdata/compat",
  NVCC130:
    "nvcc, ptxas and nvlink 13.0.88: --list-gpu-arch, --help, and cubins and PTX of each target tried on each other",
  NVCC135:
    "nvcc and ptxas 13.3.73, 13.4.92 and 13.5.37 (nvidia-cuda-nvcc on PyPI): --list-gpu-code, and the targets and PTX ISA versions that ptxas takes",
  NVCCDOC: "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/ (13.4 era)",
  NVL72:
    "https://docs.nvidia.com/enterprise-reference-architectures/nvl72-ai-factory/latest/components.html (one compute tray)",
  NVLIB: "NVIDIA/go-nvlib: pkg/nvlib/info/property-extractor.go",
  NVLIST: "https://developer.nvidia.com/cuda-gpus and /cuda-legacy-gpus",
  OBSERVED: "output of real drivers quoted in public issue reports; the row's note names them",
  NVOPEN:
    "https://developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules/ (Blackwell: open kernel modules alone)",
  OGKM: "NVIDIA/open-gpu-kernel-modules, 595.45.04: g_nv_name_released.h; README.md of 193 tags from 515.43.04 on",
  ORTGFX1152: "https://github.com/ROCm/onnxruntime/pull/172: gfx1151 and gfx1152 with ROCm 7.0",
  PCIIDS: "pciutils/pciids, commit c1c12547: pci.ids 2026.08.22, vendor 10de",
  PCIIDSAMD: "pci.ids 2026.10.24, vendor 1002 (Debian package pci.ids 0.0~2026.10.24-1)",
  PG: "CUDA C++ Programming Guide, Compute Capabilities (family-specific targets)",
  PGBIN: "CUDA C++ Programming Guide, Binary Compatibility",
  REQ: "NVIDIA container-images/cuda Dockerfiles, ENV NVIDIA_REQUIRE_CUDA (mirror taehun-kmu/FMCL-Docker, commit 31bd822f)",
  RN131: "CUDA 13.1 release notes, table CUDA Toolkit and Corresponding Driver Versions",
  RN134: "CUDA 13.4 Update 1 release notes (https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/)",
  RNQUOTE:
    "third parties quoting NVIDIA's release notes of CUDA 13.0.3, 13.3.1 and of the 13.4 developer preview",
  ROCMPTGFX12: "https://github.com/ROCm/pytorch/pull/1955: gfx1200 and gfx1201 from ROCm 6.4 on",
  ROCRISA:
    "ROCm/rocm-systems, commit 1b1610fc: projects/rocr-runtime/runtime/hsa-runtime/core/runtime/isa.cpp",
  ROCSOLVERGENERIC:
    "https://github.com/ROCm/rocSOLVER/issues/909: gfx11-generic needs -mcode-object-version=6 before ROCm 6.4",
  RVPROFILES: "riscv/riscv-profiles: src/rva20-profile.adoc, rva22-profile.adoc and rva23-profile.adoc",
  SPACK:
    "spack/spack-packages, commit 1e8cf059: packages/cuda/package.py (runfile names carry the bundled driver)",
  SPACKBS: "spack/spack-packages, commit 1e8cf059: build_systems/cuda.py (cuda_arch → CUDA versions)",
  SPACKROCM:
    "spack/spack-packages, commit 089c5a19: build_systems/rocm.py (the oldest compiler of ROCm for each amdgpu_target)",
  SPARECORES:
    "SpareCores/sc-inspector-data, commit 804d3c71 (CC BY-SA 4.0): data/CLOUD/TYPE/lscpu/stdout, nvidia_smi/stdout and lshw/stdout, read on the machine types themselves",
  SURVEYOR: "mlmon/surveyor, README.md: an AWS host with NVIDIA H100 80GB HBM3 and AMD EPYC 7R13",
  TELE: "influxdata/telegraf, commit b2726314: plugins/inputs/nvidia_smi/testdata/*.xml",
  THEROCK: "ROCm/TheRock, commit 89553ce3: cmake/therock_amdgpu_targets.cmake and RELEASES.md",
  VULTR: "https://docs.vultr.com/inference-cookbook/cuda/getting-started/hardware-overview (HGX B200)",
} as const satisfies Record<string, string>;

/** A key of {@link hardwareSources}. */
export type SourceKey = keyof typeof hardwareSources;
