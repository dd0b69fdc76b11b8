/** A base image with nothing but this machine's node and the libraries that it needs: what a distroless image is. */

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { capture } from "../../../demo/process.ts";

export async function buildNodeBase(tag: string, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-node-base-"));
  try {
    const put = (from: string, to = from): void => {
      mkdirSync(dirname(join(folder, "root", to)), { recursive: true });
      copyFileSync(from, join(folder, "root", to));
    };
    put(process.execPath, "/nodejs/bin/node");
    const libraries = execFileSync("ldd", [process.execPath], { encoding: "utf8" });
    for (const [path] of libraries.matchAll(/\/\S+\.so\S*/g)) put(path);
    writeFileSync(join(folder, "Dockerfile"), "FROM scratch\nCOPY root /\n");
    const built = await capture(["docker", "build", "--tag", tag, folder], {
      env: { ...env, DOCKER_BUILDKIT: "0" },
    });
    expect(built, built.stderr).toMatchObject({ status: 0 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
