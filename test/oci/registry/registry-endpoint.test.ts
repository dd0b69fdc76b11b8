import { expect, test } from "vitest";
import { isLoopback, registryUrl } from "../../../src/oci/registry/registry-endpoint.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";

test.each([
  ["localhost", true],
  ["LOCALHOST:5000", true],
  ["registry.localhost:5000", true],
  ["127.0.0.1:5000", true],
  ["127.9.9.9", true],
  ["[::1]:5000", true],
  ["127.0.0.1.example.com", false],
  ["127.example.com", false],
  ["localhost.example.com", false],
  ["10.0.0.1:5000", false],
  ["[fe80::1]", false],
  ["registry.example.com", false],
])("%s is this machine: %s", (host, loopback) => {
  expect(isLoopback(host)).toBe(loopback);
});

test.each([
  ["debian:12", "https://registry-1.docker.io/v2/library/debian/manifests/12"],
  ["localhost:5000/team/app:12", "http://localhost:5000/v2/team/app/manifests/12"],
  ["[::1]:5000/app:12", "http://[::1]:5000/v2/app/manifests/12"],
  ["r.example/a/b:12", "https://r.example/v2/a/b/manifests/12"],
])("%s is at %s", (text, url) => {
  expect(registryUrl(parseImageReference(text), "manifests", "12", isLoopback).href).toBe(url);
});
