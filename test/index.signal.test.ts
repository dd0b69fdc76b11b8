/** One rule for `signal`: aborted before or during the work, every function rejects with the signal's reason. */

import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { beforeEach, describe, expect, test } from "vitest";
import * as library from "../src/index.ts";
import { cudaFreeLock } from "./cli/support/lock.ts";
import { startFaultServer } from "./oci/registry/support/fault-server.ts";
import { makeFolder } from "./support/folders.ts";

const bin = makeFolder({ docker: "#!/bin/sh\nexec sleep 600\n", podman: "#!/bin/sh\nexec sleep 600\n" });
for (const program of ["docker", "podman"]) chmodSync(join(bin, program), 0o755);
const given = { env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, DOCKER_CONFIG: bin } };

let root = "";
/** The registry, which answers nothing. */
let registry = "";
let onRequest = (): void => {};
beforeEach(async () => {
  registry = (await startFaultServer(() => onRequest())).host;
  root = makeFolder({
    "matrix.yaml": `name: app\nversion: "1"\nregistry: ${registry}/team\ntemplate: a.hbs\nbase: ${registry}/base:1\naxes:\n  march: [x86-64-v3]\n`,
    "a.hbs": "FROM {{base}}\nENV MARCH={{march.name}}\n",
    "lock.json": cudaFreeLock(`${registry}/team/app`, "x86-64-v3", [`${registry}/base:1`]),
    "host.json": readFileSync("docs/examples/vision/hosts/h100.json", "utf8"),
    "lib.so": "no program",
  });
});

const at = (path: string) => join(root, path);
const fleet = () => ({ matrix: at("matrix.yaml"), lock: at("none.json") });
const remote = () => ({ from: `${registry}/team/app:1`, host: at("host.json"), cache: at("cache") });

type Calls = Readonly<Record<string, () => object>>;

/** Options with which a function waits for the registry. */
const asking: Calls = {
  adopt: () => ({ references: [`${registry}/team/app:1`], lock: at("none.json") }),
  audit: () => ({ matrix: at("matrix.yaml"), lock: at("lock.json") }),
  build: () => ({ ...fleet(), engine: "podman", push: true }),
  check: () => ({ subjects: [`${registry}/team/app:1`], host: at("host.json") }),
  cover: () => ({ from: `${registry}/team/app:1`, hosts: [at("host.json")], cache: at("cache") }),
  exportBake: fleet,
  exportGithubMatrix: () => ({ ...fleet(), shards: 1 }),
  exportSh: () => ({ from: `${registry}/team/app:1`, cache: at("cache") }),
  inspect: () => ({ subjects: [`${registry}/team/app:1`] }),
  labels: remote,
  launch: () => ({ ...remote(), target: "docker" }),
  plan: fleet,
  promote: () => ({ from: "1", to: "2", lock: at("lock.json") }),
  prune: () => ({ versions: ["0"], lock: at("lock.json") }),
  publish: () => ({ matrix: at("matrix.yaml"), lock: at("lock.json") }),
  pull: () => ({ from: `${registry}/team/app:1`, cache: at("cache") }),
  resolve: remote,
  run: remote,
  updateBases: () => ({ matrix: at("matrix.yaml"), lock: at("lock.json") }),
  verify: () => ({ lock: at("lock.json") }),
  whyNot: () => ({ ...remote(), image: "x86-64-v3" }),
};

/** Options with which a function asks nobody, or a program that goes on for ever. */
const local: Calls = {
  doctor: () => ({}),
  exportGuard: () => ({ matrix: at("matrix.yaml"), cell: "x86-64-v3" }),
  exportNfdCompat: () => ({ lock: at("lock.json") }),
  init: () => ({ name: "other" }),
  probe: () => ({}),
  prove: () => ({ self: ["sleep", "600"], variants: root }),
  planAgainst: () => ({ matrix: at("matrix.yaml"), against: at("lock.json"), hosts: [at("host.json")] }),
  pruneLock: fleet,
  render: () => ({ matrix: at("matrix.yaml") }),
  serve: () => ({ listen: "127.0.0.1:0", lock: at("lock.json"), host: at("host.json") }),
};

/** The functions of the face whose options have a `signal`. */
function withSignal(): readonly string[] {
  const file = join(process.cwd(), "src/index.ts");
  const program = ts.createProgram([file], {
    ...{ module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, strict: true, noEmit: true },
    ...{ allowImportingTsExtensions: true, skipLibCheck: true },
  });
  const checker = program.getTypeChecker();
  const entry = program.getSourceFile(file);
  const face = entry && checker.getSymbolAtLocation(entry);
  return checker
    .getExportsOfModule(face as ts.Symbol)
    .filter(({ name }) => name in library)
    .filter((symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return checker
        .getTypeOfSymbol(target)
        .getCallSignatures()
        .some(({ parameters: [options] }) => {
          const type = options && checker.getNonNullableType(checker.getTypeOfSymbol(options));
          return type?.getProperty("signal") !== undefined;
        });
    })
    .map(({ name }) => name)
    .sort();
}

const faces = library as unknown as Record<string, (options: object, world: object) => Promise<unknown>>;
const call = (name: string, options: object, signal: AbortSignal) =>
  faces[name]?.({ ...options, signal }, { ...given, cwd: makeFolder({}) });

test("each function with a signal has a row here", () => {
  expect(Object.keys({ ...asking, ...local }).sort()).toEqual(withSignal());
});

describe("the promise rejects with the reason", () => {
  const reason = new Error("enough");

  test.each(Object.entries({ ...asking, ...local }))(
    "of a signal that is aborted already: %s",
    async (name, options) => {
      let requests = 0;
      onRequest = () => requests++;
      await expect(call(name, options(), AbortSignal.abort(reason))).rejects.toBe(reason);
      expect(requests).toBe(0);
    },
  );

  test.each(Object.entries(asking))("while the registry is silent: %s", async (name, options) => {
    const ended = new AbortController();
    let requests = 0;
    onRequest = () => {
      requests++;
      ended.abort(reason);
    };
    await expect(call(name, options(), ended.signal)).rejects.toBe(reason);
    expect(requests).toBeGreaterThan(0);
  });

  test.each(Object.entries(local))("while it works by itself: %s", async (name, options) => {
    const ended = new AbortController();
    const working = call(name, options(), ended.signal);
    ended.abort(reason);
    await expect(working).rejects.toBe(reason);
  });

  test.each(["check", "inspect"])(
    "in the middle of a folder, of which nothing more is opened: %s",
    async (name) => {
      const ended = new AbortController();
      let later = 0;
      const onEvent = ({ bytes }: { readonly bytes: number }) => {
        if (ended.signal.aborted) later++;
        else if (bytes > 0) ended.abort(reason);
      };
      const options = { subjects: [root], ...(name === "check" && { host: at("host.json") }), onEvent };
      await expect(call(name, options, ended.signal)).rejects.toBe(reason);
      expect([ended.signal.aborted, later]).toEqual([true, 0]);
    },
  );
});
