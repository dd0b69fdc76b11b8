/** `--gpus` of launch: how many, which ones, all or none. */

import { usageError } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";
import { narrowGpus } from "../host/visible-devices.ts";
import type { GpuChoice, GpuWish } from "./choose-gpus.ts";
import { narrowTo, unitsOf } from "./gpu-units.ts";
import { unsupported } from "./unsupported.ts";
import type { Lock } from "../lock/lock.ts";
import { type ResolveOptions, rankImages } from "../resolve/resolve.ts";

/** As Docker reads it: `2` is how many, `0,2`, `device=0` and uuids are which. */
export function gpuWish(host: HostFacts, text: string | undefined): GpuWish {
  if (text === undefined || text === "all") return { kind: "all" };
  if (text === "none") return { kind: "none" };
  if (/^[1-9]\d{0,3}$/.test(text)) return { kind: "count", count: Number(text) };
  if (text === "0") {
    throw usageError("--gpus 0 may mean no GPU or the first one", "write --gpus none, or --gpus device=0");
  }
  const named = narrowGpus(host.nvidia?.gpus ?? [], text.replace(/^device=/, ""));
  const names = unitsOf(host)
    .filter(({ gpu, mig }) =>
      named.some(
        (each) =>
          each.index === gpu.index && (mig === null || each.mig.some(({ uuid }) => uuid === mig.uuid)),
      ),
    )
    .map(({ name }) => name);
  return { kind: "named", names };
}

/**
 * For targets whose scheduler picks the GPUs: it may give any of a node's, so the image must fit them all, and whether they
 * are in use just now is the scheduler's business.
 */
export function scheduledGpus(
  lock: Lock,
  host: HostFacts,
  text: string | undefined,
  target: string,
  options: ResolveOptions,
): GpuChoice {
  const wish = gpuWish(host, text);
  const units = unitsOf(host);
  if (wish.kind === "named") {
    throw unsupported(
      target,
      `hand out the GPUs ${wish.names.join(", ")}: its scheduler picks them`,
      `say how many: --gpus ${Math.max(wish.names.length, 1)}`,
    );
  }
  if (wish.kind === "none") {
    const none = narrowTo(host, []);
    return { ok: true, units: [], host: none, ranking: rankImages(lock, none, options) };
  }
  const count = wish.kind === "count" ? wish.count : units.length;
  if (count > units.length) return { ok: false, wanted: count, free: units, taken: [] };
  return { ok: true, units: units.slice(0, count), host, ranking: rankImages(lock, host, options) };
}
