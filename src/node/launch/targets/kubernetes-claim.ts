/**
 * ResourceClaimTemplate: the devices that the scheduler finds for a pod and their driver hands over. Fields: Kubernetes API reference v1.36,
 * resource.k8s.io/v1, which the package of types does not have yet.
 */

import type { DeviceAlternative, DeviceClaim } from "../target.ts";
import { filled, type JsonObject } from "../fields.ts";

/** The name of the claim in a pod, and of its only request. */
export const claimName = "gpu";

export function claimTemplate(
  { alternatives }: DeviceClaim,
  identity: { readonly name: string; readonly namespace: string | undefined; readonly labels: JsonObject },
): JsonObject {
  const [only, ...others] = alternatives;
  const device = ({ deviceClass, count, cel }: DeviceAlternative) => ({
    deviceClassName: deviceClass,
    allocationMode: "ExactCount",
    count,
    selectors: [{ cel: { expression: cel } }],
  });
  const choice =
    others.length === 0 && only !== undefined
      ? { exactly: device(only) }
      : { firstAvailable: alternatives.map((each) => ({ name: each.name, ...device(each) })) };
  // The image was picked for GPUs of one kind.
  const constraints = alternatives.flatMap((each) => {
    const requests = [others.length === 0 ? claimName : `${claimName}/${each.name}`];
    return each.count > 1 ? [{ requests, matchAttribute: `gpu.${each.vendor}.com/productName` }] : [];
  });
  const devices = filled({ requests: [{ name: claimName, ...choice }], constraints });
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: filled(identity),
    spec: { spec: { devices } },
  };
}
