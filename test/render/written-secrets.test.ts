import { describe, expect, it } from "vitest";
import { parseDockerfile } from "../../src/render/instructions.ts";
import { writtenSecrets } from "../../src/render/written-secrets.ts";

const found = (...lines: string[]) =>
  parseDockerfile(`FROM scratch\n${lines.join("\n")}\n`)
    .instructions.flatMap((each) => writtenSecrets(each, "f"))
    .map(({ message, at }) => [at?.line, message]);

describe("writtenSecrets", () => {
  it("finds defaults of ARG and values of ENV, by form and by name, with their line", () => {
    const token = `ghp_${"a1".repeat(18)}`;
    expect(
      found(
        "ARG A=1 NPM_TOKEN=abc",
        `ENV URL="https://user:pass@example.com/x" \\`,
        "    OTHER=1",
        `ENV PLAIN ${token} and more`,
        "ENV DB_PASSWORD='x y'",
      ),
    ).toEqual([
      [2, expect.stringMatching(/^the value of ARG NPM_TOKEN is a secret by its name; /)],
      [3, expect.stringMatching(/^the value of ENV URL is a URL with a password; /)],
      [5, expect.stringMatching(/^the value of ENV PLAIN is a GitHub token; /)],
      [6, expect.stringMatching(/^the value of ENV DB_PASSWORD is a secret by its name; /)],
    ]);
  });

  it("shows no value", () => {
    const [[, message] = []] = found("ENV DB_PASSWORD=hunter2");
    expect(message).not.toContain("hunter2");
  });

  it("leaves alone what gives nothing away: no default, an empty one, a path, a public key, other instructions", () => {
    expect(
      found(
        "ARG NPM_TOKEN",
        'ENV JUPYTER_TOKEN="" TLS_KEY=/etc/ssl/key.pem SSH_KEY="~/.ssh/id"',
        "ENV APT_KEY=0xA4B469963BF863CC",
        "RUN NPM_TOKEN=$(cat /run/secrets/npm) npm ci",
        "LABEL token=abc",
      ),
    ).toEqual([]);
  });
});
