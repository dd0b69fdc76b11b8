/** What a pull request sees of a plan and of a broken matrix on GitHub. */

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startFaultServer } from "../oci/registry/support/fault-server.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const files = (registry: string) => ({
  "fleet/matrix.yaml": `name: app\nversion: "1"\nregistry: ${registry}/team\ntemplate: Dockerfile\naxes:\n  a: [x, y]\n`,
  "fleet/Dockerfile": "FROM scratch\nARG a\nENV A=$a\n",
});

describe("plan --remote", () => {
  it.each([401, 403])(
    "goes on without a registry that answers %i, and says what is not known",
    async (status) => {
      const { host } = await startFaultServer((_, response) => response.writeHead(status).end("{}"));
      const root = makeFolder(files(host));
      const run = (...flags: readonly string[]) =>
        runInProcess(["plan", "--remote", "--matrix", join(root, "fleet/matrix.yaml"), ...flags], {
          env: { HOME: root, GITHUB_ACTIONS: "true" },
          cwd: root,
        });
      const { out, err, exit } = await run();
      // Each list that is refused is told once, as advice.
      expect(err.replace(/^.* does not list tags: .*\n/m, "")).toBe("");
      expect(exit).toBe(0);
      const unknown = new RegExp(`not known: which images of ${host}/team/app are published\\. .*${status}`);
      expect(out).toMatch(unknown);
      expect(JSON.parse((await run("--json")).out).unknown).toMatch(unknown);
      expect((await run("--markdown")).out).toMatch(/^not known\\?: which images of /m);
    },
  );

  it("ends with a registry's failure, which may be gone the next time", async () => {
    const { host } = await startFaultServer((_, response) => response.writeHead(404).end("<html>"));
    const root = makeFolder(files(host.replace(/:\d+$/, ":1")));
    const ran = await runInProcess(
      ["plan", "--remote", "--timeout", "1", "--matrix", join(root, "fleet/matrix.yaml")],
      {
        env: { HOME: root },
        cwd: root,
      },
    );
    expect(ran).toMatchObject({ exit: 5, err: expect.stringContaining("REGISTRY_UNREACHABLE") });
  });
});

it("annotates each mistake of a matrix in its file, from the root of the checkout", async () => {
  const root = makeFolder({ "fleet/matrix.yaml": "name: app\nversion: 1.10\nfoo: 1\n" });
  const run = (env: NodeJS.ProcessEnv) =>
    runInProcess(["plan", "--offline", "--matrix", join(root, "fleet/matrix.yaml")], {
      env: { HOME: root, ...env },
      cwd: root,
    });
  const { err, exit } = await run({ GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: root });
  expect(exit).toBe(2);
  expect(err).toMatch(/^::error file=fleet\/matrix\.yaml,line=3,col=1,title=MATRIX_SCHEMA::/m);
  expect((await run({})).err).not.toContain("::error");
});
