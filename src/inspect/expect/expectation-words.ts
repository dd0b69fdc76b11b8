/** Each word of `--expect`: form, promise, and check. */

import { parseComputeCapability } from "../../hardware/compute-capability.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import { parseVersion } from "../../hardware/driver-version.ts";
import { cudaIs, driverAtMost, ptxIsThere } from "./nvidia-checks.ts";
import {
  type Check,
  claimsAreTrue,
  cpuAtMost,
  gpuCodeAtMost,
  libcIs,
  noGpuCode,
  type Operator,
} from "./word-checks.ts";

interface Word {
  /** The promise, for the reader of a report. */
  readonly title: string;
  readonly operators: readonly Operator[];
  readonly example: string;
  /** null for a wrong value. */
  check(value: string, operator: Operator): Check | null;
}

export const expectationWords = {
  ptx: {
    title: "PTX that a newer driver compiles",
    operators: ["", ">="],
    example: "ptx>=90",
    check: (value, operator) =>
      operator === "" ? ptxIsThere(null) : checkOf(computeCapabilityIn(value), ptxIsThere),
  },
  "no-gpu-code": {
    title: "No GPU code",
    operators: [""],
    example: "no-gpu-code",
    check: () => noGpuCode,
  },
  "gpu-code": {
    title: "Size of the GPU code",
    operators: ["<="],
    example: "gpu-code<=500MB",
    check: (value) => checkOf(bytesIn(value), gpuCodeAtMost),
  },
  cuda: {
    title: "Version of CUDA",
    operators: ["==", "<=", ">="],
    example: "cuda==12",
    check: (value, operator) => checkOf(parseVersion(value), (version) => cudaIs(operator, version)),
  },
  driver: {
    title: "Oldest NVIDIA driver",
    operators: ["<="],
    example: "driver<=550",
    check: (value) => checkOf(parseVersion(value), driverAtMost),
  },
  claims: {
    title: "What it says of itself",
    operators: [""],
    example: "claims",
    check: () => claimsAreTrue,
  },
  glibc: {
    title: "Oldest glibc",
    operators: ["<="],
    example: "glibc<=2.28",
    check: (value) => checkOf(parseVersion(value), (most) => libcIs("glibc", most)),
  },
  musl: {
    title: "Code for musl",
    operators: [""],
    example: "musl",
    check: () => libcIs("musl", null),
  },
  march: {
    title: "What the code needs of a CPU",
    operators: ["<="],
    example: "march<=x86-64-v3",
    check: (value) => checkOf(findMarch(value), (march) => cpuAtMost("undecided", march)),
  },
  "may-use": {
    title: "What the code may use of a CPU",
    operators: ["<="],
    example: "may-use<=x86-64-v4",
    check: (value) => checkOf(findMarch(value), (march) => cpuAtMost("mayBeUsed", march)),
  },
} as const satisfies Readonly<Record<string, Word>>;

export type ExpectationWord = keyof typeof expectationWords;

export function isExpectationWord(name: string): name is ExpectationWord {
  return Object.hasOwn(expectationWords, name);
}

function checkOf<Value>(value: Value | null, check: (value: Value) => Check): Check | null {
  return value === null ? null : check(value);
}

/** `9.0`, `90`, `sm_90`, `compute_90`. */
function computeCapabilityIn(text: string) {
  const [, major, minor] = /^(?:sm_|compute_)?(\d{1,2})\.?(\d)$/.exec(text) ?? [];
  return parseComputeCapability(`${major}.${minor}`);
}

const units: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

function bytesIn(text: string): number | null {
  const [, number, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)([a-z]{1,3})$/i.exec(text) ?? [];
  const bytes = units[unit.toUpperCase()];
  return number === undefined || bytes === undefined ? null : Number(number) * bytes;
}
