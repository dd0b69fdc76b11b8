/** Hosts whose names would be an option, a key or several nodes, and how kubectl and Slurm read the names that are written. */

import { execFile, execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { formatFactsLine } from "../../../../src/facts/format-facts.ts";
import { formatLock } from "../../../../src/lock/format-lock.ts";
import { makeFolder } from "../../../support/folders.ts";
import { needs } from "../../../support/needs.ts";
import { whyNot } from "../../../support/programs.ts";
import { runInProcess } from "../../../support/run-cli.ts";
import { gpuHost, h100 } from "../../../resolve/support/hosts.ts";
import { cuda, gpuImage, lockOf } from "../../../resolve/support/locks.ts";

const lock = formatLock(lockOf({ gpu: gpuImage(cuda("12.8.1", ["sm_90"])) }));
const facts = JSON.parse(formatFactsLine(gpuHost([h100], "570.124.06", "12.8", { amd: null })));

async function labels(format: string, names: readonly string[]) {
  const folder = makeFolder({
    "hosts.jsonl": names.map((name) => JSON.stringify({ name, facts })).join("\n"),
    "lock.json": lock,
  });
  const files = ["--hosts", join(folder, "hosts.jsonl"), "--lock", join(folder, "lock.json")];
  return runInProcess(["labels", ...files, "--format", format]);
}

const good = {
  kubernetes: ["gpu-1", "10.0.0.7", "a--b.example.com", "n".repeat(253)],
  docker: ["gpu-1", "Gpu_1", "x5w0m2qf8hl7kz9c3v1b4n6aa"],
  nomad: ["f7", "F7476465", "f7476465-4d6e-c0de-26d0-e383c49be941"],
  slurm: ["gpu-1", "gpu_1", "GPU1", "gpu-1.example.com", "all-1", "default1"],
} as const;
const formats = { ...good, patch: good.kubernetes } as const;

/** For every system. */
const bad = [
  "--all",
  "-n1",
  "--server=http://127.0.0.1",
  "n1 State=DOWN",
  "n1,n2",
  "n[1-3]",
  'n"1',
  "n1#",
  "$(id)",
  "pod/a",
  "a=b",
  "ä",
  "a.",
];
const alsoBad: Partial<Record<keyof typeof formats, readonly string[]>> = {
  kubernetes: ["Gpu-1", "gpu_1", "a..b", "a-.b", "hosts.jsonl:3"],
  nomad: ["f", "gpu-1", "-f7"],
  slurm: ["ALL", "all", "Default", "hosts.jsonl:3"],
};

test.each(Object.entries(formats))("names of %s", async (format, names) => {
  const taken = await labels(format, names);
  expect(taken.exit, taken.err).toBe(0);
  for (const name of names) expect(taken.out).toContain(name);
  const refused = [...bad, ...(alsoBad[format as keyof typeof formats] ?? [])];
  for (const name of refused) {
    const { exit, out, err } = await labels(format, [names[0], name]);
    expect(exit, name).toBe(2);
    expect(out).toBe("");
    expect(err).toContain(`FACTS_SCHEMA: the host ${JSON.stringify(name)} `);
    expect(err).not.toContain(`the host ${JSON.stringify(names[0])} `);
  }
});

const whyNoKubectl = whyNot("kubectl", ["version", "--client"], { install: "apt-get install kubectl" });
test("kubectl asks for exactly the nodes that are written", needs(whyNoKubectl), async () => {
  const asked: string[] = [];
  const answers: Readonly<Record<string, object>> = {
    "/api": { kind: "APIVersions", versions: ["v1"] },
    "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
    "/api/v1": {
      kind: "APIResourceList",
      groupVersion: "v1",
      resources: [
        { name: "nodes", singularName: "node", namespaced: false, kind: "Node", verbs: ["get", "patch"] },
      ],
    },
  };
  const server = createServer(({ url = "", method }, response) => {
    const [path = ""] = url.split("?");
    const [, name] = /^\/api\/v1\/nodes\/(.*)$/.exec(path) ?? [];
    if (method === "GET" && /\bnodes\b/.test(path)) asked.push(path);
    const node = { kind: "Node", apiVersion: "v1", metadata: { name } };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(answers[path] ?? node));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  try {
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const { out } = await labels("kubernetes", good.kubernetes);
    const [program = "", ...words] = out.trim().split(" ");
    const folder = makeFolder({});
    await promisify(execFile)(
      program,
      [...words, `--server=http://127.0.0.1:${port}`, `--cache-dir=${folder}`],
      {
        env: { PATH: process.env.PATH, HOME: folder, KUBECONFIG: join(folder, "none") },
      },
    );
  } finally {
    server.close();
  }
  expect(asked).toEqual(good.kubernetes.map((name) => `/api/v1/nodes/${name}`));
});

const slurmConf = join(
  makeFolder({ "slurm.conf": "ClusterName=x\nSlurmctldHost=localhost\n" }),
  "slurm.conf",
);
const slurmEnv = { ...process.env, SLURM_CONF: slurmConf };
const whyNoScontrol = whyNot("scontrol", ["show", "hostnames", "a"], {
  install: "apt-get install slurm-client",
  env: slurmEnv,
});
test("Slurm reads each name as one node, and no list of nodes is written", needs(whyNoScontrol), () => {
  const read = (name: string) =>
    execFileSync("scontrol", ["show", "hostnames", name], { encoding: "utf8", env: slurmEnv });
  for (const name of good.slurm) expect(read(name)).toBe(`${name}\n`);
  for (const name of ["n1 State=DOWN", "n1,n2", "n[1-3]"]) {
    expect(read(name)).not.toBe(`${name}\n`);
    expect(bad).toContain(name);
  }
});
