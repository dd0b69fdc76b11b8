/** Fleets and machine types of both vendors: the cure that is offered, applied, serves the host. */

import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { NamedHost } from "../../src/facts/named-host.ts";
import { findMarch, marchFeatures } from "../../src/hardware/cpu-marches.ts";
import { catalogHosts } from "../../src/host/catalog.ts";
import { completeHosts } from "../../src/host/complete-hosts.ts";
import type { LockedImage } from "../../src/lock/lock.ts";
import { needsGpus, type Requirement } from "../../src/lock/requirement.ts";
import { findMisfits } from "../../src/resolve/check-fit.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { nearestFirst } from "../../src/resolve/nearest.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { suggestCell } from "../../src/resolve/suggest-cell.ts";
import { image, lockOf, rocm } from "../resolve/support/locks.ts";
import { applyToHost, applyToImage, builtWith, withGpus } from "./support/apply-remedy.ts";

const types = ["g4dn.xlarge", "p3.2xlarge", "p4d.24xlarge", "p5.48xlarge", "p5e.48xlarge", "g4ad.xlarge"];
const mixed = [...types, "Standard_ND96isr_MI300X_v5", "Standard_ND96isr_H100_v5", "g5.xlarge"];
let hosts: readonly NamedHost[] = [];
beforeAll(async () => {
  hosts = await catalogHosts({ catalogs: [], types: mixed });
});

const gpuSides: fc.Arbitrary<{ readonly accel: string; readonly gpu: Omit<Requirement, "cpu"> }> = fc.oneof(
  fc
    .tuple(fc.constantFrom("11.8.0", "12.4.1", "12.8.1", "13.0.2"), fc.constantFrom("70", "75", "80", "90"))
    .map(([release, compute]) => ({
      accel: `cuda-${release}`,
      gpu: { cuda: builtWith(release, [`sm_${compute}`]) },
    })),
  fc
    .tuple(fc.constantFrom("6.2", "7.0"), fc.constantFrom("gfx90a", "gfx942", "gfx1011"))
    .map(([release, target]) => ({
      accel: `rocm-${release}`,
      gpu: { cuda: null, rocm: rocm(release, [target]) },
    })),
  fc.constant({ accel: "none", gpu: { cuda: null } }),
);

function cellOf(accel: string, march: string, gpu: Omit<Requirement, "cpu">): LockedImage {
  const found = findMarch(march);
  if (found === null) throw new Error(march);
  const compute = (gpu.cuda ?? gpu.rocm)?.code.join("_") ?? "none";
  const cpu = { march, features: marchFeatures(found) };
  return image({ axes: { accel, compute, march }, requires: { cpu, ...gpu } });
}

const fleets = fc
  .array(
    fc.tuple(gpuSides, fc.constantFrom("x86-64-v2", "x86-64-v3", "x86-64-v4", "sapphirerapids", "znver4")),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((cells) =>
    lockOf(
      Object.fromEntries(
        cells.map(([{ accel, gpu }, march], at) => [`cell-${at}`, cellOf(accel, march, gpu)]),
      ),
    ),
  );

/** The image of `add a cell accel=cuda-13.0 compute=9.0 march=x86-64-v4`. */
function suggested(text: string): LockedImage {
  const [, accel = "", list = "", march = ""] =
    /^add a cell accel=(\S+) compute=(\[[^\]]*\]|\S+) march=(\S+)$/.exec(text) ?? [];
  const values = list.replace(/[[\]" ]/g, "").split(",");
  if (accel === "rocm-VERSION") return cellOf(accel, march, { cuda: null, rocm: rocm("7.0", values) });
  const code = values.map((each) => `sm_${each.replace(".", "")}`);
  return cellOf(accel, march, { cuda: builtWith(accel.replace("cuda-", ""), code) });
}

/** The nearest image and the host after the first cure of each of its reasons; null where a cure is for a person alone. */
function cured(found: LockedImage, facts: HostFacts, misfits: ReturnType<typeof findMisfits>) {
  let [one, host]: readonly [LockedImage, HostFacts] = [found, facts];
  for (const { cures } of misfits) {
    const remedy = cures.find((each) => each.remedy !== null)?.remedy ?? null;
    if (remedy === null || remedy.kind === "take" || remedy.kind === "pins") return null;
    const only = "gpus" in remedy ? remedy.gpus : undefined;
    const better = only === undefined ? applyToHost(host, remedy) : withGpus(host, only);
    const other = applyToImage(one, remedy, host);
    if (better === null && other === null) return null;
    [one, host] = [other ?? one, better ?? host];
  }
  return { one, host };
}

it("serves the host: the suggested cell, and the nearest image after its cures", { timeout: 120_000 }, () => {
  const seen = { nvidia: 0, amd: 0, cures: 0 };
  const drivers = fc.tuple(
    fc.constantFrom("470.256.02", "535.183.01", "580.95.05", "630.10"),
    fc.constantFrom("6.10.5", "6.16.13"),
  );
  fc.assert(
    fc.property(fleets, drivers, fc.nat(), (lock, [nvidia, amd], pick) => {
      const all = completeHosts(hosts, { driver: [`nvidia=${nvidia}`, `amd=${amd}`] });
      const facts = all[pick % all.length]?.facts;
      if (facts === undefined) throw new Error("no host");
      const view = viewHost(facts);
      const { match, rejected } = resolveImage(lock, facts);
      const served = match === null ? undefined : lock.images[match.cell];
      if (served !== undefined && needsGpus(served.requires)) return;
      const suggestion = suggestCell(view, lock);
      if (suggestion !== null) {
        const added = suggested(suggestion);
        const after = resolveImage({ ...lock, images: { ...lock.images, added } }, facts).match;
        expect(after?.cell, suggestion).toBe("added");
        seen[facts.amd == null ? "nvidia" : "amd"]++;
      }
      const [nearest] = nearestFirst(lock, rejected, view, {});
      const found = lock.images[nearest?.cell ?? ""];
      if (nearest === undefined || found === undefined || match !== null) return;
      const after = cured(found, facts, nearest.misfits);
      if (after === null) return;
      seen.cures++;
      const fixes = nearest.misfits.map(({ fix }) => fix).join("; ");
      expect(
        findMisfits(after.one, viewHost(after.host), {}).map(({ code }) => code),
        fixes,
      ).toEqual([]);
    }),
    { numRuns: 200, seed: 65 },
  );
  expect(Math.min(seen.nvidia, seen.amd, seen.cures), JSON.stringify(seen)).toBeGreaterThan(10);
});
