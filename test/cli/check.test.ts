import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { indexTypes, manifestTypes } from "../../src/oci/media-types.ts";
import { startFaultServer } from "../oci/registry/support/fault-server.ts";
import { manifestOf } from "../oci/registry/support/manifests.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { formatFleetIndex } from "../../src/lock/store/format-fleet-index.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { shownImages } from "../../src/resolve/shown-images.ts";
import { indexOf } from "../oci/registry/support/index-of-lock.ts";
import { a100, cpuHost, gpuHost, levelV3 } from "../resolve/support/hosts.ts";
import { cuda, image, lockOf, requirement, rocmImage } from "../resolve/support/locks.ts";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { makeLibrary } from "../inspect/support/make-library.ts";
import { gzipped, type MadeFile, makeTar } from "../inspect/support/make-image.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const label = "dev.imgmatch.requires";
let folder = "";
beforeEach(() => {
  folder = makeFolder({
    "cpu.json": formatHostFacts(cpuHost()),
    "gpu.json": formatHostFacts(gpuHost([a100], "535.183.01", "12.2")),
  });
});

interface Image {
  readonly architecture: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly env?: readonly string[];
  /** Of its one layer. */
  readonly files?: readonly MadeFile[];
}

/** How often each registry was asked for a layer. */
const layerReads = new Map<string, number>();

/** A registry with `team/app:1.0`, an index over these images, or the one image itself. */
async function serve(...images: readonly Image[]): Promise<string> {
  const blobs = new Map<string, Buffer>();
  const layers = new Set<string>();
  const manifests = images.map(({ architecture, labels = {}, env = [], files }) => {
    const config = Buffer.from(
      JSON.stringify({ os: "linux", architecture, config: { Labels: labels, Env: env } }),
    );
    blobs.set(digestOf(config), config);
    const layer = files && gzipped(makeTar(files));
    if (layer !== undefined) {
      blobs.set(digestOf(layer), layer);
      layers.add(digestOf(layer));
    }
    const manifest = manifestOf({
      schemaVersion: 2,
      mediaType: manifestTypes.oci,
      config: {
        mediaType: "application/vnd.oci.image.config.v1+json",
        digest: digestOf(config),
        size: config.length,
      },
      layers: layer
        ? [
            {
              mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
              digest: digestOf(layer),
              size: layer.length,
            },
          ]
        : [],
    });
    return { architecture, manifest };
  });
  const index = manifestOf(
    {
      schemaVersion: 2,
      mediaType: indexTypes.oci,
      manifests: manifests.map(({ architecture, manifest }) => ({
        mediaType: manifest.mediaType,
        digest: manifest.digest,
        size: manifest.size,
        platform: { os: "linux", architecture },
      })),
    },
    indexTypes.oci,
  );
  const [only] = manifests;
  const top = manifests.length === 1 && only !== undefined ? only.manifest : index;
  const { host } = await startFaultServer(({ path }, response) => {
    const reference = path.split("/").at(-1) ?? "";
    if (layers.has(reference)) layerReads.set(host, (layerReads.get(host) ?? 0) + 1);
    const all = [index, ...manifests.map(({ manifest }) => manifest)];
    const manifest = reference === "1.0" ? top : all.find(({ digest }) => digest === reference);
    const blob = blobs.get(reference);
    if (path.includes("/manifests/") && manifest !== undefined) {
      response.writeHead(200, {
        "content-type": manifest.mediaType,
        "docker-content-digest": manifest.digest,
        "content-length": manifest.size,
      });
      response.end(manifest.bytes);
    } else if (path.includes("/blobs/") && blob !== undefined) {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      response.end(blob);
    } else {
      response.writeHead(path === "/v2/" ? 200 : 404, { "content-type": "application/json" });
      response.end("{}");
    }
  });
  return host;
}

async function check(...args: readonly string[]) {
  return run({ DOCKER_HOST: "unix:///nowhere/docker.sock" }, ...args);
}

async function run(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  return runInProcess(["check", ...args], { env: { HOME: folder, ...env }, cwd: folder });
}

/** Machine code of sm_80, and PTX that CUDA 12.0 wrote. */
const ampere = {
  path: "opt/app.so",
  content: makeContainer([
    makeEntry({ kind: 2, arch: 80, version: [1, 7] }),
    makeEntry({ kind: 1, arch: 80, version: [8, 0] }),
  ]),
};

const wide = {
  cpu: { march: "sapphirerapids", features: [...levelV3, "tsxldtrk", "waitpkg"].sort() },
  cuda: null,
};
const unused = { rules: 1, cpu: { unused: ["tsxldtrk", "waitpkg"] }, cuda: null };

/** A registry with the index that publishing a lock writes, and none of its images. */
async function serveFleet(lock: Lock): Promise<string> {
  const written = indexOf(lock);
  const { top, parts } = formatFleetIndex(written, shownImages(written));
  const { host } = await startFaultServer(({ path }, response) => {
    const name = path.split("/").at(-1);
    const manifest = name === "1.0" ? top : [top, ...parts].find(({ digest }) => digest === name);
    const headers = manifest && {
      "content-type": manifest.mediaType,
      "docker-content-digest": manifest.digest,
      "content-length": manifest.size,
    };
    response.writeHead(manifest === undefined ? 404 : 200, headers);
    response.end(manifest?.bytes);
  });
  return host;
}

describe("an index that imgmatch wrote", () => {
  const fleet: Lock = {
    ...lockOf({
      old: image({ requires: requirement(cuda("11.8.0", ["sm_70"])) }),
      gpu: image({ requires: requirement(cuda("12.2.0", ["sm_80"])), digest: `sha256:${"b".repeat(64)}` }),
    }),
    version: "1.0",
  };

  it("is answered by its cells, without an image that starts anywhere", async () => {
    const host = await serveFleet(fleet);
    const { out, exit } = await check(`${host}/team/app:1.0`, "--host", join(folder, "gpu.json"), "--json");
    expect(JSON.parse(out)).toMatchObject({ fits: true, cell: "gpu", judgedBy: "index" });
    expect(exit).toBe(0);
  });

  it("does not run where no cell does, and says what the nearest one lacks", async () => {
    const host = await serveFleet(fleet);
    const { out, exit } = await check(`${host}/team/app:1.0`, "--host", join(folder, "cpu.json"));
    expect(out).toMatch(/^does not: .*\n/);
    expect(out).toContain("NO_GPU");
    expect(exit).toBe(3);
  });
});

describe("PTX that is older than its image's toolkit, under a driver between both", () => {
  const newer = makeContainer([makeEntry({ kind: 1, arch: 90, version: [9, 3] })]);
  const files = [
    { path: "opt/app.so", content: makeLibrary({ sections: [{ name: ".nv_fatbin", bytes: newer }] }) },
    { path: "opt/kernel.ptx", content: Buffer.from(".version 8.0\n.target sm_75\n.address_size 64\n") },
  ];
  const code = ["compute_75@8.0", "compute_90"];
  const minimum = { driver: { mode: "host", minimum: "580.65.06" } } as const;
  const fleet = (...entries: readonly string[]): Lock => ({
    ...lockOf({ gpu: image({ requires: requirement(cuda("13.3", entries, minimum)) }) }),
    version: "1.0",
  });
  const facts = () => join(folder, "gpu.json");
  const command = async (...args: readonly string[]) =>
    runInProcess(args, { env: { HOME: folder }, cwd: folder });

  beforeEach(() => writeFileSync(facts(), formatHostFacts(gpuHost([a100], "580.95.05", "13.0"))));

  it("is adopted with its version, which resolve, labels and check of the lock read", async () => {
    const name = `${await serve({ architecture: "amd64", files })}/team/app:1.0`;
    const lock = join(folder, "adopted.json");
    expect(await command("adopt", name, "--lock", lock)).toMatchObject({ exit: 0 });
    const { images }: Lock = JSON.parse(readFileSync(lock, "utf8"));
    expect(images["1.0"]?.requires.cuda).toMatchObject({ toolkit: "13.3", code });
    expect(await check(name, "--host", facts(), "--lock", lock, "--json")).toMatchObject({
      ...{ exit: 0, out: expect.stringContaining('"judgedBy": "lock"') },
    });
    expect((await command("resolve", "--lock", lock, "--host", facts())).out).toContain(`${name}@sha256:`);
    const labelled = ["labels", "--lock", lock, "--format", "json"];
    expect(JSON.parse((await command(...labelled, "--host", facts())).out).labels).toMatchObject({
      "image.app": "1.0",
    });
    expect((await command(...labelled, "--hosts", facts())).out).toMatch(/"image\.app[^"]*": "1\.0"/);
  });

  it.each<[string, readonly string[], boolean]>([
    ["its version", code, true],
    ["no version", ["compute_75", "compute_90"], false],
  ])("is judged by %s in a label and in an index", async (_, entries, fits) => {
    const label13 = { [label]: JSON.stringify(requirement(cuda("13.3", entries, minimum))) };
    const names = [
      await serve({ architecture: "amd64", labels: label13 }),
      await serveFleet(fleet(...entries)),
    ];
    const said = fits ? { exit: 0, out: "runs" } : { exit: 3, out: "PTX_TOO_NEW" };
    for (const host of names)
      expect(await check(`${host}/team/app:1.0`, "--host", facts())).toMatchObject({
        ...{ exit: said.exit, out: expect.stringContaining(said.out) },
      });
  });
});

describe("an index on a machine type whose driver nobody knows", () => {
  const nvidia = image({ requires: requirement(cuda("12.8.1", ["sm_90"])) });
  const fleets = {
    // The effort is the same for both, and the first tag is that of the image for NVIDIA.
    "of both vendors": {
      cuda: nvidia,
      rocm: rocmImage(["gfx942"], "7.2", { digest: `sha256:${"b".repeat(64)}` }),
    },
    "with a CPU image": { nvidia, cpu: image({ digest: `sha256:${"b".repeat(64)}` }) },
  };

  it.each([
    ["of both vendors", "ND96isr_MI300X_v5"],
    ["of both vendors", "hgx-h100"],
    ["with a CPU image", "p5.48xlarge"],
  ] as const)("is refused %s as resolve refuses it: %s", async (name, type) => {
    const lock = { ...lockOf(fleets[name]), version: "1.0" };
    const host = await serveFleet(lock);
    const { out, exit } = await check(`${host}/team/app:1.0`, "--host-type", type, "--json");
    const { fits, reasons } = JSON.parse(out);
    const path = join(makeFolder({ "lock.json": formatLock(lock) }), "lock.json");
    const resolved = await runInProcess(["resolve", "--lock", path, "--host-type", type]);
    expect(resolved.err).toContain(`FACT_UNKNOWN: ${reasons[0].message}`);
    expect([fits, reasons[0].code, exit]).toEqual([false, "FACT_UNKNOWN", resolved.exit]);
  });
});

describe("imgmatch check", () => {
  const gpuLabel = { [label]: JSON.stringify(requirement(cuda("12.8.1", ["sm_80"]))) };

  it("judges an image of a registry by its label", async () => {
    const host = await serve({ architecture: "amd64", labels: gpuLabel });
    const { out, exit } = await check(`${host}/team/app:1.0`, "--host", join(folder, "gpu.json"));
    expect(out).toBe(
      `runs on the host of ${join(folder, "gpu.json")}\n  ${host}/team/app:1.0\n  on a driver older than its toolkit, by minor-version compatibility, GPU 0 runs sm_80\n  judged by its label, read from the registry\n`,
    );
    expect(exit).toBe(0);
  });

  it("takes certificates and plain http as every command that asks a registry", async () => {
    const host = await serve({ architecture: "amd64", labels: gpuLabel });
    const facts = join(folder, "gpu.json");
    const plain = await check(`${host}/team/app:1.0`, "--host", facts, "--plain-http", host);
    expect(plain.exit).toBe(0);
    const missing = await check(`${host}/team/app:1.0`, "--host", facts, "--ca", join(folder, "no.pem"));
    expect(missing.err).toContain("FILE_NOT_FOUND");
  });

  it("goes by what was measured, where a lock has this very image", async () => {
    const host = await serve({ architecture: "amd64", labels: { [label]: JSON.stringify(wide) } });
    const args = [`${host}/team/app:1.0`, "--host", join(folder, "cpu.json")];
    const { out, exit } = await check(...args);
    expect(out).toContain("CPU_FEATURES_MISSING: needs tsxldtrk, waitpkg (sapphirerapids)");
    expect(exit).toBe(3);
    const { digest } = JSON.parse((await check(...args, "--json")).out);
    const lockOfIt = (change: Partial<LockedImage>) =>
      makeFolder({
        "lock.json": formatLock(
          lockOf({ app: image({ digest, requires: wide, measured: unused, ...change }) }),
        ),
      });
    const lock = join(lockOfIt({}), "lock.json");
    const fits = await check(...args, "--lock", lock);
    expect(fits.out).toMatch(/^runs on .*\n .*\n {2}judged by the lock: declared sapphirerapids, its/);
    expect(fits.exit).toBe(0);
    const json = JSON.parse((await check(...args, "--lock", lock, "--json")).out);
    expect(json.measured).toMatch(/^declared sapphirerapids, its binaries use abm, avx/);
    // Of another image under the same tag the lock says nothing.
    const other = join(lockOfIt({ digest: `sha256:${"b".repeat(64)}` }), "lock.json");
    expect((await check(...args, "--lock", other)).exit).toBe(3);
  });

  it("says why it does not fit, also as JSON", async () => {
    const host = await serve({ architecture: "amd64", labels: gpuLabel });
    const facts = join(folder, "cpu.json");
    const { out, exit } = await check(`${host}/team/app:1.0`, "--host", facts);
    expect(out).toMatch(/^does not: .*\n .*\n {2}NO_GPU: .*\n {4}fix: /);
    expect(exit).toBe(3);
    const json = await check(`${host}/team/app:1.0`, "--host", facts, "--json");
    expect(JSON.parse(json.out)).toMatchObject({
      schemaVersion: 1,
      subject: `${host}/team/app:1.0`,
      source: "registry",
      platform: "linux/amd64",
      fits: false,
      tier: null,
      reasons: [{ code: "NO_GPU" }],
      unknown: [],
      requires: { cuda: { toolkit: "12.8.1" } },
    });
    expect(json.exit).toBe(3);
  });

  it("numbers GPUs as the driver does where some are hidden", async () => {
    const requires = requirement(cuda("12.2.2", ["sm_80"]), []);
    const host = await serve({ architecture: "amd64", labels: { [label]: JSON.stringify(requires) } });
    const facts = gpuHost([a100], "535.183.01", "12.2");
    const hidden = { ...facts, nvidia: facts.nvidia && { ...facts.nvidia, gpus: [{ ...a100, index: 3 }] } };
    const folder = makeFolder({ "gpu3.json": formatHostFacts(hidden) });
    const { out } = await check(`${host}/team/app:1.0`, "--host", join(folder, "gpu3.json"));
    expect(out).toContain("GPU 3 runs sm_80");
  });

  it("opens an image that says nothing of itself, once", async () => {
    const host = await serve({ architecture: "amd64", files: [ampere] });
    const image = `${host}/team/app:1.0`;
    const { out, exit } = await check(image, "--host", join(folder, "gpu.json"));
    expect(out).toBe(
      [
        `runs on the host of ${join(folder, "gpu.json")}`,
        `  ${image}`,
        "  GPU 0 runs sm_80",
        "  needs NVIDIA driver >= 525.60.13 (CUDA 12.0) and sm_80, compute_80",
        "  needs CPU nothing beyond the baseline",
        "  judged by its files, opened from the registry\n",
      ].join("\n"),
    );
    expect(exit).toBe(0);
    const again = await check(image, "--host", join(folder, "cpu.json"), "--json");
    expect(JSON.parse(again.out)).toMatchObject({
      judgedBy: "files",
      fits: false,
      reasons: [{ code: "NO_GPU" }],
      requires: { cuda: { toolkit: "12.0", code: ["sm_80", "compute_80"] } },
      notes: [],
    });
    expect(layerReads.get(host)).toBe(1);
  });

  it("says that an image without GPU code leaves the GPUs of the host unused, unless only such are asked for", async () => {
    const plain = { [label]: JSON.stringify({ cpu: { march: "x86-64", features: [] }, cuda: null }) };
    const host = await serve({ architecture: "amd64", labels: plain });
    const ask = ["--host-type", "Standard_ND96isr_MI300X_v5", "--driver", "6.14.14"];
    const { out, exit } = await check(`${host}/team/app:1.0`, ...ask);
    expect([exit, out]).toEqual([
      0,
      expect.stringMatching(/note: unused: GPU 0 .*the image has no GPU code/),
    ]);
    expect((await check(`${host}/team/app:1.0`, ...ask, "--cpu")).out).not.toContain("unused");
    // Nobody is told of a driver where no image needs one.
    const many = await check(`${host}/team/app:1.0`, "--catalog", "nvidia");
    expect(many.err).not.toContain("no machine type comes with a driver");
  });

  it("answers for each of many hosts and machine types, and opens the image once", async () => {
    const host = await serve({ architecture: "amd64", files: [ampere] });
    const image = `${host}/team/app:1.0`;
    const hosts = ["cpu.json", "gpu.json"].flatMap((name) => ["--hosts", join(folder, name)]);
    const { out, exit } = await check(image, ...hosts, "--catalog", "aws", "--driver", "535.183.01");
    expect(out).toMatch(/^cpu +does not +NO_GPU: /);
    expect(out).toMatch(/\ngpu +runs +GPU 0 runs sm_80\n/);
    expect(out).toMatch(
      /\ng4dn\.xlarge +does not +NO_GPU_CODE: has sm_80, compute_80, none of which runs on /,
    );
    expect(out).toMatch(/\ng6\.xlarge +runs, slower +GPU 0 runs sm_80\n/);
    expect(exit).toBe(3);
    const json = await check(image, ...hosts, "--json");
    const answers = json.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers.map(({ host: name, fits }) => [name, fits])).toEqual([
      ["cpu", false],
      ["gpu", true],
    ]);
    expect(layerReads.get(host)).toBe(1);
    expect((await check(image, "--catalog", "aws")).err).toContain("no machine type comes with a driver");
  });

  it("names which of several the host takes, what it goes by, and what is missing elsewhere", async () => {
    const host = await serve({
      architecture: "amd64",
      files: [
        { ...ampere, path: "lib/cuda_v12/libggml-cuda.so" },
        {
          path: "lib/cuda_v13/libggml-cuda.so",
          content: makeContainer([
            makeEntry({ kind: 2, arch: 80, version: [1, 8] }),
            makeEntry({ kind: 1, arch: 80, version: [9, 0] }),
          ]),
        },
      ],
    });
    const image = `${host}/team/app:1.0`;
    const { out } = await check(image, "--host", join(folder, "gpu.json"));
    expect(out.split("\n").slice(2, 7)).toEqual([
      "  by cuda_v12, GPU 0 runs sm_80",
      "  needs cuda_v13: NVIDIA driver >= 580.65.06 (CUDA 13.0) and sm_80, compute_80; or cuda_v12: NVIDIA driver >= 525.60.13 (CUDA 12.0) and sm_80, compute_80",
      "  needs CPU nothing beyond the baseline",
      "  judged by its files, opened from the registry",
      "  note: takes one CUDA at run time, by the names of its files: cuda_v13 (/lib/cuda_v13/libggml-cuda.so), cuda_v12 (/lib/cuda_v12/libggml-cuda.so)",
    ]);
    const other = await check(image, "--host-type", "g4dn.xlarge", "--driver", "535.183.01");
    expect(other.out).toMatch(
      /\n {2}NO_GPU_CODE: has sm_80, compute_80, .* \(cuda_v12, the nearest that it has\)\n/,
    );
  });

  it("goes by what NVIDIA's runtime asks before it starts the image, too", async () => {
    const env = ["NVIDIA_REQUIRE_CUDA=cuda>=12.4"];
    const host = await serve({ architecture: "amd64", env, files: [ampere] });
    const facts = gpuHost([a100], "535.183.01", "12.2", { runtime: { nvidia: "legacy" } });
    const legacy = makeFolder({ "legacy.json": formatHostFacts(facts) });
    const { out } = await check(`${host}/team/app:1.0`, "--host", join(legacy, "legacy.json"));
    expect(out).toContain("NVIDIA_REQUIRE_UNSATISFIED: ");
  });

  it("never calls an image fitting whose files do not tell what they need", async () => {
    const unmarked = makeContainer([makeEntry({ kind: 2, arch: 80, version: [1, 7] })]);
    const foreign = await serve({ architecture: "amd64", files: [{ path: "lib/a.so", content: unmarked }] });
    const { out, exit } = await check(`${foreign}/team/app:1.0`, "--host", join(folder, "gpu.json"));
    expect(out).toContain("not proved: ");
    expect(out).toContain("  NEED_UNKNOWN: no file says which toolkit made its GPU code");
    expect(exit).toBe(3);
  });

  it("takes the host's image of an index, and says when there is none", async () => {
    const both = await serve(
      { architecture: "arm64", labels: { [label]: JSON.stringify(requirement(null, ["sve2"])) } },
      { architecture: "amd64", labels: { [label]: JSON.stringify(requirement(null)) } },
    );
    const facts = join(folder, "cpu.json");
    expect(await check(`${both}/team/app:1.0`, "--host", facts)).toMatchObject({ exit: 0 });
    const foreign = await serve({ architecture: "arm64" }, { architecture: "ppc64le" });
    const { out, exit } = await check(`${foreign}/team/app:1.0`, "--host", facts);
    expect(out).toContain("ARCH_MISMATCH: is built for linux/arm64, this host is linux/amd64");
    expect(exit).toBe(3);
  });

  it("refuses names that are nowhere", async () => {
    const host = await serve({ architecture: "amd64" });
    const facts = join(folder, "cpu.json");
    expect(await check(`${host}/team/app:2.0`, "--host", facts)).toMatchObject({ exit: 5, out: "" });
    expect((await check(`${host}/team/app:2.0`, "--host", facts)).err).toContain("IMAGE_NOT_FOUND");
    expect(await check("a b", "--host", facts)).toMatchObject({ exit: 2 });
  });

  it("reads from the engine what the engine has, and asks the registry for the rest", async () => {
    const name = "registry.invalid/team/app:1.0";
    const config = { Labels: { [label]: JSON.stringify(requirement(null, [])) }, Env: null };
    const id = `sha256:${"c".repeat(64)}`;
    const inspected = { Id: id, Os: "linux", Architecture: goArchitecture(), Variant: "", Config: config };
    const { host, asked } = await startFaultServer(({ path }, response) => {
      const known =
        path.endsWith(`/images/${name.replaceAll(":", "%3A")}/json`) ||
        path.endsWith(`/images/${id.replaceAll(":", "%3A")}/json`);
      response.writeHead(path === "/_ping" || known ? 200 : 404, { "api-version": "1.47" });
      response.end(
        path === "/_ping" ? "OK" : JSON.stringify(known ? inspected : { message: "No such image" }),
      );
    });
    const env = { DOCKER_HOST: `tcp://${host}` };
    const local = await run(env, name);
    expect(local.out).toMatch(/^runs here\n {2}registry\.invalid\/team\/app:1\.0\n/);
    expect(local.out).toContain("read from the engine");
    expect(local.exit).toBe(0);
    expect(await run(env, id)).toMatchObject({ exit: 0 });

    const registry = await serve({ architecture: goArchitecture(), labels: config.Labels });
    const remote = await run(env, `${registry}/team/app:1.0`);
    expect(remote.out).toContain("read from the registry");
    expect(asked.length).toBeGreaterThan(3);
  });
});

function goArchitecture(): string {
  return process.arch === "x64" ? "amd64" : process.arch;
}
