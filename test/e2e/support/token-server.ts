/** A token server for a real registry: signs what its one user may do (distribution, `docs/content/spec/auth/jwt.md`). */

import { execFileSync } from "node:child_process";
import { createPrivateKey, randomUUID, sign, X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TokenServer {
  readonly realm: string;
  /** Of the token server and, behind it, of the registry that it stands before. */
  readonly host: string;
  /** Passes on to this registry (`host:port`) whatever is not about tokens. */
  standBefore(registry: string): void;
  /** PEM file with the certificate of the key that it signs with. */
  readonly certificate: string;
  /** Scopes of the tokens that were given out, in order. */
  readonly given: readonly (readonly string[])[];
  stop(): Promise<void>;
}

interface TokenServerOptions {
  /** Tokens live so long. */
  readonly lifeSeconds?: number;
  /**
   * As Quay: whoever may push makes a repository by asking for a token to push; nobody may pull from one that was not made, so the registry
   * answers 401 there and never 404.
   */
  readonly hidesUnmade?: boolean;
}

/** Everybody may pull; only `login` (`name:password`) may push. */
export async function startTokenServer(
  login: string,
  { lifeSeconds = 60, hidesUnmade = false }: TokenServerOptions = {},
): Promise<TokenServer> {
  const made = new Set<string>();
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-token-"));
  const [keyFile, certificate] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-days", "2", "-subj", "/CN=imgmatch"];
  execFileSync("openssl", ["req", "-x509", ...curve, ...subject, "-keyout", keyFile, "-out", certificate], {
    stdio: "ignore",
  });
  const key = createPrivateKey(await readFile(keyFile));
  const chain = [new X509Certificate(await readFile(certificate)).raw.toString("base64")];
  const expected = `Basic ${Buffer.from(login).toString("base64")}`;
  const given: string[][] = [];
  let registry: string | null = null;

  const server = createServer((request, response) => {
    if (registry !== null && request.url?.startsWith("/v2/")) {
      passOn(request, response, registry);
      return;
    }
    const { authorization } = request.headers;
    if (authorization !== undefined && authorization !== expected) {
      response.writeHead(401).end();
      return;
    }
    const scopes = new URL(request.url ?? "", "http://token").searchParams.getAll("scope");
    given.push(scopes);
    const access = scopes.map((scope) => {
      const [type, name = "", actions = ""] = scope.split(":");
      const isBuilder = authorization === expected;
      if (isBuilder && actions.includes("push")) made.add(name);
      const isThere = !hidesUnmade || made.has(name);
      const granted = actions.split(",").filter((action) => isThere && (action === "pull" || isBuilder));
      return { type, name, actions: granted };
    });
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: "imgmatch", sub: "", aud: "imgmatch", jti: randomUUID(), access };
    const times = { iat: now, nbf: now - 10, exp: now + lifeSeconds };
    const unsigned = [
      { typ: "JWT", alg: "ES256", x5c: chain },
      { ...claims, ...times },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    const signature = sign("sha256", Buffer.from(unsigned), { key, dsaEncoding: "ieee-p1363" });
    response.end(JSON.stringify({ token: `${unsigned}.${signature.toString("base64url")}` }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    realm: `http://127.0.0.1:${port}/token`,
    host: `127.0.0.1:${port}`,
    standBefore(host) {
      registry = host;
    },
    certificate,
    given,
    async stop() {
      server.close();
      server.closeAllConnections();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function passOn(from: IncomingMessage, to: ServerResponse, host: string): void {
  const [hostname, port] = host.split(":");
  const onward = ask(
    { hostname, port, path: from.url, method: from.method, headers: from.headers },
    (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    },
  );
  onward.on("error", () => to.destroy());
  from.pipe(onward);
}
