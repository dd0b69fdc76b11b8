/** Words from outside reach a terminal as words, in one line: through every command that shows what others wrote. */

import { chmodSync, cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { digestOf } from "../../src/oci/digest-of.ts";
import { indexTypes, manifestTypes } from "../../src/oci/media-types.ts";
import { entryAnnotations } from "../../src/lock/entry-annotations.ts";
import { annotations, indexFormat } from "../../src/lock/fleet-index.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import { listenerFor } from "../../src/cli/report/build-listener.ts";
import { terminalText } from "../../src/cli/report/terminal-text.ts";
import { startFaultServer } from "../oci/registry/support/fault-server.ts";
import { manifestOf } from "../oci/registry/support/manifests.ts";
import { isLong } from "../support/long.ts";
import { expectSafe, file, folder, forged, nasty, poisoned, shown } from "./shown.ts";

const lockText = readFileSync("docs/examples/vision/images/imgmatch.lock.json", "utf8");
const factsText = readFileSync(
  "test/fixtures/hosts/ubuntu2204-sapphirerapids-h100_mig/expected.json",
  "utf8",
);

/** The lock with one image for each answer of the host: the second that is refused for the same reason passes through the same code. */
function oneOfEachAnswer(text: string): string {
  const { match, rejected } = resolveImage(parseLock(text, "lock"), parseHostFacts(factsText, "facts"));
  const answers = new Map(rejected.map(({ cell, code }) => [cell, code as string]));
  const root = JSON.parse(text) as { images: Record<string, { axes: { cuda: string } }> };
  const seen = new Set<string>();
  const kept = Object.entries(root.images).filter(([cell, { axes }]) => {
    const gpu = axes.cuda === "none" ? "cpu" : "gpu";
    const answer = cell === match?.cell ? "match" : `${gpu} ${answers.get(cell) ?? "fits too"}`;
    return seen.size < seen.add(answer).size;
  });
  expect(seen).toContain("match");
  return JSON.stringify({ ...root, images: Object.fromEntries(kept) });
}

/** Answers everything with these bytes, which no HTTP library would send. */
async function rawServer(head: string, body = ""): Promise<number> {
  const bytes = Buffer.from(body);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(`HTTP/1.1 ${head}\r\ncontent-length: ${bytes.length}\r\nconnection: close\r\n\r\n`);
      socket.end(bytes);
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("escape codes and line breaks in", () => {
  const facts = file("facts.json", factsText);
  const lock = file("lock.json", lockText);

  test("a lock", { timeout: 120_000 }, async () => {
    const locks = poisoned(isLong ? lockText : oneOfEachAnswer(lockText));
    expect(locks.length).toBeGreaterThan(200);
    for (const text of locks) {
      const path = file("bad-lock.json", text);
      expectSafe(await shown(["resolve", "--lock", path, "--host", facts, "--explain"]));
      expectSafe(await shown(["resolve", "--lock", path, "--host", facts, "--json"]));
      expectSafe(await shown(["why-not", "x", "--lock", path, "--host", facts]));
    }
    expectSafe(await shown(["resolve", "--lock", file("cut.json", `{"a": "${nasty}`), "--host", facts]));
  });

  test("suggestions of why-not", async () => {
    const root = JSON.parse(lockText) as { images: Record<string, { tag: string; axes: object }> };
    const images = Object.fromEntries(
      Object.entries(root.images).map(([cell, image]) => [
        `${cell}${nasty}`,
        { ...image, axes: { ...image.axes, [`axis${nasty}`]: `value${nasty}` } },
      ]),
    );
    const path = file("odd-cells.json", JSON.stringify({ ...root, images }));
    for (const cell of [...Object.keys(images), `none_x${nasty}`])
      for (const more of [[], ["--json"]])
        expectSafe(await shown(["why-not", cell, "--lock", path, "--host", facts, ...more]));
    expectSafe(await shown(["resolve", "--lock", path, "--host", facts, "--pin", "nothing=1"]));
    expectSafe(await shown(["labels", "--lock", path, "--host", facts]));
  });

  test("facts", { timeout: 120_000 }, async () => {
    for (const text of poisoned(factsText)) {
      const path = file("bad-facts.json", text);
      expectSafe(await shown(["probe", "--host", path]));
      expectSafe(await shown(["probe", "--host", path, "--json"]));
      expectSafe(await shown(["labels", "--host", path]));
      expectSafe(await shown(["resolve", "--lock", lock, "--host", path, "--explain"]));
    }
  });

  test("arguments", async () => {
    expectSafe(await shown([`pl${nasty}`]));
    expectSafe(await shown(["plan", `--on${nasty}`]));
    expectSafe(await shown(["why-not", nasty, "--lock", lock, "--host", facts]));
    expectSafe(await shown(["resolve", "--lock", `/none/${nasty.replaceAll("\0", "")}`, "--host", facts]));
    expectSafe(await shown(["resolve", "--lock", lock, "--host", facts, "--pin", `a${nasty}=b`]));
    expectSafe(await shown(["resolve", "--from", `127.0.0.1:1/team/app:1${nasty}`, "--host", facts]));
  });

  test("a matrix, its template, and cells that the matrix has no more", { timeout: 120_000 }, async () => {
    const project = mkdtempSync(join(tmpdir(), "imgmatch-hostile-project-"));
    cpSync("docs/examples/vision", project, { recursive: true });
    const at = (path: string) => join(project, path);
    const matrix = readFileSync(at("matrix.yaml"), "utf8");
    const quoted = JSON.stringify(nasty).slice(1, -1).replaceAll("\\u0000", "\\0");
    const odd = [
      matrix.replace('"3.12"]', `"3.12${quoted}"]`),
      matrix.replace("python:", `"python${quoted}":`),
      matrix.replace("name: vision", `name: "vision${quoted}"`),
      matrix.replace("registry.example.com/team", `"registry.example.com/team${quoted}"`),
      matrix.replace("x86-64-v3,", `"x86-64-v3${quoted}",`),
      matrix.replace('"7.0"', `"7.0${quoted}"`),
      matrix.replace("reason: the GPU nodes have moved to Python 3.12", `reason: "${quoted}"`),
      matrix.replace("python: [", `"${quoted}": [a]\n  python: [`),
      matrix.replace("debian:trixie-slim", `"debian:trixie${quoted}"`),
      matrix.replace("templates/app.Dockerfile.hbs", `"templates/${quoted}.hbs"`),
      `${matrix}"${quoted}": 1\n`,
      `${matrix}\u001b\u202e`,
      `${matrix}"\u001b\u0007\u202e\u009b": 1\n`,
    ];
    for (const text of odd) {
      expect(text).not.toBe(matrix);
      const path = at("odd.yaml");
      writeFileSync(path, text);
      for (const more of [[], ["--json"], ["--only", "python=3.12"]])
        expectSafe(await shown(["plan", "--offline", "--matrix", path, ...more]));
      expectSafe(await shown(["render", "--check", "--matrix", path]));
    }
    for (const [path, text] of [
      ["templates/app.Dockerfile.hbs", `FROM {{base}}\nRUN {{"${nasty}"}}\n`],
      ["templates/app.Dockerfile.hbs", `FROM {{base}}\n{{#if \u001b\u0007\u202e}}\n`],
      ["templates/app.Dockerfile.hbs", `FROM {{base}}\n{{[a\u001b\u0007\r\u202e]}}\n`],
      ["templates/app.Dockerfile.hbs", `FROM {{base}}\nCOPY \u001b[2J\u202e /x\n`],
      ["templates/app.Dockerfile.hbs", `FROM {{base}}\nLABEL a=\u001b[2J\u202e\n\u001bFOO\n`],
      ["images/imgmatch.lock.json", lockText.replace("none_x86-64-v3_3.12", `none_${quoted}_3.12`)],
      ["images/imgmatch.lock.json", lockText.replaceAll('"python": "3.12"', `"python": "${quoted}"`)],
    ] as const) {
      const before = readFileSync(at(path), "utf8");
      expect(text).not.toBe(before);
      writeFileSync(at(path), text);
      for (const args of [
        ["plan", "--offline"],
        ["render", "--check"],
        ["lock", "--prune"],
      ])
        expectSafe(await shown([...args, "--matrix", at("matrix.yaml")]));
      writeFileSync(at(path), before);
    }
  });

  test("a registry's reason phrase", async () => {
    const port = await rawServer("403 no\u001b[2J\u0007\u009b way");
    const text = await shown(["resolve", "--from", `127.0.0.1:${port}/team/app:1`, "--host", facts]);
    expectSafe(text);
    expect(text.err).toMatch(/REGISTRY_/);
  });

  test("a registry's errors, challenges and redirects", { timeout: 60_000 }, async () => {
    // No line break of its own: a header with one would be two.
    const odd = nasty.replace(/[\0\r\n]/g, "");
    const answers: readonly (readonly [head: string, body: string])[] = [
      ["400 x", JSON.stringify({ errors: [{ code: `NO${nasty}`, message: `words${nasty}` }] })],
      ["403 x", JSON.stringify({ errors: [{ code: "DENIED", message: nasty.repeat(300) }] })],
      ["400 x", JSON.stringify({ details: nasty })],
      ["200 x\r\ncontent-type: a", nasty],
      [`200 x\r\ncontent-type: ${odd}`, nasty],
      [`200 x\r\ndocker-content-digest: sha256:${odd}`, "{}"],
      [`307 x\r\nlocation: ftp://x/${odd}`, ""],
      [`307 x\r\nlocation: http://[${odd}`, ""],
      [`401 x\r\nwww-authenticate: Bearer realm="ftp://${odd}",service="${odd}"`, ""],
      [`401 x\r\nwww-authenticate: Bearer realm="https://[\u202e\u200f"`, ""],
      [`401 x\r\nwww-authenticate: Bearer realm="ftp://\u202e\u009b"`, ""],
      [`401 x\r\nwww-authenticate: ${odd}`, ""],
    ];
    for (const [head, body] of answers) {
      const port = await rawServer(head, body);
      const text = await shown(["resolve", "--from", `127.0.0.1:${port}/team/app:1`, "--host", facts]);
      expectSafe(text);
      expect(text.err).toMatch(/REGISTRY_|INDEX_/);
    }
  });

  test("an index of a fleet", { timeout: 120_000 }, async () => {
    const digest = digestOf(Buffer.from("image"));
    const [cell = "", image] = Object.entries(
      (JSON.parse(lockText) as { images: Record<string, Record<string, unknown>> }).images,
    )[0] ?? ["", {}];
    const own = {
      [entryAnnotations.cell]: cell,
      [entryAnnotations.axes]: JSON.stringify(image?.axes),
      [entryAnnotations.requires]: JSON.stringify(image?.requires),
      [entryAnnotations.inputs]: String(image?.inputDigest),
      [entryAnnotations.platform]: "linux/amd64",
      [entryAnnotations.tag]: String(image?.tag),
    };
    const head = {
      [annotations.format]: indexFormat,
      [annotations.title]: "vision",
      [annotations.version]: "1.4.0",
      [annotations.prefer]: '["python"]',
    };
    const platform = { os: "linux", architecture: "amd64" };
    const entry = (notes: Record<string, string>) => ({
      mediaType: manifestTypes.oci,
      digest,
      size: 5,
      platform,
      annotations: notes,
    });
    const index = (notes: Record<string, string>, entries: readonly object[]) => ({
      schemaVersion: 2,
      mediaType: indexTypes.oci,
      annotations: notes,
      manifests: entries,
    });
    const odd = [
      ...Object.keys(head).map((key) => index({ ...head, [key]: `${key}${nasty}` }, [entry(own)])),
      ...Object.keys(own).map((key) => index(head, [entry({ ...own, [key]: `x${nasty}` })])),
      index({ ...head, [annotations.prefer]: JSON.stringify([nasty]) }, [entry(own)]),
      index(head, [entry({ ...own, [entryAnnotations.axes]: JSON.stringify({ [nasty]: nasty }) })]),
      index(head, [
        entry({ ...own, [entryAnnotations.requires]: JSON.stringify({ cpu: nasty, cuda: nasty }) }),
      ]),
      index(head, [entry({ ...own, [entryAnnotations.cell]: nasty, [entryAnnotations.tag]: nasty })]),
      index(head, [{ ...entry(own), digest: `sha256:${nasty}` }]),
      index(head, [{ ...entry(own), mediaType: nasty }]),
      index({ ...head, [annotations.format]: "1" }, [
        { ...entry(own), platform: { os: nasty, architecture: nasty } },
      ]),
      index(head, [entry(own), entry(own)]),
    ];
    for (const json of odd) {
      const manifest = manifestOf(json, indexTypes.oci);
      const { host } = await startFaultServer((_, response) => {
        response.writeHead(200, {
          "content-type": manifest.mediaType,
          "docker-content-digest": manifest.digest,
          "content-length": manifest.size,
        });
        response.end(manifest.bytes);
      });
      const from = ["--from", `${host}/team/vision:1.4.0`, "--host", facts];
      expectSafe(await shown(["resolve", ...from, "--explain"]));
      expectSafe(await shown(["resolve", ...from, "--json"]));
      expectSafe(await shown(["why-not", "x", ...from]));
    }
  });

  test("an image's labels", async () => {
    for (const labels of [
      nasty,
      `{"a": "${nasty}"`,
      JSON.stringify({ cpu: nasty, cuda: nasty }),
      JSON.stringify({ cpu: { march: nasty, features: [nasty] }, cuda: null, kernel: nasty }),
      JSON.stringify({
        cpu: { march: "x86-64", features: [] },
        cuda: { toolkit: nasty, code: [nasty], driver: { mode: "host", minimum: nasty }, require: nasty },
      }),
    ]) {
      const config = Buffer.from(
        JSON.stringify({
          os: "linux",
          architecture: "amd64",
          config: {
            Labels: { "dev.imgmatch.requires": labels },
            Env: [`CUDA_VERSION=${nasty}`, `NVIDIA_REQUIRE_CUDA=cuda>=${nasty}`],
          },
        }),
      );
      const manifest = manifestOf({
        schemaVersion: 2,
        mediaType: manifestTypes.oci,
        config: {
          mediaType: "application/vnd.oci.image.config.v1+json",
          digest: digestOf(config),
          size: config.length,
        },
        layers: [],
      });
      const { host } = await startFaultServer(({ path }, response) => {
        if (path.includes("/manifests/"))
          response.writeHead(200, {
            "content-type": manifest.mediaType,
            "docker-content-digest": manifest.digest,
            "content-length": manifest.size,
          });
        response.end(path.includes("/manifests/") ? manifest.bytes : config);
      });
      for (const more of [[], ["--json"]])
        expectSafe(await shown(["check", `${host}/team/app:1.0`, "--host", facts, ...more]));
    }
  });

  test("a credential helper's output", async () => {
    const bin = mkdtempSync(join(tmpdir(), "imgmatch-hostile-bin-"));
    const { host } = await startFaultServer((_, response) => {
      response.writeHead(401, { "www-authenticate": 'Basic realm="x"' });
      response.end();
    });
    writeFileSync(join(bin, "said"), nasty);
    for (const [config, script] of [
      [{ credsStore: "odd" }, `cat ${bin}/said; exit 1`],
      [{ credsStore: "odd" }, `cat ${bin}/said`],
      [{ credsStore: "odd" }, `echo '{"Username":"${JSON.stringify(nasty).slice(1, -1)}","Secret":"s"}'`],
      [{ credsStore: nasty }, "exit 1"],
      [{ auths: { [host]: { auth: nasty } } }, "exit 1"],
      [{ auths: nasty }, "exit 1"],
      [{ credHelpers: { [host]: nasty } }, "exit 1"],
    ] as const) {
      const home = mkdtempSync(join(tmpdir(), "imgmatch-hostile-docker-"));
      writeFileSync(join(home, "config.json"), JSON.stringify(config));
      writeFileSync(join(bin, "docker-credential-odd"), `#!/bin/sh\n${script}\n`);
      chmodSync(join(bin, "docker-credential-odd"), 0o755);
      const env = { DOCKER_CONFIG: home, HOME: home, PATH: `${bin}${delimiter}${process.env.PATH}` };
      const text = await shown(["resolve", "--from", `${host}/team/app:1`, "--host", facts], { env });
      expectSafe(text);
      expect(text.err).toContain("REGISTRY_");
    }
  });

  test("a proxy's errors", async () => {
    const port = await rawServer("502 no\u001b[2J\u0007\u009b way");
    const env = { DOCKER_CONFIG: folder, HOME: folder, HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const text = await shown(["resolve", "--from", "registry.example.com/team/app:1", "--host", facts], {
      env,
    });
    expectSafe(text);
    expect(text.err).toContain("REGISTRY_");
  });

  test("an engine's answers", async () => {
    for (const body of [nasty, JSON.stringify({ message: nasty })]) {
      const { host } = await startFaultServer((_, response) => {
        response.writeHead(500);
        response.end(body);
      });
      const env = { DOCKER_CONFIG: folder, HOME: folder, DOCKER_HOST: `tcp://${host}` };
      expectSafe(await shown(["doctor"], { env }));
      expectSafe(await shown(["check", "sha256:abc", "--host", facts], { env }));
    }
    const address = { DOCKER_CONFIG: folder, HOME: folder, DOCKER_HOST: `tcp://a${nasty}:x` };
    expectSafe(await shown(["doctor"], { env: address }));
  });

  const forms = [
    ["tty", { progress: "tty" }, {}],
    ["a line for each cell", {}, {}],
    ["all that steps print", { progress: "plain" }, {}],
    ["quiet", { progress: "quiet" }, {}],
    ["json", { json: true }, {}],
    ["github", {}, { GITHUB_ACTIONS: "true" }],
  ] as const;
  test.each(forms)("an engine's log, reported as %s", (_, flags, env) => {
    let text = "";
    const write = (part: string) => {
      text += terminalText(part);
    };
    const terminal = {
      animated: false,
      interactive: false,
      columns: 200,
      width: Number.POSITIVE_INFINITY,
      color: { out: false, err: false },
    };
    const context = { out: write, err: write, env, terminal, takeSignals: () => {} };
    const tell = listenerFor(flags, context as unknown as CommandContext, { summary: true });
    const cell = `cell${nasty}`;
    const message = `step ${nasty}`;
    const details = [`    words${nasty}`];
    const problems = [{ code: "BUILD_FAILED", message, details, fix: `do ${nasty}` }] as const;
    const result = { cell, status: "failed", problems, log: `log${nasty}`, durationMs: 1 } as const;
    tell({ type: "start", cell, log: nasty });
    tell({ type: "log", cell, line: nasty });
    tell({ type: "failed", ...result });
    const counts = { built: 0, adopted: 0, failed: 1, interrupted: 0, kept: 0 };
    tell({ type: "summary", schemaVersion: 1, ...counts, results: [result] });
    const own = text.replaceAll("\r\u001b[K", "").replaceAll("\u001b[A", "");
    expectSafe({ out: own, err: "" });
    expect(own).not.toMatch(new RegExp(`^${forged}`, "m"));
    expect(own).toContain("words");
  });
});

test("the program's own colours come through, and nobody else's", async () => {
  const { err } = await shown(["resolve", "--lock", `/none/\u001b[32mgreen`], {
    terminal: {
      animated: false,
      interactive: false,
      columns: 80,
      width: Number.POSITIVE_INFINITY,
      color: { out: true, err: true },
    },
  });
  expect(err).toContain("\u001b[31mLOCK_NOT_FOUND\u001b[0m");
  expect(err).toContain("/none/\\u001b[32mgreen");
});
