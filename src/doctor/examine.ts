/** `imgmatch doctor`: reads the host, the container engine and the logins of this machine, and says what is wrong. */

import type { Environment } from "../docker/endpoint.ts";
import { nodeHostIo } from "../host/node-io.ts";
import { probeHost } from "../host/probe.ts";
import { type Diagnosis, diagnose } from "./diagnose.ts";
import { readEngine } from "./read-engine.ts";
import { readLogins } from "./read-logins.ts";

/** What cannot be read is a finding and no exception. */
export async function examineMachine(env: Environment): Promise<Diagnosis> {
  const host = await probeHost(nodeHostIo(env));
  const [engine, logins] = await Promise.all([readEngine(env), readLogins(env)]);
  return diagnose(host, engine, logins);
}
