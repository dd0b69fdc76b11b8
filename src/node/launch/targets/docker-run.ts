/**
 * `docker run` and `podman run`. Sources: docker run and podman run references; NVIDIA Container Toolkit, "Support for Container
 * Device Interface"; ROCm/container-toolkit, commit 192fe8e: docs/container-runtime/cdi-guide.rst.
 */

import { isDigest } from "../../../oci/digest.ts";
import { byDigest } from "../../../oci/immutable-reference.ts";
import { parseImageReference } from "../../../oci/reference.ts";
import { podmanTls } from "../../../oci/registry/registry-endpoint.ts";
import { assignments, flag, flags } from "../fields.ts";
import { handoverOf } from "../gpu-needs.ts";
import {
  localTarget,
  type LaunchCommand,
  type LaunchRequest,
  type LocalTarget,
  type Mount,
  type PublishedPort,
} from "../target.ts";

/**
 * @example
 * docker.command({ reference, requires, host, args: ["--steps", "10"] }).argv;
 * // ["docker", "run", "--rm", "--device", "nvidia.com/gpu=0", "--", reference, "--steps", "10"]
 */
export const docker: LocalTarget = localTarget({
  name: "docker",
  description: "docker run on this machine",
  engine: "docker",
  command: (request) => engineRun("docker", request, "unless-stopped", request.reference),
});

export const podman: LocalTarget = localTarget({
  name: "podman",
  description: "podman run on this machine",
  engine: "podman",
  command: ({ options = [], ...request }) => {
    const image = byDigest(request.reference);
    const tls = isDigest(image) ? [] : podmanTls(parseImageReference(image).registry);
    return engineRun("podman", { ...request, options: [...tls, ...options] }, "always", image);
  },
});

function engineRun(
  engine: "docker" | "podman",
  request: LaunchRequest,
  restart: "unless-stopped" | "always",
  image: string,
): LaunchCommand {
  const { args, options = [] } = request;
  const gpus = gpuOptions(engine, request);
  const words = [...modeOptions(request, restart), ...gpus, ...containerOptions(request), ...options];
  return { argv: [engine, "run", ...words, "--", image, ...args], env: {} };
}

function gpuOptions(engine: "docker" | "podman", request: LaunchRequest): readonly string[] {
  const handover = handoverOf(engine, request);
  if (handover === null) return [];
  // Docker reads the value as CSV, in which a comma outside quotes ends the field.
  if (handover.via === "runtime") return ["--gpus", `"device=${handover.ids.join(",")}"`];
  return [...flags("--device", handover.devices), ...flags("--group-add", handover.groups)];
}

/** A service outlives reboots and crashes. A batch leaves nothing behind. */
export function modeOptions(
  { task = "batch", interactive = false, tty = false, options = [] }: LaunchRequest,
  restart: "unless-stopped" | "always",
): readonly string[] {
  // Docker refuses --rm together with --restart.
  const batch = options.some((word) => /^--restart(=|$)/.test(word)) ? [] : ["--rm"];
  const mode = task === "service" ? ["--detach", "--restart", restart] : batch;
  return [...mode, ...(interactive ? ["--interactive"] : []), ...(tty ? ["--tty"] : [])];
}

export function containerOptions(
  { name, env = {}, mounts = [], ports = [], cpus, memoryMiB, program }: LaunchRequest,
  folders = mountOptions(mounts),
): readonly string[] {
  return [
    ...flag("--name", name),
    ...flags("--env", assignments(env)),
    ...folders,
    ...flags("--publish", ports.map(portOption)),
    ...flag("--cpus", cpus),
    ...flag("--memory", memoryMiB, "m"),
    ...flag("--entrypoint", program),
  ];
}

/** `8888:8888`, with `/udp` where it is no TCP. */
function portOption({ host, container, protocol }: PublishedPort): string {
  return `${host}:${container}${protocol === "tcp" ? "" : `/${protocol}`}`;
}

export function mountOptions(mounts: readonly Mount[]): readonly string[] {
  return flags(
    "--mount",
    mounts.map((mount) => bindOption(mount)),
  );
}

/**
 * The value of `--mount`: a line of CSV, so that paths may hold commas and colons (docker/cli, opts/mount.go; containers/podman
 * likewise). Apptainer spells two of the words otherwise.
 */
export function bindOption(
  { source, target, readOnly }: Mount,
  targetWord = "target",
  readOnlyWord = "readonly",
): string {
  const fields = [
    "type=bind",
    `source=${source}`,
    `${targetWord}=${target}`,
    ...(readOnly ? [readOnlyWord] : []),
  ];
  return fields
    .map((text) => (/[",\r\n]|^\s/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
    .join(",");
}
