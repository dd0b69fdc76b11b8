/** Finds the ROCm release of an image by the installation, the runtime, and the compiler of the libraries. */

import type { ByteSource } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";

const maxComment = 2 ** 16;

/** AMD's compiler writes its release into files: `AMD clang version 19.0.0git (… roc-6.4.4 25224 …)`. null for none, and for several. */
export function compilerRelease(source: ByteSource, { sections }: Pick<Elf, "sections">): string | null {
  const comment = sections.find(({ name }) => name === ".comment");
  if (comment === undefined) return null;
  const text = Buffer.from(source.read(comment.offset, Math.min(comment.size, maxComment))).toString(
    "latin1",
  );
  const found = new Set(
    [...text.matchAll(/\broc-(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)\b/g)].map(([, release]) => release),
  );
  const [only] = found;
  return found.size === 1 && only !== undefined ? only : null;
}

interface ReleaseFile {
  readonly path: string;
  readonly program: { readonly rocm?: string } | null;
  readonly amd: unknown;
}

/** Without ROCm's runtime, which HIP and OpenMP need, no AMD GPU code runs. */
export function hasRocmRuntime(files: readonly Pick<ReleaseFile, "path">[]): boolean {
  return files.some(({ path }) => runtimeName.test(path));
}

const runtimeName = /\/lib(?:amdhip64|hsa-runtime64)\b[^/]*\.so[^/]*$/;

/** Empty if it is unknown, several if the files disagree. A release has two parts if files disagree only behind them. */
export function rocmReleases(files: readonly ReleaseFile[]): readonly string[] {
  const compiled = (of: readonly ReleaseFile[]) => of.flatMap(({ program }) => program?.rocm ?? []);
  const found = [
    files.flatMap(({ path }) => coreRelease(path) ?? []),
    compiled(files.filter(({ path }) => runtimeName.test(path))),
    compiled(files.filter(({ amd }) => amd !== null)),
  ].find((releases) => releases.length > 0);
  const full = [...new Set(found)].sort();
  if (full.length < 2) return full;
  return [...new Set(full.map((release) => release.split(".").slice(0, 2).join(".")))];
}

/** `librocm-core.so.1.0.70200` is that of 7.2.0 (Arch Linux, file list of rocm-core 7.2.0-2). */
function coreRelease(path: string): string | null {
  const [, digits] = /\/librocm-core\.so\.\d+\.\d+\.(\d{5,6})$/.exec(path) ?? [];
  if (digits === undefined) return null;
  const number = Number(digits);
  return [Math.floor(number / 10_000), Math.floor(number / 100) % 100, number % 100].join(".");
}
