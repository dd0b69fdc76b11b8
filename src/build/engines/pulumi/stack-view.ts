/** What the stack has from before this update: a program cannot ask for its own state in another way. */

import type { ComponentResourceOptions, Output, Resource } from "@pulumi/pulumi";
import { type StackImage, stackImages } from "./cells.ts";
import { pulumi } from "./packages.ts";

export interface StackView {
  /** By resource name. */
  readonly images: ReadonlyMap<string, StackImage>;
  /** The lock that a fleet of this name has left as its output; undefined where there is none, or none that can be read. */
  readonly lockOf: (fleet: string) => unknown;
  /** Not known while something that it was to wait for is yet to be made: only in a preview. */
  readonly unknown: Output<unknown> | null;
}

/** Type of the component in the state. */
export const fleetType = "imgmatch:index:ImageFleet";

const token = "pulumi:pulumi:readStackResourceOutputs";

type Outputs = Readonly<Record<string, { readonly outputs?: unknown } | undefined>>;

/** Waits until all that is named is there, with what is below it. */
export async function readStack(
  dependsOn: ComponentResourceOptions["dependsOn"],
  resources: readonly Resource[],
): Promise<StackView> {
  const stackName = `${pulumi.getOrganization()}/${pulumi.getProject()}/${pulumi.getStack()}`;
  const given = pulumi.output(dependsOn as unknown) as Output<unknown>;
  const named = given.apply((all) => [all ?? [], ...resources].flat()) as unknown as Output<Resource[]>;
  const there = pulumi.runtime.invokeOutput<{ readonly outputs?: Outputs }>(
    token,
    { stackName },
    { dependsOn: named },
  );
  const { isKnown, promise } = there as unknown as {
    readonly isKnown: Promise<boolean>;
    promise(): Promise<{ readonly outputs?: Outputs }>;
  };
  const known = await isKnown;
  const read = known ? await promise.call(there) : await pulumi.runtime.invoke(token, { stackName });
  const { outputs = {} } = read as { readonly outputs?: Outputs };
  const plain = Object.fromEntries(
    Object.entries(outputs).map(([urn, resource]) => [urn, resource?.outputs]),
  );
  return {
    images: stackImages(plain),
    lockOf: (fleet) => lockIn(plain, fleet),
    unknown: known ? null : there,
  };
}

function lockIn(outputs: Readonly<Record<string, unknown>>, fleet: string): unknown {
  for (const [urn, value] of Object.entries(outputs)) {
    const [, type = "", ...name] = urn.split("::").slice(1);
    if (name.join("::") !== fleet || (type !== fleetType && !type.endsWith(`$${fleetType}`))) continue;
    return (value as { readonly lock?: unknown } | undefined)?.lock;
  }
  return undefined;
}
