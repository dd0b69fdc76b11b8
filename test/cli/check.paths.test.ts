import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { layoutFiles, makeImage, makeTar, savedFiles } from "../inspect/support/make-image.ts";
import { makeZip } from "../inspect/support/make-zip.ts";
import { createTestKey } from "../trust/support/sign.ts";
import { startFaultServer } from "../oci/registry/support/fault-server.ts";
import { a100, cpuHost, gpuHost } from "../resolve/support/hosts.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

/** Machine code, and PTX that CUDA 12.0 wrote. */
const codeFor = (...targets: readonly number[]) =>
  makeContainer([
    ...targets.map((arch) => makeEntry({ kind: 2, arch, version: [1, 7] })),
    makeEntry({ kind: 1, arch: Math.max(...targets), version: [8, 0] }),
  ]);
const wheel = (tags: string) => `dist/app-1.0-${tags}.whl`;
const linuxWheel = wheel("cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64");
const packages = "venv/lib/python3.12/site-packages";

let folder = "";
beforeEach(() => {
  folder = makeFolder({
    "cpu.json": formatHostFacts(cpuHost()),
    "gpu.json": formatHostFacts(gpuHost([a100], "535.183.01", "12.2")),
  });
});

function put(path: string, content: Uint8Array | string): string {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
  return path;
}

const putWheel = (path: string, content: Uint8Array = codeFor(80)) =>
  put(path, makeZip([{ path: "app/_ops.so", content }]));

const env = { DOCKER_HOST: "unix:///nowhere/docker.sock" };
const check = (...args: readonly string[]) =>
  runInProcess(["check", ...args], { env: { HOME: folder, ...env }, cwd: folder });
const onGpu = () => ["--host", join(folder, "gpu.json")];
const onT4 = ["--host-type", "g4dn.xlarge", "--driver", "580.95.05"];
const firstLine = ({ out }: { readonly out: string }) => out.split("\n")[0];

describe("imgmatch check of paths", () => {
  it("answers whether a wheel runs, with what only its installer can know", async () => {
    const answer = await check(putWheel(linuxWheel), ...onGpu());
    expect(answer.out).toBe(
      [
        `runs on the host of ${join(folder, "gpu.json")} with CPython 3.12 and glibc >= 2.17`,
        `  ${linuxWheel}`,
        "  GPU 0 runs sm_80",
        "  needs NVIDIA driver >= 525.60.13 (CUDA 12.0) and sm_80, compute_80",
        "  needs CPU nothing beyond the baseline",
        "  judged by its files\n",
      ].join("\n"),
    );
    expect(answer.exit).toBe(0);
  });

  it("names the file that decides, and answers for a machine type", async () => {
    put(`${packages}/app/_ops.so`, codeFor(80));
    put(`${packages}/app/__init__.py`, "import app._ops\n");
    const answer = await check("venv", ...onT4);
    expect(answer.out.split("\n").slice(0, 4)).toEqual([
      "does not: no code for compute capability 7.5 (_ops.so)",
      "  venv",
      `  decided by /lib/python3.12/site-packages/app/_ops.so`,
      expect.stringMatching(
        /^ {2}NO_GPU_CODE: has sm_80, compute_80, none of which runs on GPU 0 \(Tesla T4\)/,
      ),
    ]);
    expect(answer.exit).toBe(3);
    const json = JSON.parse((await check("venv", ...onT4, "--json")).out);
    expect(json).toMatchObject({
      ...{ subject: "venv", source: "folder", digest: null, judgedBy: "files", fits: false },
      ...{ why: "no code for compute capability 7.5", conditions: [] },
      ...{ file: "/lib/python3.12/site-packages/app/_ops.so", reasons: [{ code: "NO_GPU_CODE" }] },
    });
  });

  it("says what runs slower than it could", async () => {
    const l4 = ["--host-type", "g6.xlarge", "--driver", "580.95.05"];
    expect(firstLine(await check(put("app.so", codeFor(80)), ...l4))).toBe(
      "runs on g6.xlarge, slower than it could: GPU 0 runs sm_80, not code of its own",
    );
    expect(firstLine(await check(put("app.so", codeFor(75)), ...onT4))).toBe("runs on g4dn.xlarge");
    const ofNoDriver = await check(put("app.so", codeFor(75)), "--host-type", "g4dn.xlarge");
    expect(firstLine(ofNoDriver)).toMatch(/^not proved: needs to know nvidia\.driver/);
    expect(ofNoDriver.exit).toBe(4);
    expect(firstLine(await check(put("app.so", codeFor(70)), ...l4))).toBe(
      "runs on g6.xlarge, slower than it could: GPU 0 runs compute_70, which the driver compiles when a program starts",
    );
  });

  it("is not sure where one of a package's libraries has no code, unless NVIDIA made that library", async () => {
    put(`${packages}/app/_core.so`, codeFor(75, 80));
    put(`${packages}/app/_ops.so`, codeFor(80));
    const open = await check("venv", ...onT4);
    expect(firstLine(open)).toBe(
      `not proved: whether it runs without a library of its own: /${packages.slice(5)}/app/_ops.so has no code for compute capability 7.5`,
    );
    expect(open.out).toContain("  NO_GPU_CODE: whether it runs without");
    expect(open.exit).toBe(3);
    put(`${packages}/nvidia/libcublas.so.12`, codeFor(80));
    put(`${packages}/app/_ops.so`, codeFor(75, 80));
    const fits = await check("venv", ...onT4);
    expect(firstLine(fits)).toBe("runs on g4dn.xlarge");
    expect(fits.out).toContain("note: nvidia: no code for compute capability 7.5");
    expect(fits.exit).toBe(0);
  });

  it.each([
    [
      "cp312-cp312-manylinux_2_17_aarch64",
      /^does not: is tagged for linux\/arm64 \(manylinux_2_17_aarch64\)/,
      3,
    ],
    ["cp312-cp312-win_amd64", /^does not: is tagged for windows\/amd64 \(win_amd64\), this host is linux/, 3],
    ["cp312-cp312-macosx_11_0_universal2", /^does not: is tagged for darwin\/amd64 and darwin\/arm64 /, 3],
    ["cp312-cp312-plan9_x86_64", /^not proved: whether its tag plan9_x86_64 is for this host$/, 3],
    ["cp38-abi3-linux_x86_64", /^runs on .* with CPython >= 3\.8$/, 0],
    ["cp312-cp312-manylinux_2_34_x86_64.linux_x86_64", /^runs on .* with CPython 3\.12$/, 0],
    ["cp312-cp312-musllinux_1_2_x86_64", /^runs on .* with CPython 3\.12 and musl >= 1\.2$/, 0],
    ["1-cp312-cp312-linux_x86_64", /^runs on .* with CPython 3\.12$/, 0],
    ["1-cp312-cp312-linux_x86_64-null", /^runs on .* with CPython 3\.12$/, 0],
    ["cp312-cp312-linux_x86_64-null", /^runs on .* with CPython 3\.12$/, 0],
    [
      "cp312-cp312-linux_x86_64-x8664v3",
      /^not proved: whether its variant x8664v3 is for this host: it holds no variant\.json$/,
      3,
    ],
    [
      "1-cp312-cp312-linux_x86_64-cu12.8_fa",
      /^not proved: whether its variant cu12\.8_fa is for this host: it holds no variant\.json$/,
      3,
    ],
    [
      "py3-none-any-x8664v3",
      /^not proved: whether its variant x8664v3 is for this host: it holds no variant\.json$/,
      3,
    ],
    ["cp312-cp312-manylinux_2_28_aarch64-arm", /^does not: is tagged for linux\/arm64 /, 3],
    ["1-cp312-cp312-manylinux_2_28_aarch64-null", /^does not: is tagged for linux\/arm64 /, 3],
    [
      "cp312-cp312-linux_x86_64-X8664V3",
      /^not proved: whether it is for this host: its name is no wheel's$/,
      3,
    ],
    [
      "cp312-cp312-linux_x86_64-x86_64_v3_openblas",
      /^not proved: whether its variant x86_64_v3_openblas is for this host: it holds no variant\.json$/,
      3,
    ],
    ["cp312-cp312-linux_x86_64-", /^not proved: whether it is for this host: its name is no wheel's$/, 3],
    [
      "a-cp312-cp312-linux_x86_64-null",
      /^not proved: whether it is for this host: its name is no wheel's$/,
      3,
    ],
    [
      "1-2-cp312-cp312-linux_x86_64-null",
      /^not proved: whether it is for this host: its name is no wheel's$/,
      3,
    ],
    ["linux_x86_64", /^not proved: whether it is for this host: its name is no wheel's$/, 3],
  ] as const)("a wheel tagged %s", async (tags, line, exit) => {
    const answer = await check(putWheel(wheel(tags)), ...onGpu());
    expect(firstLine(answer)).toMatch(line);
    expect(answer.exit).toBe(exit);
  });

  describe("a variant wheel", () => {
    const putVariant = (
      label: string,
      json: unknown,
      more: readonly { path: string; content: Buffer }[] = [],
    ) =>
      put(
        wheel(`cp312-cp312-linux_x86_64-${label}`),
        makeZip([
          { path: "app/_ops.so", content: codeFor(80) },
          { path: "app-1.0.dist-info/variant.json", content: Buffer.from(JSON.stringify(json)) },
          ...more,
        ]),
      );
    const json = (label: string, properties: unknown) => ({
      $schema: "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
      "default-priorities": { namespace: ["nvidia"] },
      variants: { [label]: properties },
    });
    const cuda = (least: string) => ({
      nvidia: { cuda_version_lower_bound: [least], sm_arch: ["80_real", "90_real"] },
    });

    it("is for a host that has one value of each of its features", async () => {
      const fits = await check(putVariant("cu122", json("cu122", cuda("12.2"))), ...onGpu());
      expect(firstLine(fits)).toMatch(/^runs on .* with CPython 3\.12$/);
      const { out, exit } = await check(putVariant("cu128", json("cu128", cuda("12.8"))), ...onGpu());
      expect(out).toContain(
        "  VARIANT_MISMATCH: is the variant cu128 for nvidia :: cuda_version_lower_bound :: 12.8, this host has a driver of CUDA 12.2\n" +
          "    fix: take the wheel of another variant; the variant null is for every host\n",
      );
      expect(exit).toBe(3);
      const onT4s = await check(putVariant("cu122", json("cu122", cuda("12.2"))), ...onT4);
      expect(onT4s.out).toContain("sm_arch :: 80_real or 90_real, this host has compute capability 7.5");
    });

    it.each([
      ["cu122", json("cu122", { x: { y: ["z"] } }), "x :: y :: z is not known"],
      [
        "cu122",
        json("cu122", { nvidia: { sm_arch: ["90a_real"] } }),
        "nvidia :: sm_arch :: 90a_real is not known",
      ],
      ["cu122", json("cu128", cuda("12.2")), "its variant.json is of the variant cu128"],
      ["null", json("null", cuda("12.2")), "its variant.json has properties, and that variant has none"],
      ["cu122", { variants: {} }, "its variant.json is not understood: it does not name exactly one variant"],
      ["cu122", [], "its variant.json is not understood: it names no variants"],
      [
        "cu122",
        json("cu122", { NV: {} }),
        "its variant.json is not understood: a namespace is not understood",
      ],
      [
        "cu122",
        json("cu122", { nvidia: { sm_arch: [] } }),
        "its variant.json is not understood: a feature of nvidia is not understood",
      ],
      [
        "cu122",
        { ...json("cu122", cuda("12.2")), $schema: "https://x/v2.0.0.json" },
        "its variant.json is not understood: its schema is of version 2",
      ],
    ])("is not proved to be for a host: %s %j", async (label, content, why) => {
      const { out, exit } = await check(putVariant(label, content), ...onGpu());
      expect(out).toMatch(/^not proved: /);
      expect(out).toContain(`  TAG_UNKNOWN: whether its variant ${label} is for this host: ${why}\n`);
      expect(exit).toBe(3);
    });

    it("that is for every host has no properties", async () => {
      expect(await check(putVariant("null", json("null", {})), ...onGpu())).toMatchObject({ exit: 0 });
    });
  });

  it("a wheel for any platform without a program runs; nothing proves that of another file", async () => {
    const pure = makeZip([{ path: "app/__init__.py", content: Buffer.from("x = 1\n") }]);
    expect(await check(put(wheel("py3-none-any"), pure), ...onGpu())).toMatchObject({ exit: 0 });
    for (const name of [linuxWheel, "app.so", "notes/readme.txt"]) {
      const answer = await check(`./${put(name, name.endsWith("whl") ? pure : "text\n")}`, ...onGpu());
      expect(firstLine(answer)).toBe("not proved: it has no program and no GPU code");
      expect(answer.exit).toBe(3);
    }
  });

  it("a wheel that is cut off is not proved to run", async () => {
    const whole = makeZip([{ path: "app/_ops.so", content: codeFor(80) }]);
    const answer = await check(put(linuxWheel, whole.subarray(0, whole.length - 30)), ...onGpu());
    expect(firstLine(answer)).toMatch(/^not proved: .*a zip archive without a readable directory$/);
    expect(answer.exit).toBe(3);
  });

  it.each([
    "cp312-cp312-manylinux_2_99_x86_64",
    "1-cp312-cp312-manylinux_2_99_x86_64-x8664v3",
    "cp312-cp312-manylinux_2_99_x86_64-null",
  ])("judges this machine by its own C library: %s", async (tags) => {
    const newer = await check(putWheel(wheel(tags), Buffer.from("text")));
    expect(newer.out).toMatch(/LIBC_MISMATCH: needs glibc >= 2\.99, this system has (?:glibc 2\.\d+|musl)\n/);
    expect(newer.exit).toBe(3);
  });

  it("a name that is there is a path, and no registry is asked about it", async () => {
    const { host, asked } = await startFaultServer((_, response) => response.writeHead(500).end());
    put(`${host.replace(":", "_")}/team/app/lib.so`, codeFor(80));
    put("ubuntu/lib.so", codeFor(80));
    expect(await check("ubuntu", ...onGpu())).toMatchObject({ exit: 0 });
    expect(await check(`${host.replace(":", "_")}/team/app`, ...onGpu())).toMatchObject({ exit: 0 });
    expect(asked).toEqual([]);
  });

  describe("of which a signature is demanded", () => {
    const policy = (rules: string) => `repositories:\n${rules}`;
    const signers = "ghcr.io/team/app: { signers: [{ key: cosign.pub }] }";
    const both = ["ghcr.io/team/app:1.0", "./ghcr.io/team/app:1.0"] as const;
    beforeEach(() => {
      put("ghcr.io/team/app:1.0/lib.so", codeFor(80));
      put("cosign.pub", createTestKey().signer.pem);
      put("dist/app.so", codeFor(80));
      put("venv/lib.so", codeFor(80));
    });
    const refused = { exit: 6, out: "", err: expect.stringMatching(/^SIGNATURE_MISSING: .*\n {2}fix: /) };

    it.each([
      ["--key", "cosign.pub"],
      ["--identity", "me@example.com", "--issuer", "https://example.com"],
    ])("by %s", async (...flags) => {
      for (const name of [...both, "./dist/app.so", "dist/app.so"])
        expect(await check(name, ...onGpu(), ...flags), name).toMatchObject(refused);
      expect(await check("./dist/app.so", "--hosts", join(folder, "gpu.json"), ...flags)).toMatchObject(
        refused,
      );
      expect(await check("./dist/app.so", "dist/app.so", ...onGpu(), ...flags)).toMatchObject(refused);
    });

    it("by a policy, of a name that is a reference too", async () => {
      put("imgmatch.trust.yaml", policy(`  ${signers}\n  quay.io/*: { unsigned: allowed }\n`));
      put("quay.io/team/app:1.0/lib.so", codeFor(80));
      expect(await check(both[0], ...onGpu())).toMatchObject(refused);
      // Of a name that no rule has, the policy takes no image.
      expect(await check("ghcr.io/team", ...onGpu())).toMatchObject(refused);
      for (const name of [both[1], "dist/app.so", "venv", "quay.io/team/app:1.0"])
        expect(await check(name, ...onGpu()), name).toMatchObject({ exit: 0 });
    });

    it("by a policy that a flag names, of every path", async () => {
      put("policy.yaml", policy(`  ${signers}\n`));
      for (const name of [...both, "venv"])
        expect(await check(name, ...onGpu(), "--trust", "policy.yaml"), name).toMatchObject(refused);
    });

    it("by the machine's policy, which no flag weakens", async () => {
      const machinePolicy = join(folder, put("machine.yaml", policy(`  ${signers}\n`)));
      const ran = await runInProcess(["check", both[0], ...onGpu()], {
        ...{ env: { HOME: folder, ...env }, cwd: folder },
        machinePolicy,
      });
      expect(ran).toMatchObject(refused);
    });
  });

  it.each(["./app", "./app", "/nowhere/app", "dist/app.whl", "lib/app.so.1", "app.tar", "app.tar.gz"])(
    "%s that is not there is a missing file",
    async (name) => {
      const { err, exit, out } = await check(name, ...onGpu());
      expect(err).toMatch(/^FILE_NOT_FOUND: no file and no folder at .*\n {2}fix: /);
      expect({ exit, out }).toEqual({ exit: 2, out: "" });
    },
  );

  it("opens archives and layouts, and believes their labels", async () => {
    const image = makeImage([makeTar([{ path: "opt/app.so", content: codeFor(80) }])]);
    put("saved.tar", makeTar(savedFiles(image)));
    put("oci.tar", makeTar(layoutFiles(image)));
    for (const { path, content } of layoutFiles(image)) put(`layout/${path}`, content ?? "");
    for (const [name, source] of [
      ["saved.tar", "archive"],
      ["oci.tar", "archive"],
      ["layout", "layout"],
    ] as const) {
      const answer = await check(name, ...onGpu(), "--json");
      expect(JSON.parse(answer.out)).toMatchObject({ source, fits: true, judgedBy: "files" });
      expect(await check(name, ...onT4)).toMatchObject({ exit: 3 });
    }
  });

  it("answers which of several runs, the best first", async () => {
    for (const [name, code] of [
      ["a.so", 70],
      ["b.so", 80],
      ["c.so", 86],
    ] as const)
      put(name, codeFor(code));
    const answer = await check("./c.so", "./a.so", "./b.so", ...onGpu());
    expect(answer.out.split("\n").map((line) => line.replace(/ {2,}/g, "  "))).toEqual([
      "./b.so  runs  GPU 0 runs sm_80",
      "./a.so  runs, slower  GPU 0 runs compute_70",
      expect.stringMatching(/^\.\/c\.so {2}does not {2}NO_GPU_CODE: /),
      "",
    ]);
    expect(answer.exit).toBe(0);
    expect((await check("./c.so", "./a.so", ...onT4)).exit).toBe(0);
    expect((await check("./c.so", "./b.so", ...onT4)).exit).toBe(3);
    expect((await check("./c.so", "./a.so", "--catalog", "aws", "--driver", "580.95.05")).exit).toBe(2);
  });

  it("follows no link out of a folder", async () => {
    put("outside/app.so", codeFor(80));
    put("inside/readme", "text");
    symlinkSync("./outside", join(folder, "inside/linked"));
    symlinkSync("./outside/app.so", join(folder, "inside/app.so"));
    expect(firstLine(await check("./inside", ...onGpu()))).toBe(
      "not proved: it has no program and no GPU code",
    );
  });
});
