/** A network bridge for the demo's own engine, so that it shares nothing with another one on the machine. */

import { readFile } from "node:fs/promises";
import { capture } from "./process.ts";
import type { Undo } from "./undo.ts";

/** Makes a bridge and answers its name, or null where `ip` is missing or refuses: dockerd then makes its default one. */
export async function createBridge(undo: Undo): Promise<string | null> {
  const name = `imgm${process.pid}`;
  const ip = (...args: string[]) =>
    capture(["ip", ...args], { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` } });
  const subnet = freeSubnet(await readFile("/proc/net/route", "utf8").catch(() => ""), process.pid);
  if (subnet === null || (await ip("link", "add", name, "type", "bridge")).status !== 0) return null;
  undo.add("the engine's network bridge", async () => void (await ip("link", "delete", name)));
  const addressed = await ip("address", "add", `${subnet}1/24`, "dev", name);
  const up = await ip("link", "set", name, "up");
  return addressed.status === 0 && up.status === 0 ? name : null;
}

/**
 * First three numbers of a /24 in 172.30.0.0/15 that no route of the machine touches, beginning at `from`.
 * `routes` is the text of /proc/net/route, whose second column is the destination in little-endian hexadecimal.
 */
export function freeSubnet(routes: string, from: number): string | null {
  const taken = new Set(
    routes
      .split("\n")
      .slice(1)
      .map((line) => line.split("\t")[1] ?? "")
      .filter((destination) => destination.length === 8)
      .map((hex) => [6, 4, 2].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(".")),
  );
  for (let tries = 0; tries < 512; tries += 1) {
    const at = (from + tries) % 512;
    const prefix = `172.${30 + Math.floor(at / 256)}.${at % 256}`;
    const whole = `172.${30 + Math.floor(at / 256)}.0`;
    if (!taken.has(prefix) && !taken.has(whole)) return `${prefix}.`;
  }
  return null;
}
