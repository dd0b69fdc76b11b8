/**
 * An SSH agent of this machine for the steps that mount it (moby/buildkit, session/sshforward): what they send goes to its socket, as far as
 * it uses keys. What would change the agent is refused, as docker does (sshprovider/agentprovider.go, `readOnlyAgent`).
 */

import { once } from "node:events";
import { connect } from "node:net";
import { ImgmatchError } from "../errors.ts";
import type { GrpcCall } from "./grpc.ts";
import { field, fieldMap } from "./protobuf.ts";

/** An agent that steps may ask for by its id. */
export interface SessionAgent {
  /** `default` is the one of a mount without an id. */
  readonly id: string;
  /** Path of the socket. */
  readonly socket: string;
}

// draft-ietf-sshm-ssh-agent, 7.1: SSH_AGENTC_REQUEST_IDENTITIES and SSH_AGENTC_SIGN_REQUEST; 5 is SSH_AGENT_FAILURE.
const usesKeys: ReadonlySet<number | undefined> = new Set([11, 13]);
const refusal = Uint8Array.of(0, 0, 0, 1, 5);

/** The longest message that OpenSSH's agent takes (ssh-agent.c, AGENT_MAX_LEN). */
const longestMessage = 256 * 1024;

/** One connection of a step, until the step ends it. Throws `ENGINE_FAILED` where the agent does not answer. */
export async function forwardAgent(call: GrpcCall, { id, socket: path }: SessionAgent): Promise<void> {
  const agent = connect(path);
  const lost = (why: string) =>
    new ImgmatchError({
      code: "ENGINE_FAILED",
      message: `the SSH agent ${id} at ${path} does not answer: ${why}`,
      fix: "start it again, and name its socket: --ssh default, or --ssh ID=SOCKET",
    });
  try {
    await once(agent, "connect").catch((error: Error) => Promise.reject(lost(error.message)));
    agent.on("error", () => {});
    const answers = agentMessages(agent);
    for await (const request of agentMessages(bytesOf(call))) {
      if (!usesKeys.has(request[4])) {
        await call.write(field(1, refusal));
        continue;
      }
      agent.write(request);
      const { value: answer } = await answers.next();
      if (answer === undefined) throw lost("it ended the connection");
      await call.write(field(1, answer));
    }
  } finally {
    agent.destroy();
  }
}

/** `BytesMessage { bytes data = 1 }` */
async function* bytesOf(call: GrpcCall): AsyncGenerator<Uint8Array, undefined> {
  for await (const message of call.read()) {
    const data = fieldMap(message).get(1);
    if (data instanceof Uint8Array) yield data;
  }
}

/** Each message with the four bytes of its length. One that is longer than any agent takes ends the connection. */
export async function* agentMessages(
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of stream) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 4) {
      const length = new DataView(rest.buffer, rest.byteOffset).getUint32(0);
      if (length === 0 || length > longestMessage)
        throw new ImgmatchError({
          code: "ENGINE_FAILED",
          message: `a message of ${length} bytes for an SSH agent, the limit is ${longestMessage}`,
          fix: "see what the step does with $SSH_AUTH_SOCK",
        });
      if (rest.length < 4 + length) break;
      yield rest.subarray(0, 4 + length);
      rest = rest.subarray(4 + length);
    }
  }
}
