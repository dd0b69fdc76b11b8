/**
 * Damaged locks, indexes, facts and labels, and what the commands then print on standard output: the words of a grammar, or nothing.
 * The grammars stand here a second time, from what reads the output: a shell, `kubectl label`, JSON.
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import { ImgmatchError } from "../../src/errors.ts";
import { type ProblemCode, problemCodes } from "../../src/problem-codes.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { indexTypes, manifestTypes } from "../../src/oci/media-types.ts";
import { entryAnnotations } from "../../src/lock/entry-annotations.ts";
import { annotations, indexFormat } from "../../src/lock/fleet-index.ts";
import { runInProcess } from "../support/run-cli.ts";
import type { Attack } from "./attacks.ts";
import { mutateJson, mutateText, pick, type Random, smuggle } from "./mutate.ts";
import type { PrintingName } from "./names.ts";

const path = (name: string) => resolvePath(name);
const hosts = path("test/fixtures/hosts");
const factsTexts = readdirSync(hosts).map((name) => readFileSync(`${hosts}/${name}/expected.json`, "utf8"));
const lockTexts = ["docs/examples/vision/images/imgmatch.lock.json", "test/fixtures/locks/v2.json"].map(
  (name) => readFileSync(path(name), "utf8"),
);

/** In memory, where there is such a folder: each input is a file. */
const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "imgmatch-answers-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const at = join(folder, name);
  writeFileSync(at, text);
  return at;
}

// OCI distribution specification 1.1, "Pulling manifests"; docker/distribution, reference.go, for the host.
const name = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const host = "(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\\[[0-9a-fA-F:.]+\\])(?::[0-9]{1,5})?";
const reference = `(?:${host}/)?${name}(?:/${name})*:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}@sha256:[0-9a-f]{64}`;
/** Words that a shell reads as one word each, in ASCII alone. */
const word = "(?:[A-Za-z0-9_@%+=:,./-]+|'[ -&(-~]*'|\\\\')+";
// Kubernetes, "Labels and Selectors": at most 63 characters that begin and end with a letter or digit.
const value = "(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?";

const grammars = {
  reference: new RegExp(`^${reference}\\n$`),
  pairs: new RegExp(`^(?:[a-z0-9][A-Za-z0-9._/-]*=${value}\\n)*$`),
  features: /^[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*\n$/,
  commandLines: new RegExp(`^(?:${word}(?: ${word})*\\n)+$`),
  json: { test: isPlainJson },
  lines: { test: isPlain },
  script: { test: (text: string) => text.startsWith("#!/bin/sh\n") && isPlain(text) },
} as const;

type Grammar = keyof typeof grammars;

/** No line but those of the program's own, and in them nothing that moves a cursor. */
function isPlain(text: string): boolean {
  return !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(text.replace(/[\n\t]/g, "")) && text.endsWith("\n");
}

function isPlainJson(text: string): boolean {
  JSON.parse(text);
  return isPlain(text);
}

type Command = readonly [args: readonly string[], grammar: Grammar];

const resolve: Command = [["resolve"], "reference"];

const labels: readonly Command[] = [
  [["labels"], "pairs"],
  [["labels", "--format", "nfd"], "pairs"],
  [["labels", "--format", "docker"], "pairs"],
  [["labels", "--format", "nomad"], "pairs"],
  [["labels", "--format", "mesos"], "commandLines"],
  [["labels", "--format", "slurm"], "features"],
  [["labels", "--format", "json"], "json"],
];

const launches: readonly Command[] = [
  ...["docker", "nvidia-docker", "podman", "apptainer", "zun", "mesos"].map(
    (target): Command => [["launch", target], "commandLines"],
  ),
  ...["kubernetes", "marathon", "compose", "nomad", "chronos", "swarm", "slurm"].map(
    (target): Command => [["launch", target], "lines"],
  ),
  [["launch", "kubernetes", "--yaml"], "lines"],
  [["launch", "docker", "--json"], "json"],
  [["run", "--dry-run"], "commandLines"],
];

const questions: readonly Command[] = [
  resolve,
  ...labels,
  ...launches,
  [["resolve", "--json"], "json"],
  [["why-not", "x", "--json"], "json"],
  [["why-not", "none_x86-64-v3_3.12", "--json"], "json"],
  [["why-not", "none_x86-64-v3_3.12"], "lines"],
];

/** Runs one command, and throws what it refused with, an Error when it is our fault. */
async function answer([args, grammar]: Command, more: readonly string[], stdin = ""): Promise<void> {
  const { exit, out, err } = await runInProcess([...args, ...more], {
    env: { HOME: folder, DOCKER_CONFIG: folder, DOCKER_HOST: "unix:///nowhere/docker.sock" },
    cwd: folder,
    readStdin: async () => stdin,
  });
  const said = `${[...args, ...more].join(" ")} (exit ${exit}): ${JSON.stringify(out.slice(0, 2000))} ${JSON.stringify(err.slice(0, 1000))}`;
  if (err.includes("This is a bug in imgmatch")) throw new Error(said);
  if (err !== "" && !isPlain(err)) throw new Error(`standard error: ${said}`);
  if (out !== "" && !grammars[grammar].test(out)) throw new Error(`outside the grammar: ${said}`);
  if (exit === 0 && out === "" && grammar !== "pairs") throw new Error(`no answer: ${said}`);
  if (exit === 0) return;
  if (out !== "" && grammar !== "json" && grammar !== "lines") throw new Error(`a refused answer: ${said}`);
  const code = /\b[A-Z]+(?:_[A-Z]+)+\b|\bUSAGE\b/.exec(err + out)?.[0] ?? "NO_MATCH";
  throw new ImgmatchError({
    code: Object.hasOwn(problemCodes, code) ? (code as ProblemCode) : "NO_MATCH",
    message: said,
  });
}

/** Mostly `resolve`, the rest now and then. */
function question(random: Random, others = questions): Command {
  if (random(500) === 0) return [["export", "sh"], "script"];
  return random(4) === 0 ? pick(random, others) : resolve;
}

/** Half of it lightly, so that it comes further than the parser. */
function damagedJson(text: string, random: Random): string {
  return random(2) === 0 ? mutateJson(text, random) : smuggle(text, random);
}

const plainLock = file("lock.json", lockTexts[0] ?? "");
const factsFiles = factsTexts.map((text, index) => file(`facts-${index}.json`, text));

export const answers = {
  answersToLock: (random) => {
    const command = question(random);
    const lock = file("bad-lock.json", damagedJson(pick(random, lockTexts), random));
    const more = command[0][0] === "export" ? [] : ["--host", "-"];
    return answer(command, ["--lock", lock, ...more], pick(random, factsTexts));
  },
  answersToFacts: (random) => {
    const text = damagedJson(pick(random, factsTexts), random);
    const others: readonly Command[] = [...questions, [["probe"], "lines"], [["probe", "--json"], "json"]];
    const command =
      random(500) === 0 ? resolve : random(3) === 0 ? pick(random, labels) : question(random, others);
    const [[verb]] = command;
    if (verb === "export") return answer(resolve, ["--lock", plainLock, "--host", "-"], text);
    const lock = verb === "probe" || (verb === "labels" && random(2) === 0) ? [] : ["--lock", plainLock];
    return answer(command, [...lock, "--host", "-"], text);
  },
  answersToIndex: (random) => {
    const bytes = damagedJson(pick(random, indexTexts), random);
    const from = serve((path) => (path.includes("/manifests/") ? [indexTypes.oci, bytes] : null));
    return from.then((port) =>
      answer(
        question(random),
        ["--from", `127.0.0.1:${port}/team/vision:1.4.0`, "--host", "-"],
        pick(random, factsTexts),
      ),
    );
  },
  answersToLabels: (random) => {
    const requires =
      random(2) === 0 ? damagedJson(pick(random, requireTexts), random) : pick(random, requireTexts);
    const config = JSON.stringify({
      os: "linux",
      architecture: "amd64",
      config: {
        Labels: { "dev.imgmatch.requires": requires },
        Env: [
          `CUDA_VERSION=${mutateText("12.8.1", random)}`,
          `NVIDIA_REQUIRE_CUDA=${mutateText("cuda>=12.8 brand=tesla,driver>=470,driver<471", random)}`,
        ],
      },
    });
    const damaged = random(3) === 0 ? damagedJson(config, random) : config;
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestTypes.oci,
      config: {
        mediaType: "application/vnd.oci.image.config.v1+json",
        digest: digestOf(Buffer.from(damaged)),
        size: Buffer.byteLength(damaged),
      },
      layers: [],
    });
    const from = serve((path) =>
      path.includes("/manifests/")
        ? [manifestTypes.oci, manifest]
        : path.includes("/blobs/")
          ? ["application/octet-stream", damaged]
          : null,
    );
    const command: Command = random(2) === 0 ? [["check"], "lines"] : [["check", "--json"], "json"];
    const host = pick(random, factsFiles);
    return from.then((port) => answer(command, [`127.0.0.1:${port}/team/app:1`, "--host", host]));
  },
} as const satisfies Record<PrintingName, Attack>;

interface LockText {
  readonly images: Readonly<Record<string, Readonly<Record<string, unknown>> & { readonly axes: object }>>;
}

const requireTexts = lockTexts.flatMap((text) =>
  Object.values((JSON.parse(text) as LockText).images).map(({ requires }) => JSON.stringify(requires)),
);

const indexTexts = lockTexts.map(indexText);

function indexText(lockText: string): string {
  const { images } = JSON.parse(lockText) as LockText;
  return JSON.stringify({
    schemaVersion: 2,
    mediaType: indexTypes.oci,
    annotations: {
      [annotations.format]: indexFormat,
      [annotations.title]: "vision",
      [annotations.version]: "1.4.0",
      [annotations.prefer]: '["gpu"]',
    },
    manifests: Object.entries(images).map(([cell, image]) => ({
      mediaType: manifestTypes.oci,
      digest: image.digest ?? `sha256:${"a".repeat(64)}`,
      size: 500,
      platform: { os: "linux", architecture: "amd64" },
      annotations: {
        [entryAnnotations.cell]: cell,
        [entryAnnotations.axes]: JSON.stringify(image.axes),
        [entryAnnotations.requires]: JSON.stringify(image.requires),
        [entryAnnotations.inputs]: image.inputDigest,
        [entryAnnotations.platform]: "linux/amd64",
        [entryAnnotations.tag]: image.tag,
      },
    })),
  });
}

type Content = (path: string) => readonly [mediaType: string, body: string] | null;

/** Each input is a client of its own: connections that were kept would fill the memory that is measured. */
const closing = { connection: "close" } as const;
let content: Content = () => null;
let listening: Promise<number> | null = null;

/** One registry on loopback for all, which holds what the last call says. */
async function serve(next: Content): Promise<number> {
  content = next;
  listening ??= new Promise((done) => {
    const answerWith: RequestListener = ({ url = "" }, response) => {
      const found = content(url);
      if (found === null) {
        response.writeHead(404, closing).end();
        return;
      }
      const bytes = Buffer.from(found[1]);
      response.writeHead(200, {
        ...closing,
        "content-type": found[0],
        "content-length": bytes.length,
        "docker-content-digest": digestOf(bytes),
      });
      response.end(bytes);
    };
    const server = createServer(answerWith).unref();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      done(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  return listening;
}
