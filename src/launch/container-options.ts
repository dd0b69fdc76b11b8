/** Options that `docker run` and its relatives share. */

import type { LaunchRequest, Mount } from "./target.ts";

/** A service outlives reboots and crashes; a batch leaves nothing behind. */
export function modeOptions(
  { task = "batch", interactive = false, tty = false, options = [] }: LaunchRequest,
  restart: "unless-stopped" | "always",
): readonly string[] {
  // Docker refuses to remove a container that it is to start again.
  const batch = options.some((word) => /^--restart(=|$)/.test(word)) ? [] : ["--rm"];
  const mode = task === "service" ? ["--detach", "--restart", restart] : batch;
  return [...mode, ...(interactive ? ["--interactive"] : []), ...(tty ? ["--tty"] : [])];
}

/**
 * `--name`, `--env`, `--mount`, `--cpus`, `--memory`, `--entrypoint`. Source: docker run and podman run references.
 *
 * @param folder how a folder of the host is shown, in words
 */
export function containerOptions(
  request: LaunchRequest,
  folder = (mount: Mount): readonly string[] => ["--mount", mountOption(mount)],
): readonly string[] {
  const { name, env = {}, mounts = [], cpus, memoryMiB, program } = request;
  return [
    ...(name === undefined ? [] : ["--name", name]),
    ...Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
    ...mounts.flatMap(folder),
    ...(cpus === undefined ? [] : ["--cpus", String(cpus)]),
    ...(memoryMiB === undefined ? [] : ["--memory", `${memoryMiB}m`]),
    ...(program === undefined ? [] : ["--entrypoint", program]),
  ];
}

/** The value is one line of CSV, so that paths may hold commas and colons (docker/cli, opts/mount.go; containers/podman likewise). */
export function mountOption({ source, target, readOnly }: Mount): string {
  const fields = ["type=bind", `source=${source}`, `target=${target}`, ...(readOnly ? ["readonly"] : [])];
  return fields.map(csvField).join(",");
}

export function csvField(text: string): string {
  return /[",\r\n]|^\s/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
