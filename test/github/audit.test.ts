/** Known vulnerabilities fail the check; a registry that does not answer is told and fails nothing. */

import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";

const servers: { close(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const advisory = {
  id: 1,
  url: "https://advisories.test/1",
  title: "made up for this test",
  severity: "high",
  vulnerable_versions: "*",
};

it("fails on a known vulnerability of what users install, and names it", async () => {
  const registry = await registryThat(200, { handlebars: [advisory] });
  expect(await audit(registry)).toEqual({ status: 1, output: "npm audit: handlebars (high)\n" });
});

it("is content where none is known", async () => {
  const registry = await registryThat(200, {});
  expect(await audit(registry)).toEqual({ status: 0, output: "npm audit: no known vulnerability\n" });
});

it("fails nothing where the registry does not answer, and says so", async () => {
  const registry = await registryThat(405, {});
  const { status, output } = await audit(registry);
  expect(output).toMatch(/^npm audit: not checked, the registry did not answer: 405 Method Not Allowed/);
  expect(status).toBe(0);
});

it("says it in the words of GitHub's annotations there", async () => {
  const registry = await registryThat(405, {});
  expect((await audit(registry, { GITHUB_ACTIONS: "true" })).output).toMatch(
    /^::warning::npm audit: not checked/,
  );
});

/** Answers the question for advisories so, and has one version of every package. */
async function registryThat(status: number, advisories: object): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    if (request.method === "POST") return response.writeHead(status).end(JSON.stringify(advisories));
    const name = (request.url ?? "/").slice(1);
    const versions = { "4.7.10": { name, version: "4.7.10" } };
    return response.end(JSON.stringify({ name, "dist-tags": { latest: "4.7.10" }, versions }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function audit(registry: string, more: NodeJS.ProcessEnv = {}): Promise<{ status: unknown; output: string }> {
  const { GITHUB_ACTIONS: _, ...inherited } = process.env;
  const env = { ...inherited, NPM_CONFIG_REGISTRY: registry, NPM_CONFIG_FETCH_RETRIES: "0", ...more };
  return new Promise((resolve) => {
    execFile(".ci/audit", { env }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : error.code, output: stdout + stderr }),
    );
  });
}
