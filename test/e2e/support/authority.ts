/** A certificate authority of the tests' own, and a certificate of it for an address of this machine. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";

export interface Authority {
  /** Paths of PEM files: what is to be trusted, and what the server shows. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** An address that no engine takes for its own machine's loopback, which needs no certificate; null where there is none. */
export function outsideAddress(): string | null {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? null;
}

/** Writes its files into `folder`. */
export function createAuthority(folder: string, address: string): Authority {
  const path = (name: string) => join(folder, name);
  const openssl = (...args: readonly string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    ...["req", "-x509", ...newKey, "-days", "2", "-subj", "/CN=imgmatch tests' authority"],
    ...["-keyout", path("ca.key"), "-out", path("ca.pem")],
  );
  openssl(
    ...["req", "-new", ...newKey, "-subj", "/CN=imgmatch tests' registry"],
    ...["-keyout", path("registry.key"), "-out", path("registry.csr")],
  );
  writeFileSync(path("names"), `subjectAltName=IP:${address}\n`);
  openssl(
    ...["x509", "-req", "-in", path("registry.csr"), "-days", "2", "-extfile", path("names")],
    ...["-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-CAcreateserial", "-out", path("registry.pem")],
  );
  return { ca: path("ca.pem"), certificate: path("registry.pem"), key: path("registry.key") };
}
