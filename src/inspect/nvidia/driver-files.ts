/** Finds NVIDIA's driver and runtime libraries in an image, by their file names. */

export interface LibraryFile {
  /** `libcudart`. */
  readonly library: string;
  readonly version: string;
  readonly path: string;
  /** A package for Jetson, whose version is that of CUDA. */
  readonly for?: "jetson";
}

export interface DriverFiles {
  /** User-space drivers, which need the kernel module of the same version. */
  readonly bundled: readonly LibraryFile[];
  /** User-space drivers of the forward-compatibility package, below a folder `compat`. */
  readonly compat: readonly LibraryFile[];
  /** Runtime libraries: cudart, cuBLAS, cuDNN, NCCL, … */
  readonly runtime: readonly LibraryFile[];
}

const driverLibrary = /^(libcuda)\.so\.(\d{3,}\.\d+(?:\.\d+)?)$/;
/** `/usr/local/cuda-13.4/compat_orin/libcuda.so.1.1`, before CUDA 13 in `compat`. Source: CUDA for Tegra application note. */
const jetsonLibrary = /(?:\/cuda-(\d+\.\d+)(?:\/.*)?)?\/compat(?:_orin)?\/libcuda\.so\.1\.1$/;
const runtimeLibrary =
  /^(libcu(?:dart|blas|blasLt|dnn|fft|rand|solver|sparse|sparseLt|file|pti|tensor)|libnccl|libnv(?:rtc|JitLink|fatbin|jpeg|infer)|libnpp\w+)(?:-[0-9a-f]{8})?\.so\.(\d+(?:\.\d+){0,3})$/;
/** Also the parts of cuDNN, cuSOLVER and others, which have no versions of their own. */
const ownLibrary =
  /^lib(?:cu(?:dart|dadevrt|blas|dnn|fft|rand|solver|sparse|file|pti|tensor)|nccl|npp|nv(?:rtc|JitLink|fatbin|jpeg|infer|shmem|blas|perf))\w*[-.]/;

export function isNvidiaLibrary(path: string): boolean {
  return ownLibrary.test(path.slice(path.lastIndexOf("/") + 1));
}

export function driverFiles(paths: readonly string[]): DriverFiles {
  const match = (pattern: RegExp) =>
    paths.flatMap((path): LibraryFile[] => {
      const [, library, version] = pattern.exec(path.slice(path.lastIndexOf("/") + 1)) ?? [];
      return library === undefined || version === undefined ? [] : [{ library, version, path }];
    });
  const drivers = match(driverLibrary);
  const isCompat = ({ path }: LibraryFile) => path.split("/").includes("compat");
  const jetson = paths.flatMap((path): LibraryFile[] => {
    const found = jetsonLibrary.exec(path);
    return found === null ? [] : [{ library: "libcuda", version: found[1] ?? "1.1", path, for: "jetson" }];
  });
  return {
    bundled: drivers.filter((file) => !isCompat(file)),
    compat: [...drivers.filter(isCompat), ...jetson],
    runtime: match(runtimeLibrary),
  };
}
