/** Every object for Kubernetes that imgmatch writes: launches in each way of getting a GPU, and fleets. */

import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { LaunchRequest } from "../../../../src/node/launch/target.ts";
import { kubernetes } from "../../../../src/node/launch/targets/kubernetes.ts";
import { formatLock } from "../../../../src/lock/format-lock.ts";
import type { Lock } from "../../../../src/lock/lock.ts";
import { makeFolder } from "../../../support/folders.ts";
import { mixedLock, ownLock, visionLock } from "./fleet-locks.ts";
import { imgmatchPrints } from "./program.ts";
import { everything, gpuModes } from "./requests.ts";

/** As far as tests look into one. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: differs by kind
  readonly spec: any;
}

const kinds = { batch: ["job", "pod"], service: ["deployment", "daemonset", "pod"] } as const;
const node = { key: "image.cv-tf", value: "1.12.0-v3" };

/** By what was asked. */
export function launchedObjects(): readonly (readonly [string, KubernetesObject])[] {
  return (["batch", "service"] as const).flatMap((task) =>
    kinds[task].flatMap((kind) =>
      Object.entries(gpuModes).flatMap(([mode, image]) => {
        const own = mode === "bundled driver" ? { resource: "org.qnib/gpu" } : {};
        const small: LaunchRequest = { ...image, args: [], task, settings: { kind, ...own } };
        const full: LaunchRequest = { ...small, ...everything, node };
        const run: LaunchRequest = { ...full, node: null, program: "/usr/bin/train" };
        return Object.entries({ small, full, run }).flatMap(([size, request]) =>
          launched(request).map((object) => [`${kind}, ${task}, ${mode}, ${size}`, object] as const),
        );
      }),
    ),
  );
}

function launched(request: LaunchRequest): readonly KubernetesObject[] {
  const output = kubernetes.launch(request);
  return (output.form === "documents" ? output.documents : []) as unknown as readonly KubernetesObject[];
}

export const fleetLocks: Readonly<Record<string, () => Promise<Lock>>> = {
  "this repository's matrix": ownLock,
  "the example": async () => visionLock,
  "every kind of driver": async () => mixedLock,
};

/** The output of `imgmatch launch kubernetes --fleet`, as text and read again. */
export async function fleetOf(
  lock: Lock,
  ...args: readonly string[]
): Promise<{ readonly text: string; readonly objects: readonly KubernetesObject[] }> {
  const folder = makeFolder({ "lock.json": formatLock(lock) });
  const argv = ["launch", "kubernetes", "--fleet", "--lock", join(folder, "lock.json"), ...args];
  const text = await imgmatchPrints(argv);
  return { text, objects: parseAllDocuments(text).map((each) => each.toJS()) };
}
