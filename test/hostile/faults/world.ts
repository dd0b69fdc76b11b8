/** A folder, a registry and an engine, which are as they were before each run of the program. */

import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { makeFolder } from "../../support/folders.ts";
import {
  type Fault,
  type HttpRegistry,
  startHttpRegistry,
} from "../../fleet/publish/support/http-registry.ts";
import { type ApiFault, dockerScript, type StandIn, startStandIn } from "./engine.ts";

/** Where a fault is: the n-th file or program; or the n-th request, to the registry or the engine. `as`: which of its faults. */
export interface Place {
  readonly of: "process" | "requests";
  /** A number from 1; or an expression for the name of the first. */
  readonly at: number | string;
  readonly as: number;
}

export interface Met {
  readonly what: string;
  readonly kind: string;
  /** How many faults this operation can have. */
  readonly kinds: number;
}

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Points of each sort that the run has passed. */
  readonly points: Readonly<Record<Place["of"], readonly string[]>>;
  /** null where the run did not come so far. */
  readonly met: Met | null;
}

export interface World {
  readonly registry: HttpRegistry;
  readonly project: string;
  run(args: readonly string[], fault?: Place | null): Promise<Ran>;
  /** From now on {@link back} leads here. */
  keep(): void;
  back(): void;
  /** Of what may change: path → text. */
  files(): ReadonlyMap<string, string>;
  /** `repository:tag` → digest. */
  tags(): ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

const requestFaults: readonly (readonly [string, Fault, ApiFault])[] = [
  ["500", { kind: "refused", status: 500 }, "500"],
  ["reset before", { kind: "cut", when: "before" }, "before"],
  ["reset after", { kind: "cut", when: "after" }, "after"],
  ["cut", { kind: "cut", when: "within" }, "within"],
];

const preload = resolve("test/hostile/faults/preload.cjs");
/** What a run may change. */
const changing = ["project", "home", "tmp", "engine"];

export async function createWorld(cli: string, hostFolders: readonly string[]): Promise<World> {
  const root = makeFolder({ "bin/docker": dockerScript }, "w-");
  const at = (...path: string[]) => join(root, ...path);
  const registry = await startHttpRegistry({ removesTags: true });
  const engine: StandIn = await startStandIn(at("e.sock"), at("engine"), registry.repository);
  for (const folder of ["project", "home/.docker", "tmp", "engine/built", "engine/pulled", "engine/named"])
    mkdirSync(at(folder), { recursive: true });
  writeFileSync(
    at("bin/docker-credential-test"),
    `#!/bin/sh\ncat > /dev/null\necho '{"ServerURL":"","Username":"me","Secret":"secret"}'\n`,
  );
  for (const name of readdirSync(at("bin"))) chmodSync(at("bin", name), 0o755);
  writeFileSync(at("home/.docker/config.json"), JSON.stringify({ credHelpers: { [registry.host]: "test" } }));
  let kept: typeof registry.repositories = new Map();

  const world: World = {
    registry,
    project: at("project"),
    async run(args, fault = null) {
      const requests: string[] = [];
      let met: Met | null = null;
      const next = (request: string) => {
        requests.push(request);
        const isIt =
          fault?.of === "requests" &&
          (typeof fault.at === "number" ? fault.at === requests.length : new RegExp(fault.at).test(request));
        if (!isIt || met !== null) return null;
        const [kind, ...as] = requestFaults[fault.as % requestFaults.length] ?? [""];
        met = { what: request, kind, kinds: requestFaults.length };
        return as;
      };
      registry.plan = ({ method, repository, kind, name }) => ({
        fault: next(`${method} ${repository} ${kind} ${name}`)?.[0] ?? null,
      });
      engine.fault = (request) => next(`engine ${request}`)?.[1] ?? null;
      const report = at("report.json");
      rmSync(report, { force: true });
      const within = [at("project"), at("home"), at("tmp"), at("e.sock"), ...hostFolders];
      const asked = fault?.of === "process" ? fault : { at: 0, as: 0 };
      const child = spawn(process.execPath, [cli, ...args], {
        cwd: at("project"),
        stdio: ["ignore", "pipe", "pipe"],
        env: {
          ...{
            PATH: `${at("bin")}:/usr/bin:/bin`,
            HOME: at("home"),
            TMPDIR: at("tmp"),
            ENGINE: at("engine"),
          },
          ...{ DOCKER_HOST: `unix://${at("e.sock")}`, NODE_OPTIONS: `--require ${preload}` },
          ...{ SOURCE_DATE_EPOCH: "1700000000", FAULTS: JSON.stringify({ ...asked, within, report }) },
          NODE_DISABLE_COMPILE_CACHE: "1",
        },
      });
      const text = { stdout: "", stderr: "" };
      for (const stream of ["stdout", "stderr"] as const)
        child[stream].setEncoding("utf8").on("data", (chunk: string) => {
          text[stream] += chunk;
        });
      const status = await new Promise<number | null>((done) => child.once("close", done));
      await registry.idle();
      registry.plan = () => ({});
      engine.fault = () => null;
      const said = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : { seen: [], met: null };
      return { status, ...text, points: { process: said.seen, requests }, met: met ?? said.met };
    },
    keep() {
      kept = structuredClone(registry.repositories);
      for (const name of changing) {
        rmSync(at("kept", name), { recursive: true, force: true });
        cpSync(at(name), at("kept", name), { recursive: true, preserveTimestamps: true });
      }
    },
    back() {
      registry.repositories.clear();
      for (const [name, repository] of structuredClone(kept)) registry.repositories.set(name, repository);
      for (const name of changing) {
        rmSync(at(name), { recursive: true, force: true });
        cpSync(at("kept", name), at(name), { recursive: true, preserveTimestamps: true });
      }
      engine.forget();
    },
    files() {
      const all = new Map<string, string>();
      for (const name of changing)
        for (const path of readdirSync(at(name), { recursive: true, withFileTypes: true }))
          if (!path.isDirectory()) {
            const file = join(path.parentPath, path.name);
            all.set(file.slice(root.length + 1), path.isFile() ? readFileSync(file, "utf8") : "link");
          } else all.set(`${join(path.parentPath, path.name).slice(root.length + 1)}/`, "");
      return all;
    },
    tags() {
      const all = new Map<string, string>();
      for (const [name, { tags }] of registry.repositories)
        for (const [tag, digest] of tags) all.set(`${name}:${tag}`, digest);
      return all;
    },
    async stop() {
      await registry.stop();
      await engine.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
  return world;
}
