import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createMetrics } from "../../../src/node/mirror/server.ts";
import { needs } from "../../support/needs.ts";

function measured(): string {
  const labels = { failures: 3, lastAt: 1_764_000_000_500, chosen: { vision: true, "cv-tf": false } };
  const gauges = { residentBytes: () => 59_248_640, stuckProbes: () => 1, labels: () => labels };
  const metrics = createMetrics(gauges);
  for (const seconds of [0.0004, 0.001, 0.3, 1.9, 7]) metrics.count("image", 200, seconds);
  metrics.count("not-served", 404, 0.01);
  return metrics.text();
}

/** Of the parser that Prometheus' own Python client has: each family with its samples. */
const reader = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families as families
print(json.dumps([[f.name, f.type, bool(f.documentation), [[s.name, s.labels, s.value] for s in f.samples]] for f in families(sys.stdin.read())]))
`;
import { whyNoPython } from "../../support/programs.ts";
// The distribution's has its packages, where another one comes first.
const pythons = ["python3", "/usr/bin/python3"];
const whyNotBy = (python: string) =>
  whyNoPython("prometheus_client", "apt-get install python3-prometheus-client", python);
const python = pythons.find((program) => whyNotBy(program) === null);
const whyNoReader = python === undefined ? whyNotBy("python3") : null;

describe("/metrics", () => {
  test("is read by Prometheus' own client as what it is", needs(whyNoReader), () => {
    const { stdout, stderr } = spawnSync(python ?? "", ["-c", reader], {
      input: measured(),
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    const families: [string, string, boolean, [string, Record<string, string>, number][]][] =
      JSON.parse(stdout);
    expect(families.map(([name, type, documented]) => [name, type, documented])).toEqual([
      ["imgmatch_mirror_requests", "counter", true],
      ["imgmatch_mirror_request_duration_seconds", "histogram", true],
      ["imgmatch_mirror_stuck_probes", "gauge", true],
      ["imgmatch_node_labels_failures", "counter", true],
      ["imgmatch_node_labels_true_timestamp_seconds", "gauge", true],
      ["imgmatch_node_image_chosen", "gauge", true],
      ["process_resident_memory_bytes", "gauge", true],
    ]);
    expect(families[0]?.[3]).toEqual([
      ["imgmatch_mirror_requests_total", { outcome: "image", status: "200" }, 5],
      ["imgmatch_mirror_requests_total", { outcome: "not-served", status: "404" }, 1],
    ]);
    const samples = families[1]?.[3] ?? [];
    const buckets = samples.filter(([name]) => name.endsWith("_bucket"));
    // A value at a bound is in its bucket, each bucket holds those below it, and the last one holds all.
    expect(buckets.map(([, { le }, count]) => [le, count])).toEqual([
      ["0.001", 2],
      ["0.0025", 2],
      ["0.005", 2],
      ["0.01", 3],
      ["0.025", 3],
      ["0.05", 3],
      ["0.1", 3],
      ["0.25", 3],
      ["0.5", 4],
      ["1", 4],
      ["2", 5],
      ["2.5", 5],
      ["+Inf", 6],
    ]);
    expect(samples.slice(-2).map(([name, , value]) => [name.replace(/.*_/, ""), value])).toEqual([
      ["sum", expect.closeTo(9.2114)],
      ["count", 6],
    ]);
    const [, , stuck, failures, lastAt, images, memory] = families.map(([, , , each]) => each);
    expect([stuck, failures, lastAt, memory].map((each) => each?.[0]?.[2])).toEqual([
      1, 3, 1_764_000_000.5, 59_248_640,
    ]);
    expect(images).toEqual([
      ["imgmatch_node_image_chosen", { fleet: "vision" }, 1],
      ["imgmatch_node_image_chosen", { fleet: "cv-tf" }, 0],
    ]);
  });

  test("has lines of the text format's grammar alone, each family after its help and type", () => {
    const name = "[a-zA-Z_:][a-zA-Z0-9_:]*";
    const label = `${name}="[^"\\\\\\n]*"`;
    const line = new RegExp(
      `^(# HELP ${name} [^\\n\\\\]+|# TYPE ${name} (counter|gauge|histogram)|${name}(\\{${label}(,${label})*\\})? [-+0-9.e]+)$`,
    );
    const text = measured();
    expect(text.endsWith("\n")).toBe(true);
    expect(
      text
        .trimEnd()
        .split("\n")
        .filter((each) => !line.test(each)),
    ).toEqual([]);
  });
});
