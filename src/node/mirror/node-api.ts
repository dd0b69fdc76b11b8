/** This node in the cluster that the mirror runs in, as far as its labels ask for it: by the Pod's own account. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../errors.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import { createTransport } from "../../oci/registry/transport.ts";

export interface ClusterNode {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** null takes a name away; a name that is left out stays. */
export interface NodePatch {
  readonly labels: Readonly<Record<string, string | null>>;
  readonly annotations: Readonly<Record<string, string | null>>;
}

export interface NodeEvent {
  readonly type: "Normal" | "Warning";
  /** One word in camel case. */
  readonly reason: string;
  readonly message: string;
}

/** Each rejects with a sentence for the log. */
export interface NodeApi {
  readonly read: () => Promise<ClusterNode>;
  readonly patch: (patch: NodePatch) => Promise<void>;
  readonly tell: (event: NodeEvent) => Promise<void>;
}

export interface NodeApiOptions {
  /** Of the node, as the cluster calls it. */
  readonly node: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder with `token` and `ca.crt`. Default: where Kubernetes mounts them. */
  readonly account?: string;
}

const mountedAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
const timeoutMs = 10_000;
/** A node names fifty images and any number of labels; etcd takes 1.5 MiB. */
const mostBytes = 4 * 2 ** 20;
/** Of an event (Kubernetes API, core/v1 Event, validation of `message`). */
const longestMessage = 1024;

/** Throws `USAGE` outside a Pod, and for what is no name of a node. */
export async function nodeApi({ node, env, account = mountedAccount }: NodeApiOptions): Promise<NodeApi> {
  if (!/^[a-z0-9][a-z0-9.-]{0,252}$/.test(node))
    throw usageError(
      `${JSON.stringify(node.slice(0, 80))} is no name of a node`,
      "take spec.nodeName of the Pod",
    );
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  const ca = await readFile(join(account, "ca.crt"), "utf8").catch(() => null);
  if (host === undefined || ca === null)
    throw usageError(
      "--label-node works in a Pod with a service account",
      "start it by the DaemonSet of docs/node/mirror-daemonset.yaml",
    );
  const origin = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const send = createTransport({ timeoutMs, ca });

  async function ask(
    method: "GET" | "PATCH" | "POST",
    path: string,
    body?: object,
    type = "application/json",
  ): Promise<unknown> {
    // Kubernetes replaces the token every hour.
    const token = (await readFile(join(account, "token"), "utf8")).trim();
    const answer = await send({
      method,
      url: new URL(path, origin),
      headers: { authorization: `Bearer ${token}`, accept: "application/json", "content-type": type },
      ...(body && { body: Buffer.from(JSON.stringify(body)) }),
      maxBytes: mostBytes,
    });
    const said = parseJson(Buffer.from(answer.body).toString("utf8"));
    if (answer.status < 300) return said;
    const why = isRecord(said) && typeof said.message === "string" ? said.message : answer.statusText;
    throw new Error(`the API server answered ${answer.status} to ${method} ${path}: ${why.slice(0, 300)}`);
  }

  const path = `/api/v1/nodes/${node}`;
  return {
    read: async () => {
      const found = await ask("GET", path);
      const { labels, annotations } = isRecord(found) && isRecord(found.metadata) ? found.metadata : {};
      return { labels: texts(labels), annotations: texts(annotations) };
    },
    patch: async (metadata) => {
      await ask("PATCH", path, { metadata }, "application/merge-patch+json");
    },
    tell: async ({ type, reason, message }) => {
      const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
      await ask("POST", "/api/v1/namespaces/default/events", {
        apiVersion: "v1",
        kind: "Event",
        metadata: { generateName: "imgmatch-", namespace: "default" },
        // As the kubelet writes them, so that kubectl describe node shows them.
        involvedObject: { apiVersion: "v1", kind: "Node", name: node, uid: node },
        type,
        reason,
        message: message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message,
        source: { component: "imgmatch", host: node },
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
      });
    },
  };
}

function texts(value: unknown): Readonly<Record<string, string>> {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([name, text]) => (typeof text === "string" ? [[name, text] as const] : [])),
  );
}
