/** Tells whether a package of a subject without a platform, such as a folder or a wheel, has what a host's architecture runs. */

import type { FileInspection } from "../file-inspection.ts";
import type { PackagePath } from "./package-names.ts";
import type { Member } from "./packages-of.ts";

export interface ArchitectureAnswer {
  /** Without the programs that a host of `platform` does not run. */
  readonly members: readonly Member[];
  /** The host's; another one if the package is for another architecture; for a package without a program that of the host. */
  readonly platform: string;
  /** The file that decides for another architecture; null if `platform` is the host's. */
  readonly file: string | null;
  /** Files for other architectures, without which it may not run. */
  readonly undecided: readonly string[];
}

interface Program extends PackagePath {
  readonly path: string;
  readonly size: number;
  readonly architecture: string;
  readonly isOwn: boolean;
}

/** The names of OCI images for the machines of ELF files. */
const architectures: Readonly<Record<string, string>> = {
  x86_64: "amd64",
  x86: "386",
  aarch64: "arm64",
  riscv: "riscv64",
};

function architectureOf({ program }: FileInspection): string | null {
  return program === null ? null : (architectures[program.machine] ?? program.machine);
}

/** @param platform of the host: `linux/arm64` */
export function judgeArchitecture(members: readonly Member[], platform: string): ArchitectureAnswer {
  const [system, host = ""] = platform.split("/");
  const programs = members.flatMap(({ file, place }): readonly Program[] => {
    const architecture = architectureOf(file);
    if (architecture === null) return [];
    const isOwn = architecture === host && place.system === system;
    return [{ ...place, path: file.path, size: file.size, architecture, isOwn }];
  });
  const found = judgePackage(programs);
  const against = found?.isCertain ? found : undefined;
  const architecture = against?.architecture ?? host;
  return {
    members: members.filter(({ file }) => [null, architecture].includes(architectureOf(file))),
    platform: against === undefined ? platform : platformOf(against),
    file: against?.path ?? null,
    undecided:
      found === null || found.isCertain
        ? []
        : [`whether it runs without ${found.path}, which is for ${platformOf(found)}`],
  };
}

const platformOf = ({ system, architecture }: Program) => `${system}/${architecture}`;
const bySize = (a: Program, b: Program) => b.size - a.size;

/**
 * Answers with the largest program for another architecture that a package needs or may need; null if there is none.
 *
 * Modules decide for a package that has some; else the files whose names tell no architecture. A file of the same name for the host stands for
 * a file, and so does any file for the host where the file is named for an architecture.
 */
function judgePackage(programs: readonly Program[]): (Program & { readonly isCertain: boolean }) | null {
  const modules = programs.filter(({ isModule }) => isModule);
  const unnamed = programs.filter(({ isNamed }) => !isNamed);
  const deciding = [modules, unnamed].find(({ length }) => length > 0) ?? programs;
  const own = new Set(programs.flatMap(({ isOwn, name }) => (isOwn ? [name] : [])));
  const isThere = deciding.some(({ name }) => own.has(name));
  const lacking = deciding.filter(({ name, isNamed }) => !own.has(name) && !(isNamed && isThere));
  const [first] = lacking.sort(bySize);
  if (first === undefined) return null;
  const isPackage = first.package !== "";
  // Such a package chooses when it runs, and may do without.
  const isChoice = isPackage && !first.isForOne && deciding.every(({ isNamed }) => isNamed);
  if (isChoice && modules.length === 0 && first.isForAny) return null;
  // A system holds a few programs for other machines, such as firmware.
  if (isThere && !isPackage && modules.length === 0 && 2 * lacking.length < deciding.length) return null;
  return { ...first, isCertain: !isThere && !isChoice && (modules.length > 0 || own.size === 0) };
}
