/** The commands that are run with faults, and what they begin with. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { digestOf } from "../../../src/oci/digest-of.ts";
import { makeImage, makeTar } from "../../inspect/support/make-image.ts";
import { createSigningKey } from "../../e2e/support/signed-fleet.ts";
import type { Place, World } from "./world.ts";

export interface Case {
  /** Faults that are always tried: they were not told truly once. */
  readonly always?: readonly (readonly [of: Place["of"], at: string, as: number])[];
  /** It waits for its own writes to settle. */
  readonly isSlow?: boolean;
  /** What a whole run prints. */
  readonly says?: string;
  readonly name: string;
  readonly begin: (world: World) => Promise<void>;
  readonly args: (world: World) => readonly string[];
  /** The lock that it writes or reads, in the project. */
  readonly lock: string;
  /** Folders of the machine that it reads. */
  readonly host?: readonly string[];
}

const fleetLock = "images/imgmatch.lock.json";

function write(world: World, path: string, text: string): void {
  const file = join(world.project, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Puts an image of others there. */
function push({ registry }: World, name: string, tag: string): void {
  const { config, manifest, layers } = makeImage([
    makeTar([{ path: "file", content: Buffer.from(name + tag) }]),
  ]);
  const { blobs, manifests, tags } = registry.repository(name);
  for (const blob of [config, ...layers]) blobs.set(digestOf(blob), blob);
  const digest = digestOf(manifest);
  manifests.set(digest, { bytes: manifest, mediaType: "application/vnd.oci.image.manifest.v1+json" });
  tags.set(tag, digest);
}

async function succeed(world: World, ...args: readonly string[]): Promise<void> {
  const ran = await world.run(args);
  if (ran.status !== 0) throw new Error(`${args.join(" ")}: ${ran.stderr}`);
}

function writeFleet(world: World, flavours: string): void {
  const { host } = world.registry;
  write(world, "templates/app.Dockerfile.hbs", "FROM {{base}}\nCOPY . /\nENV F={{flavour}} V={{version}}\n");
  write(world, "templates/content", "hello\n");
  write(world, "templates/secret", "not for the image\n");
  write(world, "templates/.dockerignore", "secret\n");
  write(
    world,
    "matrix.yaml",
    `name: app\nversion: "1.0.0"\nregistry: ${host}/ours\ntemplate: templates/app.Dockerfile.hbs
tag: "{{version}}-{{cell}}-{{inputs}}"\nbase: ${host}/base/os:1\naxes:\n  march: [x86-64]\n  flavour: [${flavours}]
channels:\n  stable: "*"\n`,
  );
  push(world, "base/os", "1");
  // Somebody else's, beside ours.
  push(world, "ours/app", "theirs");
}

async function builtFleet(world: World, ...flags: readonly string[]): Promise<void> {
  writeFleet(world, "a, b");
  await succeed(world, "build", "--push", ...flags);
}

const signing = ["--sign", "--sign-key", "signing.key"];

function writeKeys(world: World): void {
  const { pem, privatePem } = createSigningKey();
  write(world, "signing.key", privatePem);
  write(world, "public.pem", pem);
}

function adopting(world: World, cells: readonly string[], lock: string): readonly string[] {
  const { host } = world.registry;
  return [
    "adopt",
    ...cells.map((cell) => `${host}/theirs/app:0-${cell}`),
    ...["--march", "x86-64", "--publish-to", `${host}/ours/app`, "--lock", lock],
  ];
}

async function adoptedFleet(world: World): Promise<void> {
  for (const cell of ["a", "b", "c"]) push(world, "theirs/app", `0-${cell}`);
  push(world, "ours/app", "theirs");
  await succeed(world, ...adopting(world, ["a"], "lock.json"));
}

export const cases: readonly Case[] = [
  {
    name: "build --push --index",
    lock: fleetLock,
    begin: async (world) => {
      writeFleet(world, "a");
      await succeed(world, "build", "--push");
      writeFleet(world, "a, b, c");
    },
    args: () => ["build", "--push", "--index", "--concurrency", "1", "--json"],
    always: [
      ["process", "lstat images/imgmatch.lock.json$", 0],
      ["process", "spawn docker version", 0],
      ["process", "realpath home/.cache/imgmatch$", 0],
      ["process", "^read lstat .*/imgmatch-engine-", 0],
      ["process", "^remove rmdir .*/imgmatch-engine-", 0],
      ["requests", "^engine POST .*/push$", 2],
    ],
  },
  { name: "publish", lock: fleetLock, begin: builtFleet, args: () => ["publish", "--json"] },
  {
    name: "publish --sign",
    lock: fleetLock,
    begin: async (world) => {
      writeKeys(world);
      await builtFleet(world);
    },
    args: () => ["publish", ...signing, "--json"],
    isSlow: true,
  },
  {
    name: "promote",
    lock: fleetLock,
    begin: (world) => builtFleet(world, "--index"),
    args: () => ["promote", "1.0.0", "2.0.0", "--json"],
  },
  {
    name: "promote --channel",
    lock: fleetLock,
    begin: (world) => builtFleet(world, "--index"),
    args: () => ["promote", "--channel", "stable", "--json"],
  },
  {
    name: "adopt",
    lock: "lock.json",
    begin: adoptedFleet,
    args: (world) => adopting(world, ["b", "c"], "lock.json"),
  },
  {
    name: "lock merge",
    lock: "lock.json",
    begin: async (world) => {
      await adoptedFleet(world);
      await succeed(world, ...adopting(world, ["b"], "other.json"));
    },
    args: () => ["lock", "merge", "lock.json", "other.json", "--out", "lock.json"],
    always: [
      ["process", "^rename rename .*\\.new$", 2],
      ["process", "^read lstat lock.json.busy$", 0],
      ["process", "^read readdir lock.json.busy$", 0],
    ],
  },
  {
    name: "pull",
    lock: fleetLock,
    begin: (world) => builtFleet(world, "--index"),
    args: ({ registry }) => ["pull", `${registry.host}/ours/app:1.0.0`, "--pin", "flavour=a", "--json"],
    host: ["/proc", "/sys", "/dev", "/etc"],
  },
  {
    name: "pull where a policy demands a signature",
    lock: fleetLock,
    begin: async (world) => {
      writeKeys(world);
      await builtFleet(world, "--index", ...signing);
      const rule = JSON.stringify({ signers: [{ key: "public.pem" }] });
      write(world, "imgmatch.trust.yaml", `repositories:\n  ${world.registry.host}/*/*: ${rule}\n`);
    },
    args: ({ registry }) => ["pull", `${registry.host}/ours/app:1.0.0`, "--pin", "flavour=a", "--json"],
    says: '"signed"',
  },
];
