/** The `WWW-Authenticate` header (RFC 9110, 11.6.1), as far as registries use it. */

export type Challenge =
  | {
      readonly scheme: "bearer";
      readonly realm: string;
      readonly service: string | null;
      readonly scope: string | null;
    }
  | { readonly scheme: "basic" };

// Each begins where a name does: tried at every character of a long name, it would take the square of its time.
const part =
  /(?<![\w-])([A-Za-z][\w-]*)(?=\s+[\w-]+\s*=)|(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** The challenge to answer: Bearer before Basic, null when there is neither. */
export function parseChallenge(header: string | undefined): Challenge | null {
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  for (const [, scheme, key, quoted, plain] of (header ?? "").matchAll(part)) {
    if (scheme !== undefined) found.push({ scheme: scheme.toLowerCase(), parameters: new Map() });
    else if (key !== undefined) {
      const value = quoted?.replace(/\\(.)/g, "$1") ?? plain ?? "";
      found.at(-1)?.parameters.set(key.toLowerCase(), value);
    }
  }
  const bearer = found.find(({ scheme, parameters }) => scheme === "bearer" && parameters.has("realm"));
  if (bearer !== undefined) {
    const { parameters } = bearer;
    return {
      scheme: "bearer",
      realm: parameters.get("realm") ?? "",
      service: parameters.get("service") ?? null,
      scope: parameters.get("scope") ?? null,
    };
  }
  // Some servers send the scheme alone, without its realm.
  const basic = found.some(({ scheme }) => scheme === "basic") || /(^|,)\s*basic\s*(,|$)/i.test(header ?? "");
  return basic ? { scheme: "basic" } : null;
}
