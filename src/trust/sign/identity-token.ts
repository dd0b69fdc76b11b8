/** Sources of a token of OpenID Connect: a file, a variable, or the CI that runs this. */

import { usageError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import type { Environment } from "../../io/world.ts";

/** null where nobody offers one. A file and GitHub Actions are asked each time, for tokens live for minutes. */
export function identityTokenSource(
  file: string | undefined,
  env: Environment,
): (() => Promise<string>) | null {
  if (file !== undefined)
    return async () =>
      checkedToken(await readTextFile(file, null, { fix: "name it with --identity-token" }), file);
  const token = env.SIGSTORE_ID_TOKEN;
  if (token !== undefined && token !== "") return async () => checkedToken(token, "SIGSTORE_ID_TOKEN");
  if (env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined) return null;
  return async () => {
    const { CIContextProvider } = await import("@sigstore/sign");
    return new CIContextProvider("sigstore").getToken();
  };
}

/** Its content is the authority's to check. */
function checkedToken(text: string, source: string): string {
  const token = text.trim();
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return token;
  throw usageError(
    `${source} holds no token of OpenID Connect`,
    "ask the issuer for an ID token with the audience sigstore",
  );
}
