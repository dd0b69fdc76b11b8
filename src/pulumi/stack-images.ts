/** Reads the images in a stack's state, for each provider. Pure. */

import { fieldsOf, text } from "../io/json.ts";

/** One image in the stack's state. */
export interface StackImage {
  /** `repository:tag` */
  readonly imageName: string;
  /** Path that ends with the Dockerfile's name, which tells the input digest: see `dockerfileName`. */
  readonly dockerfile: string;
  /** The Dockerfile's path as the program gave it, which the provider reads again; null where the state does not tell. */
  readonly path: string | null;
  readonly pushed: boolean;
  /** The login that it was pushed with; null if that was not the program's. */
  readonly login: { readonly server: string; readonly username: string } | null;
  /** Names of the secrets that it was built with. */
  readonly secrets: readonly string[];
}

/** Type of the resources, and how the outputs of one are read; null for one that was never finished. */
interface StateReader {
  readonly type: string;
  readonly read: (outputs: unknown) => StackImage | null;
}

const readers = {
  docker: {
    type: "docker:index/image:Image",
    read: (outputs) => {
      const { imageName, dockerfile, repoDigest, __inputs: inputs } = fieldsOf(outputs);
      const { build, registry } = fieldsOf(inputs);
      if (typeof imageName !== "string") return null;
      const { server, username } = fieldsOf(registry);
      return {
        imageName,
        dockerfile: text(dockerfile) ?? "",
        path: text(fieldsOf(build).dockerfile),
        // Else it is the engine's own id.
        pushed: text(repoDigest)?.includes("@") ?? false,
        login: loginOf(server, username),
        secrets: [],
      };
    },
  },
  "docker-build": {
    type: "docker-build:index:Image",
    read: (outputs) => {
      const { tags, dockerfile, digest, push, registries, secrets } = fieldsOf(outputs);
      const [imageName] = Array.isArray(tags) ? tags : [];
      const [registry] = Array.isArray(registries) ? registries : [];
      if (typeof imageName !== "string") return null;
      const path = text(fieldsOf(dockerfile).location);
      const { address, username } = fieldsOf(registry);
      return {
        imageName,
        dockerfile: path ?? "",
        path,
        pushed: push === true && typeof digest === "string" && digest !== "",
        login: loginOf(address, username),
        secrets: Object.keys(fieldsOf(secrets)),
      };
    },
  },
} as const satisfies Record<string, StateReader>;

export type ProviderName = keyof typeof readers;

export const providerNames = Object.keys(readers) as readonly ProviderName[];

/** Resource name → image, for the images of one provider, from a map of URN → outputs. */
export function stackImages(
  outputs: Readonly<Record<string, unknown>>,
  provider: ProviderName,
): ReadonlyMap<string, StackImage> {
  const { type: wanted, read } = readers[provider];
  return new Map(
    resourcesOfType(outputs, wanted).flatMap(({ name, outputs }) => {
      const image = read(outputs);
      return image === null ? [] : [[name, image] as const];
    }),
  );
}

/** The resources of a type, also below components. A URN is `urn:pulumi:stack::project::types::name`; a name may hold `::` itself. */
export function resourcesOfType(outputs: Readonly<Record<string, unknown>>, wanted: string) {
  return Object.entries(outputs).flatMap(([urn, value]) => {
    const [, type = "", ...name] = urn.split("::").slice(1);
    const isWanted = type === wanted || type.endsWith(`$${wanted}`);
    return isWanted ? [{ name: name.join("::"), outputs: value }] : [];
  });
}

function loginOf(server: unknown, username: unknown): StackImage["login"] {
  return typeof server === "string" ? { server, username: text(username) ?? "" } : null;
}
