/** A containerd of the tests' own, pulled through as a kubelet does it: by the container runtime interface. */

import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectHttp } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { capture, type Captured } from "../../../demo/process.ts";
import { field, readFields } from "../../../src/docker/protobuf.ts";
import { endProcess, unmountBelow } from "./children.ts";

export interface RunningContainerd {
  readonly socket: string;
  /** By CRI, into the namespace of Kubernetes. Throws with containerd's own words. `login`: what a Pod's secret says, `name:password`. */
  pull(reference: string, login?: string): Promise<void>;
  /** The `hosts.toml` of the registry from now on. */
  configure(hostsToml: string): Promise<void>;
  /** What a kubelet is told of it; null where it is not here. */
  status(reference: string): Promise<ImageStatus | null>;
  /** In the namespace of Kubernetes. */
  ctr(...args: string[]): Promise<Captured>;
  stop(): Promise<void>;
}

export interface ImageStatus {
  /** `repository@sha256:…` */
  readonly digests: readonly string[];
  readonly pinned: boolean;
}

/** `insecure`: a registry on loopback, by plain http. `ctr` lies beside `program`. */
export async function startContainerd(program: string, insecure: string): Promise<RunningContainerd> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-containerd-"));
  const socket = join(folder, "containerd.sock");
  const hosts = join(folder, "certs.d", insecure);
  await mkdir(hosts, { recursive: true });
  await writeFile(join(hosts, "hosts.toml"), `server = "http://${insecure}"\n`);
  const config = join(folder, "config.toml");
  const { stdout } = await capture([program, "--version"]);
  await writeFile(config, configuration(folder, socket, / v?2\./.test(stdout)));
  const logPath = join(folder, "log");
  const log = openSync(logPath, "a");
  const child = spawn(program, ["--config", config], { stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  const stop = async (): Promise<void> => {
    await endProcess(child, 10_000);
    unmountBelow(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const ctr = (...args: string[]) =>
    capture([program.replace(/containerd$/, "ctr"), "--address", socket, "--namespace", "k8s.io", ...args]);
  try {
    for (let tries = 0; (await ctr("version")).status !== 0; tries++) {
      if (child.exitCode !== null || tries === 100) throw new Error("it gave no answer");
      await sleep(100);
    }
  } catch (error) {
    const text = readFileSync(logPath, "utf8").slice(-5000);
    await stop();
    throw new Error(`${program} did not start: ${text}`, { cause: error });
  }
  return {
    socket,
    ctr,
    stop,
    pull: async (reference, login) => {
      await askCri(socket, "PullImage", Buffer.concat([imageRequest(reference), ...authConfig(login)]));
    },
    configure: (hostsToml) => writeFile(join(hosts, "hosts.toml"), hostsToml),
    status: (reference) => imageStatus(socket, reference),
  };
}

/** No overlay on overlay is needed with the native snapshotter. 2.x reads the form of 1.6, and loses the snapshotter on the way. */
function configuration(folder: string, socket: string, is2: boolean): string {
  const cri = is2 ? "io.containerd.cri.v1.images" : "io.containerd.grpc.v1.cri";
  return [
    `version = ${is2 ? 3 : 2}`,
    `root = "${join(folder, "root")}"`,
    `state = "${join(folder, "state")}"`,
    `[grpc]\naddress = "${socket}"`,
    `[plugins."${cri}"${is2 ? "" : ".containerd"}]\nsnapshotter = "native"`,
    `[plugins."${cri}".registry]\nconfig_path = "${join(folder, "certs.d")}"`,
    `[plugins."io.containerd.internal.v1.opt"]\npath = "${join(folder, "opt")}"`,
    ...(is2
      ? [
          `[[plugins."io.containerd.transfer.v1.local".unpack_config]]\nplatform = "linux/amd64"\nsnapshotter = "native"`,
        ]
      : []),
    "",
  ].join("\n");
}

/** Of `runtime.v1.ImageService` of k8s.io/cri-api. Answers the message that comes back. */
async function askCri(socket: string, method: string, message: Uint8Array): Promise<Uint8Array> {
  const session = connectHttp("http://localhost", { createConnection: () => connect(socket) });
  try {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    return await new Promise<Uint8Array>((resolve, reject) => {
      const call = session.request({
        ":method": "POST",
        ":path": `/runtime.v1.ImageService/${method}`,
        "content-type": "application/grpc",
        te: "trailers",
      });
      let status: Readonly<Record<string, unknown>> = {};
      const chunks: Buffer[] = [];
      // An answer that is an error alone has its status in the headers.
      call.on("response", (headers) => {
        status = { ...headers };
      });
      call.on("trailers", (headers) => {
        status = { ...headers };
      });
      call.on("data", (chunk: Buffer) => chunks.push(chunk));
      call.on("error", reject).on("end", () => {
        if (status["grpc-status"] === "0") resolve(Buffer.concat(chunks).subarray(5));
        else reject(new Error(decodeURIComponent(String(status["grpc-message"] ?? "no answer"))));
      });
      call.end(Buffer.concat([prefix, message]));
    });
  } finally {
    session.close();
  }
}

/** `AuthConfig auth = 2 { string username = 1, string password = 2 }` of PullImageRequest; a kubelet names no server either. */
function authConfig(login: string | undefined): Buffer[] {
  const [name, password] = login?.split(":") ?? [];
  if (name === undefined || password === undefined) return [];
  return [Buffer.from(field(2, Buffer.concat([field(1, name), field(2, password)])))];
}

/** `PullImageRequest` and `ImageStatusRequest`: `{ ImageSpec image = 1 { string image = 1 } }`. */
function imageRequest(reference: string): Uint8Array {
  return field(1, field(1, reference));
}

/** `ImageStatusResponse { Image image = 1 { repeated string repo_digests = 3; bool pinned = 8 } }`. */
async function imageStatus(socket: string, reference: string): Promise<ImageStatus | null> {
  const answer = [...readFields(await askCri(socket, "ImageStatus", imageRequest(reference)))];
  const image = answer.find(({ number }) => number === 1)?.value;
  if (image === undefined || typeof image === "number") return null;
  const fields = [...readFields(image)];
  return {
    digests: fields
      .filter(({ number }) => number === 3)
      .map(({ value }) => Buffer.from(value as Uint8Array).toString()),
    pinned: fields.some(({ number, value }) => number === 8 && value === 1),
  };
}
