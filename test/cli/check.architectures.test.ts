import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { elfMachine } from "../../src/inspect/elf/elf.ts";
import { makeProgram } from "../inspect/support/make-amd.ts";
import { makeZip } from "../inspect/support/make-zip.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const x64 = makeProgram([], elfMachine.x86_64);
const arm = makeProgram([], elfMachine.aarch64);
const i386 = makeProgram([], elfMachine.x86);
/** The text of a wheel's `WHEEL`. */
const wheelFile = (tag: string) => Buffer.from(`Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: ${tag}\n`);

type Files = Readonly<Record<string, Uint8Array>>;

/** What `check` of these files, or of the only wheel, says to an x86-64 host and to an Arm host. */
async function answers(files: Files, subject = "subject", below = "") {
  const arm64 = cpuHost({
    platform: "linux/arm64",
    cpu: { vendor: "ARM", model: "Neoverse-N1", features: ["asimd", "fp"], level: "armv8.2-a" },
  });
  const folder = makeFolder({
    "amd64.json": formatHostFacts(cpuHost()),
    "arm64.json": formatHostFacts(arm64),
  });
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, subject === "subject" ? `subject/${path}` : path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  const ask = async (host: string) => {
    const world = { env: { HOME: folder }, cwd: folder };
    const { out, err } = await runInProcess(
      ["check", `./${subject}${below}`, "--host", join(folder, `${host}.json`), "--json"],
      world,
    );
    if (err !== "") throw new Error(err);
    const { fits, file, reasons, unknown, notes } = JSON.parse(out);
    const codes = reasons.map(({ code }: { readonly code: string }) => code);
    const texts = unknown.map(({ message }: { readonly message: string }) => message);
    return {
      fits,
      ...(fits === false && { codes, file, unknown: texts }),
      ...(fits === null && { unknown: texts }),
      notes,
    };
  };
  return { amd64: await ask("amd64"), arm64: await ask("arm64") };
}

const runs = { fits: true, notes: [] };
const elsewhere = (file: string) => ({
  ...{ fits: false, codes: ["ARCH_MISMATCH"], file },
  ...{ unknown: [], notes: [] },
});
const open = (file: string, platform: string) => ({
  fits: null,
  unknown: [`whether it runs without ${file}, which is for ${platform}`],
  notes: [],
});

const packages = "lib/python3.11/site-packages";
const orjson = { [`${packages}/orjson/orjson.cpython-311-aarch64-linux-gnu.so`]: arm };
const attach = "debugpy/_vendored/pydevd/pydevd_attach_to_process";
/** Published as a wheel for any platform. */
const debugpy = {
  [`${packages}/${attach}/attach_linux_amd64.so`]: x64,
  [`${packages}/${attach}/attach_linux_x86.so`]: i386,
};
const debugpyWheel = { [`${packages}/debugpy-1.5.1.dist-info/WHEEL`]: wheelFile("py2.py3-none-any") };

describe("check of files for several architectures", () => {
  it("judges a package by its files for the host: onnxruntime-node", async () => {
    const bin = "node_modules/onnxruntime-node/bin/napi-v6/linux";
    const both = await answers({
      [`${bin}/x64/libonnxruntime.so.1`]: x64,
      [`${bin}/x64/onnxruntime_binding.node`]: x64,
      [`${bin}/arm64/libonnxruntime.so.1`]: arm,
      [`${bin}/arm64/onnxruntime_binding.node`]: arm,
    });
    expect(both).toEqual({ amd64: runs, arm64: runs });
  });

  it("a package for another architecture is a no, whatever lies beside it: orjson and debugpy", async () => {
    const file = `/${packages}/orjson/orjson.cpython-311-aarch64-linux-gnu.so`;
    expect((await answers({ ...orjson, ...debugpy, ...debugpyWheel })).amd64).toEqual(elsewhere(file));
    const numpy = Object.fromEntries(
      ["a", "b", "c"].map((name) => [`${packages}/numpy/${name}.cpython-311-x86_64-linux-gnu.so`, x64]),
    );
    expect((await answers({ ...orjson, ...numpy })).amd64).toEqual(elsewhere(file));
  });

  it("helpers for other architectures in a wheel for any platform decide nothing", async () => {
    expect(await answers({ ...orjson, ...debugpy, ...debugpyWheel })).toMatchObject({ arm64: runs });
    const name = "debugpy-1.5.1-py2.py3-none-any.whl";
    const content = Object.entries(debugpy).map(([path, bytes]) => ({
      path: path.slice(packages.length + 1),
      content: Buffer.from(bytes),
    }));
    expect(await answers({ [name]: makeZip(content) }, name)).toEqual({ amd64: runs, arm64: runs });
  });

  it("nothing tells whether they are needed where no wheel says so", async () => {
    const file = `/${packages}/${attach}/attach_linux_amd64.so`;
    const answer = open(file, "linux/amd64");
    expect((await answers({ ...orjson, ...debugpy })).arm64).toEqual(answer);
    const platform = { [`${packages}/debugpy-1.5.1.dist-info/WHEEL`]: wheelFile("cp311-cp311-linux_x86_64") };
    expect((await answers({ ...orjson, ...debugpy, ...platform })).arm64).toEqual(answer);
  });

  it("a wheel's claim does not make its own modules a helper", async () => {
    const claim = { [`${packages}/orjson-3.13.0.dist-info/WHEEL`]: wheelFile("py3-none-any") };
    expect(await answers({ ...orjson, ...claim })).toMatchObject({ amd64: { fits: false }, arm64: runs });
  });

  it("finds packages where pip installs into any folder", async () => {
    const moved = (files: Files) =>
      Object.fromEntries(
        Object.entries(files).map(([path, bytes]) => [path.slice(packages.length + 1), bytes]),
      );
    const lambda = await answers(moved({ ...orjson, ...debugpy, ...debugpyWheel }));
    expect(lambda).toMatchObject({ amd64: { codes: ["ARCH_MISMATCH"] }, arm64: runs });
  });

  it.each([
    ["@esbuild/linux-x64/bin/esbuild", "@esbuild/linux-arm64/bin/esbuild"],
    [
      "@swc/core-linux-x64-gnu/swc.linux-x64-gnu.node",
      "@swc/core-linux-arm64-musl/swc.linux-arm64-musl.node",
    ],
    [
      "@img/sharp-linuxmusl-x64/lib/sharp-linuxmusl-x64.node",
      "@img/sharp-linux-arm64/lib/sharp-linux-arm64.node",
    ],
  ])("packages for one architecture each are one package: %s and %s", async (intel, other) => {
    const [intelFile, armFile] = [`node_modules/${intel}`, `node_modules/${other}`];
    expect(await answers({ [intelFile]: x64, [armFile]: arm })).toEqual({ amd64: runs, arm64: runs });
    expect((await answers({ [armFile]: arm })).amd64).toEqual(elsewhere(`/${armFile}`));
    expect((await answers({ [intelFile]: x64 })).arm64).toEqual(elsewhere(`/${intelFile}`));
  });

  it("a package may do without its files for other architectures: bufferutil", async () => {
    const file = "node_modules/bufferutil/prebuilds/linux-x64/bufferutil.node";
    expect(await answers({ [file]: x64 })).toEqual({ amd64: runs, arm64: open(`/${file}`, "linux/amd64") });
    const build = { "node_modules/bufferutil/build/Release/bufferutil.node": x64 };
    expect((await answers({ [file]: x64, ...build })).arm64).toMatchObject({ codes: ["ARCH_MISMATCH"] });
  });

  it("a file for Android is not for Linux", async () => {
    const android = "node_modules/a/prebuilds/android-arm64/a.node";
    expect((await answers({ [android]: arm })).arm64).toEqual(open(`/${android}`, "android/arm64"));
  });

  it("a folder of packages holds packages, and a part of a package is one", async () => {
    const bin = "node_modules/onnxruntime-node/bin/napi-v6/linux";
    const files = {
      "node_modules/@esbuild/linux-x64/esbuild": x64,
      [`${bin}/x64/a.node`]: x64,
      [`${bin}/arm64/a.node`]: arm,
    };
    const all = await answers(files, "subject", "/node_modules");
    expect(all).toEqual({ amd64: runs, arm64: elsewhere("/@esbuild/linux-x64/esbuild") });
    expect(await answers(files, "subject", "/node_modules/@esbuild")).toEqual({
      ...{ amd64: runs, arm64: elsewhere("/linux-x64/esbuild") },
    });
    expect(await answers(files, "subject", `/${bin}`)).toEqual({ amd64: runs, arm64: runs });
    const mixed = { ...orjson, ...debugpy, ...debugpyWheel };
    expect(await answers(mixed, "subject", `/${packages}`)).toMatchObject({
      amd64: { codes: ["ARCH_MISMATCH"] },
      arm64: runs,
    });
  });

  it("files of one name are one file, wherever they lie", async () => {
    const both = { "node_modules/a/one/a.node": x64, "node_modules/a/two/a.node": arm };
    expect(await answers(both)).toEqual({ amd64: runs, arm64: runs });
  });

  it("a module without one for the host makes no yes", async () => {
    const answer = await answers({ "node_modules/a/a.node": x64, "node_modules/a/b.node": arm });
    expect(answer).toEqual({
      amd64: open("/node_modules/a/b.node", "linux/arm64"),
      arm64: open("/node_modules/a/a.node", "linux/amd64"),
    });
  });

  it("a program is for its architecture, whatever its name says", async () => {
    expect((await answers({ "bin/tool-linux-amd64": arm })).amd64).toEqual(
      elsewhere("/bin/tool-linux-amd64"),
    );
    expect(await answers({ "tool-arm64.so": arm }, "tool-arm64.so")).toMatchObject({
      amd64: { fits: false },
      arm64: runs,
    });
  });

  it("a few programs for another machine do not change what a system is for", async () => {
    const system = { "bin/sh": x64, "bin/ls": x64, "usr/share/firmware": arm };
    expect(await answers(system)).toMatchObject({ amd64: runs, arm64: { fits: null } });
  });
});

it("an Arm program that asks the CPU runs, with what it may use and the host lacks", async () => {
  // mrs x0, id_aa64isar0_el1; eor3 v0.16b, v1.16b, v2.16b, v3.16b
  const asking = makeProgram(
    [{ name: ".text", bytes: new Uint8Array(Uint32Array.of(0xd5380600, 0xce020c20).buffer) }],
    elfMachine.aarch64,
  );
  const { arm64 } = await answers({ "bin/sum": asking });
  expect(arm64).toEqual({
    fits: true,
    notes: [
      "it may use sha3, which this host's CPU does not have: imgmatch did not follow whether the program asks the CPU first",
    ],
  });
});
