/** The list of the corpus and the recorded results of the oracle. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import listed from "./packages.json" with { type: "json" };
import known from "./models.json" with { type: "json" };

export interface WildPackage {
  readonly name: string;
  readonly from: "pypi" | "npm" | "debian" | "built";
  readonly platform: "linux/amd64" | "linux/arm64";
  /** Names with versions, as the package's own client takes them. */
  readonly packages: readonly string[];
  /** Only for `built`: the arguments of `build.sh`. */
  readonly build: string | null;
  /** The simplest use, for bash. */
  readonly run: string;
  /** CI inspects these. */
  readonly small: boolean;
  /** `check` judges the folder itself, as a user's environment on a host without a GPU. */
  readonly environment: boolean;
  /** What the use did on an H200 with a driver of CUDA 13.0; null if nobody has tried. */
  readonly onH200: "ran" | null;
}

export interface CpuModel {
  readonly name: string;
  readonly platform: string;
  readonly features: readonly string[];
}

/** `died`: the use ends otherwise than on a model, or on the H200, where it runs. `none`: no oracle, as the use ends on none, or in time on none. */
export type Outcome = "ran" | "died" | "none";

export interface Recorded {
  /** File → SHA-256. */
  readonly files: Readonly<Record<string, string>>;
  /** Model → outcome. */
  readonly models: Readonly<Record<string, Outcome>>;
  /** Model → signal, or the last words. */
  readonly words: Readonly<Record<string, string>>;
}

export const packages: readonly WildPackage[] = listed.packages.map((each) => ({
  ...{ packages: [], build: null, platform: "linux/amd64", small: false, environment: false, onH200: null },
  ...(each as Pick<WildPackage, "name" | "from" | "run">),
}));

export const models: readonly CpuModel[] = known.models.map((model) => ({
  ...model,
  features: model.features.split(" "),
}));

/** A third is looked at last: rules are made without a look at it. */
export function isHeldBack(name: string): boolean {
  return BigInt(`0x${createHash("sha256").update(name).digest("hex")}`) % 3n === 0n;
}

export const recordFile = join(import.meta.dirname, "oracle.json");

export function readRecord(): Record<string, Recorded> {
  return JSON.parse(readFileSync(recordFile, "utf8")) as Record<string, Recorded>;
}
