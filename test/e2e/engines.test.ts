/** The behaviour that all engines share, tried with each one that is installed here. */

import { execFileSync } from "node:child_process";
import { setMaxListeners } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { BuildRequest, Engine } from "../../src/fleet/engines/engine.ts";
import { engines } from "../../src/fleet/engines/engines.ts";
import { connectDocker } from "../../src/oci/engine/api.ts";
import { openFromArchive } from "../../src/inspect/image/from-archive.ts";
import { type LayerCache, noCache } from "../../src/inspect/image/layer-cache.ts";
import type { LayerInspection } from "../../src/inspect/image/layer.ts";
import { inspectionOf } from "../../src/inspect/inspection.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { parseImageReference, withDigest } from "../../src/oci/reference.ts";
import { publishImage } from "../../src/fleet/publish/publish-image.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { noCredentials } from "../../src/oci/registry/credentials.ts";
import { readImageConfig } from "../../src/oci/registry/platform-image.ts";
import { type RunningBuilder, startBuilder, whyNoBuildkitd, whyNoBuildx } from "./support/buildkitd.ts";
import { type BusyboxContext, makeBusyboxContext, whyNoBusybox } from "./support/busybox.ts";
import { isolateStore, type StoreProgram, whyNoProgram } from "./support/containers-store.ts";
import { startFaultProxy } from "./support/fault-proxy.ts";
import { servedBlobs } from "./support/served-blobs.ts";
import { isLong } from "../support/long.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");

// Engines remove their copies of contexts when the process ends, which the one of the tests does not do by itself.
const usualTmp = process.env.TMPDIR;
beforeAll(async () => {
  process.env.TMPDIR = await mkdtemp(join(tmpdir(), "imgmatch-engines-"));
});
afterAll(async () => {
  const folder = process.env.TMPDIR;
  if (usualTmp === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = usualTmp;
  if (folder !== undefined) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});
const engineEnv = stack.available ? stack.engineEnv : {};
const env = { ...process.env, ...engineEnv };
const machine = env;
const unavailable = stack.available ? whyNoBusybox : stack.reason;

function storeSubject(program: StoreProgram): Subject {
  return {
    name: program,
    missing: whyNoProgram(program),
    constant: async () => true,
    create: async (more) => {
      const store = await isolateStore(program, machine);
      const env = { ...store.env, ...more };
      const list = ["images", "--all", "--quiet", "--no-trunc"];
      return {
        engine: await engines.podman({ env }),
        stop: store.remove,
        images: async () =>
          execFileSync(program, list, { env, encoding: "utf8" }).split("\n").filter(Boolean),
      };
    },
  };
}

interface Subject {
  readonly name: string;
  readonly missing: string | null;
  readonly create: (more?: NodeJS.ProcessEnv) => Promise<Created>;
  /** No time changes the layers of an image when SOURCE_DATE_EPOCH is set. */
  readonly constant: () => Promise<boolean>;
}

interface Created {
  readonly engine: Engine;
  readonly stop: () => Promise<void>;
  /** Every image of this engine, where builds are images. */
  readonly images?: () => Promise<string[]>;
}

const nothingToStop = async () => {};

async function imagesOfEngine(): Promise<string[]> {
  const api = await connectDocker(engineEnv);
  const images = (await api.json("GET", "/images/json", { query: { all: "1" } })) as { Id: string }[];
  return images.map(({ Id }) => Id);
}

/** In Docker 29 with the containerd image store; 25 to 28 refuse the option with that
 * store, and the classic store makes layers anew from files. */
async function constantInEngine(): Promise<boolean> {
  const api = await connectDocker(engineEnv);
  const { ServerVersion, DriverStatus } = (await api.json("GET", "/info")) as {
    readonly ServerVersion: string;
    readonly DriverStatus: readonly (readonly [string, string])[];
  };
  const content = DriverStatus.some(([, value]) => value.startsWith("io.containerd.snapshotter"));
  return content && Number.parseInt(ServerVersion, 10) >= 29;
}

/** Docker's BuildKit builds for both docker and buildx, and one library for both podman and buildah. */
const asAnother = "what another program of this test builds with (IMGMATCH_LONG=1)";

const subjects: readonly Subject[] = [
  {
    name: "docker",
    missing: null,
    constant: constantInEngine,
    create: async (more) => ({
      engine: await engines.docker({ env: { ...env, ...more }, credentials: noCredentials }),
      stop: nothingToStop,
      images: imagesOfEngine,
    }),
  },
  {
    name: "buildx with the builder of the engine",
    missing: isLong ? whyNoBuildx(engineEnv) : asAnother,
    constant: constantInEngine,
    create: async (more) => ({
      engine: await engines.buildx({ env: { ...env, ...more }, builder: "default" }),
      stop: nothingToStop,
      images: imagesOfEngine,
    }),
  },
  {
    name: "buildx with a remote builder",
    missing: whyNoBuildx(engineEnv) ?? whyNoBuildkitd(),
    constant: async () => true,
    create: async (more) => {
      const builder: RunningBuilder = await startBuilder(engineEnv);
      const options = { env: { ...env, ...more }, builder: builder.name, cache: cacheOf("buildx") };
      return { engine: await engines.buildx(options), stop: builder.stop };
    },
  },
  storeSubject("podman"),
  { ...storeSubject("buildah"), missing: isLong ? whyNoProgram("buildah") : asAnother },
];

function cacheOf(name: string) {
  const registry = stack.available ? stack.registry : "";
  const references = [`${registry}/cache/${name}:{cell}`, `${registry}/cache/${name}:shared`];
  return { from: references, to: references };
}

describe.each(subjects)("Engine: $name", ({ name, missing, create, constant }) => {
  const reason = unavailable ?? missing;
  describe("installed", needs(reason), () => {
    const registry = createRegistryClient();
    const silent = { signal: new AbortController().signal, onLog: () => {} };
    setMaxListeners(0, silent.signal);
    let engine: Engine;
    let stop: Created["stop"] = nothingToStop;
    let images: Created["images"];
    let context: BusyboxContext;
    let platform: string;

    beforeAll(async () => {
      ({ engine, stop, images } = await create());
      platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
      context = await makeBusyboxContext({ "src/main.c": "int main;\n", "hidden.txt": "not sent\n" });
    });
    afterAll(async () => {
      await stop();
      await context?.remove();
    });

    const requestFor = (cell: string, script: string): BuildRequest => ({
      cell,
      dockerfile: `FROM scratch AS build\nCOPY . /\nRUN ${script}\nFROM build\nARG WHO=\nENV WHO=$WHO\n`,
      contextDir: context.folder,
      contextFiles: context.files.filter(({ path }) => path !== "hidden.txt"),
      contextDigest: digestOf(Buffer.from(context.folder)),
      platform,
      target: null,
      args: { WHO: 'imgmatch\'s "own" argument' },
      labels: { "dev.imgmatch.inputs": digestOf(Buffer.from(script)), "with.quotes": 'a "b" $c=d' },
      tags: [`imgmatch-test/${cell}:local`],
    });
    const reference = (text: string) =>
      parseImageReference(`${stack.available ? stack.registry : ""}/engines/${text}`);

    it("says what it is", async () => {
      expect(await engine.describe()).toMatch(/^\w+ .*\d/);
    });

    it("builds what was asked for, and the registry serves the digest that it names", async () => {
      const lines: string[] = [];
      // The sleep gives Buildah time to relay the lines, for which it does not wait.
      const listing = "busybox find / -xdev -name '*.*'; busybox sleep 0.5";
      const script = `busybox echo hello to ${name} ${process.pid}; ${listing}`;
      const request = requestFor("plain", script);
      const image = await engine.build(request, { ...silent, onLog: (line) => lines.push(line) });
      expect(image.id).toMatch(/^sha256:[0-9a-f]{64}$/);
      const log = lines.join("\n");
      expect(log).toContain(`hello to ${name} ${process.pid}`);
      expect(log).toContain("/src/main.c");
      expect(log).not.toContain("hidden.txt");
      expect(log).not.toMatch(/\/\S*Dockerfile$/m);

      const to = reference(`${name.replaceAll(" ", "-")}:plain`);
      const published = await publishImage({
        engine,
        registry,
        image,
        reference: to,
        platform,
        inputDigest: digestOf(Buffer.from(request.dockerfile)),
        watch: silent,
      }).catch((error: unknown) => error);
      // The label says other inputs than this call does: so what was pushed was read back before it was believed.
      expect(published).toMatchObject({ code: "TAG_CONFLICT" });
      const inputDigest = request.labels["dev.imgmatch.inputs"] as `sha256:${string}`;
      const { digest, blobs } = await publishImage({
        engine,
        registry,
        image,
        reference: to,
        platform,
        inputDigest,
        watch: silent,
      });
      expect(await registry.findManifest(to)).toMatchObject({ digest });
      expect(blobs).toEqual(await servedBlobs(`${to.registry}/${to.repository}`, digest));
      const served = await readImageConfig(registry, withDigest(to, digest), platform);
      expect(served?.config.labels).toMatchObject(request.labels);
      expect(served?.config.env).toContain(`WHO=${request.args.WHO}`);
      if (/^(docker|buildx with the builder of the engine)$/.test(name)) {
        const { RepoTags } = (await (
          await connectDocker(engineEnv)
        ).json("GET", `/images/${request.tags[0]}/json`)) as { readonly RepoTags: readonly string[] };
        expect(RepoTags).toContain(request.tags[0]);
        expect(RepoTags.filter((tag) => tag.includes("/engines/"))).toEqual([]);
      }
    });

    it("saves what it has built, and each of its layers is opened once", async () => {
      const image = await engine.build(requestFor("saved", "busybox touch /saved"), silent);
      const kept = new Map<string, LayerInspection>();
      let inspections = 0;
      const cache: LayerCache = {
        find: async (digest) => kept.get(digest) ?? null,
        keep: async (digest, layer) => {
          kept.set(digest, layer);
          inspections++;
        },
      };
      const open = async () => {
        const before = inspections;
        const archive = engine.save(image, silent);
        const opened = await openFromArchive(archive, "saved", "engine", { platform, cache });
        return { opened, inspected: inspections - before };
      };
      const first = await open();
      if (images === undefined) await expect(engine.diffIds(image.id, silent)).rejects.toThrow();
      else expect(await engine.diffIds(image.id, silent)).toEqual(first.opened.diffIds);
      expect(first.opened.platform).toBe(platform);
      expect(inspectionOf(first.opened).files.map(({ path }) => path)).toContain("/bin/busybox");
      expect(first.inspected).toBeGreaterThan(0);
      expect(await open()).toEqual({ opened: first.opened, inspected: 0 });
    });

    it("makes of SOURCE_DATE_EPOCH what it can: the same layers at another time", async () => {
      const other = await create({ SOURCE_DATE_EPOCH: "1700000000" });
      try {
        // Longer than the second in which times are counted.
        const script = "/bin/busybox sleep 1.1; /bin/busybox touch /touched; /bin/busybox mkdir -p /a/b";
        const layers = async (turn: string) => {
          // The argument makes the step run anew. It stands in the history too, so that the images differ.
          const dockerfile = `FROM scratch\nARG TURN\nCOPY . /\nRUN ["/bin/busybox", "sh", "-c", "${script}"]\nWORKDIR /a/c\n`;
          const request = { ...requestFor("timed", ""), dockerfile, args: { TURN: turn }, tags: [] };
          const image = await other.engine.build(request, silent);
          const archive = other.engine.save(image, silent);
          return (await openFromArchive(archive, "timed", "engine", { platform, cache: noCache })).diffIds;
        };
        const [one, two] = [await layers(`1 of ${process.pid}`), await layers(`2 of ${process.pid}`)];
        expect(JSON.stringify(one) === JSON.stringify(two)).toBe(await constant());
      } finally {
        await other.stop();
      }
    });

    it("gives the failing step, its output and its exit status", async () => {
      const building = engine.build(requestFor("failing", "busybox echo last words >&2; exit 7"), silent);
      await expect(building).rejects.toMatchObject({ code: "BUILD_FAILED" });
      await expect(building).rejects.toThrow(/RUN busybox echo last words.*\b7\b/s);
    });

    it("ends the step when the build is aborted", async () => {
      const abort = new AbortController();
      const onLog = (line: string) => {
        if (/(^|\s)started$/.test(line)) abort.abort();
      };
      const request = requestFor("slow", "busybox echo started; busybox sleep 1000");
      await expect(engine.build(request, { signal: abort.signal, onLog })).rejects.toMatchObject({
        name: "AbortError",
      });
    });

    it("makes no image of a file that changes while a fleet is built", async () => {
      const changing = await makeBusyboxContext({ f: "old\n" });
      try {
        const request = (cell: string): BuildRequest => ({
          ...requestFor(`changing-${cell}`, `busybox grep -qx old /f && busybox echo ${cell}`),
          contextDir: changing.folder,
          contextFiles: changing.files,
          contextDigest: digestOf(Buffer.from(changing.folder)),
        });
        const codes: string[] = [];
        for (const cell of ["1", "2", "3", "4", "5", "6"]) {
          const built = engine.build(request(cell), silent);
          codes.push(
            await built.then(
              () => "built",
              ({ code }) => code,
            ),
          );
          if (cell === "2") await writeFile(join(changing.folder, "f"), "new\n");
        }
        // The step fails where it sees the new file. What has the old one already may go on with it.
        expect(codes.slice(0, 2)).toEqual(["built", "built"]);
        expect(["built", "CONTEXT_CHANGED"]).toEqual(expect.arrayContaining(codes));
        // Nobody has the old file under another name.
        const anew = { ...request("7"), contextDigest: digestOf(Buffer.from(`${changing.folder} anew`)) };
        await expect(engine.build(anew, silent)).rejects.toMatchObject({
          problems: [{ code: "CONTEXT_CHANGED", at: { file: "f" } }],
        });
        // And what was refused has left nothing: the right file is what the next build gets.
        await writeFile(join(changing.folder, "f"), "old\n");
        await expect(engine.build(anew, silent)).resolves.toHaveProperty("id");
      } finally {
        await changing.remove();
      }
    });

    it("takes no file for another one of the same name, size and time, and so with Dockerfiles", async () => {
      const [one, two] = await Promise.all(["1", "2"].map((text) => makeBusyboxContext({ f: `${text}\n` })));
      /** The program that the build made, where it saw the file with the text. Lines may be lost: Buildah waits for no relay of them (chroot/run.go). */
      const made = async (number: string, text: string, changing: BusyboxContext | undefined) => {
        const { folder: contextDir, files: contextFiles } = changing ?? context;
        const script = `: ${name}; busybox grep -qx ${text} /f && busybox cp /bin/busybox /of-${number}`;
        const request = {
          ...requestFor("same-size", script),
          ...{ contextDir, contextFiles, contextDigest: digestOf(Buffer.from(contextDir)) },
        };
        const archive = engine.save(await engine.build(request, silent), silent);
        const opened = await openFromArchive(archive, "same-size", "engine", { platform, cache: noCache });
        return inspectionOf(opened).files.flatMap(({ path }) => (path.startsWith("/of-") ? path : []));
      };
      try {
        // At one time: their Dockerfiles have the same name, size and perhaps time.
        const both = Promise.all([made("1", "1", one), made("2", "1", one)]);
        expect(await both).toEqual([["/of-1"], ["/of-2"]]);
        expect(await made("3", "2", two)).toEqual(["/of-3"]);
      } finally {
        await one?.remove();
        await two?.remove();
      }
    });
  });
});

const noBuilder = unavailable ?? whyNoBuildx(engineEnv) ?? whyNoBuildkitd();

function plainRequest(cell: string, dockerfile: string, context: BusyboxContext): BuildRequest {
  return {
    cell,
    dockerfile,
    contextDir: context.folder,
    contextFiles: context.files,
    platform: `linux/${process.arch === "x64" ? "amd64" : process.arch}`,
    target: null,
    args: {},
    labels: {},
    tags: [],
  };
}

describe("Build cache in a registry", needs(noBuilder), () => {
  it("is not needed for equal images: two builders push the same digest with SOURCE_DATE_EPOCH", async () => {
    const context = await makeBusyboxContext();
    const silent = { signal: new AbortController().signal, onLog: () => {} };
    const push = async (day: string) => {
      const builder = await startBuilder(engineEnv);
      try {
        const dated = { ...env, SOURCE_DATE_EPOCH: "1700000000" };
        const engine = await engines.buildx({ env: dated, builder: builder.name });
        const request = plainRequest(
          "dated",
          "FROM scratch\nCOPY bin /bin\nRUN busybox touch /now && busybox sleep 1.1\nWORKDIR /made\n",
          context,
        );
        const image = await engine.build(request, silent);
        const to = parseImageReference(`${stack.available ? stack.registry : ""}/engines/dated:${day}`);
        const digest = await engine.push(image, to, silent);
        return digest;
      } finally {
        await builder.stop();
      }
    };
    try {
      expect(await push("monday")).toBe(await push("tuesday"));
    } finally {
      await context.remove();
    }
  });

  it("is written again when the registry fails, and the build fails when it is refused", async () => {
    const proxy = await startFaultProxy(stack.available ? stack.registry : "");
    const context = await makeBusyboxContext();
    const builder = await startBuilder(engineEnv);
    try {
      const to = [`${proxy.host}/cache/faults:{cell}`];
      const engine = await engines.buildx({ env, builder: builder.name, cache: { from: [], to } });
      const request = plainRequest("c", "FROM scratch\nCOPY bin /bin\n", context);
      const signal = new AbortController().signal;
      const lines: string[] = [];
      const watch = { signal, onLog: (line: string) => lines.push(line) };
      const failing = (status: number, times: number) => {
        let left = times;
        proxy.fault = ({ method, path }) =>
          method === "PUT" && path.includes("/manifests/") && left-- > 0 ? { kind: "status", status } : null;
      };
      failing(400, 1);
      expect(await engine.build(request, watch)).toMatchObject({ id: expect.stringMatching(/^sha256:/) });
      expect(lines.join("\n")).toMatch(/400 Bad Request; try 2 of 4/);
      const written = await createRegistryClient().findManifest(
        parseImageReference(`${proxy.host}/cache/faults:c`),
      );
      expect(written).not.toBeNull();

      failing(403, Number.POSITIVE_INFINITY);
      await expect(engine.build({ ...request, cell: "d" }, watch)).rejects.toMatchObject({
        code: "REGISTRY_AUTH",
        message: expect.stringContaining(`pushing ${proxy.host}/cache/faults:d failed`),
      });
    } finally {
      await builder.stop();
      await context.remove();
      await proxy.stop();
    }
  });

  it("is written for each cell and for all, and saves another builder the work", async () => {
    const registry = createRegistryClient();
    const context = await makeBusyboxContext();
    const silent = { signal: new AbortController().signal, onLog: () => {} };
    const cache = cacheOf("two-builders");
    const request = (cell: string) =>
      plainRequest(
        cell,
        `FROM scratch AS long\nCOPY bin /bin\nRUN busybox cat /proc/sys/kernel/random/uuid > /made\nFROM scratch\nCOPY --from=long /made /\nLABEL cell=${cell}\n`,
        context,
      );
    const buildOn = async (cells: readonly string[]): Promise<string[]> => {
      const builder = await startBuilder(engineEnv);
      const lines: string[] = [];
      try {
        const engine = await engines.buildx({ env, builder: builder.name, cache });
        for (const cell of cells) {
          await engine.build(request(cell), { ...silent, onLog: (line) => lines.push(line) });
        }
      } finally {
        await builder.stop();
      }
      return lines;
    };
    try {
      await buildOn(["a+b", "c"]);
      const tags: string[] = [];
      const repository = cache.from[0]?.replace(/:[^/]*$/, "") ?? "";
      for await (const tag of registry.listTags(parseImageReference(repository))) tags.push(tag);
      expect(tags.sort()).toEqual([expect.stringMatching(/^a-b-[0-9a-f]{8}$/), "c", "shared"]);
      // A cell that was never built, on a builder that has built nothing: what all share comes from the registry.
      const lines = await buildOn(["new"]);
      const step = lines.find((line) => line.includes("RUN busybox cat"))?.split(" ")[0];
      expect(lines).toContain(`${step} CACHED`);
    } finally {
      await context.remove();
    }
  });
});
