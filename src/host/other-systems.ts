/** Reads partial facts of macOS, Windows and other systems from `systeminformation`. */

import { cpuLevel } from "../hardware/cpu-levels.ts";
import { kernelNumber } from "../facts/fact-grammar.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { HostIo } from "./host-io.ts";
import { unreadable } from "../facts/host-problems.ts";
import { knownSources, unknownHost } from "../facts/no-facts.ts";
import { foreignNvidia } from "./nvidia/foreign-nvidia.ts";

const systems: Readonly<Record<string, string>> = { win32: "windows", sunos: "solaris" };

const source = "systeminformation";

/** Leaves unknown what the system does not tell in Linux's words, such as driver numbers. */
export async function probeOtherSystem(io: HostIo, architecture: string): Promise<HostFacts> {
  const inventory = await io.readInventory();
  const features = inventory === null ? null : linuxFlags(inventory.flags, architecture);
  const gpus = inventory === null ? null : foreignNvidia(io, inventory);
  return {
    ...unknownHost(`${systems[io.platform] ?? io.platform}/${architecture}`),
    kernel: kernelNumber(inventory?.kernel ?? ""),
    cpu: {
      vendor: inventory?.vendor ?? null,
      model: inventory?.model ?? null,
      features,
      level: features === null ? null : cpuLevel(architecture, features),
    },
    nvidia: gpus?.facts,
    problems: [
      ...(inventory === null
        ? [unreadable("the system", "gives no inventory: systeminformation failed")]
        : []),
      ...(gpus?.problems ?? []),
    ],
    sources: {
      ...knownSources({ "cpu.model": inventory && source, "cpu.features": features && source }),
      ...gpus?.sources,
    },
  };
}

/** macOS names → Linux names, where they differ (sysctl machdep.cpu.features, leaf7_features). */
const renamed: Readonly<Record<string, string>> = {
  sse3: "pni",
  "sse4.1": "sse4_1",
  "sse4.2": "sse4_2",
  "avx1.0": "avx",
  lzcnt: "abm",
  lahf: "lahf_lm",
  em64t: "lm",
};

/** Windows lists no flags, and Apple silicon none under Linux names: null, not an empty set. */
function linuxFlags(flags: string, architecture: string): readonly string[] | null {
  const words = flags
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (architecture !== "amd64" || !words.includes("fpu")) return null;
  return [
    ...new Set(words.map((word) => (Object.hasOwn(renamed, word) ? (renamed[word] ?? word) : word))),
  ].sort();
}
