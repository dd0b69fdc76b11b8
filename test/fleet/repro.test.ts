import { describe, expect, it } from "vitest";
import type { BuildRequest, Engine } from "../../src/fleet/build/engine.ts";
import { layersOfConfig, layersOfHistory } from "../../src/oci/image-layers.ts";
import { buildTwice, firstDifference } from "../../src/fleet/repro.ts";

const layer = (diffId: string, createdBy: string | null = null) => ({ diffId, createdBy });

describe("two builds", () => {
  it.each([
    ["are without cache and without a name", null],
    ["leave nothing behind when one of them fails", 2],
  ])("%s", async (_, failing) => {
    const asked: Pick<BuildRequest, "noCache" | "tags">[] = [];
    const steps: string[] = [];
    const engine: Pick<Engine, "build" | "layers" | "scratch"> = {
      build: async ({ noCache = false, tags }) => {
        asked.push({ noCache, tags });
        steps.push("build");
        if (asked.length === failing) throw new Error("no");
        return { id: `sha256:${asked.length}`, size: null };
      },
      layers: async ({ id }) => [layer("base"), layer(id)],
      scratch: async () => {
        steps.push("look");
        return async () => void steps.push("sweep");
      },
    };
    const request = { cell: "one", tags: ["app:1"] } as unknown as BuildRequest;
    const watch = { signal: new AbortController().signal, onLog: () => {} };
    const report = await buildTwice(engine as Engine, request, watch).catch(() => null);
    if (failing === null) expect(report).toMatchObject({ reproducible: false, difference: { number: 2 } });
    else expect(report).toBeNull();
    expect(asked).toEqual(Array(2).fill({ noCache: true, tags: [] }));
    expect(steps).toEqual(["look", "build", "build", "sweep"]);
  });
});

describe("first difference", () => {
  it("is null for equal layers", () => {
    expect(firstDifference([layer("a")], [layer("a")])).toBeNull();
  });

  it("names the first layer that differs", () => {
    const [one, other] = [
      [layer("a"), layer("b", "RUN date"), layer("c")],
      [layer("a"), layer("B", "RUN date"), layer("C")],
    ];
    expect(firstDifference(one, other)).toEqual({ number: 2, createdBy: "RUN date", diffIds: ["b", "B"] });
  });

  it("sees a layer that only one build has", () => {
    expect(firstDifference([layer("a")], [layer("a"), layer("b", "RUN x")])).toEqual({
      number: 2,
      createdBy: "RUN x",
      diffIds: [null, "b"],
    });
  });
});

describe("layers", () => {
  it("are named by the history entries that are not empty", () => {
    const history = [
      { created_by: "COPY a" },
      { created_by: "LABEL x", empty_layer: true },
      { created_by: "RUN b" },
    ];
    expect(layersOfConfig({ rootfs: { diff_ids: ["1", "2"] }, history })).toEqual([
      layer("1", "COPY a"),
      layer("2", "RUN b"),
    ]);
  });

  it("have no name rather than a wrong one where the history does not fit", () => {
    expect(layersOfConfig({ rootfs: { diff_ids: ["1", "2"] }, history: [{ created_by: "COPY a" }] })).toEqual(
      [layer("1"), layer("2")],
    );
  });

  it("are told from the engine's history, where nothing says which entries are empty", () => {
    const history = [
      "/bin/sh -c #(nop) ADD file:1 in / ",
      '/bin/sh -c #(nop)  CMD ["bash"]',
      "WORKDIR /src",
      "ENV A=b",
      "RUN /bin/sh -c make # buildkit",
    ];
    expect(layersOfHistory(["1", "2"], history).map(({ createdBy }) => createdBy)).toEqual([
      "#(nop) ADD file:1 in / ",
      "RUN /bin/sh -c make # buildkit",
    ]);
    expect(layersOfHistory(["1", "2", "3"], history)[1]?.createdBy).toBe("WORKDIR /src");
  });
});
