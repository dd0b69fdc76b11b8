import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { openFromFolder } from "../../../src/inspect/image/from-folder.ts";
import type { ImageStart } from "../../../src/inspect/image/open-layers.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { loaderReader } from "../../../src/inspect/loader/loader-record.ts";
import { ldFolders } from "../../../src/inspect/loader/ld-conf.ts";
import { pathSettings } from "../../../src/inspect/loader/shell-path.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoGcc } from "../../support/programs.ts";

const multiarch = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
const loader = process.arch === "arm64" ? "/lib/ld-linux-aarch64.so.1" : "/lib64/ld-linux-x86-64.so.2";
const system = `/usr/lib/${multiarch}`;
const compat = "/usr/local/cuda-12.9/compat";
const packaged = `${compat}/libcuda.so.575.57.08`;
const host = `${system}/libcuda.so.580.105.08`;
const distribution = { [`${multiarch}.conf`]: `/usr/local/lib/${multiarch}\n/lib/${multiarch}\n${system}\n` };

interface MadeImage {
  /** Files below /etc/ld.so.conf.d. */
  readonly conf?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  /** Of the program that needs libcuda. */
  readonly runPath?: string;
  /** Folders that only `ldconfig FOLDER` was told of. */
  readonly cached?: readonly string[];
}

let built = "";
const name = (runPath = "") => `app${runPath.replace(/\W/g, "_")}`;

function buildOnce(runPath?: string): void {
  const library = (file: string) =>
    execFileSync("gcc", ["-nostdlib", "-shared", "-o", file, "-Wl,-soname,libcuda.so.1", "cuda.c"], {
      cwd: built,
    });
  if (built === "") {
    built = makeFolder({
      "cuda.c": "int cuInit(int a) { return a; }\n",
      "app.c": "int cuInit(int);\nvoid _start(void) { cuInit(0); }\n",
    });
    library("libcuda.so.1");
  }
  const rpath = runPath === undefined ? [] : [`-Wl,-rpath,${runPath}`];
  execFileSync(
    "gcc",
    ["-nostdlib", "-o", name(runPath), "app.c", "libcuda.so.1", `-Wl,--dynamic-linker=${loader}`, ...rpath],
    { cwd: built },
  );
}

function makeRoot({ conf = {}, files = {}, runPath, cached = [] }: MadeImage): string {
  const root = makeFolder({
    "etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n",
    ...Object.fromEntries(Object.entries(conf).map(([file, text]) => [`etc/ld.so.conf.d/${file}`, text])),
    ...files,
  });
  buildOnce(runPath);
  mkdirSync(join(root, "etc/ld.so.conf.d"), { recursive: true });
  put(root, packaged, "libcuda.so.1");
  put(root, loader, loader);
  put(root, "/opt/app/bin/app", name(runPath));
  symlinkSync("libcuda.so.575.57.08", join(root, compat, "libcuda.so.1"));
  symlinkSync("cuda-12.9", join(root, "usr/local/cuda"));
  execFileSync("ldconfig", ["-X", "-r", root, ...cached]);
  return root;
}

function put(root: string, path: string, from: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  copyFileSync(from.startsWith("/") ? from : join(built, from), join(root, path));
}

/** The library that the real loader takes. */
function loadedIn(root: string, env: Readonly<Record<string, string>>): string | null {
  const { stdout } = spawnSync("chroot", [root, loader, "--list", "/opt/app/bin/app"], {
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
  });
  return /libcuda\.so\.1 => (\S+) \(/.exec(stdout)?.[1] ?? null;
}

const folderOf = (path: string | null) =>
  path && dirname(normalize(path)).replace("/usr/local/cuda/", "/usr/local/cuda-12.9/");

async function inspect(root: string, start: Partial<ImageStart> = {}) {
  const opened = await openFromFolder(root, { platform: "linux/amd64", cache: noCache });
  const { driver } = inspectionOf({ ...opened, start: { env: {}, command: [], folder: "/", ...start } });
  return driver.compatPath;
}

const whyNotRoot =
  process.getuid?.() === 0 ? null : "no root, who may change the root of a process (run it as root)";
const conf = (file: string, folder = "/usr/local/cuda/compat") => ({
  ...distribution,
  [file]: `${folder}\n`,
});

describe("the libcuda of the real loader", needs(whyNoGcc(), whyNotRoot), () => {
  it.each<readonly [string, MadeImage, onPath: string, reason: RegExp]>([
    [
      "by ld.so.conf.d before the system's folders",
      { conf: conf("00-cuda-compat.conf") },
      "cache",
      /^\/etc\/ld\.so\.conf\.d\/00-cuda-compat\.conf names \/usr\/local\/cuda\/compat$/,
    ],
    [
      "by ld.so.conf.d behind them",
      { conf: conf("zzz-cuda-compat.conf") },
      "never",
      /^\/etc\/ld\.so\.conf\.d\/zzz-cuda-compat\.conf names it behind \/lib\/\S+, where the host's/,
    ],
    ["in no configuration", { conf: distribution }, "never", /^neither/],
    ["in the cache alone", { conf: distribution, cached: [compat] }, "never", /^only \/etc\/ld\.so\.cache/],
    [
      "by the environment",
      { conf: distribution, env: { LD_LIBRARY_PATH: `/nowhere:${compat}` } },
      "always",
      /^LD_LIBRARY_PATH/,
    ],
    [
      "by the environment behind the host's folder",
      { conf: distribution, env: { LD_LIBRARY_PATH: `${system}:${compat}` } },
      "never",
      /^neither/,
    ],
    [
      "by the run path",
      { conf: distribution, runPath: "$ORIGIN/../../../usr/local/cuda/compat" },
      "always",
      /^the run path of \/opt\/app\/bin\/app$/,
    ],
  ])("%s", async (_, image, onPath, reason) => {
    const root = makeRoot(image);
    const { env = {} } = image;
    const found = await inspect(root, { env });
    expect(folderOf(found?.loaded ?? null)).toBe(folderOf(loadedIn(root, env)));
    expect(found).toMatchObject({ onPath, reason: expect.stringMatching(reason) });
    // As a runtime does: the host's library in a folder of the system, and the cache anew.
    put(root, host, "libcuda.so.1");
    execFileSync("ldconfig", ["-r", root]);
    expect(folderOf(loadedIn(root, env))).toEqual(
      onPath === "never" ? expect.stringMatching(`/${multiarch}$`) : compat,
    );
  });

  it("is read from its cache as ldconfig prints it", () => {
    const root = makeRoot({ conf: conf("00-cuda-compat.conf") });
    put(root, host, "libcuda.so.1");
    execFileSync("ldconfig", ["-r", root]);
    const printed = execFileSync("ldconfig", ["-r", root, "-p"], { encoding: "utf8" });
    const paths = [...printed.matchAll(/^\tlibcuda\.so\.1 \(.*=> (\S+)$/gm)].map(([, path]) => path);
    const bytes = execFileSync("cat", [join(root, "etc/ld.so.cache")]);
    expect(paths.length).toBe(2);
    const read = (cache: Buffer) => loaderReader("etc/ld.so.cache", cache.length)?.(cache);
    expect(read(bytes)).toEqual({ kind: "cache", libcuda: paths });
    for (const end of [0, 10, 47, 60, bytes.length - 1])
      expect(() => read(bytes.subarray(0, end))).not.toThrow();
    const wild = Buffer.from(bytes);
    wild.fill(0xff, 48, 48 + 24);
    wild.writeUInt32LE(0xffffffff, 20);
    expect(() => read(wild)).not.toThrow();
  });

  const entry = (script: string) => ({ files: { "entry.sh": script }, command: ["/entry.sh"] });
  it.each<readonly [string, MadeImage, onPath: string | null]>([
    [
      "sets it",
      entry('#!/bin/sh\nexport LD_LIBRARY_PATH=/usr/local/cuda/compat:$LD_LIBRARY_PATH\nexec "$@"\n'),
      "always",
    ],
    [
      "sets it in a condition",
      entry('#!/bin/sh\nif [ -n "$X" ]; then\n  export LD_LIBRARY_PATH=/usr/local/cuda/compat\nfi\n'),
      null,
    ],
    [
      "sets it behind &&",
      entry("#!/bin/sh\n[ -d /x ] && export LD_LIBRARY_PATH=/usr/local/cuda/compat\n"),
      null,
    ],
    [
      "sets it by a variable that nobody knows",
      entry("#!/bin/sh\nexport LD_LIBRARY_PATH=/usr/local/cuda-$CUDA/compat\n"),
      null,
    ],
    [
      "speaks of it in a comment",
      entry("#!/bin/sh\n# export LD_LIBRARY_PATH=/usr/local/cuda/compat\n"),
      "never",
    ],
    [
      "is another than the one that is started",
      {
        ...entry("#!/bin/sh\nLD_LIBRARY_PATH=/usr/local/cuda/compat exec app\n"),
        command: ["/opt/app/bin/app"],
      },
      "never",
    ],
    [
      "may be read by the one that is started",
      {
        files: {
          "entry.sh": "#!/bin/sh\n. /set.sh\n",
          "set.sh": "#!/bin/sh\nexport LD_LIBRARY_PATH=/usr/local/cuda/compat\n",
        },
        command: ["/entry.sh"],
      },
      null,
    ],
    ["asks for a variable of its environment", { env: { VLLM_ENABLE_CUDA_COMPATIBILITY: "1" } }, "always"],
    ["asks for a variable that is off", { env: { VLLM_ENABLE_CUDA_COMPATIBILITY: "0" } }, "never"],
  ])("where its start %s", async (_, image, onPath) => {
    const { env = {}, command = [] } = image;
    expect(await inspect(makeRoot({ conf: distribution, ...image }), { env, command })).toMatchObject({
      onPath,
    });
  });

  it("is found by a file that ld.so.conf reads through a link, and undecided by one that is not read", async () => {
    const files = { "opt/x/etc/ld.so.conf.d/x.conf": "/usr/local/cuda/compat\n" };
    const root = makeRoot({ conf: distribution, files });
    symlinkSync("/opt/x/etc/ld.so.conf.d/x.conf", join(root, "etc/ld.so.conf.d/00-x.conf"));
    execFileSync("ldconfig", ["-r", root]);
    expect(await inspect(root)).toMatchObject({ onPath: "cache" });
    const other = makeRoot({ conf: { "00-x.conf": "include /opt/*.txt\n" } });
    expect(await inspect(other)).toMatchObject({ onPath: null });
  });

  it("is undecided where ld.so.conf names a folder that a script makes", async () => {
    const root = makeRoot({ conf: conf("00-cuda-compat.conf", "/usr/local/cuda/compat/lib") });
    expect(await inspect(root)).toMatchObject({ onPath: null });
  });
});

it("the folders of ld.so.conf stand in ldconfig's order", () => {
  const lines = (text: string) => text.split("\n");
  const found = ldFolders(
    new Map([
      [
        "/etc/ld.so.conf",
        lines("# all\n/first/\ninclude ld.so.conf.d/*.conf\ninclude /etc/ld.so.conf\n/last=libc6"),
      ],
      ["/etc/ld.so.conf.d/b.conf", lines("hwcap 1 nosegneg\n/b # two\n")],
      ["/etc/ld.so.conf.d/a.conf", lines("  /a\n")],
      ["/etc/ld.so.conf.d/.c.conf", lines("/hidden")],
      ["/etc/ld.so.conf.d/c.conf.dpkg-old", lines("/old")],
    ]),
  );
  expect(found.map(({ folder }) => folder)).toEqual(["/first", "/a", "/b", "/last"]);
});

it("a script says what it sets, and what may be", () => {
  const compat = 'LD_LIBRARY_PATH="/compat:$X"';
  expect(pathSettings(`${compat}\n`)).toEqual([{ value: "/compat:$X", isConditional: false }]);
  expect(pathSettings(`run() {\n${compat}\n}\n`)).toMatchObject([{ isConditional: true }]);
  expect(pathSettings(`case x in a) ${compat} ;; esac\n`)).toMatchObject([{ isConditional: true }]);
  expect(pathSettings(`cat <<END\n${compat}\nEND\n`)).toEqual([]);
  expect(pathSettings(`exec app\n${compat}\n`)).toEqual([]);
  expect(pathSettings(`if x; then y; fi\n${compat}\n`)).toMatchObject([{ isConditional: false }]);
  expect(pathSettings("LD_LIBRARY_PATH=/opt/lib\n")).toEqual([]);
});
