/** What the mirror has done, in the text format of Prometheus (exposition format 0.0.4). */

import type { Outcome } from "./mirror-answer.ts";

export interface Metrics {
  readonly count: (outcome: Outcome, status: number, seconds: number) => void;
  readonly text: () => string;
}

/** Seconds. A HEAD that is answered from memory takes one or two milliseconds; the deadline is two seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5];

export interface Gauges {
  readonly residentBytes: () => number;
  /** Probes of the host that hang and cannot be ended. */
  readonly stuckProbes: () => number;
}

export function createMetrics({ residentBytes, stuckProbes }: Gauges): Metrics {
  const requests = new Map<string, number>();
  const buckets = bounds.map(() => 0);
  let [total, sum] = [0, 0];
  return {
    count: (outcome, status, seconds) => {
      const labels = `outcome="${outcome}",status="${status}"`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
      total++;
      sum += seconds;
      for (const [index, bound] of bounds.entries())
        if (seconds <= bound) buckets[index] = (buckets[index] ?? 0) + 1;
    },
    text: () =>
      [
        ...head("imgmatch_mirror_requests_total", "counter", "Requests, by what became of them."),
        ...[...requests]
          .sort()
          .map(([labels, count]) => `imgmatch_mirror_requests_total{${labels}} ${count}`),
        ...head("imgmatch_mirror_request_duration_seconds", "histogram", "Time to an answer."),
        ...buckets.map(
          (count, index) => `imgmatch_mirror_request_duration_seconds_bucket{le="${bounds[index]}"} ${count}`,
        ),
        `imgmatch_mirror_request_duration_seconds_bucket{le="+Inf"} ${total}`,
        `imgmatch_mirror_request_duration_seconds_sum ${sum}`,
        `imgmatch_mirror_request_duration_seconds_count ${total}`,
        ...head("imgmatch_mirror_stuck_probes", "gauge", "Probes of this host that hang inside the kernel."),
        `imgmatch_mirror_stuck_probes ${stuckProbes()}`,
        ...head("process_resident_memory_bytes", "gauge", "Resident memory."),
        `process_resident_memory_bytes ${residentBytes()}`,
        "",
      ].join("\n"),
  };
}

function head(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}
