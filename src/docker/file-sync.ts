/** The sending side of BuildKit's file transfer (tonistiigi/fsutil, send.go and types/wire.proto). */

import type { ContextItem } from "./context-items.ts";
import type { GrpcCall } from "./grpc.ts";
import { field, fieldMap } from "./protobuf.ts";

export interface FileSet {
  /** In the order in which a folder's entries follow it directly: see {@link contextItems}. */
  readonly entries: readonly ContextItem[];
}

const packets = { stat: 0, request: 1, data: 2, end: 3, error: 4 } as const;
// Go's os.FileMode: a folder and a symbolic link are high bits, not those of stat(2).
const typeBits = { file: 0, folder: 0x8000_0000, link: 0x0800_0000 } as const;
const chunkBytes = 32 * 1024;

/**
 * Names every entry, then sends the content of those that the engine asks for. Throws `CONTEXT_CHANGED` before the end of a
 * file that is not what was hashed; the engine then forgets all of this transfer (moby/buildkit, source/local/source.go).
 */
export async function sendFiles(call: GrpcCall, { entries }: FileSet): Promise<void> {
  // BuildKit looks for this one file before it asks for the rest. What it hides is left out already.
  const [only, ...more] = [...call.metadata("followpaths"), ...call.metadata("include-patterns")];
  const sent = only === ".dockerignore" && more.length === 0 ? [] : entries;
  const naming = (async () => {
    for (const entry of sent) await call.write(packet(packets.stat, { stat: statOf(entry) }));
    await call.write(packet(packets.stat, {}));
  })();
  // An error while naming ends the reading below too, by the call's end.
  naming.catch(() => {});
  for await (const message of call.read()) {
    const fields = fieldMap(message);
    const type = fields.get(1) ?? 0;
    const id = Number(fields.get(3) ?? 0);
    if (type === packets.request) {
      const entry = sent[id];
      if (entry !== undefined) await sendContent(call, id, entry);
    } else if (type === packets.end) {
      await naming;
      await call.write(packet(packets.end, {}));
      return;
    } else if (type === packets.error) return;
  }
  await naming;
}

async function sendContent(call: GrpcCall, id: number, { content }: ContextItem): Promise<void> {
  if (content !== null) {
    for await (const data of content(chunkBytes)) await call.write(packet(packets.data, { id, data }));
  }
  await call.write(packet(packets.data, { id }));
}

interface PacketParts {
  readonly stat?: Uint8Array;
  readonly id?: number;
  readonly data?: Uint8Array;
}

function packet(type: number, { stat, id = 0, data = new Uint8Array() }: PacketParts): Uint8Array {
  // A packet with an empty description ends the naming: it has none at all.
  const described = stat === undefined ? new Uint8Array() : field(2, stat);
  return Buffer.concat([field(1, type), described, field(3, id), field(4, data)]);
}

function statOf({ path, type, mode, size, mtime, target }: ContextItem): Uint8Array {
  return Buffer.concat([
    field(1, path),
    field(2, typeBits[type] + mode),
    field(5, size),
    field(6, mtime * 1e9),
    field(7, target ?? ""),
  ]);
}
