import type { EngineEvent, OpType } from "@pulumi/pulumi/automation/index.js";
import { describe, expect, it } from "vitest";
import { readEvent } from "../../../../src/pulumi/events.ts";

const urn = "urn:pulumi:dev::p::imgmatch:index:ImageFleet$docker:index/image:Image::fleet-x86-64-v3";
const step = (op: OpType, outputs: Record<string, unknown> = {}, type = "docker:index/image:Image") => ({
  metadata: {
    op,
    urn,
    type,
    provider: "",
    new: { type, urn, id: "", parent: "", provider: "", inputs: {}, outputs },
  },
});
const event = (part: Partial<EngineEvent>): EngineEvent => ({ sequence: 1, timestamp: 0, ...part });
const log = (message: string, severity: "info" | "error" = "info", of = urn) =>
  event({ diagnosticEvent: { urn: of, message, color: "never", severity, ephemeral: true } });
const name = "fleet-x86-64-v3";

describe("Pulumi's events", () => {
  it.each(["create", "create-replacement", "update"] as const)("%s starts and makes an image", (op) => {
    expect(readEvent(event({ resourcePreEvent: step(op) }))).toEqual({ type: "start", name });
    expect(readEvent(event({ resOutputsEvent: step(op, { repoDigest: "r@sha256:1" }) }))).toEqual({
      type: "built",
      name,
      repoDigest: "r@sha256:1",
    });
    expect(readEvent(event({ resOpFailedEvent: { ...step(op), status: 1, steps: 1 } }))).toEqual({
      type: "failed",
      name,
    });
  });

  it.each(["same", "delete", "replace", "delete-replaced"] as const)("%s makes none", (op) => {
    expect(readEvent(event({ resourcePreEvent: step(op) }))).toBeNull();
  });

  it("of other resources say nothing of images", () => {
    expect(
      readEvent(event({ resourcePreEvent: step("create", {}, "imgmatch:index:ImageFleet") })),
    ).toBeNull();
    expect(readEvent(log("hello", "info", "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev"))).toBeNull();
    expect(readEvent(event({ cancelEvent: {} }))).toBeNull();
  });

  it("are log lines without colours and without BuildKit's digests", () => {
    const noise = `digest: sha256:${"0".repeat(64)}`;
    expect(readEvent(log(`<{%reset%}>${noise}\n[1/2] COPY a /<{%reset%}>\n\n`))).toEqual({
      type: "log",
      name,
      lines: ["[1/2] COPY a /"],
    });
    expect(readEvent(log(noise))).toBeNull();
  });

  it("keep the reason of a failure whole", () => {
    expect(readEvent(log("one\ntwo", "error"))).toEqual({ type: "error", name, message: "one\ntwo" });
  });
});
