/** Options that `docker run` and its relatives share. */

import type { LaunchRequest, Mount } from "./target.ts";

/** `--name`, `--env`, `--mount`, `--cpus`, `--memory`, `--entrypoint`. Source: docker run and podman run references. */
export function containerOptions(request: LaunchRequest): readonly string[] {
  const { name, env = {}, mounts = [], cpus, memoryMiB, program } = request;
  return [
    ...(name === undefined ? [] : ["--name", name]),
    ...Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
    ...mounts.flatMap((mount) => ["--mount", mountOption(mount)]),
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
