/** imgmatch's own words on a node: the facts whole in an annotation, and the labels that `imgmatch labels` writes. */

import { ImgmatchError } from "../../errors.ts";
import { classifyGpu } from "../../hardware/gpu-class.ts";
import { findGpuByName } from "../../hardware/gpu-products.ts";
import { readJson } from "../../io/json.ts";
import { containerGpus, type HostFacts, type NvidiaFacts } from "../facts.ts";
import { completeFacts } from "../nvidia/complete-gpus.ts";
import { checkHostFacts } from "../parse-facts.ts";
import { unknownGpu } from "../unknown-facts.ts";
import { factsAnnotation, type Labels, ownPrefix } from "./cluster-objects.ts";
import { isNumber } from "./cpu-labels.ts";
import { mostGpus } from "./nvidia-labels.ts";

export interface Annotated {
  readonly facts: HostFacts | null;
  /** Why the annotation is no facts. */
  readonly mistake: string | null;
}

/** One node's annotation that is none leaves the other nodes alone. */
export async function readAnnotation(annotation: string | null): Promise<Annotated> {
  if (annotation === null) return { facts: null, mistake: null };
  const json = readJson(annotation);
  if (!json.ok) return { facts: null, mistake: `no JSON: ${json.reason}` };
  try {
    const facts = checkHostFacts(json.value, { file: factsAnnotation });
    return { facts: await completeFacts(facts), mistake: null };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return { facts: null, mistake: error.problems[0]?.message ?? error.message };
  }
}

export interface OwnLabels {
  readonly features: readonly string[];
  readonly runtime: HostFacts["runtime"]["nvidia"];
  /** undefined where the labels do not describe it. */
  readonly nvidia: NvidiaFacts | null | undefined;
  readonly open: readonly string[];
}

/** null for a node without them. They name what was known, so that what they do not name is unknown, as with other labels. */
export async function readOwnLabels(labels: Labels): Promise<OwnLabels | null> {
  const own = (key: string) => labels[`${ownPrefix}${key}`];
  if (own("vocabulary") === undefined) return null;
  const closed = own("broken") === "true" || own("gpu.unknown") === "true";
  return {
    features: keysBelow(labels, "cpu.")
      .filter(([, value]) => value === "true")
      .map(([name]) => name),
    runtime: containerGpus.find((each) => each === own("runtime")) ?? null,
    nvidia: closed ? undefined : await nvidiaOf(labels),
    open: own("broken") === "true" ? [`${ownPrefix}broken says that its GPUs do not work`] : [],
  };
}

async function nvidiaOf(labels: Labels): Promise<NvidiaFacts | null> {
  const own = (key: string) => labels[`${ownPrefix}${key}`];
  const driver = own("driver") ?? null;
  const kinds = keysBelow(labels, "gpu.compute.").flatMap(([compute, count]) =>
    isNumber(count) ? Array.from({ length: Math.min(Number(count), mostGpus) }, () => compute) : [],
  );
  if (driver === null && kinds.length === 0) return null;
  const label = own("gpu.product")?.replaceAll("-", " ");
  const product = label === undefined ? null : await findGpuByName(label);
  const { name = null } = product ?? {};
  const scale = own("driver-scale");
  return {
    ...{ driver, module: null, library: null, cuda: own("cuda") ?? null },
    ...(scale === "wsl" || scale === "l4t" ? { driverScale: scale } : {}),
    gpus: kinds.slice(0, mostGpus).map((compute, index) => {
      const same = product !== null && product.compute === compute;
      const known = {
        compute: compute === "unknown" ? null : compute,
        class: same ? product.class : classifyGpu(""),
      };
      return { ...unknownGpu(index), ...known, name: same ? name : null };
    }),
  };
}

function keysBelow(labels: Labels, start: string): readonly (readonly [string, string])[] {
  const prefix = `${ownPrefix}${start}`;
  return Object.entries(labels).flatMap(([key, value]) =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), value] as const] : [],
  );
}
