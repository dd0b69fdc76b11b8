import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { makeFolder } from "../../support/folders.ts";
import { runInProcess } from "../../support/run-cli.ts";

const objects = parseAllDocuments(readFileSync("docs/node/mirror-daemonset.yaml", "utf8")).map((each) =>
  each.toJS(),
);
const { spec } = objects.find(({ kind }) => kind === "DaemonSet");

test("the patch of docs/mirror.md has the DaemonSet take back on a node what it has installed there", async () => {
  const [, json = "[]"] = /--patch '([^']+)'/.exec(readFileSync("docs/mirror.md", "utf8")) ?? [];
  const [{ op, path, value }] = JSON.parse(json);
  expect([op, path]).toEqual(["replace", "/spec/template/spec/initContainers/1/args"]);
  const { name, args, volumeMounts } = spec.template.spec.initContainers[1];
  expect([name, volumeMounts]).toEqual([
    "install",
    [{ name: "certs", mountPath: "/host/etc/containerd/certs.d" }],
  ]);
  const node = makeFolder({});
  const run = (words: readonly string[]) =>
    runInProcess(words.map((word) => (word === "/host" ? node : word)));
  const file = `${node}/etc/containerd/certs.d/registry.example.com/hosts.toml\n`;
  for (const words of [args, value]) expect(await run(words)).toMatchObject({ exit: 0, out: file });
  expect(await run(value)).toMatchObject({ exit: 0, out: "" });
});

test("its account, roles and bindings fit together, and the mirror alone has the account", () => {
  const of = (kind: string) => objects.find((each) => each.kind === kind);
  const { metadata: account } = of("ServiceAccount");
  for (const [role, binding] of [
    ["ClusterRole", "ClusterRoleBinding"],
    ["Role", "RoleBinding"],
  ] as const) {
    expect(of(binding).subjects).toEqual([
      { kind: "ServiceAccount", name: account.name, namespace: account.namespace },
    ]);
    expect(of(binding).roleRef).toMatchObject({ kind: role, name: of(role).metadata.name });
    expect(of(binding).metadata.namespace).toBe(of(role).metadata.namespace);
  }
  const { metadata } = of("DaemonSet");
  const { containers, initContainers, serviceAccountName } = spec.template.spec;
  expect([metadata.namespace, serviceAccountName]).toEqual([of("Namespace").metadata.name, account.name]);
  const mounted = [...initContainers, ...containers].filter(({ volumeMounts }) =>
    volumeMounts.some(({ name }: { name: string }) => name === "account"),
  );
  expect([account.namespace, mounted.map(({ name }) => name)]).toEqual([metadata.namespace, ["mirror"]]);
  expect(of("ServiceAccount").automountServiceAccountToken).toBe(false);
});
