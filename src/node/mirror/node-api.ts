/** Reads and writes this node's labels in its Kubernetes cluster, by the Pod's account. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../errors.ts";
import { fieldsOf, parseJson, text, textsOf } from "../../io/json.ts";
import { createTransport } from "../../oci/registry/transport.ts";

type Texts = Readonly<Record<string, string>>;

/** null removes a name. A name that is left out stays. */
type TextChanges = Readonly<Record<string, string | null>>;

export interface NodeEvent {
  readonly type: "Normal" | "Warning";
  /** One word in camel case. */
  readonly reason: string;
  readonly message: string;
}

/** Each call rejects with a sentence for the log. */
export interface NodeApi {
  readonly read: () => Promise<{ readonly labels: Texts; readonly annotations: Texts }>;
  readonly patch: (changes: {
    readonly labels: TextChanges;
    readonly annotations: TextChanges;
  }) => Promise<void>;
  readonly tell: (event: NodeEvent) => Promise<void>;
}

export interface NodeApiOptions {
  /** The node's name in the cluster. */
  readonly node: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder with `token` and `ca.crt`. Default: Kubernetes' mount. */
  readonly account?: string | undefined;
  /** Aborts requests. */
  readonly signal?: AbortSignal;
  /** The time limit of an answer, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
}

const mountedAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
/** A node lists fifty images and any number of labels. etcd stores at most 1.5 MiB. */
const mostBytes = 4 * 2 ** 20;
/** The limit of `note` in events.k8s.io, the newer form of an event. */
const longestMessage = 1024;

/** Throws `USAGE` outside a Pod, and for an invalid name of a node. */
export async function nodeApi(options: NodeApiOptions): Promise<NodeApi> {
  const { node, env, account = mountedAccount, signal, timeoutMs = 10_000 } = options;
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
  const send = createTransport({ timeoutMs, ca, signal });

  async function ask(method: "GET" | "PATCH" | "POST", path: string, body?: object): Promise<unknown> {
    // Kubernetes replaces the token every hour.
    const token = (await readFile(join(account, "token"), "utf8")).trim();
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await send({
      method,
      url: new URL(path, origin),
      headers: { authorization: `Bearer ${token}`, accept: "application/json", "content-type": type },
      ...(body && { body: Buffer.from(JSON.stringify(body)) }),
      maxBytes: mostBytes,
    });
    const json = parseJson(answer.body);
    if (answer.status < 300) return json;
    const why = (text(fieldsOf(json).message) ?? answer.statusText).slice(0, 300);
    throw new Error(`the API server answered ${answer.status} to ${method} ${path}: ${why}`);
  }

  const path = `/api/v1/nodes/${node}`;
  return {
    read: async () => {
      const { metadata } = fieldsOf(await ask("GET", path));
      const { name, labels, annotations } = fieldsOf(metadata);
      if (name !== node) throw new Error(`the API server's answer to GET ${path} is not this node`);
      return { labels: textsOf(labels), annotations: textsOf(annotations) };
    },
    patch: async (metadata) => {
      await ask("PATCH", path, { metadata });
    },
    tell: async ({ type, reason, message }) => {
      const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
      await ask("POST", "/api/v1/namespaces/default/events", {
        metadata: { generateName: "imgmatch-", namespace: "default" },
        // kubectl describe node shows events of this form, which is the kubelet's.
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
