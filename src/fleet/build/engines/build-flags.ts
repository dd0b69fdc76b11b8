/** What `docker buildx build`, `podman build` and `buildah build` call by the same flags. */

import type { BuildRequest } from "../engine.ts";
import type { StepOptions } from "./step-options.ts";

export function buildFlags(
  request: BuildRequest,
  { secrets = [], ssh = [], network = "default" }: StepOptions,
): readonly string[] {
  const pairs = (flag: string, values: Readonly<Record<string, string>>) =>
    Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${value}`]);
  return [
    ...["--platform", request.platform],
    ...(request.target === null ? [] : ["--target", request.target]),
    ...(request.noCache ? ["--no-cache"] : []),
    ...pairs("--build-arg", request.args),
    ...pairs("--label", request.labels),
    ...secrets.flatMap(({ flag }) => ["--secret", flag]),
    ...ssh.flatMap(({ flag }) => ["--ssh", flag]),
    // Buildah's default has no name that both programs take.
    ...(network === "default" ? [] : ["--network", network]),
  ];
}
