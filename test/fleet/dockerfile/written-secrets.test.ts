import { describe, expect, it } from "vitest";
import { parseDockerfile } from "../../../src/fleet/dockerfile/instructions.ts";
import { writtenSecrets } from "../../../src/fleet/dockerfile/written-secrets.ts";

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

  it("lets a name be that the matrix declares, and no value of a secret's form", () => {
    const lines = [
      "ENV JUPYTER_TOKEN=x",
      "RUN DJANGO_SECRET_KEY=build-time-dummy ./manage.py collectstatic",
      "ARG A_KEY=x",
    ];
    const of = (line: string, notSecret: readonly string[]) =>
      parseDockerfile(`FROM scratch\n${line}\n`).instructions.flatMap((each) =>
        writtenSecrets(each, "f", notSecret),
      );
    for (const [index, name] of ["JUPYTER_TOKEN", "DJANGO_SECRET_KEY", "A_KEY"].entries()) {
      const [problem] = of(lines[index] ?? "", []);
      expect(problem?.fix).toContain(`if it is no secret, add notSecret: [${name}] to the matrix`);
      expect(of(lines[index] ?? "", [name])).toEqual([]);
      expect(of(lines[index] ?? "", ["OTHER"])).toHaveLength(1);
    }
    const [token] = of(`ENV JUPYTER_TOKEN=ghp_${"a1".repeat(18)}`, ["JUPYTER_TOKEN"]);
    expect([token?.message.includes("a GitHub token"), token?.fix?.includes("notSecret")]).toEqual([
      true,
      false,
    ]);
  });

  it("shows no value", () => {
    const [[, message] = []] = found("ENV DB_PASSWORD=hunter2");
    expect(message).not.toContain("hunter2");
  });

  it("finds them in labels, RUN lines and addresses that are fetched", () => {
    const token = `ghp_${"a1".repeat(18)}`;
    expect(
      found(
        `LABEL ci="${token}"`,
        `RUN --mount=type=cache,target=/x git clone https://ann:hunter2@example.com/x`,
        "RUN NPM_TOKEN=abc npm ci",
        `RUN make && export DB_PASSWORD='x y'`,
        "ADD https://ann:hunter2@example.com/x /x",
        `CMD ["app", "--token", "${token}"]`,
      ).map(([line, message]) => [line, String(message).split(";")[0]]),
    ).toEqual([
      [2, "LABEL holds a GitHub token"],
      [3, "RUN holds a URL with a password"],
      [4, "RUN holds a value for NPM_TOKEN"],
      [5, "RUN holds a value for DB_PASSWORD"],
      [6, "ADD holds a URL with a password"],
      [7, "CMD holds a GitHub token"],
    ]);
  });

  it("leaves alone what a mounted secret or a variable gives", () => {
    expect(
      found(
        "RUN --mount=type=secret,id=npm,env=NPM_TOKEN npm ci",
        "RUN --mount=type=secret,id=token TOKEN=$(cat /run/secrets/token) make",
        'RUN NPM_TOKEN="$(cat /run/secrets/npm)" npm ci',
        "RUN --mount=type=secret,id=t git clone https://ann:$TOKEN@example.com/x",
        "RUN git clone https://ann:${TOKEN}@example.com/x",
        "RUN git clone https://x:$(cat /run/secrets/t)@example.com/x",
        "RUN make API_KEY=$KEY PASSWORD= TLS_KEY=/etc/ssl/key.pem CACHE_KEY=v3",
        "RUN curl https://example.com:8443/a@b",
        'LABEL org.opencontainers.image.source="https://example.com/x"',
      ),
    ).toEqual([]);
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
