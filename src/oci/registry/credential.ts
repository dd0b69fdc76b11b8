/** A login for a registry, and what knows logins. */

export type Credential =
  | { readonly kind: "password"; readonly username: string; readonly password: string }
  /** Exchanged for a token at the registry's token server (OAuth 2 refresh token). */
  | { readonly kind: "identity"; readonly token: string }
  /** Sent to the registry as it is. */
  | { readonly kind: "bearer"; readonly token: string };

export interface CredentialStore {
  /** The login for a registry's host, or null where there is none. Throws `REGISTRY_AUTH` when that cannot be told. */
  find(registry: string): Promise<Credential | null>;
}

/** RFC 7617, in UTF-8. */
export function basicHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, "utf8").toString("base64")}`;
}
