/** A suggestion keeps its promise: an image of that cell fits the host, natively. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findMarch, marchFeatures } from "../../src/hardware/cpu-marches.ts";
import { driverFloor, findToolkit } from "../../src/hardware/cuda-toolkits.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import type { LockedImage } from "../../src/lock/lock.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { askWithoutCache, checkFitBy } from "../../src/resolve/check-fit.ts";
import { suggestCell } from "../../src/resolve/suggest-cell.ts";
import { machines } from "../host/machines.ts";
import { image } from "./support/locks.ts";

/** Nothing is proposed where the CPU or the GPU is not known, or no cell would help. */
const cannotSuggest: readonly string[] = [
  "broken-broadwell-v100_mismatch_smi",
  "broken-cascadelake-rtx2080ti_lost_smi",
  "broken-zen2-a100_smi_garbage",
  "broken-zen2-a100_smi_timeout",
  "broken-zen2-unknown_gpu_na_fields",
  "debian13-u74-none",
  "macos-coffeelake-none",
  "macos-m2-none",
  "qemu_user-zen3-none",
  "sandbox-unknown-none",
  "windows-coffeelake-rtx2080",
];

describe.each(Object.keys(machines))("%s", (name) => {
  const path = new URL(`../fixtures/hosts/${name}/expected.json`, import.meta.url);
  const host = viewHost(parseHostFacts(readFileSync(path, "utf8"), name));
  const suggestion = suggestCell(host, { images: {} });

  it(suggestion ?? "no cell, where a CPU or a GPU is not known", () => {
    if (suggestion === null) return expect(cannotSuggest).toContain(name);
    const verdict = checkFitBy(askWithoutCache, imageOf(suggestion ?? ""), { ...host, broken: [] }, {});
    expect(verdict).toMatchObject({ ok: true, tier: "native" });
  });
});

function imageOf(suggestion: string): LockedImage {
  const [, cuda = "", compute = "", march = ""] =
    /^add a cell cuda=(\S+)(?: compute=(\[.*\]|\S+))? march=(\S+)$/.exec(suggestion) ?? [];
  const found = findMarch(march);
  if (found === null) throw new Error(suggestion);
  const cpu = { march, features: marchFeatures(found) };
  const base = { platform: `linux/${found.architecture}` };
  if (cuda === "none") return image({ ...base, requires: { cpu, cuda: null } });
  const toolkit = findToolkit(cuda);
  const minimum = toolkit === null ? null : (driverFloor(toolkit)?.minimum ?? null);
  if (toolkit === null || minimum === null) throw new Error(suggestion);
  const code = compute
    .replace(/[[\]" ]/g, "")
    .split(",")
    .map((number) => `sm_${number.replace(".", "")}`);
  return image({
    ...base,
    requires: { cpu, cuda: { toolkit: toolkit.release, code, driver: { mode: "host", minimum } } },
  });
}
