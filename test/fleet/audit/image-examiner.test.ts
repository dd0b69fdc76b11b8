import { expect, it } from "vitest";
import { imageExaminer } from "../../../src/fleet/audit/image-examiner.ts";
import { imageAuditor } from "../../../src/inspect/audit/image-auditor.ts";
import type { Requirement } from "../../../src/lock/requirement.ts";
import { parseImageReference, withDigest } from "../../../src/oci/reference.ts";
import { cuda } from "../../resolve/support/locks.ts";

const digest = `sha256:${"a".repeat(64)}` as const;
const image = withDigest(parseImageReference("registry.example.com/team/app"), digest);

function examine(code: readonly string[]) {
  const requires: Requirement = { cpu: { march: "x86-64-v2", features: [] }, cuda: cuda("12.8.1", code) };
  const gone = () => Promise.reject(new Error("no route to the registry"));
  const declared = () => ({ requires, floor: [], platform: "linux/amd64", base: null });
  const registry = { readManifest: gone, readBlob: gone, openBlob: gone } as never;
  const open = imageExaminer(imageAuditor({ declared, registry, holder: {} as never, env: {} }), {
    declared,
  });
  return open({ cell: "one", image }, { signal: new AbortController().signal, onLog: () => {} });
}

it("an image that cannot be opened is a warning: what is declared holds", async () =>
  expect((await examine(["sm_80"])).warnings).toMatchObject([{ code: "AUDIT_NOT_OPENED" }]));

it("an image that cannot be opened fails where no code is declared: nobody sees whether it has some", () =>
  expect(examine([])).rejects.toMatchObject({ code: "AUDIT_NOT_OPENED" }));
