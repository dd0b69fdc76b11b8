/** Writes the script's checks of broken states: a line of awk for each row of facts/broken-states.ts whose facts a script reads. */

import { type BrokenState, brokenStates, type Condition } from "../../facts/broken-states.ts";
import { stateColumns } from "../../host/nvidia/nvidia-smi.ts";

interface Reading {
  /** The value in awk, of GPU `i`. */
  readonly value: string;
  /** The expression in awk that says whether the value is one of these. */
  readonly test: (is: Condition["is"]) => string;
}

/** A function of the script (program/visible.awk) that answers with the fact's own word. */
function answered(value: string): Reading {
  return {
    value,
    test: (is) => (is.length === 1 ? `${value} == "${is[0]}"` : `${value} ~ /^(${is.join("|")})$/`),
  };
}

function ofColumn({ column, words }: (typeof stateColumns)[keyof typeof stateColumns]): Reading {
  const value = `cell[i, "${column}"]`;
  const matching = (patterns: readonly RegExp[]) => {
    const text = patterns.every(({ flags }) => flags === "i") ? `tolower(${value})` : value;
    const source = patterns.map((pattern) => pattern.source).join("|");
    return { text, source: text === value ? source : source.toLowerCase() };
  };
  const test = (is: Condition["is"]) => {
    const wanted: readonly unknown[] = is;
    const named = words.filter(([, fact]) => wanted.includes(fact)).map(([pattern]) => pattern);
    if (named.every(({ source }) => source !== ".")) {
      const { text, source } = matching(named);
      return `${text} ~ /${source}/`;
    }
    // Whatever no other value takes.
    const { text, source } = matching(
      words.filter(([, fact]) => !wanted.includes(fact)).map(([pattern]) => pattern),
    );
    return `!nothing(${value}) && ${text} !~ /${source}/`;
  };
  return { value, test };
}

const ofGpu: Readonly<Record<string, Reading>> = {
  fabric: answered("fabricfact(i)"),
  mig: answered("migfact(i)"),
  ...Object.fromEntries(Object.entries(stateColumns).map(([fact, column]) => [fact, ofColumn(column)])),
};
const ofDriver: Readonly<Record<string, Reading>> = { uvm: answered("uvmfact()") };

/** A script does not look at what hands GPUs to containers. */
const readings: Readonly<Record<Condition["of"], Readonly<Record<string, Reading>>>> = {
  gpu: ofGpu,
  "every gpu": ofGpu,
  driver: ofDriver,
  containers: {},
};

function readingOf({ of, fact }: Condition): Reading | undefined {
  return readings[of][fact];
}

export interface StateChecks {
  /** For each visible GPU `i`. */
  readonly gpustates: string;
  /** After the last of them. */
  readonly allstates: string;
  readonly driverstates: string;
  /** The rows that a script cannot ask. */
  readonly unasked: readonly BrokenState[];
}

export function stateChecks(states: readonly BrokenState[] = brokenStates): StateChecks {
  const [gpu, all, driver]: [string[], string[], string[]] = [[], [], []];
  const unasked: BrokenState[] = [];
  for (const state of states) {
    const { when, brief } = state;
    const places = new Set(when.map(({ of }) => of));
    // Whether every GPU is in a state is known after the last of them.
    const isAsked =
      when.every((condition) => readingOf(condition) !== undefined) &&
      !(places.has("gpu") && places.has("every gpu"));
    if (brief === undefined || !isAsked) {
      unasked.push(state);
      continue;
    }
    const holds = when.map((condition) => {
      const test = readingOf(condition)?.test(condition.is) ?? "";
      if (condition.of !== "every gpu") return test;
      const counter = `allin[${gpu.length}]`;
      gpu.push(`if (${test}) ${counter}++`);
      return `${counter} == V`;
    });
    const line = `if (${[...(places.has("gpu") ? [] : ["V"]), ...holds].join(" && ")}) ${complaint(state, brief)}`;
    (places.has("gpu") ? gpu : places.has("every gpu") ? all : driver).push(line);
  }
  const [gpustates, allstates, driverstates] = [gpu, all, driver].map((lines) => lines.join("\n"));
  return {
    gpustates: gpustates ?? "",
    allstates: allstates ?? "",
    driverstates: driverstates ?? "",
    unasked,
  };
}

function complaint({ code, when }: BrokenState, brief: string): string {
  const first = when.find(({ of }) => of === "gpu");
  const values = { "{gpu}": "idx[i]", "{value}": first && readingOf(first)?.value };
  const parts = brief
    .split(/(\{gpu\}|\{value\})/)
    .filter((part) => part !== "")
    .map((part) => (part === "{gpu}" || part === "{value}" ? values[part] : JSON.stringify(part)));
  return `broken("${code.slice("HOST_".length)}", ${parts.join(" ")})`;
}
