import { describe, expect, it } from "vitest";
import { surveyOf } from "../../../src/inspect/inspection.ts";
import { madeFile, madeImage, unopenedFile } from "../support/made-opened.ts";

const compiler = "libnvdla_compiler.so";
const folder = "/usr/lib/aarch64-linux-gnu";
const infer = madeFile({ path: `${folder}/libnvinfer.so.10.3.0`, needed: ["libc.so.6", compiler] });
const plugin = madeFile({ path: `${folder}/libnvinfer_plugin.so.10.3.0`, needed: [compiler] });
const linksOf = (...files: readonly ReturnType<typeof madeFile>[]) => surveyOf(madeImage(files)).driver.links;

describe("libraries that the driver of JetPack 7 no longer has", () => {
  it("are named with the first file that is linked with them", () => {
    expect(linksOf(plugin, infer)).toEqual({ [compiler]: `${folder}/libnvinfer.so.10.3.0` });
    expect(linksOf(madeFile({ path: "/opt/app", needed: ["libnvdla_runtime.so"] }))).toEqual({});
  });

  // L4T's images have it, and a runtime mounts the host's library on it.
  it("are not given by an empty file of the name, which is no program", () => {
    const empty = { kind: "file", path: `usr/lib/${compiler}`, opened: { files: {}, unopened: {} } } as const;
    expect(linksOf(infer, empty)).toHaveProperty([compiler]);
  });

  it.each([
    ["has the library", madeFile({ path: `/usr/local/cuda/lib64/${compiler}` })],
    ["has the library, with a version", madeFile({ path: `/opt/${compiler}.1` })],
    ["has a file of the name that cannot be read", unopenedFile(`/opt/${compiler}`)],
  ])("are none if the image %s", (_, file) => expect(linksOf(infer, file)).toEqual({}));
});
