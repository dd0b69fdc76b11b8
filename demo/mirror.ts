/** This machine's distribution and the place of its packages, read from its apt sources. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Distribution {
  /** `debian` or `ubuntu`. */
  readonly id: string;
  /** For example `bookworm`. */
  readonly suite: string;
  readonly mirror: string;
}

/** The distribution of this machine, or null where it is neither Debian nor Ubuntu or names no mirror. */
export async function readDistribution(): Promise<Distribution | null> {
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  const id = field(release, "ID");
  const suite = field(release, "VERSION_CODENAME");
  if ((id !== "debian" && id !== "ubuntu") || suite === null) return null;
  const more = await readdir("/etc/apt/sources.list.d").catch(() => []);
  const paths = [
    "/etc/apt/sources.list",
    ...more.sort().map((name) => join("/etc/apt/sources.list.d", name)),
  ];
  for (const path of paths) {
    const mirror = findMirror(await readFile(path, "utf8").catch(() => ""), suite);
    if (mirror !== null) return { id, suite, mirror };
  }
  return null;
}

/** First mirror that serves exactly `suite` with its `main` part, from a one-line or a deb822 source file. */
export function findMirror(text: string, suite: string): string | null {
  for (const line of text.split("\n")) {
    const [, uri, name, parts] = /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (uri !== undefined && name === suite && parts?.split(/\s+/).includes("main")) return uri;
  }
  for (const stanza of text.split(/\n\s*\n/)) {
    const lines = stanza.split("\n").filter((line) => !line.startsWith("#"));
    const value = (key: string) =>
      lines
        .find((line) => line.toLowerCase().startsWith(`${key}:`))
        ?.slice(key.length + 1)
        .trim()
        .split(/\s+/) ?? [];
    if (
      value("types").includes("deb") &&
      value("suites").includes(suite) &&
      value("components").includes("main")
    ) {
      return value("uris")[0] ?? null;
    }
  }
  return null;
}

function field(release: string, key: string): string | null {
  return new RegExp(`^${key}="?([^"\n]*)"?$`, "m").exec(release)?.[1] ?? null;
}
