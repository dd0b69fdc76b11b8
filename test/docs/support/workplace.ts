/** A bundled program on PATH and folders to run the documentation's commands in. Nothing of the repository is changed. */

import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeContainer, makeEntry } from "../../inspect/support/make-fatbin.ts";
import { makeLibrary } from "../../inspect/support/make-library.ts";
import { makeZip } from "../../inspect/support/make-zip.ts";
import { root } from "./markdown.ts";

export interface Workplace {
  readonly folder: string;
  /** `imgmatch` is the program; no engine, registry or login of this machine is seen. */
  readonly env: NodeJS.ProcessEnv;
  /** The folder in which a block of a page runs: a copy of the example that `in` names, else an empty folder for the page. */
  folderOf(page: string, place: string | undefined): string;
  remove(): void;
}

const copies: Readonly<Record<string, readonly string[]>> = {
  vision: ["docs/examples/vision"],
  hello: ["docs/examples/hello"],
  "from-bake": ["docs/examples/from-bake"],
  "from-github": ["docs/examples/from-github"],
  "from-rows": ["docs/examples/from-github"],
  "from-shell": ["docs/examples/from-shell"],
  "llama.cpp": ["docs/examples/fleets/llama.cpp"],
  pytorch: ["docs/examples/fleets/pytorch"],
  vllm: ["docs/examples/fleets/vllm"],
  repository: ["matrix.yaml", "templates", "images"],
};

export function createWorkplace(): Workplace {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-docs-"));
  installPackage(folder);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const { bin: programs } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const program = join(folder, "node_modules/imgmatch", programs.imgmatch);
  writeFileSync(join(bin, "imgmatch"), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, {
    mode: 0o755,
  });
  symlinkSync(join(root, "node_modules/.bin/tsx"), join(bin, "tsx"));
  const made = new Set<string>();
  return {
    folder,
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: folder, LC_ALL: "C.UTF-8", IMGMATCH_REVISION: "" },
    folderOf(page, place) {
      const name = [page.replaceAll("/", "-"), place ?? "own"].join("-");
      const target = join(folder, name);
      if (made.has(name)) return target;
      made.add(name);
      mkdirSync(target);
      for (const source of place === undefined ? [] : (copies[place] ?? [])) {
        const into = source.startsWith("docs/examples/") ? target : join(target, source);
        cpSync(join(root, source), into, { recursive: true });
      }
      if (place === "vision") copyPrograms(target);
      if (place === "python") makePackages(target);
      return target;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A wheel with code for two GPUs, a virtual environment with torch, which has the same code, and facts of a laptop. */
function makePackages(target: string): void {
  const content = makeContainer([
    makeEntry({ kind: 2, arch: 80, version: [1, 7] }),
    makeEntry({ kind: 2, arch: 89, version: [1, 7] }),
    makeEntry({ kind: 1, arch: 80, version: [8, 0] }),
  ]);
  const site = join(target, ".venv/lib/python3.12/site-packages");
  const torch: Readonly<Record<string, Uint8Array>> = {
    "torch/_C.cpython-312-x86_64-linux-gnu.so": makeLibrary({ needed: ["libtorch_cuda.so"] }),
    "torch/lib/libtorch_cuda.so": makeLibrary({ sections: [{ name: ".nv_fatbin", bytes: content }] }),
  };
  for (const folder of ["torch/lib", "torch-2.8.0.dist-info"])
    mkdirSync(join(site, folder), { recursive: true });
  for (const [path, bytes] of Object.entries(torch)) writeFileSync(join(site, path), bytes);
  const record = Object.keys(torch).map((path) => `${path},,\n`);
  writeFileSync(join(site, "torch-2.8.0.dist-info/RECORD"), record.join(""));
  cpSync(join(root, "docs/examples/vision/hosts/laptop.json"), join(target, "laptop.json"));
  mkdirSync(join(target, "dist"));
  const wheel = join(target, "dist/app-1.0-cp312-cp312-manylinux_2_28_x86_64.whl");
  writeFileSync(wheel, makeZip([{ path: "app/_ops.so", content }]));
}

/** The programs of docs/examples, beside the fleet that they ask about. */
function copyPrograms(target: string): void {
  for (const name of readdirSync(join(root, "docs/examples")).filter((each) => each.endsWith(".ts"))) {
    cpSync(join(root, "docs/examples", name), join(target, name));
  }
  writeFileSync(join(target, "package.json"), '{ "type": "module" }\n');
}

/** The package as npm would install it, bundled from the sources as they are. */
function installPackage(folder: string): void {
  const home = join(folder, "node_modules/imgmatch");
  mkdirSync(home, { recursive: true });
  cpSync(join(root, "package.json"), join(home, "package.json"));
  symlinkSync(join(root, "node_modules"), join(home, "node_modules"));
  try {
    execFileSync(process.execPath, ["scripts/bundle.mjs", join(home, "dist")], { cwd: root, stdio: "pipe" });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
