/** Registries with a quirk each, through the built program and an engine; and crane in the same places. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { capture } from "../../demo/process.ts";
import { parseImageReference, withDigest } from "../../src/oci/reference.ts";
import { storedCredentials } from "../../src/oci/registry/credentials.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { manifestOf } from "../../src/oci/registry/manifests.ts";
import { copyImage } from "../../src/fleet/publish/copy-image.ts";
import {
  closedQuirks,
  identity,
  login as builder,
  type Quirk,
  quirks,
  startQuirkyRegistry,
  uploadQuirks,
} from "../fleet/publish/support/quirky-registry.ts";
import { isLong } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";
import { linkPlugins } from "./support/engine.ts";
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

const folder = mkdtempSync(join(tmpdir(), "imgmatch-registries-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A folder with the login for this registry, as `docker login` and Azure's own command write them. */
function loginFor(host: string, isIdentity = false): string {
  const login = mkdtempSync(join(folder, "login-"));
  const auth = (name: string, secret: string) => Buffer.from(`${name}:${secret}`).toString("base64");
  const stored = isIdentity
    ? { auth: auth(identity.username, ""), identitytoken: identity.token }
    : { auth: auth(builder.username, builder.password) };
  writeFileSync(join(login, "config.json"), JSON.stringify({ auths: { [host]: stored } }));
  return login;
}
const isIdentity = (name: string) => name === "an identity token";

function projectIn(host: string, name = ""): Project {
  const engineEnv = stack.available ? stack.engineEnv : {};
  const login = loginFor(host, isIdentity(name));
  linkPlugins(engineEnv, login);
  const env = { ...process.env, ...engineEnv, DOCKER_CONFIG: login };
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
    const pulled = ["pull", from, "--key", "sign.pub", "--pin", "flavour=spicy", "--cpu", "--json"];
    expect(JSON.parse(await run(...pulled))).toMatchObject({
      name: from,
      reference: expect.stringContaining(`@${spicy?.digest}`),
    });
    const inspected = ["docker", "image", "inspect", "--format", "{{.RepoDigests}}", from] as const;
    expect((await capture(inspected, { env: project.env })).stdout).toContain(spicy?.digest);
  }
  return told;
}

const byName: Readonly<Record<string, () => Quirk>> = { ...uploadQuirks, ...quirks };
/** A push of Docker 20.10 fails there by itself. */
const forEngines = Object.keys(byName).filter((name) => name !== "no docker-content-digest");
function quirkOf(name: string): Quirk {
  const make = byName[name];
  if (make === undefined) throw new Error(`no ${name}`);
  return make();
}

/** Each costs some seconds. */
const sample: readonly string[] = [
  "403 for a missing tag",
  "artifactType 415",
  "no removal",
  "an identity token",
];

describe("the built program", needs(missing), () => {
  it.each(forEngines.filter((name) => isLong || sample.includes(name)))(
    "goes its whole way with %s",
    async (name) => {
      const server = await startQuirkyRegistry(quirkOf(name));
      onTestFinished(() => server.stop());
      const project = projectIn(server.host, name);
      const told = await wholeWay(project);
      const forms = Object.values(project.lock().images).map(({ signed }) => signed);
      const isTagAlone = /^(artifactType|a subject|sha256-)/.test(name);
      expect(forms).toEqual(forms.map(() => (isTagAlone ? ["tag"] : ["bundle", "tag"])));
      if (name === "no removal")
        expect(told).toMatch(/\d+ transient tags \(imgmatch-…\) stay: the registry removes no tags/);
      if (name === "referrers 406")
        expect(told).toContain(`${server.host} does not tell all that is attached to images`);
      if (name === "artifactType 415") expect(told).toContain("takes no attached signatures (415)");
    },
  );

  it("tells once how many tags stay, of the images and of the index", async () => {
    const server = await startQuirkyRegistry(quirkOf("no removal"));
    onTestFinished(() => server.stop());
    const { stderr } = await projectIn(server.host).run("build", "--push", "--index");
    expect(stderr.match(/\d+ transient tags?/g)).toEqual(["3 transient tags"]);
  });

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
  const crane = async (login: string, ...args: string[]) => {
    const env = { ...process.env, DOCKER_CONFIG: login, HOME: folder };
    return capture(["timeout", "20", "crane", ...args, "--insecure"], { env });
  };
  /** Without a list of tags a copy waits 5 s, and crane repeats for 10 s what it cannot do: CI takes one of each. */
  const isLate = (name: string) =>
    /^(tags.list (401|405|404|html)|a cut after|chunks of at least|chunks of at most 4 MiB, and)/.test(name);
  /** What imgmatch can do there and crane cannot: it asks again by GET, and sends chunks. */
  const isBeyond = (name: string) =>
    /^(HEAD 405|413 for|a cut after|chunks of at least|chunks of at most 4 MiB, and)/.test(name);

  it.each(Object.keys(byName).filter((name) => isLong || !isLate(name)))(
    "copies and pushes an image alike with %s",
    async (name) => {
      const source = await startQuirkyRegistry(quirks.none());
      const from = parseImageReference(`${source.host}/team/from`);
      const client = createRegistryClient();
      const config = Buffer.from(JSON.stringify({ os: "linux", architecture: "amd64", name }));
      const layer = Buffer.alloc(Object.hasOwn(uploadQuirks, name) ? 9 * 1024 * 1024 : 0, name);
      const image = manifestOf("application/vnd.oci.image.manifest.v1+json", {
        config: {
          mediaType: "application/vnd.oci.image.config.v1+json",
          digest: await client.writeBlob(from, config),
          size: config.length,
        },
        layers: [
          {
            mediaType: "application/vnd.oci.image.layer.v1.tar",
            digest: await client.writeBlob(from, layer),
            size: layer.length,
          },
        ],
      });
      await client.writeManifest(withDigest(from, image.digest), image);
      const servers = await Promise.all([
        startQuirkyRegistry(quirkOf(name)),
        startQuirkyRegistry(quirkOf(name)),
      ]);
      onTestFinished(() => Promise.all([source, ...servers].map((each) => each.stop())).then(() => {}));
      const [theirs, ours] = servers;
      const login = loginFor(theirs.host, isIdentity(name));
      const named = `${source.host}/team/from@${image.digest}`;
      const copied = await crane(login, "copy", named, `${theirs.host}/team/app:1.0`);
      const layout = join(login, "layout");
      expect(await crane(login, "pull", "--format", "oci", named, layout)).toMatchObject({ status: 0 });
      const pushed = await crane(login, "push", layout, `${theirs.host}/team/pushed:1.0`);
      const credentials = storedCredentials({ DOCKER_CONFIG: loginFor(ours.host, isIdentity(name)) });
      const writer = createRegistryClient({ credentials, writes: [`${ours.host}/team/app`] });
      const to = parseImageReference(`${ours.host}/team/app:1.0`);
      await copyImage(withDigest(from, image.digest), to, { registry: writer });
      expect(ours.store.tags.get("team/app:1.0")).toBe(image.digest);
      for (const [ran, place] of [
        [copied, "team/app:1.0"],
        [pushed, "team/pushed:1.0"],
      ] as const) {
        expect(ran.status === 0, ran.stderr).toBe(!isBeyond(name));
        if (!isBeyond(name)) expect(theirs.store.tags.get(place)).toBe(image.digest);
      }
      if (isBeyond(name)) return;
      expect(new Set(theirs.store.blobs.keys())).toEqual(new Set(ours.store.blobs.keys()));
      expect((await writer.findManifest(to))?.digest).toBe(image.digest);
    },
  );
});
