/** What each system takes as the name of a node. Another name would be an option, a key or several nodes where the labels are written. */

import { type Problem, throwProblems } from "../../../errors.ts";
import type { HostLabels } from "../../labels.ts";

export interface NodeName {
  readonly test: (name: string) => boolean;
  /** For messages: `a node of Slurm, such as "gpu-1"`. */
  readonly expected: string;
}

/** hostname(7): labels of letters, digits and hyphens, 253 characters in all. Linux lets a host have an underscore too. */
const hostName = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?$/;

export const nodeNames = {
  /** Kubernetes, "Object Names and IDs": the name of a Node is a DNS subdomain (RFC 1123). */
  kubernetes: {
    test: (name) =>
      name.length <= 253 && /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/.test(name),
    expected: 'a node of Kubernetes, such as "gpu-1.example.com"',
  },
  /** `docker node update`: the node's host name, or its id of letters and digits. */
  docker: { test: (name) => hostName.test(name), expected: 'a node of Docker, such as "gpu-1"' },
  /** `nomad node meta apply -node-id`: a UUID or how it begins, two characters or more (command/node.go, `lookupNodeID`). */
  nomad: {
    test: (name) => /^[0-9a-f]{2}[0-9a-f-]{0,34}$/i.test(name),
    expected: 'the id of a node of Nomad, such as "f7476465"',
  },
  /**
   * slurm.conf(5), "NodeName": a host name. Blanks, quotation marks and `#` end it, commas and brackets name several nodes; `ALL` and
   * `DEFAULT` are no nodes.
   */
  slurm: {
    test: (name) => hostName.test(name) && !/^(?:all|default)$/i.test(name),
    expected: 'a node of Slurm, such as "gpu-1"',
  },
} as const satisfies Record<string, NodeName>;

/** Throws `FACTS_SCHEMA` with each host that is no such node. */
export function requireNodes(hosts: readonly HostLabels[], { test, expected }: NodeName): void {
  throwProblems(
    hosts.flatMap(({ host }): readonly Problem[] =>
      test(host)
        ? []
        : [
            {
              code: "FACTS_SCHEMA",
              message: `the host ${JSON.stringify(host)} is not ${expected}`,
              fix: 'name the node beside its facts: {"name": …, "facts": …}',
            },
          ],
    ),
  );
}
