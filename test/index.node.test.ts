/** The commands of a node as a program calls them: what they answer, and what they say beside it. */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cover } from "../src/index.ts";
import { hardware } from "../src/node/tables/hardware.ts";
import { probe } from "../src/index.ts";
import type { World } from "../src/io/world.ts";
import { doctor } from "../src/node/doctor.ts";
import { labels } from "../src/index.ts";
import { launch } from "../src/index.ts";
import { pull } from "../src/index.ts";
import { resolve } from "../src/index.ts";
import { run } from "../src/index.ts";
import { serve } from "../src/index.ts";
import { formatHostFacts } from "../src/facts/format-facts.ts";
import { formatLock } from "../src/lock/format-lock.ts";
import { amdHost, mi300x } from "./resolve/support/hosts.ts";
import { cuda, image, lockOf, requirement, rocm } from "./resolve/support/locks.ts";
import { makeFolder } from "./support/folders.ts";
import { runInProcess } from "./support/run-cli.ts";

const vision = join(import.meta.dirname, "../docs/examples/vision");
const lock = join(vision, "images/imgmatch.lock.json");
const host = join(vision, "hosts/h100.json");
const question = { lock, host, pin: ["python=3.12"] };
const flags = ["--lock", lock, "--host", host, "--pin", "python=3.12"];
const alone: Partial<World> = { env: {}, machinePolicy: "/nonexistent/trust.yaml" };

async function printed(...args: string[]): Promise<unknown> {
  return JSON.parse((await runInProcess(args.toSpliced(1, 0, "--json"))).out);
}

test.each<[name: string, answer: () => Promise<unknown>, args: readonly string[]]>([
  ["probe", () => probe({ host }, alone), ["probe", "--host", host]],
  ["hardware", () => hardware({ kind: "gpu", name: "H100" }), ["hardware", "gpu", "H100"]],
  ["doctor", () => doctor({}, alone), ["doctor"]],
  [
    "run",
    () => run({ ...question, gpus: "1", dryRun: true, option: ["--init"], args: ["sh"] }, alone),
    ["run", ...flags, "--gpus", "1", "--dry-run", "--init", "--", "sh"],
  ],
  [
    "launch",
    () => launch({ ...question, target: "docker", gpus: "1" }, alone),
    ["launch", "docker", ...flags, "--gpus", "1"],
  ],
  [
    "labels",
    async () => {
      // What the formats name GPUs by.
      const { host: _, ...printed } = await labels(question, alone);
      return printed;
    },
    ["labels", ...flags],
  ],
  [
    "cover",
    () => cover({ lock, hosts: [host], whatIf: ["driver=580.95.05"] }, alone),
    ["cover", host, "--lock", lock, "--what-if", "driver=580.95.05"],
  ],
  [
    "serve, for a runtime",
    () => serve({ lock, printConfig: "containerd" }, alone),
    ["serve", "--lock", lock, "--print-config", "containerd"],
  ],
])("%s answers what --json prints", async (_, answer, args) => {
  expect(JSON.parse(JSON.stringify(await answer()))).toEqual(await printed(...args));
});

test("launch answers the documents, each by itself", async () => {
  const answer = await launch({ target: "kubernetes", lock, pin: ["python=3.12"], fleet: true }, alone);
  expect(answer).toEqual({ documents: expect.any(Array) });
  const args = ["launch", "kubernetes", "--lock", lock, "--pin", "python=3.12", "--fleet"];
  expect(await printed(...args)).toMatchObject({
    kind: "List",
    items: "documents" in answer && answer.documents,
  });
});

test("pull tells what the runtime says, and names what it has pulled", async () => {
  const folder = makeFolder({ docker: '#!/bin/sh\n[ "$1" = image ] && exit 1\necho "$1 done"\n' });
  chmodSync(join(folder, "docker"), 0o755);
  const notes: string[] = [];
  const { name, present, reference } = await pull(
    {
      lock,
      pin: question.pin,
      cpu: true,
      onEvent: (event) => notes.push(event.type === "note" ? event.text : event.type),
    },
    { ...alone, env: { PATH: `${folder}:/bin:/usr/bin` } },
  );
  expect({ name, present, notes }).toEqual({
    name: "registry.example.com/team/vision:1.4.0",
    present: false,
    notes: ["pull done", "tag done"],
  });
  const chosen = await resolve({ lock, pin: question.pin, cpu: true }, alone);
  expect(reference).toBe(chosen.reference);
});

test("an image with code for two vendors runs with the GPUs that are there", async () => {
  const requires = { ...requirement(cuda("12.8.1", ["sm_90"])), rocm: rocm("7.2", ["gfx942"]) };
  const folder = makeFolder({
    "lock.json": formatLock(lockOf({ both: image({ requires }) })),
    "amd.json": formatHostFacts(amdHost([mi300x], "6.14.14", { runtime: { nvidia: "none", amd: "cdi" } })),
    "bare.json": formatHostFacts(amdHost([mi300x])),
  });
  const asked = (name: string) => ({ lock: join(folder, "lock.json"), host: join(folder, name) });
  expect(await run({ ...asked("amd.json"), dryRun: true }, alone)).toMatchObject({
    argv: ["docker", "run", "--rm", "--interactive", "--device", "amd.com/gpu=0", "--", expect.anything()],
  });
  expect(await launch({ ...asked("amd.json"), target: "podman" }, alone)).toMatchObject({ gpus: ["0"] });
  const refused = expect.objectContaining({
    code: "LAUNCH_FAILED",
    message: expect.stringContaining("groups"),
  });
  await expect(run({ ...asked("bare.json"), dryRun: true }, alone)).rejects.toEqual(refused);
  await expect(launch({ ...asked("bare.json"), target: "compose" }, alone)).rejects.toEqual(refused);
});

test("what fits nothing is refused by all of them alike", async () => {
  const asked = { ...question, pin: ["python=2.7"] };
  const { host: _, ...here } = asked;
  const refusals = await Promise.allSettled([
    run({ ...asked, dryRun: true }, alone),
    launch({ ...asked, target: "docker", allowBusy: true }, alone),
    pull(here, alone),
    resolve(asked, alone).then(({ reference }) => reference),
  ]);
  expect(refusals).toEqual(
    refusals.map(() => ({ status: "rejected", reason: expect.objectContaining({ code: "NO_MATCH" }) })),
  );
});

test("serve answers until it is closed, or its signal ends it", async () => {
  const controller = new AbortController();
  const prober = join(makeFolder({ "probe.mjs": "process.stdin.resume();\n" }), "probe.mjs");
  const options = { lock, listen: "127.0.0.1:0", self: [process.execPath, prober] as const };
  const first = await serve(options, alone);
  const second = await serve({ ...options, signal: controller.signal }, alone);
  const health = async ({ address }: { readonly address: string }) =>
    (await fetch(`http://${address}/healthz`)).status;
  expect([await health(first), await health(second)]).toEqual([200, 200]);
  await first.close();
  controller.abort();
  await second.close();
  await expect(health(first)).rejects.toThrow();
  await expect(health(second)).rejects.toThrow();
});
