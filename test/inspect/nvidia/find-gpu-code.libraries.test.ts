/**
 * Big libraries of NVIDIA and others, with cuobjdump as the other witness. With IMGMATCH_LONG=1 alone: gigabytes are downloaded, each
 * package removed before the next one.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inspectOne } from "../support/inspect-one.ts";
import { isLong } from "../../support/long.ts";
import { needs } from "../../support/needs.ts";
import { entriesByCuobjdump, entriesByImgmatch, whyNoCuda } from "../support/cuda-tools.ts";

const packages = [
  "nvidia-nccl-cu12==2.27.5",
  "nvidia-cublas-cu12==12.9.1.4",
  "nvidia-cudnn-cu12==9.10.2.21",
  "nvidia-cusparselt-cu12==0.7.1",
  "xgboost==3.0.5",
  "onnxruntime-gpu==1.23.2",
  "torch==2.9.1",
];

describe(
  "big libraries",
  needs(whyNoCuda, isLong ? null : "gigabytes of downloads (IMGMATCH_LONG=1)"),
  () => {
    it.each(packages)("%s", { timeout: 1_800_000 }, async (name) => {
      const folder = mkdtempSync(join(tmpdir(), "imgmatch-libraries-"));
      try {
        execFileSync("pip3", ["install", "-q", "--no-deps", "--no-compile", "--target", folder, name], {
          stdio: "pipe",
        });
        const started = performance.now();
        const { files, unopened, layers } = await inspectOne(
          folder,
          { platform: "linux/amd64", cache: false },
          { env: {} },
        );
        const seconds = (performance.now() - started) / 1000;
        const withCode = files.filter(({ gpu }) => gpu !== null).map(({ path }) => join(folder, path));
        expect(withCode.length).toBeGreaterThan(0);
        const compared = { equal: 0, refused: 0, entries: 0, seconds: 0 };
        for (const path of withCode.filter((each) => !each.includes("!/"))) {
          const begun = performance.now();
          const theirs = entriesByCuobjdump(path);
          compared.seconds += (performance.now() - begun) / 1000;
          if (theirs === null) compared.refused++;
          else {
            const ours = entriesByImgmatch(path);
            expect(ours, path).toEqual(theirs);
            compared.equal++;
            compared.entries += ours.length;
          }
        }
        expect(unopened.filter(({ reason }) => /GPU code|cubin/.test(reason))).toEqual([]);
        const bytes = layers.reduce((sum, { size }) => sum + size, 0);
        console.info(
          `${name}: ${readdirSync(folder, { recursive: true }).filter((path) => statSync(join(folder, String(path))).isFile()).length} files, ${Math.round(bytes / 2 ** 20)} MiB opened in ${seconds.toFixed(1)} s; ${compared.equal} files with ${compared.entries} entries as cuobjdump lists them in ${compared.seconds.toFixed(1)} s, ${compared.refused} that it refuses`,
        );
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  },
);
