/** Gives programs the GPU code that AMD's archives beside them hold for them (`.kpack`). Without an archive nothing is known of the code. */

import { posix } from "node:path";
import { parseAmdTarget } from "../../hardware/amd-target.ts";
import { remember } from "../../io/collections.ts";
import type { InspectedFile } from "../file-inspection.ts";
import { type AmdCode, byAmdTarget } from "./amd-inspection.ts";
import { codeIsElsewhere } from "./find-amd-code.ts";

/** Stands for a target in a reference. The runtime puts the target there, and opens the file of exactly that name. */
const placeholder = "@GFXARCH@";
const targetInName = /gfx[0-9a-f]+(?:-\d)?(?:-generic)?(?::(?:sramecc|xnack)[+-])*/g;

interface NearArchive {
  readonly file: InspectedFile;
  readonly code: AmdCode & Required<Pick<AmdCode, "archive">>;
  /** The target in its name, where the reference has the placeholder. */
  readonly target: string | null;
}

/** The files, each program with its archived code, and the archives that a program refers to without theirs. */
export function withArchivedCode(files: readonly InspectedFile[]): readonly InspectedFile[] {
  const archives = new Map<string, NearArchive[]>();
  for (const file of files) {
    const code = file.amd;
    if (!hasArchive(code) || code.damage.length > 0) continue;
    const keep = (path: string, target: string | null) =>
      remember(archives, path, (): NearArchive[] => []).push({ file, code, target });
    keep(file.path, null);
    const { dir, base } = posix.parse(file.path);
    for (const { 0: target, index } of base.matchAll(targetInName)) {
      const pattern = base.slice(0, index) + placeholder + base.slice(index + target.length);
      if (parseAmdTarget(target) !== null) keep(`${dir}/${pattern}`, target);
    }
  }
  const used = new Set<InspectedFile>();
  const found = files.map((file) => {
    const reference = file.amd?.elsewhere;
    if (file.amd === null || reference === undefined) return file;
    const folder = posix.dirname(file.path);
    const near = reference.paths.flatMap((path) => archives.get(posix.join(folder, path)) ?? []);
    for (const archive of near) used.add(archive.file);
    return joined(file, file.amd, reference.name, near);
  });
  return found.map((file) =>
    used.has(file) ? { ...file, amd: null, archived: file.amd?.sizes ?? {} } : file,
  );
}

function hasArchive(code: AmdCode | null): code is NearArchive["code"] {
  return code?.archive !== undefined;
}

function joined(
  file: InspectedFile,
  own: AmdCode,
  name: string,
  near: readonly NearArchive[],
): InspectedFile {
  const pieces = new Map<string, Set<string>>();
  for (const { code, target } of near)
    for (const piece of code.archive) {
      if (piece.name !== name && !piece.name.startsWith(`${name}#`)) continue;
      const targets = remember(pieces, piece.name, () => new Set<string>());
      for (const each of piece.targets) if (target === null || isNamedFor(target, each)) targets.add(each);
    }
  const counts = new Map(own.targets.map((each) => [each.target, each]));
  for (const targets of pieces.values())
    for (const target of targets) {
      const { version, modules } = counts.get(target) ?? { version: null, modules: 0 };
      counts.set(target, { target, version, modules: modules + 1 });
    }
  // Nothing of it is here: the reason stays that its code is elsewhere.
  if ([...pieces.values()].every(({ size }) => size === 0)) return file;
  const isOther = (reason: string) => !reason.startsWith(codeIsElsewhere);
  return {
    ...file,
    amd: {
      ...own,
      modules: own.modules + pieces.size,
      targets: [...counts.values()].sort(byAmdTarget),
      unknown: Object.assign({}, own.unknown, ...near.map(({ code }) => code.unknown)),
      damage: own.damage.filter(isOther),
    },
    unopened: file.unopened.filter(isOther),
  };
}

/** `gfx942` and `gfx942:xnack+` are both in the archive that is named for `gfx942`. */
function isNamedFor(name: string, target: string): boolean {
  return target === name || target.startsWith(`${name}:`);
}
