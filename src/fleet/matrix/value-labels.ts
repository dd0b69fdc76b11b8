/** Extra labels of a matrix: names that a Dockerfile takes, and none that imgmatch writes itself. */

import type { Problem } from "../../errors.ts";
import { mistake } from "./mistake.ts";
import type { MatrixInput } from "./matrix-schema.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";

const ownLabels = new Set([
  "com.nvidia.cuda.version",
  "com.nvidia.volumes.needed",
  "org.opencontainers.image.base.digest",
  "org.opencontainers.image.base.name",
  "org.opencontainers.image.revision",
  "org.opencontainers.image.source",
  "org.opencontainers.image.title",
  "org.opencontainers.image.version",
]);

export function checkLabels({ labels = {} }: MatrixInput, source: YamlSource, problems: Problem[]): void {
  for (const name of Object.keys(labels)) {
    const at = source.placeOfKey(["labels", name]);
    if (ownLabels.has(name) || name.startsWith("dev.imgmatch.")) {
      problems.push(mistake(`imgmatch writes the label ${name} itself`, "remove it", at));
    } else if (!/^[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(name)) {
      const message = `${JSON.stringify(name)} cannot name a label`;
      problems.push(mistake(message, "use letters, digits, . _ / and -", at));
    }
  }
}
