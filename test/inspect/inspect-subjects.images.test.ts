import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import type { ImageInspection } from "../../src/inspect/inspection.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { startFaultServer } from "../oci/registry/support/fault-server.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNoPython, whyNoZstd } from "../support/programs.ts";
import {
  gpuFile,
  gzipped,
  layoutFiles,
  type MadeFile,
  type MadeImage,
  makeImage,
  makeTar,
  savedFiles,
} from "./support/make-image.ts";
import { inspectOne } from "./support/inspect-one.ts";
import { makeLayout } from "./support/make-layout.ts";

const env = { DOCKER_HOST: "unix:///nowhere" };

/** Without what was opened before. */
function opened(image: string): Promise<ImageInspection> {
  return inspectOne(image, { platform: "linux/amd64", cache: false }, { env });
}

/** Path → targets of its code; `home`: where the cache of opened layers is, if any. */
async function found(image: string, home?: string): Promise<Record<string, string>> {
  const { files } =
    home === undefined
      ? await opened(image)
      : await inspectOne(image, { platform: "linux/amd64" }, { env: { ...env, XDG_CACHE_HOME: home } });
  return Object.fromEntries(
    files.map(({ path, gpu }) => [path, gpu?.targets.map(({ target }) => target).join() ?? ""]),
  );
}

/** An entry of the cache for a layer, under the layer's digest or another one. */
function entryOf(layer: object, digest = digestOf(JSON.stringify(layer))): Buffer {
  return gzipSync(`${digest}\n${JSON.stringify(layer)}`);
}

const layout = (...layers: readonly (readonly MadeFile[])[]) =>
  makeLayout(makeImage(layers.map((files) => gzipped(makeTar(files)))));

const two = makeImage([
  gzipped(
    makeTar([
      { path: "app/a", content: gpuFile(70) },
      { path: "app/b", content: gpuFile(75) },
    ]),
  ),
  makeTar([
    { path: "./app/.wh.a" },
    { path: "/app/c", content: gpuFile(80) },
    { path: "readme", content: Buffer.from("x") },
  ]),
]);
const ofTwo = { "/app/b": "sm_75", "/app/c": "sm_80" };

/** Without its second half. */
function cut(path: string): string {
  truncateSync(path, Math.floor(statSync(path).size / 2));
  return path;
}

function archive(files: readonly MadeFile[], name = "image.tar", pack = (bytes: Buffer) => bytes): string {
  const path = join(makeFolder({}), name);
  writeFileSync(path, pack(makeTar(files)));
  return path;
}

describe("the same image is the same from everywhere", () => {
  it("an OCI layout", async () => expect(await found(makeLayout(two))).toEqual(ofTwo));
  it("an OCI archive", async () => expect(await found(archive(layoutFiles(two)))).toEqual(ofTwo));
  it("an archive of docker save", async () => expect(await found(archive(savedFiles(two)))).toEqual(ofTwo));
  it("a compressed archive", async () =>
    expect(await found(archive(savedFiles(two), "image.tar.gz", gzipped))).toEqual(ofTwo));

  it("a folder", async () => {
    const folder = makeFolder({ readme: "x" });
    mkdirSync(join(folder, "app"));
    writeFileSync(join(folder, "app/b"), gpuFile(75));
    writeFileSync(join(folder, "app/c"), gpuFile(80));
    symlinkSync("/", join(folder, "root"));
    expect(await found(folder)).toEqual(ofTwo);
  });

  it("a registry, in pieces", async () => {
    // Longer than a piece, so that ranges are asked for.
    const image = makeImage([
      ...two.layers,
      makeTar([
        { path: "zeros", content: Buffer.alloc(17 * 2 ** 20) },
        { path: "app/d", content: gpuFile(90) },
      ]),
    ]);
    const server = await serve(image, true);
    expect(await found(`${server.host}/team/app:1`)).toEqual({ ...ofTwo, "/app/d": "sm_90" });
    expect(server.asked.filter(({ headers }) => headers.range !== undefined)).toHaveLength(2);
  });

  it("a registry that knows no ranges", async () => {
    const image = makeImage([
      makeTar([
        { path: "zeros", content: Buffer.alloc(17 * 2 ** 20) },
        { path: "d", content: gpuFile(90) },
      ]),
    ]);
    const server = await serve(image, false);
    expect(await found(`${server.host}/team/app:1`)).toEqual({ "/d": "sm_90" });
  });
});

it("holds the variant of an index's row against the files", async () => {
  const image = makeImage([gzipped(makeTar([{ path: "bin/true", content: readFileSync("/bin/true") }]))]);
  const digest = digestOf(image.manifest);
  const platform = { os: "linux", architecture: "amd64", variant: "v3" };
  const manifests = [{ mediaType: manifestType, digest, size: image.manifest.length, platform }];
  const server = await serve(
    image,
    true,
    JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests }),
  );
  const asked = { platform: "linux/amd64", cache: false, expect: "claims" } as const;
  const { claims } = await inspectOne(`${server.host}/team/app:1`, asked, { env });
  expect(claims).toMatchObject([
    { claim: "variant v3", by: "the index", verdict: expect.stringMatching(/^(?:too wide|not provable)$/) },
  ]);
});

const manifestType = "application/vnd.oci.image.manifest.v1+json";
const indexType = "application/vnd.oci.image.index.v1+json";

function serve(image: MadeImage, hasRanges: boolean, index?: string) {
  return startFaultServer(({ path, headers }, response) => {
    const digest = /sha256:([0-9a-f]{64})$/.exec(path)?.[1];
    if (index !== undefined && path.endsWith("/manifests/1")) {
      response.writeHead(200, { "content-type": indexType });
      response.end(index);
      return;
    }
    if (path.includes("/manifests/")) {
      response.writeHead(200, { "content-type": manifestType });
      response.end(image.manifest);
      return;
    }
    const blob = image.blobs.get(digest ?? "");
    const range = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "");
    if (blob === undefined) response.writeHead(404).end();
    else if (range === null || !hasRanges) response.writeHead(200).end(blob);
    else response.writeHead(206).end(blob.subarray(Number(range[1]), Number(range[2]) + 1));
  });
}

describe("what is no image is what it is", () => {
  const files = [
    { path: "lib/a.so", content: gpuFile(80) },
    { path: "notes.gz", content: gzipped(Buffer.from("text")) },
  ];

  it("an archive", async () => {
    const expected = { "/app.tar.gz!/lib/a.so": "sm_80" };
    expect(await found(archive(files, "app.tar.gz", gzipped))).toEqual(expected);
  });

  it("a library, under a name without a slash too", async () => {
    const folder = makeFolder({});
    writeFileSync(join(folder, "liba.so.1.2"), gpuFile(90));
    const inspection = await inspectOne("liba.so.1.2", { cache: false }, { env, cwd: folder });
    expect(inspection).toMatchObject({ source: "file", subject: "liba.so.1.2", platform: null });
    expect(inspection.files.map(({ path }) => path)).toEqual(["/liba.so.1.2"]);
  });

  it("a text", async () => expect(await found(join(makeFolder({ "x.tar": "text" }), "x.tar"))).toEqual({}));
});

describe("layers", () => {
  it("replace and remove what is below", async () => {
    const folder = layout(
      [
        { path: "a/x", content: gpuFile(50) },
        { path: "b/x", content: gpuFile(52) },
        { path: "c", content: gpuFile(60) },
        { path: "d/y/z", content: gpuFile(61) },
        { path: "e", content: gpuFile(62) },
      ],
      [
        { path: "b/new", content: gpuFile(70) },
        { path: "b/.wh..wh..opq" },
        { path: "c", content: Buffer.from("text") },
        { path: ".wh.d" },
        { path: "e", type: "2", target: "a/x" },
      ],
    );
    expect(await found(folder)).toEqual({ "/a/x": "sm_50", "/b/new": "sm_70" });
  });

  it("have hard links, which outlive the other name", async () => {
    const folder = layout(
      [
        { path: "a", content: gpuFile(70) },
        { path: "b", type: "1", target: "a" },
      ],
      [{ path: ".wh.a" }],
    );
    expect(await found(folder)).toEqual({ "/b": "sm_70" });
  });

  it("follow links of folders, as an engine does", async () => {
    const folder = layout(
      [
        { path: "usr/lib/x", content: gpuFile(70) },
        { path: "lib", type: "2", target: "usr/lib" },
      ],
      [{ path: "lib/x", content: gpuFile(80) }, { path: "lib/.wh.gone" }],
    );
    expect(await found(folder)).toEqual({ "/usr/lib/x": "sm_80" });
  });

  it("never lead out of the image, nor in circles", async () => {
    const folder = layout([
      { path: "../etc/x", content: gpuFile(70) },
      { path: "up", type: "2", target: "../../.." },
      { path: "up/y", content: gpuFile(75) },
      { path: "l", type: "2", target: "l" },
      { path: "l/z", content: gpuFile(80) },
      { path: "__proto__/constructor", content: gpuFile(86) },
    ]);
    expect(await found(folder)).toEqual({
      "/__proto__/constructor": "sm_86",
      "/etc/x": "sm_70",
      "/y": "sm_75",
    });
  });

  it("have names of any length", async () => {
    const path = `${"long/".repeat(40)}file`;
    expect(await found(layout([{ path, content: gpuFile(70) }]))).toEqual({ [`/${path}`]: "sm_70" });
  });

  describe("may be compressed with zstd", needs(whyNoZstd()), () => {
    const by = (program: string, ...args: string[]) => {
      return (input: Buffer) =>
        execFileSync(program, ["-q", ...args, "-c", "-"], { input, maxBuffer: 2 ** 28 });
    };
    const pack = by("zstd");
    const noise = Buffer.from(Array.from({ length: 400_000 }, (_, index) => (index * index) >> 7));
    const tar = makeTar([
      { path: "noise", content: noise },
      { path: "x", content: gpuFile(90) },
    ]);
    const inLayer = (...frames: readonly Buffer[]) => found(makeLayout(makeImage([Buffer.concat(frames)])));
    const skipped = Buffer.from("502a4d18040000000000ffff", "hex");

    it("in several frames, with one to be skipped", async () => {
      const frames = [pack(tar.subarray(0, 1000)), skipped, pack(tar.subarray(1000))];
      expect(await inLayer(...frames)).toEqual({ "/x": "sm_90" });
    });
    it("in a frame for each part, with a table of contents behind, as zstd:chunked is", async () => {
      const size = 32 * 512;
      const parts = Array.from({ length: Math.ceil(tar.length / size) }, (_, index) =>
        tar.subarray(index * size, (index + 1) * size),
      );
      expect(await inLayer(skipped, ...parts.map(pack), skipped, skipped)).toEqual({ "/x": "sm_90" });
    });
    it("by pzstd", needs(whyNoZstd("pzstd")), async () => {
      const many = Buffer.concat(Array.from({ length: 20 }, () => tar.subarray(0, -1024)));
      const packed = by("pzstd", "-p", "2", "-1")(Buffer.concat([many, tar]));
      expect(packed.toString("latin1").split("\x28\xb5\x2f\xfd").length - 1).toBeGreaterThan(2);
      expect(await inLayer(packed)).toEqual({ "/x": "sm_90" });
    });
    it("with bytes behind that are no frame", async () =>
      expect(await inLayer(pack(tar), Buffer.alloc(512, "padding"))).toEqual({ "/x": "sm_90" }));
    it.each([
      ["of many blocks", 0],
      ["that is not the first", 1000],
    ])("but not cut off in the last frame, %s", async (_name, at) => {
      const last = pack(tar.subarray(at));
      for (const left of [3, 5, 20, last.length >> 1, last.length - 1])
        await expect(inLayer(pack(tar.subarray(0, at)), last.subarray(0, left))).rejects.toMatchObject({
          code: "IMAGE_INVALID",
        });
    });
  });

  it("are opened once, and then known by their digest", async () => {
    const home = makeFolder({});
    const image = makeImage(two.layers);
    expect(await found(makeLayout(image), home)).toEqual(ofTwo);
    const server = await serve(
      { ...image, blobs: new Map([[digestOf(image.config).slice(7), image.config]]) },
      true,
    );
    expect(await found(`${server.host}/team/app:1`, home)).toEqual(ofTwo);
  });

  it("are opened again when what is known of them is damaged", async () => {
    const home = makeFolder({});
    await found(makeLayout(two), home);
    const cache = join(home, "imgmatch");
    const [folder = ""] = readdirSync(cache);
    const files = readdirSync(join(cache, folder)).map((file) => join(cache, folder, file));
    const checksums = { md5: null, sha1: null, sha256: "" };
    const cpu = { architecture: "x86_64", codeBytes: 1, features: [], vexOnly: null, asks: [] };
    const inspection = {
      size: 1,
      checksums,
      program: null,
      cpu,
      gpu: null,
      amd: null,
      sycl: {},
      unopened: [],
    };
    for (const content of [
      "{",
      gzipSync("{}"),
      ...[
        [null],
        [{ kind: "file" }],
        [{ kind: "hardlink", path: "x" }],
        [{ kind: "file", path: "x", opened: { files: { "": inspection }, unopened: {} } }],
      ].map((changes) => gzipSync(JSON.stringify({ size: 1, changes }))),
      entryOf({ size: 1, changes: [] }, digestOf("others")),
    ]) {
      for (const file of files) writeFileSync(file, content);
      expect(await found(makeLayout(two), home)).toEqual(ofTwo);
    }
  });

  it("are opened again where others may have written what is known of them", async () => {
    const home = makeFolder({});
    await found(makeLayout(two), home);
    const cache = join(home, "imgmatch");
    const [name = ""] = readdirSync(cache);
    const folder = join(cache, name);
    const files = readdirSync(folder).map((file) => join(folder, file));
    const planted = entryOf({ size: 1, changes: [] });
    const plant = () => {
      for (const file of files) writeFileSync(file, planted);
    };
    plant();
    expect(await found(makeLayout(two), home)).toEqual({});
    for (const open of [files, [folder], [cache]]) {
      plant();
      for (const path of open) chmodSync(path, 0o777);
      expect(await found(makeLayout(two), home)).toEqual(ofTwo);
      for (const path of open) chmodSync(path, 0o755);
    }
  });

  it("are known again whatever the umask", async () => {
    const home = makeFolder({});
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    await found(makeLayout(two), home);
    const cache = join(home, "imgmatch");
    const [name = ""] = readdirSync(cache);
    for (const file of readdirSync(join(cache, name)))
      writeFileSync(join(cache, name, file), entryOf({ size: 1, changes: [] }));
    expect(await found(makeLayout(two), home)).toEqual({});
  });
});

describe("archives in an image", () => {
  it("are entered: a wheel", needs(whyNoPython()), async () => {
    const cwd = makeFolder({});
    writeFileSync(join(cwd, "x.so"), gpuFile(90));
    const script =
      "import zipfile as z\nfor n, m in (('s', 0), ('d', 8), ('l', 14)):\n w = z.ZipFile(n + '.whl', 'w', m)\n w.write('x.so', 'lib/x.so')\n w.close()\nw = z.ZipFile('n.zip', 'w')\nw.write('d.whl')\nw.close()\n";
    execFileSync("python3", ["-c", script], { cwd });
    const { files, unopened } = await opened(cwd);
    expect(files.map(({ path }) => path)).toEqual([
      "/d.whl!/lib/x.so",
      "/n.zip!/d.whl!/lib/x.so",
      "/s.whl!/lib/x.so",
      "/x.so",
    ]);
    expect(unopened).toEqual([
      { path: "/l.whl!/lib/x.so", layer: 0, reason: "compressed in a way that is not read" },
    ]);
  });

  it("are entered to a bound, and what is beyond is told", async () => {
    const nested = (depth: number): Buffer =>
      depth === 0 ? gpuFile(80) : makeTar([{ path: "in", content: nested(depth - 1) }]);
    const { files, unopened } = await opened(
      layout([
        { path: "t3", content: nested(3) },
        { path: "t4", content: nested(4) },
      ]),
    );
    expect(files.map(({ path }) => path)).toEqual(["/t3!/in!/in!/in"]);
    expect(unopened).toEqual([{ path: "/t4!/in!/in!/in", layer: 0, reason: "an archive inside 3 others" }]);
  });

  it("that are damaged are told, and hide nothing else", async () => {
    const cut = gzipped(makeTar([{ path: "x", content: gpuFile(80) }])).subarray(0, 60);
    const { files, unopened } = await opened(
      layout([
        { path: "a.tgz", content: cut },
        { path: "b", content: gpuFile(90) },
      ]),
    );
    expect(files.map(({ path }) => path)).toEqual(["/b"]);
    expect(unopened.map(({ path }) => path)).toEqual(["/a.tgz"]);
  });
});

describe("what is no image is refused with a code", () => {
  const code = async (name: string) => {
    try {
      await opened(name);
      return null;
    } catch (error) {
      if (error instanceof ImgmatchError) return error.code;
      throw error;
    }
  };

  it.each([
    ["a layer cut off", () => makeLayout(makeImage([gzipped(makeTar([])).subarray(0, 15)])), "IMAGE_INVALID"],
    ["a layer that is no tar", () => makeLayout(makeImage([Buffer.alloc(2000, "text")])), "IMAGE_INVALID"],
    ["an entry that ends early", () => layout([{ path: "x", size: 2 ** 30 }]), "IMAGE_INVALID"],
    [
      "an archive whose manifest names nothing",
      () => archive([{ path: "index.json", content: Buffer.from("{}") }]),
      "IMAGE_INVALID",
    ],
    ["an archive cut off", () => cut(archive(savedFiles(two))), "IMAGE_INVALID"],
    ["nothing at all", () => "./not/there", "FILE_NOT_FOUND"],
  ])("%s", async (_name, make, expected) => expect(await code(make())).toBe(expected));

  it("a blob with other bytes than its digest", async () => {
    const folder = makeLayout(two);
    const [layer = Buffer.alloc(0)] = two.layers;
    const other = gzipped(makeTar([{ path: "other", content: gpuFile(99) }]));
    writeFileSync(join(folder, "blobs/sha256", digestOf(layer).slice(7)), other);
    expect(await code(folder)).toBe("IMAGE_INVALID");
    expect(existsSync(folder)).toBe(true);
  });
});
