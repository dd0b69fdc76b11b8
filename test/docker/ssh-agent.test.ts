/** What a step may ask of an SSH agent, and what it gets. */

import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { GrpcCall } from "../../src/docker/grpc.ts";
import { field, fieldMap } from "../../src/docker/protobuf.ts";
import { agentMessages, forwardAgent } from "../../src/docker/ssh-agent.ts";

const message = (type: number, ...more: readonly number[]) =>
  Uint8Array.of(0, 0, 0, 1 + more.length, type, ...more);
const [listKeys, sign, removeAll, failure] = [message(11), message(13, 7), message(19), [0, 0, 0, 1, 5]];

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Answers each request with its type and one more, a byte at a time; keeps what it was asked. */
async function agent(): Promise<{ socket: string; asked: number[] }> {
  const socket = join(mkdtempSync(join(tmpdir(), "imgmatch-agent-")), "socket");
  const asked: number[] = [];
  const server = createServer(async (connection) => {
    for await (const request of agentMessages(connection)) {
      asked.push(request[4] ?? 0);
      for (const byte of message((request[4] ?? 0) + 1)) connection.write(Uint8Array.of(byte));
    }
  });
  servers.push(server.listen(socket));
  await once(server, "listening");
  return { socket, asked };
}

/** A step that sends these bytes, in these pieces, and ends. */
function step(pieces: readonly Uint8Array[]): { call: GrpcCall; answers: number[][] } {
  const answers: number[][] = [];
  const call: GrpcCall = {
    metadata: () => [],
    read: async function* () {
      for (const piece of pieces) yield field(1, piece);
      return undefined;
    },
    write: async (bytes) => {
      answers.push([...(fieldMap(bytes).get(1) as Uint8Array)]);
    },
    end: () => {},
  };
  return { call, answers };
}

describe("a step", () => {
  test("lists and uses keys; what would change the agent never reaches it", async () => {
    const { socket, asked } = await agent();
    const { call, answers } = step([listKeys, removeAll, sign]);
    await forwardAgent(call, { id: "default", socket });
    expect(answers).toEqual([[0, 0, 0, 1, 12], failure, [0, 0, 0, 1, 14]]);
    expect(asked).toEqual([11, 13]);
  });

  test.each([
    ["byte by byte", (all: Uint8Array) => [...all].map((byte) => Uint8Array.of(byte))],
    ["at once", (all: Uint8Array) => [all]],
  ])("may send its requests %s: each is looked at by itself", async (_, cut) => {
    const { socket, asked } = await agent();
    const { call, answers } = step(cut(Buffer.concat([listKeys, removeAll, message(17), sign])));
    await forwardAgent(call, { id: "default", socket });
    expect(asked).toEqual([11, 13]);
    expect(answers).toHaveLength(4);
  });

  test.each([
    ["longer than any agent takes", Uint8Array.of(0, 4, 0, 1, 11)],
    ["empty", Uint8Array.of(0, 0, 0, 0)],
  ])("is ended by a message that is %s, before it is kept", async (_, bytes) => {
    const { socket, asked } = await agent();
    const { call } = step([bytes]);
    await expect(forwardAgent(call, { id: "default", socket })).rejects.toThrow(/bytes for an SSH agent/);
    expect(asked).toEqual([]);
  });

  test("hears of an agent that is gone", async () => {
    const { call } = step([listKeys]);
    await expect(forwardAgent(call, { id: "work", socket: "/no/such/socket" })).rejects.toThrow(
      /the SSH agent work at \/no\/such\/socket does not answer: .*ENOENT/,
    );
  });
});
