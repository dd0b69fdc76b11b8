/** How each system spells the name of a label of imgmatch's vocabulary. */

/** Kubernetes wants a DNS prefix that is one's own (Labels and Selectors, "Syntax and character set"). */
export const kubernetesPrefix = "imgmatch.dev/";

export const labelNames = {
  kubernetes: (key: string) => `${kubernetesPrefix}${key}`,
  /** Engine and node labels: reverse DNS is for companies' own, so one short word stands before the dot. */
  docker: (key: string) => `imgmatch.${key}`,
  /** Attributes are text of [a-zA-Z0-9_/.-] (Mesos, "Attributes and Resources"). */
  mesos: (key: string) => `imgmatch.${key}`,
  /** `${meta.…}` is read as an expression, in which a dot and a hyphen mean something else. */
  nomad: (key: string) => `imgmatch_${key.replace(/[^A-Za-z0-9]/g, "_")}`,
  /** Features are bare words: the value becomes part of the name. */
  slurm: (key: string, value: string) => (value === "true" ? `imgmatch.${key}` : `imgmatch.${key}.${value}`),
} as const;
