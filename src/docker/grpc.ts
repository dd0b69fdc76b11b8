/** One gRPC call on this side of an HTTP/2 connection (grpc/grpc, doc/PROTOCOL-HTTP2.md). */

import { once } from "node:events";
import type { ServerHttp2Stream } from "node:http2";
import { grpcMessages } from "./grpc-frames.ts";

export interface GrpcCall {
  /** All values that were sent under a name. */
  metadata(name: string): readonly string[];
  /** The messages of the other side, as they come. */
  read(): AsyncGenerator<Uint8Array, undefined>;
  write(message: Uint8Array): Promise<void>;
  /** 0 is success. */
  end(status: number, message: string): void;
}

export function grpcCall(stream: ServerHttp2Stream, rawHeaders: readonly string[]): GrpcCall {
  let trailers = { "grpc-status": "0", "grpc-message": "" };
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  return {
    metadata: (name) => rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === name),
    // Who has read enough must not reset the stream: the answer is still to come.
    read: () => grpcMessages(stream.iterator({ destroyOnReturn: false })),
    async write(message) {
      if (stream.destroyed || stream.writableEnded) throw new Error("the engine ended the session");
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(message.length, 1);
      if (stream.write(Buffer.concat([prefix, message]))) return;
      // A stream that is destroyed never drains.
      const waiting = new AbortController();
      const { signal } = waiting;
      await Promise.race([once(stream, "drain", { signal }), once(stream, "close", { signal })]).finally(() =>
        waiting.abort(),
      );
    },
    end(status, message) {
      trailers = { "grpc-status": String(status), "grpc-message": encodeURIComponent(message) };
      if (!stream.destroyed) stream.end();
    },
  };
}
