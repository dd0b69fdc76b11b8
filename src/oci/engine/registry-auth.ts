/** A login in the form in which the Docker Engine takes it. */

import type { Credential } from "../registry/credential.ts";

/** `X-Registry-Auth`: base64url of JSON. The engine wants the header on a push even when there is nothing in it. */
export function registryAuthHeader(credential: Credential | null): Record<string, string> {
  const text = Buffer.from(JSON.stringify(authConfig(credential))).toString("base64");
  // With its padding: the engine takes a header that it cannot decode for no login at all.
  return { "X-Registry-Auth": text.replaceAll("+", "-").replaceAll("/", "_") };
}

// moby, api/types/registry/authconfig.go
function authConfig(credential: Credential | null): Record<string, string> {
  switch (credential?.kind) {
    case undefined:
      return {};
    case "password":
      return { username: credential.username, password: credential.password };
    case "identity":
      return { identitytoken: credential.token };
    case "bearer":
      return { registrytoken: credential.token };
  }
}
