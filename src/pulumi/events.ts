/** Events of Pulumi's engine, as far as they tell of images: by resource name, in plain text. Pure. */

import { inspect } from "node:util";
import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { ImgmatchError } from "../errors.ts";
import { imageType } from "./stack-images.ts";

export type ImageEvent =
  | { readonly type: "start"; readonly name: string }
  | { readonly type: "log"; readonly name: string; readonly lines: readonly string[] }
  | { readonly type: "error"; readonly name: string; readonly message: string }
  /** `repoDigest` is `repository@sha256:…` when it was pushed, else the engine's own id. */
  | { readonly type: "built"; readonly name: string; readonly repoDigest: string }
  | { readonly type: "failed"; readonly name: string };

/** Operations that make an image. A replacement is a creation and a deletion of which the registry sees nothing. */
const making: ReadonlySet<string> = new Set(["create", "create-replacement", "update"]);

/** null for what tells of no image. */
export function readEvent(event: EngineEvent): ImageEvent | null {
  const { resourcePreEvent, resOutputsEvent, resOpFailedEvent, diagnosticEvent } = event;
  const step = (resourcePreEvent ?? resOutputsEvent ?? resOpFailedEvent)?.metadata;
  if (step !== undefined) {
    if (step.type !== imageType || !making.has(step.op)) return null;
    const name = nameOf(step.urn);
    if (resourcePreEvent !== undefined) return { type: "start", name };
    if (resOpFailedEvent !== undefined) return { type: "failed", name };
    const digest: unknown = step.new?.outputs?.repoDigest;
    return { type: "built", name, repoDigest: typeof digest === "string" ? digest : "" };
  }
  if (diagnosticEvent?.urn === undefined || !isImage(diagnosticEvent.urn)) return null;
  const name = nameOf(diagnosticEvent.urn);
  const text = diagnosticEvent.message.replace(/<\{%[^%]*%\}>/g, "").trim();
  if (diagnosticEvent.severity === "error") return { type: "error", name, message: text };
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !isNoise(line));
  return lines.length === 0 ? null : { type: "log", name, lines };
}

/** Whether a line of the provider about BuildKit's steps says nothing to people. */
function isNoise(line: string): boolean {
  return /^digest: sha256:[0-9a-f]{64}$/.test(line);
}

function isImage(urn: string): boolean {
  return urn.split("::")[2]?.endsWith(imageType) ?? false;
}

/** `urn:pulumi:stack::project::types::name`; a name may hold `::` itself. */
function nameOf(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

/**
 * Pulumi tells of a `RunError`, which it knows by this mark, in its own words alone: the stack leads into imgmatch only.
 *
 * It has Node inspect the error nevertheless, for a trace that mostly nobody reads (cmd/run/run.js): colours make that take
 * half a minute for a stack with Pulumi's own frames, so the error says itself what is to be seen of it.
 */
export function withoutStack(error: unknown): unknown {
  if (!(error instanceof ImgmatchError)) return error;
  return Object.assign(error, { __pulumiRunError: true, [inspect.custom]: () => error.message });
}
