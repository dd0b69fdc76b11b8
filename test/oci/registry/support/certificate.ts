import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whyNoOpenssl } from "../../../support/programs.ts";

/** A new certificate for 127.0.0.1 and registry.test, as PEM, or why there is none. */
export function selfSigned(): { key: string; cert: string } | string {
  const missing = whyNoOpenssl();
  if (missing !== null) return missing;
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  try {
    const request = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
    ];
    const name = ["-subj", "/CN=imgmatch test", "-addext", "subjectAltName=IP:127.0.0.1,DNS:registry.test"];
    execFileSync("openssl", [...request, ...name, "-keyout", key, "-out", cert], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
