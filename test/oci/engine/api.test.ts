import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { imageAnswer } from "../../../src/oci/engine/engine-answers.ts";
import { connectDocker } from "../../../src/oci/engine/api.ts";
import { adviceFor } from "../../../src/fleet/engines/advice.ts";
import { pushImage } from "../../../src/fleet/engines/docker/docker-engine.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";

describe("Docker Engine API", () => {
  let folder: string;
  let server: Server | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "imgmatch-api-"));
  });
  afterEach(async () => {
    server?.closeAllConnections();
    server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** An engine that says `version` and answers everything else by `answer`. */
  async function engineWith(answer: RequestListener, version = "1.52") {
    const path = join(folder, "docker.sock");
    server = createServer((request, response) => {
      if (request.url !== "/_ping") return answer(request, response);
      response.setHeader("Api-Version", version).end("OK");
    });
    await new Promise<void>((resolve) => server?.listen(path, resolve));
    return { DOCKER_HOST: `unix://${path}` };
  }

  it.each(["1.41", "1.44", "1.52"])("speaks the engine's own version %s", async (version) => {
    const urls: string[] = [];
    const env = await engineWith((request, response) => {
      urls.push(request.url ?? "");
      response.end("{}");
    }, version);
    await (await connectDocker(env)).json("GET", "/version", {
      query: { a: "b&c", t: ["1", "2"], none: undefined },
    });
    expect(urls).toEqual([`/v${version}/version?a=b%26c&t=1&t=2`]);
  });

  it("repeats the engine's words", async () => {
    const env = await engineWith((_, response) =>
      response.writeHead(409).end('{"message":"image is being used"}'),
    );
    const asking = (await connectDocker(env)).json("DELETE", "/images/x");
    await expect(asking).rejects.toMatchObject({ code: "ENGINE_FAILED" });
    await expect(asking).rejects.toThrow(/answered 409 to DELETE \/images\/x: image is being used/);
  });

  it("reads null as nothing, and names the place of what is something else than an answer", async () => {
    const answers = ['{"RepoTags":null,"Size":7,"Name":"more"}', '{"RepoTags":["a",1]}', "[]"];
    const env = await engineWith((_, response) => response.end(answers.shift()));
    const api = await connectDocker(env);
    const read = () => api.read("/images/x/json", imageAnswer);
    expect(await read()).toEqual({ RepoTags: [], Size: 7, RootFS: { Layers: [] } });
    const code = "ENGINE_FAILED";
    const file = `${env.DOCKER_HOST}`;
    const wrong = { code, at: { file }, message: "RepoTags[1]: expected text, found number 1" };
    await expect(read()).rejects.toMatchObject({ problems: [wrong] });
    await expect(read()).rejects.toMatchObject({
      problems: [{ code, at: { file }, message: "the answer: expected an object, found a list" }],
    });
  });

  it("does not take a stream that breaks off for its end", async () => {
    const env = await engineWith((_, response) => {
      response.write('{"stream":"step 1\\n"}\n{"stre');
      setTimeout(() => response.destroy(), 20);
    });
    const api = await connectDocker(env);
    const seen: unknown[] = [];
    const reading = async () => {
      for await (const message of api.stream("POST", "/build")) seen.push(message);
    };
    await expect(reading()).rejects.toMatchObject({ code: "ENGINE_FAILED" });
    expect(seen).toEqual([{ stream: "step 1\n" }]);
  });

  const digest = `sha256:${"ab".repeat(32)}`;

  it.each<[string, readonly object[], object]>([
    [
      "as data",
      [{ status: "t: digest: …" }, { progressDetail: {}, aux: { Tag: "t", Digest: digest, Size: 5 } }],
      { digest },
    ],
    [
      "in a sentence",
      [{ status: "Pushed", id: "4246bd" }, { status: `t: digest: ${digest} size: 697` }],
      { digest },
    ],
    ["not at all", [{ status: "Pushed", id: "4246bd" }], { code: "REGISTRY_FAILED" }],
    [
      "no, a refusal",
      [{ errorDetail: { message: "denied" }, error: "denied: not yours" }],
      { code: "REGISTRY_AUTH" },
    ],
    ["no, a failure", [{ error: "received unexpected HTTP status: 500" }], { code: "REGISTRY_FAILED" }],
  ])("learns what the registry took: %s", async (_, messages, expected) => {
    const requests: string[] = [];
    const env = await engineWith((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      if (request.url?.includes("/push"))
        response.end(messages.map((one) => `${JSON.stringify(one)}\r\n`).join(""));
      else response.end('{"RepoTags":["local:1","r.example.com/a/b:t"]}');
    });
    const watch = { signal: new AbortController().signal, onLog: () => {} };
    const to = parseImageReference("r.example.com/a/b:t");
    const api = await connectDocker(env);
    const image = { id: "sha256:1", size: null };
    const outcome = await pushImage(api, image, to, null, watch, adviceFor("engine")).then(
      (pushed) => ({ digest: pushed }),
      (error) => error,
    );
    expect(outcome).toMatchObject(expected);
    // Whatever became of it, the engine keeps no name of it.
    expect(requests).toEqual([
      "POST /v1.52/images/sha256:1/tag?repo=r.example.com%2Fa%2Fb&tag=t",
      "POST /v1.52/images/r.example.com/a/b/push?tag=t",
      "GET /v1.52/images/r.example.com/a/b:t/json",
      "DELETE /v1.52/images/r.example.com/a/b:t?noprune=1",
    ]);
  });

  it("tells a missing socket from an engine that is not running", async () => {
    const path = join(folder, "docker.sock");
    await expect(connectDocker({ DOCKER_HOST: `unix://${path}` })).rejects.toMatchObject({
      code: "ENGINE_NOT_FOUND",
    });
    await expect(connectDocker({ DOCKER_HOST: "tcp://127.0.0.1:1" })).rejects.toThrow(
      /127.0.0.1:1 \(from DOCKER_HOST\): connection refused/,
    );
  });
});
