/** Certificates for Podman and Buildah, beside those that they trust already. */

import { rmSync } from "node:fs";
import { copyFile, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../../../oci/engine/engine-endpoint.ts";

/**
 * SSL_CERT_DIR is what Go's crypto/x509 (`root_unix.go`) reads beside the system's bundle, and replaces its usual folders.
 * `--cert-dir` would hide the certificates and keys of all other registries (containers/image, `docker_client.go`).
 */
export async function withAuthority(env: Environment, ca: string | undefined): Promise<Environment> {
  if (ca === undefined) return env;
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-ca-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await copyFile(ca, join(folder, "ca.pem"));
  return { ...env, SSL_CERT_DIR: `${env.SSL_CERT_DIR || usualFolders}:${folder}` };
}

// crypto/x509, root_linux.go
const usualFolders = "/etc/ssl/certs:/etc/pki/tls/certs";
