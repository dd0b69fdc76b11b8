import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { makeFolder } from "../../support/folders.ts";
import { runInProcess } from "../../support/run-cli.ts";

test("the patch of docs/mirror.md has the DaemonSet take back on a node what it has installed there", async () => {
  const { spec } = parse(readFileSync("docs/node/mirror-daemonset.yaml", "utf8"));
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
