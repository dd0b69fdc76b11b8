/** What `docker buildx build`, `podman build` and `buildah build` call by the same flags. */

import type { BuildRequest } from "../engine.ts";
import type { BuildSecret } from "./secrets.ts";

export function buildFlags(request: BuildRequest, secrets: readonly BuildSecret[]): readonly string[] {
  const pairs = (flag: string, values: Readonly<Record<string, string>>) =>
    Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${value}`]);
  return [
    ...["--platform", request.platform],
    ...(request.target === null ? [] : ["--target", request.target]),
    ...(request.noCache ? ["--no-cache"] : []),
    ...pairs("--build-arg", request.args),
    ...pairs("--label", request.labels),
    ...secrets.flatMap(({ flag }) => ["--secret", flag]),
  ];
}
