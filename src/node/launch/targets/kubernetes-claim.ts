/**
 * Claims of pods, and the containers that share one. ResourceClaimTemplate: the devices that the scheduler finds for a pod and their driver hands
 * over. Fields: Kubernetes API reference v1.36, resource.k8s.io/v1, which the package of types does not have yet.
 */

import type { Container } from "kubernetes-types/core/v1.js";
import { formatImageReference, parseImageReference } from "../../../oci/reference.ts";
import type { DeviceAlternative, DeviceClaim, LaunchRequest } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
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

/**
 * A container that starts before the image's own and ends with it (Kubernetes, "Sidecar Containers"). Containers that name one claim share its
 * devices ("Dynamic Resource Allocation"); extended resources are each container's own.
 */
export function sidecarsOf({ claim, settings }: LaunchRequest): Container[] {
  const image = settings?.sidecar;
  if (image === undefined) return [];
  if (claim === undefined)
    throw unsupportedBy("kubernetes")(
      "share GPUs among the containers of a pod without a claim",
      "claim the GPUs with --dra, or leave --set sidecar out",
    );
  return [
    {
      ...{ name: "sidecar", image: formatImageReference(parseImageReference(image)) },
      ...{ restartPolicy: "Always", resources: { claims: [{ name: claimName }] } },
    },
  ];
}

/** Of a fleet that claims devices, an image without GPU code has none to share. */
export function withoutSidecar(claiming: boolean) {
  return (request: LaunchRequest): LaunchRequest => {
    const { sidecar: _, ...settings } = request.settings ?? {};
    return claiming && request.claim === undefined ? { ...request, settings } : request;
  };
}
