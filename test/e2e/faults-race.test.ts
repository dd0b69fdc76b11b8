/** Many publishers of one tag at once, each with other bytes of the same inputs. */

import { setMaxListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Engine } from "../../src/fleet/engines/engine.ts";
import type { BuiltImage } from "../../src/oci/engine/built-image.ts";
import { createDockerEngine } from "../../src/fleet/engines/docker/docker-engine.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { publishImage } from "../../src/fleet/publish/publish-image.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { type BusyboxContext, makeBusyboxContext, whyNoBusybox } from "./support/busybox.ts";
import { rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const reason = stack.available ? whyNoBusybox : stack.reason;

describe("Publishers at once", needs(reason), () => {
  const registry = createRegistryClient();
  const silent = { signal: new AbortController().signal, onLog: () => {} };
  setMaxListeners(0, silent.signal);
  const inputDigest = digestOf(Buffer.from("the same inputs"));
  let engine: Engine;
  let platform: string;
  let context: BusyboxContext;
  const images: BuiltImage[] = [];

  beforeAll(async () => {
    if (!stack.available) return;
    engine = await createDockerEngine({ env: { ...process.env, ...stack.engineEnv } });
    platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
    context = await makeBusyboxContext();
    for (let index = 0; index < 8; index++) {
      images.push(
        await engine.build(
          {
            cell: `race-${index}`,
            dockerfile: `FROM scratch\nCOPY bin /bin\nRUN busybox echo ${process.pid} ${index} > /number\n`,
            contextDir: context.folder,
            contextFiles: context.files,
            platform,
            target: null,
            args: {},
            labels: { "dev.imgmatch.inputs": inputDigest },
            tags: [`imgmatch-test/race-${index}:local`],
          },
          silent,
        ),
      );
    }
    expect(new Set(images.map(({ id }) => id)).size).toBe(8);
  });
  afterAll(async () => context?.remove());

  it.each([
    [2, rounds(6, 100)],
    [8, rounds(3, 100)],
  ])(
    "%i at once, %i rounds: one digest for all, one that pushed, and the tag holds it",
    { timeout: rounds(240_000, 3_600_000) },
    async (publishers, times) => {
      for (let round = 0; round < times; round++) {
        // A repository for each: announcements of other rounds would look like other publishers.
        const name = `race/${publishers}-${process.pid}-${round}:tag`;
        const reference = parseImageReference(`${stack.available ? stack.registry : ""}/${name}`);
        const published = await Promise.all(
          images
            .slice(0, publishers)
            .map((image) =>
              publishImage({ engine, registry, image, reference, platform, inputDigest, watch: silent }),
            ),
        );
        const served = await registry.findManifest(reference);
        expect(new Set(published.map(({ digest }) => digest)), `round ${round}`).toEqual(
          new Set([served?.digest]),
        );
        expect(
          published.filter(({ how }) => how === "pushed"),
          `round ${round}`,
        ).toHaveLength(1);
        expect(
          published.filter(({ differs }) => differs),
          `round ${round}`,
        ).toHaveLength(publishers - 1);
      }
    },
  );
});
