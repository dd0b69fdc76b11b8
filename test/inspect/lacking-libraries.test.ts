import { expect, it } from "vitest";
import { inspectionOf } from "../../src/inspect/inspection.ts";
import { lackingLibraries } from "../../src/inspect/lacking-libraries.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { a100, gpuHost } from "../resolve/support/hosts.ts";
import { cuda12, declared, madeFile, madeImage } from "./support/made-opened.ts";

it("names a library without code for the host's GPU, and none that carries such code beside the code that the library registers", () => {
  const made = [
    madeFile({ path: "/lib/_ops.so", targets: ["sm_80"], toolkit: "12.8" }),
    madeFile({ path: "/lib/flash_attn.so", targets: ["sm_75"], toolkit: "12.8" }),
    madeFile({ path: "/lib/libcufft.so.12", targets: ["sm_75"], carried: ["sm_80"], toolkit: "12.8" }),
  ];
  const requires = {
    ...declared("x86-64"),
    cpu: { march: "x86-64", features: [] },
    cuda: cuda12(["sm_75", "sm_80"]),
  };
  const view = viewHost(gpuHost([a100], "570.124.06", "12.8"));
  const found = lackingLibraries(inspectionOf(madeImage(made)), requires, "linux/amd64", view);
  expect(found.map(({ path, misfit }) => [path, misfit.code])).toEqual([
    ["/lib/flash_attn.so", "NO_GPU_CODE"],
  ]);
});
