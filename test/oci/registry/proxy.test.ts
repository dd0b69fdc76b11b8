import { createServer } from "node:http";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { proxyFromEnv } from "../../../src/oci/registry/proxy.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { selfSigned } from "./support/certificate.ts";
import { startFaultServer } from "./support/fault-server.ts";
import { quickClient, serveManifest, someManifest } from "./support/manifests.ts";
import { needs } from "../../support/needs.ts";

test.each([
  [{}, "https://r.example/", null],
  [{ HTTPS_PROXY: "http://p:3128" }, "https://r.example/", "http://p:3128/"],
  [{ https_proxy: "p:3128" }, "https://r.example/", "http://p:3128/"],
  [{ HTTPS_PROXY: "p:3128" }, "http://r.example/", null],
  [{ HTTPS_PROXY: "p:3128" }, "https://127.0.0.1:5000/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "*" }, "https://r.example/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "a.example, r.example" }, "https://r.example/", null],
  [{ HTTPS_PROXY: "p:3128", no_proxy: "example" }, "https://r.example/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: ".r.example" }, "https://r.example/", "http://p:3128/"],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: ".example" }, "https://r.example/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "*.example" }, "https://r.example/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "xample" }, "https://r.example/", "http://p:3128/"],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "2001:db8::1" }, "https://[2001:db8::1]/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "2001:db8:0::1" }, "https://[2001:db8::1]:5000/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "2001:db8::2" }, "https://[2001:db8::1]/", "http://p:3128/"],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "fe80::1%eth0" }, "https://[fe80::1]/", "http://p:3128/"],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "[2001:db8::1]:443" }, "https://[2001:db8::1]/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "r.example:443" }, "https://r.example/", null],
  [{ HTTPS_PROXY: "p:3128", NO_PROXY: "r.example:443" }, "https://r.example:5000/", "http://p:3128/"],
])("%j for %s is %s", (env, url, proxy) => {
  expect(proxyFromEnv(env)(new URL(url))?.href ?? null).toBe(proxy);
});

test.each(["https://p:443", "socks5://user:secret@p:1080"])(
  "a proxy at %s is refused by name",
  async (address) => {
    const client = quickClient({ proxy: proxyFromEnv({ HTTPS_PROXY: address }) });
    const asked = client.findManifest(parseImageReference("r.example/team/app:1"));
    await expect(asked).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringContaining(address.slice(0, address.indexOf("://"))),
    });
    await expect(asked).rejects.not.toThrow(/secret/);
  },
);

const certificate = selfSigned();
describe("a proxy", needs(typeof certificate === "string" ? certificate : null), () => {
  const { key, cert } = typeof certificate === "string" ? { key: "", cert: "" } : certificate;

  test("sees the registry's name and nothing else", async () => {
    const server = await startFaultServer(serveManifest(someManifest), { key, cert });
    const proxy = await startProxy(server.host);
    const client = quickClient({
      ca: cert,
      retries: 0,
      proxy: proxyFromEnv({ HTTPS_PROXY: `http://me:s%40e@${proxy.host}` }),
    });
    const app = parseImageReference("registry.test/team/app:1");
    const found = await Promise.all([1, 2, 3].map(() => client.findManifest(app)));
    expect(found).toMatchObject(Array(3).fill({ digest: someManifest.digest }));
    expect(await client.findManifest(app)).toMatchObject({ digest: someManifest.digest });
    const login = `Basic ${Buffer.from("me:s@e").toString("base64")}`;
    expect(proxy.tunnels).toEqual(Array(3).fill(`registry.test:443 ${login}`));
    expect(server.asked[0]?.headers).not.toHaveProperty("proxy-authorization");
  });

  test("that refuses is named", async () => {
    const server = await startFaultServer((_, response) => response.end(), { key, cert });
    const proxy = await startProxy(null);
    const client = quickClient({ retries: 0, proxy: () => new URL(`http://${proxy.host}`) });
    await expect(client.findManifest(parseImageReference("registry.test/a:1"))).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringContaining(`the proxy ${proxy.host} answered 407`),
    });
    expect(server.asked).toEqual([]);
  });
});

/** Sends every tunnel to one server, wherever it should lead, or refuses it. */
async function startProxy(target: string | null): Promise<{ host: string; tunnels: string[] }> {
  const tunnels: string[] = [];
  const proxy = createServer().on("connect", (request, socket, head) => {
    tunnels.push(`${request.url} ${request.headers["proxy-authorization"]}`);
    if (target === null) return socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const [host = "", port] = target.split(":");
    const onward = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [onward, socket]) end.on("error", () => {});
    onTestFinished(() => void onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const address = proxy.address();
  return { host: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`, tunnels };
}
