/** The answers of the rules about AMD's GPUs, by target and state, and what a target and a device id say of a GPU: texts that a script looks up. */

import { InternalError } from "../../errors.ts";
import { amdArchitectures } from "../../hardware/amd-architectures.ts";
import { groupBy } from "../../io/collections.ts";
import type { RocmRequirement } from "../../lock/lock.ts";
import { orderSteps } from "../../resolve/order-steps.ts";
import { checkAmdCode } from "../../resolve/rules/amd-gpus.ts";
import { codeNumber } from "./compile-order.ts";

/**
 * `3 942=00,01,?;1100=12`: three targets; on gfx942 the first is the best with sramecc on, the second with it off, and where nobody knows it nobody
 * can say; on gfx1100 the third is, as its family's. A digit for the place of the kind in the order, then the number of the target.
 */
export function amdCodeRow({ code }: Pick<RocmRequirement, "code">, xnack: boolean): string {
  const built = [...new Set(code)].sort();
  // A host may have a target that the tables do not know: then the image's own is all that runs.
  const own = built.flatMap((target) => /^gfx\d{1,2}[0-9a-f]{2}(?=:|$)/.exec(target)?.[0] ?? []);
  const targets = [...new Set([...amdArchitectures.map(({ name }) => name), ...own])].sort();
  const entries = targets.flatMap((target) => {
    const answers = [true, false, null].map((sramecc) => {
      const gpu = { index: 0, label: "GPU 0", target, sramecc, integrated: null };
      const found = checkAmdCode({ code: built, compute: undefined, xnack }, [gpu]);
      if ("ok" in found) return found.code === "FACT_UNKNOWN" ? "?" : "-";
      const kind = codeNumber(orderSteps.code.key(found[0] ?? null)) / 1000;
      if (!Number.isInteger(kind)) throw new InternalError(`code of AMD is at a distance from ${target}`);
      return `${kind}${built.indexOf(found[0]?.target ?? "")}`;
    });
    const same = new Set(answers).size === 1;
    if (same && answers[0] === "-") return [];
    return [`${target.slice("gfx".length)}=${same ? answers[0] : answers.join(",")}`];
  });
  return `${built.length} ${entries.join(";") || "-"}`;
}

/** `942 0 1 74a1,74a2`: a target, whether it is of a processor, whether sramecc can be, and device ids. What a target alone says comes first. */
export async function amdTargetRows(): Promise<readonly string[]> {
  const { amdProducts } = await import("../../hardware/amd-products.ts");
  const bit = (value: boolean | null): string => (value === null ? "-" : value ? "1" : "0");
  return amdArchitectures.flatMap(({ name, integrated, sramecc }) => {
    const products = amdProducts.filter(({ target }) => target === name);
    const groups = groupBy(products, (product) => bit(product.integrated));
    return [...new Set([bit(integrated), ...groups.keys()])].map((each) => {
      const ids = (groups.get(each) ?? []).map(({ id }) => id.split(":")[1]);
      return `${name.slice("gfx".length)} ${each} ${Number(sramecc !== false)} ${ids.join(",") || "-"}`;
    });
  });
}
