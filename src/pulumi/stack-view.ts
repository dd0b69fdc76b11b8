/** Reads the stack's state from before this update: a program cannot ask for its state in another way. */

import type { ComponentResourceOptions, Output, Resource } from "@pulumi/pulumi";
import { fieldsOf, isRecord } from "../io/json.ts";
import { repeat } from "../oci/registry/try-again.ts";
import { type ProviderName, resourcesOfType, type StackImage, stackImages } from "./stack-images.ts";
import { hiddenOutput, pulumi } from "./packages.ts";

export interface StackView {
  /** Resource name → image. */
  readonly images: ReadonlyMap<string, StackImage>;
  /** The lock that the fleet of a name has left as an output; undefined where there is none, or none that can be read. */
  readonly lockOf: (fleet: string) => unknown;
  /** The unknown value, in a preview in which a dependency does not exist yet; else null. */
  readonly unknown: Output<unknown> | null;
}

/** Type of the component in the state. */
export const fleetType = "imgmatch:index:ImageFleet";

// Five seconds in all.
const attempts = 50;
const token = "pulumi:pulumi:readStackResourceOutputs";

type Outputs = Readonly<Record<string, { readonly outputs?: unknown } | undefined>>;

/** Waits for the dependencies and their children. */
export async function readStack(
  provider: ProviderName,
  dependsOn: ComponentResourceOptions["dependsOn"],
  resources: readonly Resource[],
): Promise<StackView> {
  const stackName = `${pulumi.getOrganization()}/${pulumi.getProject()}/${pulumi.getStack()}`;
  const given = pulumi.output(dependsOn as unknown) as Output<unknown>;
  const named = given.apply((all) => [all ?? [], ...resources].flat()) as unknown as Output<Resource[]>;
  const { there, known } = await whenWritten(async () => {
    const output = pulumi.runtime.invokeOutput<unknown>(token, { stackName }, { dependsOn: named });
    const { isKnown, isSecret } = hiddenOutput(output);
    // An unhandled rejection would end the program.
    const [known] = await Promise.allSettled([isKnown, isSecret]);
    if (known.status === "rejected") throw known.reason;
    return { there: output, known: known.value };
  });
  const read = known
    ? await hiddenOutput(there).promise()
    : await whenWritten(() => pulumi.runtime.invoke(token, { stackName }));
  const { outputs = {} } = read as { readonly outputs?: Outputs };
  const values = Object.fromEntries(
    Object.entries(outputs).map(([urn, resource]) => [urn, openSecrets(resource?.outputs)]),
  );
  return {
    // A replaced provider takes its resources along: they would be built again, and pushed over what is there.
    images: isReplaced(values, provider) ? new Map() : stackImages(values, provider),
    lockOf: (fleet) =>
      fieldsOf(resourcesOfType(values, fleetType).find(({ name }) => name === fleet)?.outputs).lock,
    unknown: known ? null : there,
  };
}

/**
 * Pulumi is about to replace the provider that it makes by itself: the provider of docker-build has the engine's address among its inputs,
 * from this update's configuration or environment, and another address makes another provider.
 */
function isReplaced(outputs: Readonly<Record<string, unknown>>, provider: ProviderName): boolean {
  if (provider !== "docker-build") return false;
  const hosts = Object.entries(outputs)
    .filter(([urn]) => /::pulumi:providers:docker-build::default/.test(urn))
    .map(([, value]) => fieldsOf(value).host ?? "");
  const now = new pulumi.Config("docker-build").get("host") || process.env.DOCKER_HOST || "";
  return hosts.length > 0 && !hosts.includes(now);
}

/** How the engine answers a secret: an object with this key and value, and the secret as its `value` (sdk/nodejs/runtime/rpc.ts). */
const [secretKey, secretMark] = ["4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"];

function openSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(openSecrets);
  if (!isRecord(value)) return value;
  if (value[secretKey] === secretMark) return openSecrets(value.value);
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, openSecrets(field)]));
}

/** The engine writes the state at the same time: a back end of files then shows an empty one, or the beginning of one. */
function whenWritten<Value>(ask: () => Promise<Value>): Promise<Value> {
  return repeat(ask, (error, tries) =>
    tries < attempts && /failed to load checkpoint/.test(`${error}`) ? 100 : null,
  );
}
