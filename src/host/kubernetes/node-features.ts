/**
 * Reads NodeFeature objects: everything that Node Feature Discovery found on a node. Its labels have only a part of the CPU features.
 * Sources: kubernetes-sigs/node-feature-discovery, api/nfd/v1alpha1/types.go, source/cpu/cpu.go (`cpuidFilter` is asked for labels only),
 * source/pci/utils.go.
 */

import { fieldsOf, text, textsOf } from "../../io/json.ts";
import { isGpu } from "../pci.ts";

export interface NodeFeatures {
  readonly node: string;
  /** Its findings as labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** True if the labels name every CPU feature that it knows. */
  readonly cpuid: boolean;
  /** `vendor:device` of each GPU; null if it did not look. */
  readonly gpus: readonly string[] | null;
}

/** null for an object that names no node. */
export function readNodeFeature(object: Readonly<Record<string, unknown>>): NodeFeatures | null {
  const metadata = fieldsOf(object.metadata);
  const node = text(fieldsOf(metadata.labels)["nfd.node.kubernetes.io/node-name"]);
  if (node === null) return null;
  const { flags, attributes, instances } = fieldsOf(fieldsOf(object.spec).features);
  const elements = (features: unknown, name: string) => fieldsOf(fieldsOf(features)[name]).elements;
  const found = elements(instances, "pci.device");
  const devices = Array.isArray(found) ? found.map((each) => textsOf(fieldsOf(each).attributes)) : null;
  const cpuid = Object.keys(fieldsOf(elements(flags, "cpu.cpuid")));
  const prefix = "feature.node.kubernetes.io";
  return {
    node,
    labels: {
      ...prefixed(`${prefix}/cpu-cpuid.`, Object.fromEntries(cpuid.map((name) => [name, "true"]))),
      ...prefixed(`${prefix}/cpu-model.`, textsOf(elements(attributes, "cpu.model"))),
      ...prefixed(`${prefix}/kernel-version.`, textsOf(elements(attributes, "kernel.version"))),
      ...Object.fromEntries(
        (devices ?? []).map(({ class: kind, vendor }) => [`${prefix}/pci-${kind}_${vendor}.present`, "true"]),
      ),
    },
    cpuid: cpuid.length > 0,
    gpus:
      devices
        ?.filter(({ class: kind = "", vendor = "" }) => isGpu(vendor, `0x${kind}`))
        .map(({ vendor, device }) => `${vendor}:${device}`) ?? null,
  };
}

function prefixed(prefix: string, texts: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [`${prefix}${name}`, value]));
}
