/** A node's mirror that lies, fails, hangs or is another program, before real container runtimes: nothing is taken for what it is not. */

import { createHash } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server as HttpServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { capture } from "../../demo/process.ts";
import { manifestTypes } from "../../src/oci/media-types.ts";
import { needs } from "../support/needs.ts";
import { startContainerd } from "./support/containerd.ts";
import { isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { isLong } from "../support/long.ts";
import { type MirrorFleet, startMirrorFleet, tag, whyNoMirrorFleet } from "./support/mirror-fleet.ts";
import { containerds, programVersion, whyNoDaemon } from "./support/program-version.ts";

const stack = inject("stack");

/** A container runtime that asks a mirror first. */
interface Client {
  configure(mirror: string): Promise<void>;
  /** Throws where the pull fails. */
  pull(reference: string): Promise<void>;
  /** The digest that it has under this name; null for none. */
  digest(reference: string): Promise<string | null>;
  /** Forgets every image. */
  forget(): Promise<unknown>;
  /** Every manifest and configuration that it has, by digest. */
  content(): Promise<readonly (readonly [string, string])[]>;
  stop(): Promise<void>;
}

/** The runtime's configuration for a mirror at that address. One start of the program writes all of them. */
async function configFor(runtime: string, fleet: MirrorFleet): Promise<(mirror: string) => string> {
  const placeholder = "[::1]:5047";
  const config = await fleet.config(runtime, placeholder);
  return (mirror) => config.replaceAll(placeholder, mirror);
}

async function containerdClient(program: string, fleet: MirrorFleet): Promise<Client> {
  const configOf = await configFor("containerd", fleet);
  const { ctr, pull, configure, stop } = await startContainerd(program, fleet.proxy.host);
  const lines = async (...args: string[]) => (await ctr(...args)).stdout.split("\n").filter(Boolean);
  return {
    pull,
    stop,
    configure: (mirror) => configure(configOf(mirror)),
    digest: async (reference) => {
      const [, line = ""] = await lines("images", "list", `name==${reference}`);
      return /sha256:[0-9a-f]{64}/.exec(line)?.[0] ?? null;
    },
    forget: async () => ctr("images", "rm", "--sync", ...(await lines("images", "list", "--quiet"))),
    content: async () => {
      const digests = await lines("content", "list", "--quiet");
      const all = digests.map(
        async (digest) => [digest, (await ctr("content", "get", digest)).stdout] as const,
      );
      // Text alone: the layers of a program are no UTF-8.
      return (await Promise.all(all)).filter(([, text]) => text.startsWith("{"));
    },
  };
}

async function podmanClient(fleet: MirrorFleet): Promise<Client> {
  const configOf = await configFor("podman", fleet);
  const store = await isolateStore("podman", process.env);
  const conf = join(mkdtempSync(join(fleet.folder, "podman-")), "registries.conf");
  const env = { ...store.env, CONTAINERS_REGISTRIES_CONF: conf };
  const podman = (...args: string[]) => capture(["podman", ...args], { env });
  return {
    configure: async (mirror) => writeFileSync(conf, configOf(mirror)),
    pull: async (reference) => {
      const { status, stderr } = await podman("pull", reference);
      if (status !== 0) throw new Error(stderr);
    },
    digest: async (reference) => {
      const { status, stdout } = await podman("image", "inspect", "--format", "{{.Digest}}", reference);
      return status === 0 ? stdout.trim() : null;
    },
    forget: () => podman("rmi", "--all", "--force"),
    content: async () => [],
    stop: store.remove,
  };
}

const clients = [
  ...Object.values(containerds).map((program) => {
    const version = programVersion(program);
    const why = whyNoDaemon("containerd", program);
    return {
      name: `containerd ${version}`,
      why,
      start: (fleet: MirrorFleet) => containerdClient(program, fleet),
    };
  }),
  { name: "podman", why: whyNoProgram("podman"), start: podmanClient },
];

const nowhere = `sha256:${"f".repeat(64)}`;
const garbage = '{"a":1}';

/** An answer for the tag, with what is there at `digest`; everything else is `rest`. */
function lie(
  digest: string,
  { type = manifestTypes.oci as string, rest = 404 }: { type?: string; rest?: 404 | 200 } = {},
): RequestListener {
  return ({ url = "", method }, response) => {
    if (url === "/v2/") return void response.end("{}");
    if (rest === 404 && !url.includes(`/manifests/${tag}`)) return void response.writeHead(404).end();
    const headers = {
      "docker-content-digest": digest,
      "content-length": garbage.length,
      "content-type": type,
    };
    response.writeHead(200, headers).end(method === "HEAD" ? undefined : garbage);
  };
}

/** A manifest that has no end, for who asks for it without knowing its digest or its length. */
const endless: RequestListener = ({ url, method }, response) => {
  if (url === "/v2/") return void response.end("{}");
  response.writeHead(200, { "content-type": manifestTypes.oci });
  if (method === "HEAD") return void response.end();
  const more = () => {
    while (!response.destroyed && response.write(" ".repeat(65_536)));
  };
  response.on("drain", more);
  more();
};

const liars: readonly (readonly [string, (own: string) => Server, "registry" | "error"])[] = [
  ["another program", () => createServer((_, response) => void response.end("<html>")), "error"],
  ["one that names an image that is nowhere", () => createServer(lie(nowhere)), "error"],
  [
    "one that has other bytes for the image's digest",
    (own) => createServer(lie(own, { rest: 200 })),
    "error",
  ],
  ["one that names another media type", (own) => createServer(lie(own, { type: "text/html" })), "error"],
  ["one that fails", () => createServer((_, response) => void response.writeHead(500).end()), "registry"],
  [
    "one that redirects for ever",
    () => createServer(({ url }, response) => void response.writeHead(302, { location: url ?? "" }).end()),
    "registry",
  ],
  [
    "one that redirects to where nothing is",
    () =>
      createServer((_, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()),
    "registry",
  ],
  [
    "one that speaks no HTTP",
    () => createSocketServer((socket) => void socket.on("error", () => {}).end("hello\r\n\r\n")),
    "registry",
  ],
];

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe(
  "A node's mirror that is not what it should be",
  needs(stack.available ? null : stack.reason, whyNoMirrorFleet),
  () => {
    let fleet: MirrorFleet;
    let own = "";
    beforeAll(async () => {
      if (!stack.available) return;
      fleet = await startMirrorFleet(stack);
      own = fleet.digests.get("x86-64-v3") ?? "";
    });
    afterAll(() => fleet?.stop());

    describe.each(clients)("before $name", ({ name, why, start }) => {
      describe("for real", needs(why), () => {
        let client: Client;
        beforeAll(async () => {
          client = await start(fleet);
        });
        afterAll(() => client?.stop());

        /** The result of a pull, which leaves nothing for the next one. */
        async function outcome(pull: Promise<void>): Promise<"registry" | "own" | "error"> {
          const failure = await pull.then(
            () => null,
            (error: Error) => error,
          );
          const digest = await client.digest(fleet.name);
          for (const [named, text] of await client.content())
            expect(named).toBe(`sha256:${createHash("sha256").update(text).digest("hex")}`);
          await client.forget();
          if (failure === null) return digest === own ? "own" : "registry";
          expect(digest).toBeNull();
          return "error";
        }

        it.each(liars)("%s", async (_, make, expected) => {
          await client.configure(await listening(make(own)));
          expect(await outcome(client.pull(fleet.name))).toBe(expected);
        });

        it("one whose answer has no end holds it up until it is ended, and podman not at all", async () => {
          const server = createServer(endless);
          onTestFinished(() => server.closeAllConnections());
          await client.configure(await listening(server));
          const pull = client.pull(fleet.name);
          if (name === "podman") return expect(await outcome(pull)).toBe("registry");
          expect(await Promise.race([pull, sleep(1000, "waits")])).toBe("waits");
          server.closeAllConnections();
          expect(await outcome(pull)).toBe("error");
        });

        it("one whose process is stopped holds it up, and leaves it to the registry when it is killed", async () => {
          const mirror = await fleet.serve("v3");
          await client.configure(mirror.address);
          mirror.process.kill("SIGSTOP");
          const pull = client.pull(fleet.name);
          expect(await Promise.race([pull, sleep(1000, "waits")])).toBe("waits");
          mirror.process.kill("SIGKILL");
          expect(await outcome(pull)).toBe("registry");
          await mirror.stop();
        });

        it("one that accepts and never answers: containerd 2 waits for each request, and the others for as long as it is there", {
          ...needs(isLong ? null : "minutes (IMGMATCH_LONG=1)"),
          timeout: 300_000,
        }, async () => {
          const asked: number[] = [];
          const silent: HttpServer = createServer(() => void asked.push(performance.now()));
          await client.configure(await listening(silent));
          const one = `${fleet.repository}:${fleet.project.lock().images["none_x86-64-v2"]?.tag}`;
          const started = performance.now();
          const pull = client.pull(one);
          const is2 = /containerd 2/.test(name);
          const limit = sleep(is2 ? 150_000 : 45_000, "waits");
          const ends = await Promise.race([pull.then(() => "pulled"), limit]);
          const seconds = (performance.now() - started) / 1000;
          expect(ends).toBe(is2 ? "pulled" : "waits");
          if (is2) {
            // Tag, manifest, configuration and layer: half a minute for each.
            expect(asked.length).toBe(4);
            expect(seconds).toBeGreaterThan(89);
          }
          // Its next request finds nobody.
          silent.close();
          silent.closeAllConnections();
          await pull;
          await client.forget();
        });
      });
    });
  },
);
