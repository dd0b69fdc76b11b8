/** `imgmatch serve`: answer a fleet's tag on this node until a signal ends it. */

import { join } from "node:path";
import type { ServeConfig, ServeLine, ServeOptions } from "../node/serve.ts";
import type { CommandContext, Define } from "./command.ts";
import { choice, cpuOption, many, positive, withAll, withHost, withRegistryFleet } from "./flags/options.ts";
import { type JsonFlag, print, tell } from "./print.ts";

interface ServeFlags extends ServeOptions, JsonFlag {}

export const serve: Define = (command, run) =>
  withAll(
    command
      .description("Run a mirror on loopback that answers a fleet's tag with this node's image")
      .argument("[references...]", "fleets: registry/repository:version, or without version for all of them")
      .option("--lock <file>", "Serve this lock's fleet, in place of a reference")
      .option("--listen <address>", "Listen there: 127.0.0.1:port or [::1]:port", "127.0.0.1:5047")
      .option("--pin <axis=value>", "Fix an axis, as for resolve", ...many)
      .option("--cpu", cpuOption)
      .option("--require-gpu", "Choose only images with GPU code")
      .option("--fail-closed", "Refuse a host that no image fits, instead of leaving it to the registry")
      .addOption(
        choice(
          command,
          "--blobs <how>",
          "Give clients the parts of an image that they ask the mirror for: redirect to the registry, or proxy",
          ["off", "redirect", "proxy"],
          "off",
        ),
      )
      .option(
        "--label-node <name>",
        "Keep the labels and facts of this Kubernetes node true, from a Pod on it",
      )
      .option(
        "--label-every <seconds>",
        "Look at them again after so many seconds",
        positive("--label-every 60"),
        60,
      )
      .option(
        "--service-account <folder>",
        "Folder of the Pod's token and ca.crt (default: where Kubernetes mounts it)",
      )
      .addOption(
        choice(
          command,
          "--print-config <runtime>",
          "Print the files that configure a container runtime, and end",
          ["containerd", "docker", "podman", "crio"],
        ),
      )
      .option(
        "--install <folder>",
        "With --print-config: write the files below this folder, / or where the node's is mounted",
      )
      .option(
        "--uninstall <folder>",
        "With --print-config, without fleets: remove what was installed below this folder",
      ),
    withHost,
    withRegistryFleet,
  ).action(run(serveCommand));

async function serveCommand(flags: ServeFlags, context: CommandContext): Promise<void> {
  const { serveWith } = await import("../node/serve.ts");
  const serve = serveWith(context.ports);
  const { printConfig } = flags;
  if (printConfig !== undefined) {
    return tellConfig(await serve({ ...flags, printConfig }, context), flags, context);
  }
  const log = logTo(context);
  const onEvent: ServeOptions["onEvent"] = (event) => event.type === "log" && log(event.line);
  const { address, close } = await serve({ ...flags, self: context.self, onEvent }, context);
  context.takeSignals("finish");
  log({ level: "info", event: "listening", address });
  await aborted(context.signal);
  await close();
  log({ level: "info", event: "stopped" });
}

/** Prints the files, each below its path as a comment, or the paths that were written or removed. */
function tellConfig(config: ServeConfig, flags: ServeFlags, context: CommandContext): void {
  const { files, notes, removed } = config;
  const { install, uninstall } = flags;
  print(context, flags, config, () => {
    if (removed !== undefined) return removed.map((path) => `${join(uninstall ?? "", path)}\n`).join("");
    return install === undefined
      ? files.map(({ path, content }) => `# ${path}\n${content}`).join("\n")
      : files.map(({ path }) => `${join(install, path)}\n`).join("");
  });
  if (!flags.json) tell(notes, context);
}

/** Writes one JSON object a line. `dropped` counts the lines before it that found no reader. */
function logTo({ log }: CommandContext): (line: ServeLine) => void {
  let dropped = 0;
  return (line) => {
    const time = new Date().toISOString();
    const isWritten = log(`${JSON.stringify({ time, ...line, ...(dropped === 0 ? {} : { dropped }) })}\n`);
    dropped = isWritten ? 0 : dropped + 1;
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
