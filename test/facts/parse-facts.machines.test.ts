/** The name of a folder is an expectation: system, CPU, then the GPU or `none`, with the state where there is one. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findMarch, marchFeatures } from "../../src/hardware/cpu-marches.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { machines } from "../host/machines.ts";

const root = fileURLToPath(new URL("../fixtures/hosts", import.meta.url));

/** Word of a folder's name → the march whose code such a CPU runs, where it is not called the same. */
const marches: Readonly<Record<string, string>> = {
  zen2: "znver2",
  zen3: "znver3",
  zen4: "znver4",
  zen5: "znver5",
  skylake: "skylake-avx512",
  icelake: "icelake-server",
  raptorlake: "alderlake",
  neoverse: "neoverse-n1",
  power9: "power9",
  power10: "power10",
  xgene: "armv8-a",
  a78ae: "armv8.2-a",
  carmel: "armv8.2-a",
  rk3588: "armv8.2-a",
  v3ae: "armv9-a",
  gb10: "armv9-a",
};

/** Machines whose features nobody can know, and what a name says is missing. */
const unknown = /^(macos|windows|sandbox|qemu_user|debian13-u74)/;
const masked: Readonly<Record<string, readonly string[]>> = {
  "kvm-graniterapids_without_amx-none": ["amx_bf16", "amx_fp16", "amx_int8", "amx_tile"],
};

describe.each(Object.keys(machines))("%s", (name) => {
  const [system = "", cpu = "", ...rest] = name.split("-");
  const gpu = rest.join("-");
  const facts = parseHostFacts(readFileSync(`${root}/${name}/expected.json`, "utf8"), name);

  it("has three words", () => {
    expect(name).toMatch(/^[a-z0-9_]+-[a-z0-9_]+-[a-z0-9_]+$/);
  });

  const runsItsName = (): void => {
    const word = cpu.split("_")[0] ?? "";
    const march = findMarch(marches[word] ?? word);
    if (march === null) throw new Error(`no march for ${word}`);
    const missing = marchFeatures(march).filter((feature) => !facts.cpu.features?.includes(feature));
    expect(missing).toEqual(masked[name] ?? []);
  };
  if (!unknown.test(name))
    it("runs the code of the CPU in its name, and lacks what its name says", runsItsName);

  it("has the GPU of its name, and none where it says so", () => {
    if (gpu === "none") expect(facts.nvidia).toBeNull();
    else expect(facts.nvidia).not.toBeNull();
    const named = /^(rtx)?\d{4}(ti)?|^[a-z]{1,2}\d+s?/.exec(gpu)?.[0] ?? "";
    const names = (facts.nvidia?.gpus ?? []).flatMap((each) => each.name ?? []);
    if (names.length === 0) return;
    // A card that the driver no longer drives is in a problem alone.
    const told = [...names, ...facts.problems.map(({ message }) => message)].join(" ");
    expect(told.toLowerCase().replaceAll(" ", "")).toContain(named);
  });

  it("has a problem where its name says that it is broken", () => {
    if (system === "broken") expect(facts.problems).not.toEqual([]);
  });
});
