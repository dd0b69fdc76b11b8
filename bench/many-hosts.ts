/** Compares one resolver for many hosts with a `resolveImage` for each, in one process. */

import type { HostFacts } from "../src/facts/facts.ts";
import { unknownGpu, unknownHost } from "../src/facts/no-facts.ts";
import { findMarch } from "../src/hardware/cpu-marches.ts";
import { parseLock } from "../src/lock/parse-lock.ts";
import { resolveImage } from "../src/resolve/resolve-image.ts";
import { createResolver } from "../src/resolve/resolver.ts";
import { benchLock } from "./lock.ts";
import { cpuMs } from "./measure.ts";
import { line } from "./report.ts";

const rounds = 5;

/** Compares processor time, turn by turn. Throws if the answers differ. */
export async function manyHosts(images: number): Promise<void> {
  const lock = parseLock(benchLock(images), "lock");
  const hosts = differentHosts();
  const { resolve } = createResolver(lock);
  const times = { one: [] as number[], many: [] as number[] };
  let [one, many] = ["", ""];
  for (let round = 0; round < rounds; round++) {
    times.one.push(
      await cpuMs(() => (one = hosts.map((host) => resolveImage(lock, host).match?.cell).join())),
    );
    times.many.push(await cpuMs(() => (many = hosts.map((host) => resolve(host).match?.cell).join())));
  }
  if (one !== many) throw new Error("a resolver answers differently");
  const [alone, together] = [Math.min(...times.one), Math.min(...times.many)];
  const rate = (ms: number) => `${Math.round((hosts.length / ms) * 1000)} hosts a second`;
  line(`resolveImage, ${images} images`, rate(alone));
  line("the same of one resolver", `${rate(together)}, ${(alone / together).toFixed(1)} times  (aim: 3)`);
}

/** Every pair of a CPU and a driver with its GPU: no host is twice among them. */
export function differentHosts(): readonly HostFacts[] {
  const marches = ["x86-64-v2", "x86-64-v3", "haswell", "broadwell", "x86-64-v4", "icelake-server", "znver3"];
  const drivers = ["470.256.02", "525.60.13", "535.183.01", "550.54.15", "570.86.15", "580.95.05"];
  const computes = ["7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0", null];
  return marches.flatMap((march) =>
    drivers.flatMap((driver) =>
      computes.map(
        (compute): HostFacts => ({
          ...unknownHost("linux/amd64"),
          kernel: "6.8.0",
          cpu: {
            vendor: "GenuineIntel",
            model: march,
            features: findMarch(march)?.features ?? [],
            level: march.startsWith("x86-64") ? march : "x86-64-v3",
          },
          nvidia:
            compute === null
              ? null
              : {
                  ...{ driver, module: "open", library: driver, cuda: null },
                  gpus: [{ ...unknownGpu(0), name: `GPU of ${compute}`, compute, class: "datacenter" }],
                },
        }),
      ),
    ),
  );
}
