/** Names of -march= without a row: held against the table of marches, and against gcc where it is installed. */

import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { fixMarch, nearMarch } from "../../src/hardware/compiler-names.ts";
import names from "../../src/hardware/compiler-names.json" with { type: "json" };
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { needs } from "../support/needs.ts";

const same = Object.entries(names.same);
const within = Object.entries(names.within).flatMap(([march, all]) =>
  all.split(" ").map((name) => [name, march] as const),
);

it("leads each name to a march of the table, and has none twice", () => {
  const all = [...same, ...within].map(([name]) => name).concat(names.unknown.split(" "));
  expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([]);
  expect(all.filter((name) => findMarch(name) !== null)).toEqual([]);
  expect([...same, ...within].filter(([, march]) => findMarch(march) === null)).toEqual([]);
});

it("says what to write", () => {
  expect(["corei7-avx", "core2", "native", "zen4", "broadwel", "toString"].map(fixMarch)).toEqual([
    "write sandybridge, which is the same march",
    "write x86-64, the highest known march that a core2 runs",
    "name the marches of the hosts: native is the march of whatever machine compiles",
    "did you mean znver4?",
    "did you mean broadwell?",
    expect.stringMatching(/^imgmatch hardware cpu lists those of /),
  ]);
  // gcc knows it, and nobody has compared its features: a name that is spelled nearly so would be a guess.
  expect(nearMarch("grandridge")).toBe(null);
});

const gcc = process.arch === "x64" ? "gcc" : "x86_64-linux-gnu-gcc";
const whyNoGcc = attempt(["--version"]) === null ? `no ${gcc} (apt-get install gcc)` : null;

it(
  "agrees with gcc: a name has every instruction set of its march, and each name of gcc is known",
  needs(whyNoGcc),
  () => {
    const sets = (march: string): readonly string[] | null => {
      const macros = attempt([`-march=${march}`, "-dM", "-E", "-xc", "/dev/null"]);
      if (macros === null) return null;
      // `__SSE3__ 1`: names of CPUs are in small letters.
      return [...macros.matchAll(/^#define (__[A-Z0-9_a-z]*[A-Z][A-Z0-9_]*__) 1$/gm)].map(
        ([, set = ""]) => set,
      );
    };
    let compared = 0;
    for (const [name, march] of [...same, ...within]) {
      const [own, less] = [sets(name), sets(march)];
      if (own === null || less === null) continue;
      compared++;
      expect(
        less.filter((set) => !own.includes(set)),
        `${march} in ${name}`,
      ).toEqual([]);
      if (Object.hasOwn(names.same, name)) expect(own.length, name).toBe(less.length);
    }
    expect(compared).toBeGreaterThan(20);
    const known = new Set(
      [...same, ...within].map(([name]) => name).concat(names.unknown.split(" "), "native"),
    );
    expect(namesOfGcc().filter((name) => !known.has(name) && findMarch(name) === null)).toEqual([]);
  },
);

/** The list in the error for a name that there is not. */
function namesOfGcc(): readonly string[] {
  try {
    execFileSync(gcc, ["-march=nothing", "-E", "-xc", "/dev/null"], { stdio: "pipe", encoding: "utf8" });
    return [];
  } catch (error) {
    const text = String((error as { stderr: string }).stderr);
    return (/valid arguments to .*-march=.* are: ([^;\n]*)/.exec(text)?.[1] ?? "").split(" ").filter(Boolean);
  }
}

function attempt(words: readonly string[]): string | null {
  try {
    return execFileSync(gcc, words, {
      stdio: "pipe",
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C" },
    });
  } catch {
    return null;
  }
}
