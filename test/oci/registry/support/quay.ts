/**
 * A registry in the manner of Quay. Who asks for a token to push makes the repository. A token to pull from a repository that nobody has made
 * grants nothing, and the registry answers 401, never 404 (quay/quay, endpoints/v2/v2auth.py).
 */

import { type Answer, type Asked, startFaultServer, status } from "./fault-server.ts";
import { serveManifest, someManifest } from "./manifests.ts";

export interface Quay {
  readonly host: string;
  readonly asked: readonly Asked[];
  /** The scopes of each token, in order. */
  readonly scopes: readonly (readonly string[])[];
}

/** `readOnly`: repositories that are there, and in which every login may only pull. */
export async function startQuay(readOnly: readonly string[] = []): Promise<Quay> {
  const made = new Set(readOnly);
  const tags = new Set<string>();
  const scopes: string[][] = [];

  const grant = (asked: readonly string[]): Answer => {
    scopes.push([...asked]);
    const granted = asked.flatMap((scope) => {
      const [, name = "", actions = ""] = scope.split(":");
      const wanted = actions.split(",");
      if (wanted.includes("push")) made.add(name);
      const mayAll = made.has(name) && !readOnly.includes(name);
      return wanted
        .filter((action) => mayAll || (action === "pull" && made.has(name)))
        .map((action) => `${name}:${action}`);
    });
    return status(200, {}, { token: granted.join(",") || "nothing" });
  };

  const serve = (name: string, kind: string, rest: string, method: string): Answer => {
    if (kind === "blobs")
      return method === "POST" ? status(202, { location: `/v2/${name}/blobs/uploads/1` }) : status(204);
    if (method === "PUT") {
      tags.add(`${name}:${rest}`);
      return status(201);
    }
    return tags.has(`${name}:${rest}`) ? serveManifest(someManifest) : status(404);
  };

  const server = await startFaultServer((asked, response, request) => {
    const { path, method, headers } = asked;
    const url = new URL(path, "http://quay");
    const [, name = "", kind = "", rest = ""] =
      /^\/v2\/(.+)\/(manifests|blobs)\/(.*)$/.exec(url.pathname) ?? [];
    const needed = method === "DELETE" ? "delete" : method === "GET" || method === "HEAD" ? "pull" : "push";
    const realm = `Bearer realm="http://${headers.host}/token",service="quay",scope="repository:${name}:${needed}"`;
    const answer =
      url.pathname === "/token"
        ? grant(url.searchParams.getAll("scope"))
        : (headers.authorization ?? "").split(/[ ,]/).includes(`${name}:${needed}`)
          ? serve(name, kind, rest, method)
          : status(401, { "www-authenticate": realm });
    answer(asked, response, request);
  });
  return { ...server, scopes };
}
