/** A Nomad server and client in one process, with ports and folders of their own, whose Docker driver uses the tests' engine. */

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endProcess, unmountBelow } from "./children.ts";
import { freePorts } from "./ports.ts";
import { whyNot } from "../../support/programs.ts";

const program = process.env.IMGMATCH_NOMAD_PROGRAM ?? "nomad";

export interface RunningNomad {
  /** For the program `nomad`, and `NOMAD_ADDR` for the API. */
  readonly env: NodeJS.ProcessEnv & { readonly NOMAD_ADDR: string };
  nomad(...args: readonly string[]): {
    readonly status: number | null;
    readonly stdout: string;
    readonly stderr: string;
  };
  stop(): Promise<void>;
}

/** null when an agent can be started here, else the reason. */
export const whyNoNomad: string | null =
  process.getuid?.() !== 0
    ? "Nomad's client needs root"
    : whyNot(program, ["version"], { install: "1.5 or newer; IMGMATCH_NOMAD_PROGRAM names it" });

export async function startNomad(dockerHost: string): Promise<RunningNomad> {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-nomad-"));
  const [http, rpc, serf] = await freePorts(3);
  const all = (value: string) => ({ http: value, rpc: value, serf: value });
  writeFileSync(
    join(folder, "agent.json"),
    JSON.stringify({
      data_dir: join(folder, "data"),
      bind_addr: "127.0.0.1",
      advertise: all("127.0.0.1"),
      ports: { http, rpc, serf },
      disable_update_check: true,
      server: { enabled: true, bootstrap_expect: 1 },
      // Clouds are asked over the network for what they know of the machine.
      client: {
        enabled: true,
        options: { "fingerprint.denylist": "env_aws,env_azure,env_digitalocean,env_gce" },
      },
      plugin: [{ docker: [{ config: [{ endpoint: dockerHost, volumes: [{ enabled: true }] }] }] }],
    }),
  );
  const child = spawn(program, ["agent", `-config=${join(folder, "agent.json")}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-20_000);
    });
  const env = { ...process.env, NOMAD_ADDR: `http://127.0.0.1:${http}` };
  const nomad = (...args: readonly string[]) => spawnSync(program, args, { env, encoding: "utf8" });
  const stop = async () => {
    await endProcess(child, 20_000, "SIGINT");
    // The client mounts a folder for secrets into each allocation and leaves it when it is ended.
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  for (let tries = 0; tries < 600 && child.exitCode === null; tries++) {
    const { stdout } = nomad("node", "status", "-self", "-verbose");
    if (/^docker\s+true\s+true\s+Healthy/m.test(stdout)) return { env, nomad, stop };
    await sleep(200);
  }
  await stop();
  throw new Error(`Nomad's client with Docker did not come up: ${log}`);
}
