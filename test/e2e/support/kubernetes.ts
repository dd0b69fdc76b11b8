/**
 * A real Kubernetes control plane on loopback: etcd, kube-apiserver and, where they are found, kube-scheduler and
 * kube-controller-manager. There is no kubelet, so nodes are whatever is registered and no container ever starts.
 *
 * The binaries come from KUBEBUILDER_ASSETS, the folder that controller-runtime's envtest names so, or from PATH.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endProcess } from "./children.ts";
import { freePorts } from "./ports.ts";
import { whyNot } from "../../support/programs.ts";

export type KubernetesProgram = "etcd" | "kube-apiserver" | "kube-scheduler" | "kube-controller-manager";

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: any object of the API
  readonly body: any;
  /** The server's warnings about an object that it accepts. */
  readonly warnings: readonly string[];
}

export interface RunningKubernetes {
  readonly version: string;
  /** Of the server, for its clients. */
  readonly kubeconfig: string;
  /** `body` is text as it stands, in the form that `type` names, or a value that is sent as JSON; `as` is the token of somebody who may less. */
  call(method: string, path: string, body?: unknown, type?: string, as?: string): Promise<Answer>;
  stop(): Promise<void>;
}

const howToEnable = "set KUBEBUILDER_ASSETS to a folder that holds it, or put it into PATH";

/** null when all are there; else the one line that says which is not and how to change that. */
export function whyNoPrograms(...names: readonly KubernetesProgram[]): string | null {
  const missing = names.filter((name) => programPath(name) === null);
  if (missing.length > 0) return `no ${missing.join(", no ")} (${howToEnable})`;
  const broken = names.map((name) =>
    whyNot(programPath(name) ?? name, ["--version"], { install: howToEnable }),
  );
  return broken.find((why) => why !== null) ?? null;
}

function programPath(name: KubernetesProgram): string | null {
  const folders = [process.env.KUBEBUILDER_ASSETS ?? "", ...(process.env.PATH ?? "").split(delimiter)];
  const found = folders.filter((folder) => folder !== "").map((folder) => join(folder, name));
  return found.find((path) => existsSync(path)) ?? null;
}

/** Waits until the API server is ready. Throws with its log when it ends before. */
export async function startKubernetes(
  ...controllers: readonly KubernetesProgram[]
): Promise<RunningKubernetes> {
  const folder = mkdtempSync("/tmp/imgmatch-kubernetes-");
  const children: ChildProcess[] = [];
  const logs = new Map<string, string>();
  const start = (name: KubernetesProgram, flags: Readonly<Record<string, string>>): ChildProcess => {
    const argv = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    const child = spawn(programPath(name) ?? name, argv, { stdio: ["ignore", "ignore", "pipe"] });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      logs.set(name, ((logs.get(name) ?? "") + text).slice(-8000));
    });
    child.once("error", (error) => logs.set(name, error.message));
    children.push(child);
    return child;
  };
  const stop = async (): Promise<void> => {
    // The last that was started needs those before it.
    for (const child of children.reverse()) await endProcess(child, 3000);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [client = 0, peer = 0, port = 0] = await freePorts(3);
    start("etcd", etcdFlags(folder, client, peer));
    const server = start("kube-apiserver", serverFlags(folder, client, port));
    const certificate = join(folder, "apiserver.crt");
    const call = caller(port, certificate);
    await untilReady(server, certificate, call);
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, JSON.stringify(clientConfig(port, certificate)));
    for (const name of controllers) start(name, { ...controllerFlags[name], kubeconfig });
    const { body } = await call("GET", "/version");
    return { version: body.gitVersion, kubeconfig, call, stop };
  } catch (error) {
    await stop();
    throw new Error(`no control plane: ${[...logs].flat().join("\n")}`, { cause: error });
  }
}

const token = "imgmatch";

function etcdFlags(folder: string, client: number, peer: number): Readonly<Record<string, string>> {
  const [clientUrl, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  return {
    "data-dir": join(folder, "etcd"),
    "listen-client-urls": clientUrl,
    "advertise-client-urls": clientUrl,
    "listen-peer-urls": peerUrl,
    "initial-advertise-peer-urls": peerUrl,
    "initial-cluster": `default=${peerUrl}`,
    "unsafe-no-fsync": "true",
  };
}

function serverFlags(folder: string, etcd: number, port: number): Readonly<Record<string, string>> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  return {
    "etcd-servers": `http://127.0.0.1:${etcd}`,
    "bind-address": "127.0.0.1",
    "secure-port": String(port),
    // It makes its own certificate there.
    "cert-dir": folder,
    "service-cluster-ip-range": "10.0.0.0/24",
    "service-account-issuer": "https://imgmatch.test",
    "service-account-signing-key-file": write("account.key", privateKey),
    "service-account-key-file": write("account.pub", publicKey),
    "token-auth-file": write("tokens.csv", `${token},tester,1,system:masters\n`),
    "authorization-mode": "RBAC",
    "allow-privileged": "true",
    // Nobody makes accounts, and nobody takes the taint of new nodes away: both are work of controllers that do not run here.
    "disable-admission-plugins": "ServiceAccount,TaintNodesByCondition",
  };
}

const fast = { "leader-elect": "false", "secure-port": "0", "kube-api-qps": "500", "kube-api-burst": "1000" };

const controllerFlags: Partial<Record<KubernetesProgram, Readonly<Record<string, string>>>> = {
  "kube-scheduler": fast,
  "kube-controller-manager": {
    ...fast,
    controllers:
      "daemonset-controller,deployment-controller,replicaset-controller,job-controller,resourceclaim-controller",
  },
};

function clientConfig(port: number, certificate: string): unknown {
  const name = "imgmatch";
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name, cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority": certificate } },
    ],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
}

function caller(port: number, certificate: string): RunningKubernetes["call"] {
  // An API server closes what is idle for 90 s, perhaps just when a connection is used again.
  const agent = new Agent({ keepAlive: true, maxSockets: 8, timeout: 60_000 });
  return (method, path, body, type = "application/json", as = token) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
      const sent = request(
        {
          host: "127.0.0.1",
          port,
          method,
          path,
          agent,
          ca: readFileSync(certificate),
          headers: { authorization: `Bearer ${as}`, accept: "application/json", "content-type": type },
        },
        (answer) => {
          let received = "";
          answer.setEncoding("utf8").on("data", (part: string) => {
            received += part;
          });
          answer.once("error", reject).once("end", () => {
            const warnings = answer.headers.warning;
            resolve({
              status: answer.statusCode ?? 0,
              body: received.startsWith("{") ? JSON.parse(received) : received,
              warnings: warnings === undefined ? [] : [warnings],
            });
          });
        },
      );
      sent.once("error", reject).end(text);
    });
}

async function untilReady(
  server: ChildProcess,
  certificate: string,
  call: RunningKubernetes["call"],
): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (server.exitCode !== null) throw new Error(`kube-apiserver ended with status ${server.exitCode}`);
    const ready = existsSync(certificate) && (await call("GET", "/readyz").catch(() => null))?.status === 200;
    // An API server makes its own objects after it is ready.
    if (ready && (await call("GET", "/api/v1/namespaces/default")).status === 200) return;
    await sleep(100);
  }
  throw new Error("kube-apiserver was not ready in 60 s");
}
