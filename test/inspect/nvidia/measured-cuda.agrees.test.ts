/** PTX of real compilers, and machine code beside it: `ptxas` of each release says which ISA is its own. */

import { spawnSync } from "node:child_process";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { openFromFolder } from "../../../src/inspect/image/from-folder.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { cudaCompilers, cudaTool, isaOfNvcc, whyNoCompiler, whyNoCuda } from "../support/cuda-tools.ts";
import { makeLibrary } from "../support/make-library.ts";

const ptxOf = (isa: string) =>
  `.version ${isa}\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n`;
const assemblers = cudaCompilers.map(({ path, kind, release }) => {
  const ptxas = kind === "ptxas" ? path : join(dirname(realpathSync(path)), "ptxas");
  return { ptxas, release, isa: isaOfNvcc[release] ?? "" };
});
const pairs = assemblers.flatMap((code) => assemblers.map((text) => ({ code, text })));

describe("ptxas", needs(whyNoCompiler), () => {
  it.each(assemblers)("of $release names $isa as its own ISA", ({ ptxas, isa }) => {
    const folder = makeFolder({ "newer.ptx": ptxOf("99.0"), "own.ptx": ptxOf(isa) });
    const run = (file: string) =>
      spawnSync(ptxas, ["-arch=sm_80", file, "-o", "out"], { cwd: folder, encoding: "utf8" });
    const said = run("newer.ptx");
    expect(/current version is '([\d.]+)'/.exec(said.stdout + said.stderr)?.[1]).toBe(isa);
    expect(run("own.ptx").status).toBe(0);
  });
});

describe("machine code and PTX of one nvcc", needs(whyNoCompiler, whyNoCuda), () => {
  it.each(pairs)(
    "of $code.release beside a text of PTX of $text.release: each keeps its version",
    async ({ code, text }) => {
      const folder = makeFolder({ "code.ptx": ptxOf(code.isa) });
      spawnSync(code.ptxas, ["-arch=sm_80", "code.ptx", "-o", "code.cubin"], { cwd: folder });
      const images = ["kind=elf,sm=80,file=code.cubin", "kind=ptx,sm=80,file=code.ptx"];
      cudaTool("fatbinary", ["--create=code.fatbin", ...images.map((each) => `--image3=${each}`)], folder);
      const sections = [{ name: ".nv_fatbin", bytes: readFileSync(join(folder, "code.fatbin")) }];
      const measured = async (kernel: string) => {
        const files = makeFolder({ "kernel.ptx": kernel });
        writeFileSync(join(files, "app.so"), makeLibrary({ sections }));
        const opened = await openFromFolder(files, { platform: "linux/amd64", cache: noCache });
        return inspectionOf(opened).requires.cuda;
      };
      const entry = (target: string, isa: string) => (isa === code.isa ? target : `${target}@${isa}`);
      // Of one target the newest version counts.
      const newest = [text.isa, code.isa].sort().at(-1) ?? "";
      const same = ["sm_80", entry("compute_80", newest)];
      expect(await measured(ptxOf(text.isa))).toMatchObject({ toolkit: code.release, code: same });
      const other = ["sm_80", entry("compute_75", text.isa), "compute_80"];
      expect(await measured(ptxOf(text.isa).replace("sm_80", "sm_75"))).toMatchObject({ code: other });
    },
  );
});
