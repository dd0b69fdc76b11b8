/** Tells whether a subject without a platform, such as a folder or a wheel, has what a host's architecture runs. Each package decides for itself. */

import { groupBy } from "../../io/collections.ts";
import type { FileInspection } from "../file-inspection.ts";
import { filesOfLayers } from "../image/file-tree.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import { type PackagePath, packagePaths } from "./package-names.ts";

export interface ArchitectureAnswer {
  /** The subject without the programs that a host of `platform` does not run. */
  readonly image: OpenedImage;
  /** The host's; another one if the subject is for another architecture; for a subject without a program that of the host. */
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
export function judgeArchitectures(image: OpenedImage, platform: string): ArchitectureAnswer {
  const { files, packages } = filesOfLayers(image.layers);
  const root = image.source === "folder" ? image.name.replace(/\/$/, "") : "";
  const placeOf = packagePaths(
    packages.flatMap(({ wheels = [] }) => wheels),
    root,
  );
  const [system, host = ""] = platform.split("/");
  const programs = files.flatMap(({ path, inspection }): readonly Program[] => {
    const architecture = architectureOf(inspection);
    if (architecture === null) return [];
    const place = placeOf(path);
    const isOwn = architecture === host && place.system === system;
    return [{ ...place, path, size: inspection.size, architecture, isOwn }];
  });
  const judged = [...groupBy(programs, (program) => program.package).values()].flatMap(judgePackage);
  const [against] = judged.filter(({ isCertain }) => isCertain).sort(bySize);
  return {
    image: withoutOthers(image, against?.architecture ?? host),
    platform: against === undefined ? platform : platformOf(against),
    file: against?.path ?? null,
    undecided: judged.flatMap((each) =>
      each.isCertain ? [] : [`whether it runs without ${each.path}, which is for ${platformOf(each)}`],
    ),
  };
}

const platformOf = ({ system, architecture }: Program) => `${system}/${architecture}`;
const bySize = (a: Program, b: Program) => b.size - a.size;

/**
 * Answers with the largest program for another architecture that a package needs or may need; empty if there is none.
 *
 * Modules decide for a package that has some; else the files whose names tell no architecture. A file of the same name for the host stands for
 * a file, and so does any file for the host where the file is named for an architecture.
 */
function judgePackage(programs: readonly Program[]): readonly (Program & { readonly isCertain: boolean })[] {
  const modules = programs.filter(({ isModule }) => isModule);
  const unnamed = programs.filter(({ isNamed }) => !isNamed);
  const deciding = [modules, unnamed].find(({ length }) => length > 0) ?? programs;
  const own = new Set(programs.flatMap(({ isOwn, name }) => (isOwn ? [name] : [])));
  const isThere = deciding.some(({ name }) => own.has(name));
  const lacking = deciding.filter(({ name, isNamed }) => !own.has(name) && !(isNamed && isThere));
  const [first] = lacking.sort(bySize);
  if (first === undefined) return [];
  const isPackage = first.package !== "";
  // Such a package chooses when it runs, and may do without.
  const isChoice = isPackage && !first.isForOne && deciding.every(({ isNamed }) => isNamed);
  if (isChoice && modules.length === 0 && first.isForAny) return [];
  // A system holds a few programs for other machines, such as firmware.
  if (isThere && !isPackage && modules.length === 0 && 2 * lacking.length < deciding.length) return [];
  return [{ ...first, isCertain: !isThere && !isChoice && (modules.length > 0 || own.size === 0) }];
}

function withoutOthers(image: OpenedImage, architecture: string): OpenedImage {
  const isLeft = (file: FileInspection) => [null, architecture].includes(architectureOf(file));
  const layers = image.layers.map((layer) => ({
    ...layer,
    changes: layer.changes.map((change) => {
      if (change.kind !== "file" || change.opened === undefined) return change;
      const files = Object.entries(change.opened.files).filter(([, file]) => isLeft(file));
      return { ...change, opened: { ...change.opened, files: Object.fromEntries(files) } };
    }),
  }));
  return { ...image, layers };
}
