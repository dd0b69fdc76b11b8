/** The messages of a gRPC stream: five bytes of prefix, then as many as they say (grpc/grpc, doc/PROTOCOL-HTTP2.md). */

import { ImgmatchError } from "../errors.ts";

const prefixBytes = 5;

/** What BuildKit itself takes and sends at most (containerd, defaults/defaults.go, DefaultMaxRecvMsgSize). */
export const longestMessage = 16 * 1024 * 1024;

/** Yields each message as it is complete. One of more than {@link longestMessage} bytes is `ENGINE_FAILED`, before it is kept. */
export async function* grpcMessages(
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  // A list, because joining what came before with each chunk takes the square of a long message's time.
  let chunks: Uint8Array[] = [];
  let length = 0;
  let needed = prefixBytes;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
    if (length < needed) continue;
    let rest = joined(chunks);
    for (;;) {
      needed = prefixBytes;
      if (rest.length < needed) break;
      const size = new DataView(rest.buffer, rest.byteOffset).getUint32(1);
      if (size > longestMessage) throw tooLong(size);
      needed += size;
      if (rest.length < needed) break;
      yield rest.subarray(prefixBytes, needed);
      rest = rest.subarray(needed);
    }
    chunks = [rest];
    length = rest.length;
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only, ...more] = chunks;
  return only !== undefined && more.length === 0 ? only : Buffer.concat(chunks);
}

function tooLong(size: number): ImgmatchError {
  return new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `the engine sent a message of ${size} bytes, the limit is ${longestMessage}`,
    fix: "see whether DOCKER_HOST names a container engine, and the engine's log (journalctl -u docker)",
  });
}
