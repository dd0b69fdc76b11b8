/** The image service of Kubernetes' container runtime interface, as a kubelet asks it: `runtime.v1.ImageService` of k8s.io/cri-api. */

import { connect as connectHttp } from "node:http2";
import { connect } from "node:net";
import { readFields } from "./protobuf.ts";

export interface ImageStatus {
  /** `repository@sha256:…` */
  readonly digests: readonly string[];
  readonly pinned: boolean;
}

/** Throws with the runtime's own words. `login`: what a Pod's secret says, `name:password`. */
export async function pullImage(socket: string, reference: string, login?: string): Promise<void> {
  await ask(socket, "PullImage", Buffer.concat([imageRequest(reference), ...authConfig(login)]));
}

/** The answer that a kubelet gets about an image; null where the image is not here. */
export async function imageStatus(socket: string, reference: string): Promise<ImageStatus | null> {
  // `ImageStatusResponse { Image image = 1 { repeated string repo_digests = 3; bool pinned = 8 } }`.
  const answer = [...readFields(await ask(socket, "ImageStatus", imageRequest(reference)))];
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

/** Answers the message that comes back. */
async function ask(socket: string, method: string, message: Uint8Array): Promise<Uint8Array> {
  const session = connectHttp("http://localhost", { createConnection: () => connect(socket) });
  try {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    return await new Promise<Uint8Array>((resolve, reject) => {
      session.once("error", reject);
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

/** One field, length-delimited: no message here is longer than 127 bytes. */
function field(number: number, value: Uint8Array | string): Uint8Array {
  const bytes = Buffer.from(value);
  if (bytes.length > 127) throw new Error(`${bytes.length} bytes need a longer varint`);
  return Buffer.concat([Uint8Array.of(number * 8 + 2, bytes.length), bytes]);
}
