/** Finds compiler and Python in a Dockerfile's base images. null if unknown. */

import type { Compiler } from "../matrix/matrix.ts";
import { lowestStage } from "../dockerfile/stages.ts";
import { argumentsOf, compilingStages, instructionsOf, type Reading } from "./reading.ts";

/** The argument by which a `FROM` chooses a Python, with the version. */
export function findPython(reading: Reading): { readonly argument: string; readonly version: string } | null {
  const declared = argumentsOf(instructionsOf(reading, -1));
  const globals = new Map(declared.map(({ name, value }) => [name, value]));
  for (const { image } of reading.stages) {
    const argument = /(?:^|\/)python:\$\{?(\w+)/.exec(image?.text ?? "")?.[1];
    const version = argument === undefined ? null : globals.get(argument);
    if (argument !== undefined && version && /^[\w.]+$/.test(version)) return { argument, version };
  }
  return null;
}

/**
 * The gcc and clang of a release's packages. Sources: packages.debian.org and packages.ubuntu.com, "gcc",
 * "clang"; pkgs.alpinelinux.org, "gcc".
 */
const releases: readonly (readonly [RegExp, gcc: string, clang: string | null])[] = [
  [/buster|debian:10/, "8.3", "7.0"],
  [/bullseye|debian:11/, "10.2", "11.0"],
  [/bookworm|debian:12/, "12.2", "14.0"],
  [/trixie|debian:13/, "14.2", "19.0"],
  [/bionic|ubuntu:?18\.04/, "7.4", "6.0"],
  [/focal|ubuntu:?20\.04/, "9.3", "10.0"],
  [/jammy|ubuntu:?22\.04/, "11.2", "14.0"],
  [/noble|ubuntu:?24\.04/, "13.2", "18.0"],
  [/alpine:?3\.18/, "12.2", null],
  [/alpine:?3\.(19|20)(?!\d)/, "13.2", null],
  [/alpine:?3\.(21|22)(?!\d)/, "14.2", null],
];

/** The compiler of the first stage that compiles, by its steps or its base. */
export function findCompiler(reading: Reading): Compiler | null {
  const [index] = compilingStages(reading);
  if (index === undefined) return null;
  const texts = instructionsOf(reading, index).map(({ instruction }) => instruction.text);
  const chosen = /(?:\bCC=|C_COMPILER=|\bENV\s+CC\s+)["']?(?:\S*\/)?(gcc|clang)(?:-(\d+(?:\.\d+)?))?/.exec(
    texts.join("\n"),
  );
  const base = lowestStage(reading.stages, index)?.ref;
  const family = chosen?.[1] === "clang" ? "clang" : "gcc";
  const version = chosen?.[2] ?? versionOf(base?.ok === true ? base.value : "", family);
  return version === null ? null : { family, version };
}

function versionOf(base: string, family: "gcc" | "clang"): string | null {
  const own = new RegExp(`(?:^|/)${family}:(\\d+(?:\\.\\d+)*)`).exec(base)?.[1];
  if (own !== undefined) return own;
  const release = releases.find(([pattern]) => pattern.test(base));
  return release === undefined ? null : family === "gcc" ? release[1] : release[2];
}
