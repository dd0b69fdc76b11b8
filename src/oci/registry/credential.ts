/** The login for a registry. */

export type Credential =
  | { readonly kind: "password"; readonly username: string; readonly password: string }
  /** An OAuth 2 refresh token: the token server gives an access token for it. */
  | { readonly kind: "identity"; readonly token: string }
  /** A token that is sent to the registry itself. */
  | { readonly kind: "bearer"; readonly token: string };

export interface CredentialStore {
  /** The program that stores a login where this store finds it. Default: `docker`. */
  readonly program?: "docker" | "podman";
  /** null if there is no login for the host. Throws `REGISTRY_AUTH` if that cannot be found out. */
  find(registry: string): Promise<Credential | null>;
}

/** RFC 7617, in UTF-8. */
export function basicHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, "utf8").toString("base64")}`;
}
