import { describe, expect, it } from "vitest";
import { adviceFor } from "../../../src/fleet/engines/advice.ts";
import { pushFailure } from "../../../src/fleet/engines/push-failure.ts";

const unknown =
  'Get "https://10.0.0.1:5000/v2/": tls: failed to verify certificate: x509: certificate signed by unknown authority';

describe("what an engine needs to trust a registry", () => {
  it("is a file in its folder, with the path that imgmatch was given", () => {
    expect(adviceFor("engine", "/ca.pem").trust(unknown)).toContain(
      "mkdir -p /etc/docker/certs.d/10.0.0.1:5000 && cp /ca.pem /etc/docker/certs.d/10.0.0.1:5000/ca.crt",
    );
    expect(adviceFor("engine").trust(unknown, "other:1")).toContain(
      "cp CA.pem /etc/docker/certs.d/other:1/ca.crt",
    );
  });

  it("are lines of a configuration for a builder of its own", () => {
    expect(adviceFor("builder", "/ca.pem").trust(unknown)).toMatch(
      /\[registry\."10\.0\.0\.1:5000"\] and ca = \["\/ca\.pem"\]/,
    );
  });

  it("is found in podman's words too", () => {
    const words = "pinging container registry 10.0.0.1:5000: certificate signed by unknown authority";
    expect(adviceFor("containers").trust(words)).toContain("/etc/containers/certs.d/10.0.0.1:5000/ca.crt");
  });

  it.each(["engine", "builder", "containers"] as const)("is a word for plain http: %s", (builder) => {
    const words = 'Get "https://r:80/v2/": http: server gave HTTP response to HTTPS client';
    expect(adviceFor(builder).trust(words)).toContain("r:80");
  });

  it.each(["x509: certificate has expired", "certificate is valid for a, not b", "EOF"])(
    "is not told after: %s",
    (words) => expect(adviceFor("engine").trust(words)).toBeNull(),
  );
});

describe("a push that failed", () => {
  it.each([
    [unknown, "REGISTRY_UNREACHABLE"],
    ["denied: requested access to the resource is denied", "REGISTRY_AUTH"],
    ["unexpected status from POST request to https://r/v2/: 401 Unauthorized", "REGISTRY_AUTH"],
    ["unexpected status code 403", "REGISTRY_AUTH"],
    // Ports and digests have these digits too.
    ['Put "http://127.0.0.1:40123/v2/a/blobs/uploads/1": EOF', "REGISTRY_FAILED"],
    ["unexpected status from PUT request to https://r/v2/: 500 Internal Server Error", "REGISTRY_FAILED"],
  ])("%s: %s", (words, code) => {
    const failure = pushFailure("10.0.0.1:5000/app:1", words, adviceFor("engine"));
    expect(failure).toMatchObject({ code });
    expect(failure.message).toContain("pushing 10.0.0.1:5000/app:1 failed: ");
  });
});

it("names the disk that is full", () => {
  expect(adviceFor("engine").full("/var/lib/docker")).toContain("/var/lib/docker");
  for (const builder of ["engine", "builder", "containers"] as const) {
    expect(adviceFor(builder).full()).toMatch(/disk.* prune/);
  }
});
