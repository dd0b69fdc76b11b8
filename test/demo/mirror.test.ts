import { describe, expect, it } from "vitest";
import { findMirror } from "../../demo/mirror.ts";

const oneLine = `# deb http://old.example.org/debian bookworm main
deb-src http://source.example.org/debian bookworm main
deb [signed-by=/usr/share/keyrings/x.gpg arch=amd64] https://deb.example.org/debian bookworm main contrib
deb https://security.example.org/debian-security bookworm-security main
`;

const deb822 = `Types: deb
# URIs: http://commented.example.org/debian
URIs: http://deb.example.org/debian http://second.example.org/debian
Suites: noble noble-updates
Components: main universe

Types: deb
URIs: http://security.example.org/debian-security
Suites: noble-security
Components: main
`;

describe("findMirror", () => {
  it("reads one-line sources, with options, and neither comments nor sources of source packages", () => {
    expect(findMirror(oneLine, "bookworm")).toBe("https://deb.example.org/debian");
  });

  it("takes only the suite itself, never its updates or its security", () => {
    expect(findMirror(oneLine, "bookworm-security")).toBe("https://security.example.org/debian-security");
    expect(findMirror(oneLine, "trixie")).toBeNull();
    expect(findMirror(deb822, "noble-backports")).toBeNull();
  });

  it("reads deb822 stanzas and takes the first of several addresses", () => {
    expect(findMirror(deb822, "noble")).toBe("http://deb.example.org/debian");
    expect(findMirror(deb822, "noble-security")).toBe("http://security.example.org/debian-security");
  });

  it("wants the main part, which holds the compiler", () => {
    expect(
      findMirror("deb http://deb.example.org/debian bookworm contrib non-free\n", "bookworm"),
    ).toBeNull();
  });
});
