/** Real machines run images of their own march: /proc/cpuinfo of the samples beside the repository, read in place. */

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { inferHiddenFeatures } from "../../src/hardware/cpu-hidden-features.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { needs } from "../support/needs.ts";

const samples = new URL("../../../shared/samples/", import.meta.url);

/** Sample → its march, and the features that its kernel or hypervisor does not show. */
const hosts: readonly (readonly [sample: string, march: string, missing: readonly string[]])[] = [
  ["linux-centos7-cascadelake", "cascadelake", []],
  ["linux-rhel6-piledriver", "bdver2", []],
  ["linux-rhel7-broadwell", "broadwell", []],
  ["linux-rhel7-haswell", "haswell", []],
  ["linux-rhel7-ivybridge", "ivybridge", []],
  ["linux-rhel7-x86_64_v3", "x86-64-v3", []],
  ["linux-rhel7-zen", "znver1", []],
  ["linux-rocky8.5-zen4", "znver4", []],
  ["linux-scientific7-k10", "amdfam10", []],
  ["linux-ubuntu20.04-zen3", "znver3", []],
  ["linux-ubuntu24.04-alderlake", "alderlake", []],
  ["linux-unknown-sapphirerapids", "sapphirerapids", []],
  ["linux-amazon-cortex_a72", "cortex-a72", []],
  ["linux-amazon-neoverse_n1", "neoverse-n1", []],
  ["linux-amazon-neoverse_v1", "neoverse-v1", []],
  ["linux-rhel8-neoverse_v1", "neoverse-v1", ["paca", "pacg"]],
  ["linux-rhel9-neoverse_n2", "neoverse-n2", ["paca", "pacg", "rng"]],
  ["linux-ubuntu22.04-neoverse_v2", "neoverse-v2", ["rng"]],
  ["linux-rocky8-a64fx", "a64fx", []],
  ["linux-centos7-thunderx2", "thunderx2", []],
  ["linux-ubuntu22.04-ampere1", "ampere1", []],
  ["linux-asahi-m1", "apple-m1", []],
  // A kernel newer than 6.12, which prints the hidden features.
  ["linux-ubuntu26.04-arrowlake_s", "arrowlake-s", []],
];

describe(
  "a real machine",
  needs(
    existsSync(samples)
      ? null
      : "no samples of real machines in ../shared/samples, beside the checkout (they are not published)",
  ),
  () => {
    test.each(hosts)("%s runs %s, but for %j", (sample, march, missing) => {
      const shown = shownFeatures(readFileSync(new URL(`cpuinfo_${sample}.txt`, samples), "utf8"));
      const needed = findMarch(march)?.features ?? [];
      expect(needed.length).toBeGreaterThan(5);
      expect(needed.filter((feature) => !shown.has(feature))).toEqual(missing);
    });

    test("has the hidden features that its model stands for, as a kernel that prints them shows", () => {
      const shown = shownFeatures(
        readFileSync(new URL("cpuinfo_linux-ubuntu26.04-arrowlake_s.txt", samples), "utf8"),
      );
      const inferred = inferHiddenFeatures("GenuineIntel", 6, 198, [...shown]);
      expect(inferred).toEqual(
        "avx_ifma avx_ne_convert avx_vnni_int16 avx_vnni_int8 cmpccxadd sha512 sm3 sm4".split(" "),
      );
      expect(inferred.filter((feature) => !shown.has(feature))).toEqual([]);
    });
  },
);

function shownFeatures(cpuinfo: string): ReadonlySet<string> {
  const line = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(cpuinfo)?.[1] ?? "";
  return new Set(line.split(/\s+/));
}
