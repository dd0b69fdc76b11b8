/**
 * A BuildKit session through the engine's API: the connection of `POST /session` is turned around, and the engine asks
 * this side, by gRPC over HTTP/2, for files and logins (moby/buildkit, session/manager.go and session/grpc.go).
 */

import { randomUUID } from "node:crypto";
import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Credential, CredentialStore } from "../registry/credential.ts";
import type { DockerApi } from "./api.ts";
import { type FileSet, sendFiles } from "./file-sync.ts";
import { type GrpcCall, grpcCall } from "./grpc.ts";
import { field, readFields } from "./protobuf.ts";
import { forwardAgent, type SessionAgent } from "./ssh-agent.ts";

export interface Session {
  readonly id: string;
  /** What went wrong on this side: the engine only hears that it did. */
  readonly failure: () => unknown;
  close(): void;
}

/** What a step may ask for by its id. */
export interface SessionSecret {
  readonly id: string;
  /** Throws `FILE_UNREADABLE`. */
  read(): Promise<Uint8Array>;
}

export interface SessionOptions {
  /** What the engine asks for by name: `context` and `dockerfile`. */
  readonly files: Readonly<Record<string, FileSet>>;
  readonly credentials: CredentialStore;
  readonly secrets: readonly SessionSecret[];
  readonly agents: readonly SessionAgent[];
  /** The engine keeps what was sent under this key, and asks only for what differs in size or time. */
  readonly sharedKey: string;
}

/** Answers a refusal that is no failure, or nothing. */
type Method = (call: GrpcCall) => Promise<Refusal | undefined>;

interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** null where the engine offers no sessions: the classic builder, and Podman's imitation of the API. */
export async function openSession(api: DockerApi, options: SessionOptions): Promise<Session | null> {
  let failure: unknown = null;
  const methods: Readonly<Record<string, Method>> = {
    "/grpc.health.v1.Health/Check": async (call) => {
      await call.read().next();
      await call.write(field(1, 1));
      return undefined;
    },
    "/moby.filesync.v1.FileSync/DiffCopy": async (call) => {
      await sendFiles(call, options.files[call.metadata("dir-name")[0] ?? ""] ?? { entries: [] });
      return undefined;
    },
    "/moby.filesync.v1.Auth/Credentials": async (call) => {
      await answerCredentials(call, options.credentials);
      return undefined;
    },
    "/moby.buildkit.secrets.v1.Secrets/GetSecret": (call) => answerSecret(call, options.secrets),
    "/moby.sshforward.v1.SSH/CheckAgent": (call) => checkAgent(call, options.agents),
    "/moby.sshforward.v1.SSH/ForwardAgent": (call) => answerAgent(call, options.agents),
  };
  const id = randomUUID();
  const socket = await api.upgrade("/session", {
    Upgrade: "h2c",
    "X-Docker-Expose-Session-Uuid": id,
    "X-Docker-Expose-Session-Name": "imgmatch",
    "X-Docker-Expose-Session-Sharedkey": options.sharedKey,
    "X-Docker-Expose-Session-Grpc-Method": Object.keys(methods),
  });
  if (socket === null) return null;
  const connection = http2.performServerHandshake(socket);
  connection.on("error", () => {});
  // Node gives the headers also as they came, names and values in turn, which its types do not know.
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _: number, raw: unknown) => {
    stream.on("error", () => {});
    const call = grpcCall(stream, raw as readonly string[]);
    const method = methods[headers[":path"] ?? ""];
    if (method === undefined) return call.end(12, "not offered");
    method(call).then(
      (refusal) => call.end(refusal?.status ?? 0, refusal?.message ?? ""),
      (error: unknown) => {
        failure ??= error;
        call.end(2, error instanceof Error ? error.message : String(error));
      },
    );
  };
  connection.on("stream", onStream as () => void);
  return {
    id,
    failure: () => failure,
    close() {
      connection.destroy();
      socket.destroy();
    },
  };
}

/** `CredentialsRequest { string Host = 1 }` → `CredentialsResponse { string Username = 1; string Secret = 2 }`. */
async function answerCredentials(call: GrpcCall, credentials: CredentialStore): Promise<void> {
  const name = await askedFor(call);
  // Docker Hub's images are named after one host and served by another.
  const credential = await credentials.find(name === "registry-1.docker.io" ? "docker.io" : name);
  await call.write(credentialsResponse(credential));
}

/** `GetSecretRequest { string ID = 1 }` → `GetSecretResponse { bytes data = 1 }`, or NotFound, which only a required secret minds. */
async function answerSecret(call: GrpcCall, secrets: readonly SessionSecret[]): Promise<Refusal | undefined> {
  const id = await askedFor(call);
  const secret = secrets.find((one) => one.id === id);
  if (secret === undefined)
    return { status: 5, message: `no secret ${id}: give it with --secret id=${id},…` };
  await call.write(field(1, await secret.read()));
  return undefined;
}

/** `CheckAgentRequest { string ID = 1 }` → `CheckAgentResponse {}`, or NotFound, which only a required agent minds. */
async function checkAgent(call: GrpcCall, agents: readonly SessionAgent[]): Promise<Refusal | undefined> {
  const id = (await askedFor(call)) || "default";
  if (!agents.some((one) => one.id === id)) return noAgent(id);
  await call.write(new Uint8Array());
  return undefined;
}

async function answerAgent(call: GrpcCall, agents: readonly SessionAgent[]): Promise<Refusal | undefined> {
  const id = call.metadata("buildkit.ssh.id")[0] || "default";
  const agent = agents.find((one) => one.id === id);
  if (agent === undefined) return noAgent(id);
  await forwardAgent(call, agent);
  return undefined;
}

function noAgent(id: string): Refusal {
  return { status: 5, message: `no SSH agent ${id}: give it with --ssh ${id}` };
}

/** The text that is a request's only field; empty where there is none. */
async function askedFor(call: GrpcCall): Promise<string> {
  const { value } = await call.read().next();
  const [first] = value === undefined ? [] : [...readFields(value)];
  return first?.value instanceof Uint8Array ? Buffer.from(first.value).toString("utf8") : "";
}

function credentialsResponse(credential: Credential | null): Uint8Array {
  switch (credential?.kind) {
    case undefined:
      return new Uint8Array();
    case "password":
      return Buffer.concat([field(1, credential.username), field(2, credential.password)]);
    case "identity":
    case "bearer":
      // A secret without a name is a token (moby/buildkit, session/auth/authprovider).
      return field(2, credential.token);
  }
}
