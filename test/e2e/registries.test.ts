/** Registries with a quirk each, through the built program and an engine; and crane in the same places. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { capture } from "../../demo/process.ts";
import { parseImageReference, withDigest } from "../../src/oci/reference.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { manifestOf } from "../../src/oci/registry/manifests.ts";
import { copyImage } from "../../src/fleet/publish/copy-image.ts";
import {
  closedQuirks,
  type Quirk,
  quirks,
  startQuirkyRegistry,
} from "../fleet/publish/support/quirky-registry.ts";
import { isLong } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";
import { createProject, type Project } from "./support/project.ts";
import { registry3, type RunningRegistry, startRegistry, whyNoRegistry3 } from "./support/registry.ts";
import { createSigningKey } from "./support/signed-fleet.ts";

const stack = inject("stack");
const missing = stack.available ? null : stack.reason;
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const key = createSigningKey();
const projects: Project[] = [];
afterAll(() => {
  for (const project of projects) project.remove();
});

function projectIn(host: string): Project {
  const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
  const project = createProject({ registry: `${host}/team`, name: "app", env });
  projects.push(project);
  project.matrix(`base: scratch\naxes:\n  march: [${march}]\n  flavour: [plain, spicy]`);
  project.write("sign.key", key.privatePem);
  project.write("sign.pub", key.pem);
  return project;
}

/** Builds, signs, publishes, promotes, and asks as a node does: each has to end well. Answers what was told. */
async function wholeWay(project: Project): Promise<string> {
  let told = "";
  const run = async (...args: string[]) => {
    const ran = await project.run(...args);
    told += ran.stderr;
    expect(ran, `${args.join(" ")}: ${ran.stderr}`).toMatchObject({ status: 0 });
    return ran.stdout;
  };
  const signing = ["--sign", "--sign-key", "sign.key"];
  await run("build", "--push", ...signing);
  await run("publish", ...signing);
  await run("promote", "1.0.0", "1.0.1", ...signing);
  await run("verify", "--key", "sign.pub");
  const here = project.lock().images;
  for (const version of ["1.0.0", "1.0.1"]) {
    const from = `${project.repository}:${version}`;
    const answer = await run("resolve", from, "--key", "sign.pub", "--pin", "flavour=spicy", "--cpu");
    const [, spicy] = Object.values(here).sort((a, b) =>
      (a.axes.flavour ?? "").localeCompare(b.axes.flavour ?? ""),
    );
    expect(answer).toContain(`@${spicy?.digest}`);
  }
  return told;
}

/** Docker itself cannot do without what these leave out, or pushes where imgmatch would not. */
const forEngines = (Object.keys(quirks) as (keyof typeof quirks)[]).filter(
  (name) =>
    !/^(Basic|blobs elsewhere|401|tags\/list with|immutable|no docker-content|no content-length|HEAD 405|PUT 202|429)/.test(
      name,
    ),
);
const byName: Readonly<Record<string, () => Quirk>> = quirks;
function quirkOf(name: string): Quirk {
  const make = byName[name];
  if (make === undefined) throw new Error(`no ${name}`);
  return make();
}

/** Each costs some seconds. */
const sample: readonly string[] = ["403 for a missing tag", "artifactType 415", "no removal"];

describe("the built program", needs(missing), () => {
  it.each<string>(forEngines.filter((name) => isLong || sample.includes(name)))(
    "goes its whole way with %s",
    async (name) => {
      const server = await startQuirkyRegistry(quirkOf(name));
      onTestFinished(() => server.stop());
      const told = await wholeWay(projectIn(server.host));
      if (name === "no removal")
        expect(told).toMatch(/\d+ transient tags \(imgmatch-…\) stay: the registry removes no tags/);
      if (name === "referrers 406")
        expect(told).toContain(`${server.host} does not tell all that is attached to images`);
      if (name === "artifactType 415") expect(told).toContain("takes no attached signatures (415)");
    },
  );

  it.each(["no repository", "no repository, and a cut"] as const)(
    "says within 10 s what to do with %s, and builds nothing",
    async (name) => {
      const server = await startQuirkyRegistry(closedQuirks[name]());
      onTestFinished(() => server.stop());
      const before = performance.now();
      const ran = await projectIn(server.host).run("build", "--push", "--index");
      expect(ran).toMatchObject({ status: 5 });
      expect(performance.now() - before).toBeLessThan(10_000);
      expect(ran.stderr).toContain(`fix: create the repository team/app in ${server.host}`);
      expect(server.asked.filter(({ method }) => method === "PUT")).toEqual([]);
    },
  );
});

describe("distribution 3", needs(missing, whyNoRegistry3()), () => {
  let server: RunningRegistry;
  beforeAll(async () => {
    if (whyNoRegistry3() === null) server = await startRegistry({ program: registry3 });
  });
  afterAll(() => server?.stop());

  it("takes a signed fleet the whole way, and nothing stays behind", async () => {
    expect(await wholeWay(projectIn(server.host))).not.toContain("transient tag");
    const listed = await fetch(`http://${server.host}/v2/team/app/tags/list`);
    const { tags } = (await listed.json()) as { readonly tags: readonly string[] };
    expect(tags.filter((tag) => tag.startsWith("imgmatch-"))).toEqual([]);
  });
});

const whyNoCrane = whyNot("crane", ["version"], { install: ".ci/provide builds it" });

describe("crane beside", needs(whyNoCrane), () => {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-crane-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const crane = async (...args: string[]) => {
    const env = { ...process.env, DOCKER_CONFIG: folder, HOME: folder };
    return capture(["timeout", "20", "crane", ...args, "--insecure"], { env });
  };
  /** Without a list of tags a copy waits 5 s: CI takes one of them. */
  const isLate = (name: string) => /^tags.list (401|405|404|html)/.test(name);
  /** What imgmatch can do there and crane cannot: the login is in no file. */
  const asksLogin = (name: string) => /^(Basic|blobs elsewhere)/.test(name);

  it.each(Object.keys(quirks).filter((name) => !asksLogin(name) && (isLong || !isLate(name))))(
    "copies an image alike with %s",
    async (name) => {
      const source = await startQuirkyRegistry(quirks.none());
      const from = parseImageReference(`${source.host}/team/from`);
      const client = createRegistryClient();
      const config = Buffer.from(JSON.stringify({ os: "linux", architecture: "amd64", name }));
      const image = manifestOf("application/vnd.oci.image.manifest.v1+json", {
        config: {
          mediaType: "application/vnd.oci.image.config.v1+json",
          digest: await client.writeBlob(from, config),
          size: config.length,
        },
        layers: [],
      });
      await client.writeManifest(withDigest(from, image.digest), image);
      const servers = await Promise.all([
        startQuirkyRegistry(quirkOf(name)),
        startQuirkyRegistry(quirkOf(name)),
      ]);
      onTestFinished(() => Promise.all([source, ...servers].map((each) => each.stop())).then(() => {}));
      const [theirs, ours] = servers;
      const copied = await crane(
        "copy",
        `${source.host}/team/from@${image.digest}`,
        `${theirs.host}/team/app:1.0`,
      );
      const writer = createRegistryClient({ writes: [`${ours.host}/team/app`] });
      const to = parseImageReference(`${ours.host}/team/app:1.0`);
      await copyImage(withDigest(from, image.digest), to, { registry: writer });
      expect(ours.store.tags.get("team/app:1.0")).toBe(image.digest);
      // crane gives up where imgmatch asks again by GET.
      if (name === "HEAD 405") {
        expect(copied).toMatchObject({ status: 1 });
        return;
      }
      expect(copied, copied.stderr).toMatchObject({ status: 0 });
      expect(theirs.store.tags.get("team/app:1.0")).toBe(image.digest);
      expect([...theirs.store.blobs.keys()]).toEqual([...ours.store.blobs.keys()]);
      expect((await writer.findManifest(to))?.digest).toBe(image.digest);
    },
  );
});
