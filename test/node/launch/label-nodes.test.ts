/** The DaemonSet of docs/launch: its objects, and what its script does on a node. */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonSet } from "kubernetes-types/apps/v1.js";
import { afterAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

const objects = parseAllDocuments(readFileSync("docs/launch/label-nodes.yaml", "utf8")).map((each) =>
  each.toJS(),
);
const daemonSet = objects.find(({ kind }) => kind === "DaemonSet") as DaemonSet;
const folder = mkdtempSync(join(tmpdir(), "imgmatch-label-nodes-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("docs/launch/label-nodes.yaml", () => {
  it("is whole: account, role and binding fit together", () => {
    expect(objects.map(({ kind }) => kind)).toEqual([
      "Namespace",
      "ServiceAccount",
      "ClusterRole",
      "ClusterRoleBinding",
      "DaemonSet",
    ]);
    const [, account, role, binding] = objects;
    expect(binding.subjects).toEqual([{ kind: "ServiceAccount", ...account.metadata }]);
    expect(binding.roleRef.name).toBe(role.metadata.name);
    expect(daemonSet.spec?.template.spec?.serviceAccountName).toBe(account.metadata.name);
    expect(daemonSet.spec?.template.metadata?.labels).toMatchObject(
      daemonSet.spec?.selector.matchLabels ?? {},
    );
    const spec = daemonSet.spec?.template.spec;
    const mounted = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].flatMap(
      ({ volumeMounts }) => volumeMounts ?? [],
    );
    expect(mounted.map(({ name }) => name)).toEqual(["host", "host"]);
  });

  it("adds what holds and takes away what no longer does", () => {
    const stubs = {
      chroot: "printf '%s\\n' imgmatch.dev/driver=580.1 imgmatch.dev/march.haswell=true",
      kubectl: `case $1 in
        get) printf '%s\\n' kubernetes.io/os imgmatch.dev/driver imgmatch.dev/driver-number imgmatch.dev/gpu.compute.9.0 other/imgmatch.dev/x ;;
        *) printf '%s\\n' "$@" ;; esac`,
      // The loop ends here.
      sleep: "exit 1",
    };
    for (const [name, script] of Object.entries(stubs)) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(folder, name), 0o755);
    }
    const [label] = daemonSet.spec?.template.spec?.containers ?? [];
    const [program = "", ...options] = label?.command ?? [];
    const ran = spawnSync(program, [...options, ...(label?.args ?? [])], {
      env: { PATH: `${folder}:/usr/bin:/bin`, NODE_NAME: "node-7" },
      encoding: "utf8",
    });
    expect(ran.stderr).toBe("");
    expect(ran.stdout.trimEnd().split("\n")).toEqual([
      "label",
      "node",
      "node-7",
      "--overwrite",
      "imgmatch.dev/driver=580.1",
      "imgmatch.dev/march.haswell=true",
      "imgmatch.dev/driver-number-",
      "imgmatch.dev/gpu.compute.9.0-",
    ]);
  });
});

describe("docs/launch/imgmatch-labels.service", () => {
  const unit = readFileSync("docs/launch/imgmatch-labels.service", "utf8");

  it("replaces the feature file whole, and not at all when imgmatch fails", () => {
    const line = /^ExecStart=\/bin\/sh -ec '(.*)'$/m.exec(unit)?.[1] ?? "";
    const features = join(folder, "features.d");
    const run = (script: string) =>
      spawnSync(
        "/bin/sh",
        ["-ec", `mkdir -p "$FEATURES"; ${line.replace("/usr/local/bin/imgmatch", script)}`],
        {
          env: { PATH: "/usr/bin:/bin", FEATURES: features },
          encoding: "utf8",
        },
      );
    const good = join(folder, "good");
    const bad = join(folder, "bad");
    writeFileSync(good, "#!/bin/sh\necho imgmatch.dev/driver=580.1\n", { mode: 0o755 });
    writeFileSync(bad, "#!/bin/sh\necho half; exit 4\n", { mode: 0o755 });
    expect(run(good)).toMatchObject({ status: 0, stderr: "" });
    expect(run(bad).status).not.toBe(0);
    expect(readFileSync(join(features, "imgmatch"), "utf8")).toBe("imgmatch.dev/driver=580.1\n");
  });
});
