/** Tells how a package of an environment uses a GPU: by code in the package, by linked libraries, or beside modules for the CPU. */

import { basename, posix } from "node:path";
import { remember } from "../../io/collections.ts";
import { codesIn, type InspectedFile, noCode } from "../file-inspection.ts";
import { driverLibrary } from "../loader/loader-record.ts";
import { isNvidiaLibrary } from "../nvidia/driver-files.ts";
import { majorOf, newestToolkit } from "../nvidia/driver-floor.ts";
import type { Member, PackageFiles } from "./packages-of.ts";

/**
 * `none`: it has nothing for a GPU. `libraries`: libraries of a vendor, which decide for the packages that link them. `beside`: it has
 * code for the CPU that loads without a GPU's driver, or no program at all. `whole`: it has neither.
 */
export type GpuUse = "none" | "libraries" | "beside" | "whole";

export interface PackageGpu {
  readonly use: GpuUse;
  /** The files that decide: its own, or with the libraries whose GPU code is its only one. */
  readonly files: readonly InspectedFile[];
}

/** Libraries that are of no use without a GPU: toolkits' and drivers'. */
const runtimes =
  /^lib(?:cuda|cudart|cublas|cublasLt|cudnn|cufft|cufile|curand|cusolver|cusparse|nccl|nvrtc|nvJitLink|nvidia-ml|nvinfer|amdhip64|hsa-runtime64|hipblas|rocblas|MIOpen|rccl)\b[-.\w]*\.so/;

const hasCode = (file: InspectedFile) => codesIn(file).length > 0;
const isOfVendor = ({ path }: InspectedFile) => isNvidiaLibrary(path);
const folderOf = ({ path }: InspectedFile) => posix.dirname(path);
const neededBy = ({ program }: InspectedFile) => program?.needed ?? [];

export function gpuOfPackage(members: readonly Member[], linkedOf: LinkedFiles): PackageGpu {
  const isInPackage = members.some(({ place }) => place.package !== "");
  const modules = members.filter(({ place }) => place.isModule).map(({ file }) => file);
  const all = members.map(({ file }) => file);
  // Profilers' libraries hold helpers, which are not the application's code: CUPTI, and libcheckpoint beside it, in Triton.
  const cupti = all.filter(({ path }) => basename(path).startsWith("libcupti.")).map(folderOf);
  const isOfProfiler = (file: InspectedFile) => isOfVendor(file) || cupti.includes(folderOf(file));
  const hasOthers = all.some((file) => file.program !== null && !isOfProfiler(file));
  const isHelper = (file: InspectedFile) =>
    hasOthers && isOfProfiler(file) && (file.gpu?.registers === false || file.path.endsWith(".a"));
  const own = all.map((file) => (isHelper(file) ? { ...file, ...noCode } : file));
  const holders = own.filter(hasCode);
  const links = all.filter((file) => neededBy(file).some((name) => runtimes.test(name)));
  if (holders.length === 0 && links.length === 0) return { use: "none", files: own };
  const hasPrograms = all.some(({ program }) => program !== null);
  if (isInPackage && ((hasPrograms && !hasOthers) || [...holders, ...links].every(isOfVendor)))
    return { use: "libraries", files: own };
  const needsDriver = (file: InspectedFile) =>
    [file, ...linkedOf([file])].some((each) => neededBy(each).includes(driverLibrary));
  const isForCpu = (file: InspectedFile) =>
    file.program !== null &&
    !hasCode(file) &&
    !isOfVendor(file) &&
    !links.includes(file) &&
    !needsDriver(file);
  const isBeside = isInPackage && (!hasPrograms || (modules.length > 0 ? modules : own).some(isForCpu));
  const libraries = holders.length > 0 ? [] : linkedOf(links).filter(hasCode);
  if (holders.length === 0 && libraries.length === 0) return { use: "none", files: own };
  const loaded = holders.length > 1 ? withoutUnlinked(own, holders, linkedOf(modules)) : own;
  return { use: isBeside ? "beside" : "whole", files: [...loaded, ...libraries] };
}

/** Packages that load code for GPUs, each with its own files and those of its linked libraries. */
export function packagesWithCode(
  packages: readonly PackageFiles[],
  all: readonly InspectedFile[],
): readonly (readonly InspectedFile[])[] {
  const linkedOf = linkedFiles(all);
  return packages
    .map(({ members }) => gpuOfPackage(members, linkedOf))
    .flatMap(({ use, files }) => (use === "beside" || use === "whole" ? [files] : []));
}

/** Where a package has code of several CUDA majors, only the code of the linked major is loaded for certain. */
function withoutUnlinked(
  own: readonly InspectedFile[],
  holders: readonly InspectedFile[],
  linked: readonly InspectedFile[],
): readonly InspectedFile[] {
  const paths = new Set(linked.map(({ path }) => path));
  const majorsOf = (files: readonly InspectedFile[]) =>
    new Set(files.flatMap(({ gpu }) => newestToolkit(gpu?.toolkits ?? []) ?? []).map(majorOf));
  const loaded = holders.filter(({ path }) => paths.has(path));
  if (majorsOf(holders).size < 2 || majorsOf(loaded).size !== 1) return own;
  return own.filter((file) => !hasCode(file) || paths.has(file.path));
}

type LinkedFiles = (files: readonly InspectedFile[]) => readonly InspectedFile[];

/**
 * Returns a function from some files of an environment to the other files that a loader takes with them, by `DT_NEEDED`. Of several files of one
 * name, the files on a run path count; without a run path, all count.
 */
export function linkedFiles(all: readonly InspectedFile[]): LinkedFiles {
  const byName = new Map<string, InspectedFile[]>();
  for (const file of all) {
    if (file.program === null) continue;
    for (const name of new Set([basename(file.path), file.program.soname ?? ""]))
      remember(byName, name, (): InspectedFile[] => []).push(file);
  }
  const linkedBy = (file: InspectedFile) => {
    const folder = posix.dirname(file.path);
    const folders = (file.program?.runPath ?? "")
      .split(":")
      .map((path) => posix.normalize(path.replace(/^\$(?:ORIGIN|\{ORIGIN\})/, folder)).replace(/\/$/, ""));
    return neededBy(file).flatMap((name) => {
      const found = byName.get(name) ?? [];
      const near = found.filter(({ path }) => folders.includes(posix.dirname(path)));
      return near.length > 0 ? near : found;
    });
  };
  return (files) => {
    const seen = new Set(files);
    for (const file of seen) for (const each of linkedBy(file)) seen.add(each);
    for (const file of files) seen.delete(file);
    return [...seen];
  };
}
