/** Reads imgmatch's own annotation and labels of a node: the whole facts, and what `imgmatch labels` wrote. */

import { faultOf, ImgmatchError } from "../../errors.ts";
import { readJson } from "../../io/json.ts";
import { containerGpus, type HostFacts, type NvidiaFacts } from "../../facts/facts.ts";
import { completeFacts, gpuOfProduct } from "../nvidia/complete-gpus.ts";
import { checkHostFacts } from "../../facts/parse-facts.ts";
import { unknownGpu, unknownNvidia } from "../../facts/no-facts.ts";
import { factsAnnotation, gpuCount, labelsBelow, mostGpus, ownLabels, ownPrefix } from "./cluster-objects.ts";
import type { Labels } from "../../facts/named-host.ts";

/** `mistake` is the reason why the annotation cannot be read: a value and no error, because other nodes must still be read. */
export async function readAnnotation(
  annotation: string | null,
): Promise<{ readonly facts: HostFacts | null; readonly mistake: string | null }> {
  if (annotation === null) return { facts: null, mistake: null };
  const json = readJson(annotation);
  if (!json.ok) return { facts: null, mistake: `no JSON: ${json.reason}` };
  try {
    const facts = checkHostFacts(json.value, { file: factsAnnotation });
    return { facts: await completeFacts(facts), mistake: null };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return { facts: null, mistake: faultOf(error) };
  }
}

export interface OwnLabels {
  readonly features: readonly string[];
  readonly runtime: HostFacts["runtime"]["nvidia"];
  /** undefined where the labels do not describe it. */
  readonly nvidia: NvidiaFacts | null | undefined;
  readonly unproved: readonly string[];
}

/** null for a node without them. A fact without a label is unknown, as with other labels. */
export async function readOwnLabels(labels: Labels): Promise<OwnLabels | null> {
  const own = ownLabels(labels);
  if (own.vocabulary === undefined) return null;
  const closed = own.broken === "true" || own["gpu.unknown"] === "true";
  return {
    features: labelsBelow(own, "cpu.").flatMap(([name, value]) => (value === "true" ? name : [])),
    runtime: containerGpus.find((each) => each === own.runtime) ?? null,
    nvidia: closed ? undefined : await nvidiaOf(own),
    unproved: own.broken === "true" ? [`${ownPrefix}broken says that its GPUs do not work`] : [],
  };
}

async function nvidiaOf(own: Labels): Promise<NvidiaFacts | null> {
  const { driver = null, cuda = null, "driver-scale": scale, "gpu.product": name = null } = own;
  const computes = labelsBelow(own, "gpu.compute.").flatMap(([compute, count]) =>
    Array.from({ length: gpuCount(count) ?? 0 }, () => compute),
  );
  if (driver === null && computes.length === 0) return null;
  const product = await gpuOfProduct(null, name?.replaceAll("-", " ") ?? null);
  return {
    ...unknownNvidia,
    ...{ driver, cuda },
    ...(scale === "wsl" || scale === "l4t" ? { driverScale: scale } : {}),
    gpus: computes
      .slice(0, mostGpus)
      .map((compute, index) =>
        product.compute === compute
          ? { ...product, index }
          : { ...unknownGpu(index), compute: compute === "unknown" ? null : compute },
      ),
  };
}
