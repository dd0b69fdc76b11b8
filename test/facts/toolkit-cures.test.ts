import { describe, expect, it } from "vitest";
import { packageCures, specificationCure } from "../../src/facts/toolkit-cures.ts";

describe("the cure that writes a CDI specification", () => {
  it.each([
    [null, /^install the NVIDIA Container Toolkit: from 1\.18 on its service nvidia-cdi-refresh/],
    [undefined, /^nvidia-ctk cdi generate --output=\S+ \(toolkit 1\.12 to 1\.17; from 1\.18 on: systemctl/],
    ["1.11.0", /^update the NVIDIA Container Toolkit 1\.11\.0 to 1\.12 or newer, and run nvidia-ctk/],
    ["1.12.0", /^nvidia-ctk cdi generate --output=\/etc\/cdi\/nvidia\.yaml$/],
    ["1.17.8", /^nvidia-ctk cdi generate --output=\/etc\/cdi\/nvidia\.yaml$/],
    ["1.18.0", /^systemctl restart nvidia-cdi-refresh, and remove/],
  ])("is one of toolkit %s", (toolkit, text) => expect(specificationCure(toolkit)).toMatch(text));
});

describe("the cure by which a container toolkit takes or leaves a forward-compatibility package", () => {
  const legacy = (toolkit?: string) => packageCures({ nvidia: "legacy", ...(toolkit && { toolkit }) });
  const cdi = (toolkit?: string) => packageCures({ nvidia: "cdi", ...(toolkit && { toolkit }) });

  // 1.17.3 has neither option nor hook, 1.17.6 has the hook alone.
  it.each([
    [
      "1.17.3",
      "update the NVIDIA Container Toolkit 1.17.3 to 1.17.7 or newer",
      /1\.17\.7 or newer, and set cuda-/,
    ],
    ["1.17.6", "remove disable-cuda-compat-lib-hook from", /^set disable-cuda-compat-lib-hook = true/],
    ["1.17.8", 'set cuda-compat-mode = "ldconfig" in', /^set cuda-compat-mode = "disabled" in [^,]*$/],
    ["1.18.1", 'set cuda-compat-mode = "ldconfig" in', /and disable-cuda-compat-lib-hook = true/],
    [undefined, 'set cuda-compat-mode = "ldconfig" in', /\(1\.17\.7 or newer\)$/],
  ])("is an option that the runtime of %s has", (toolkit, load, leave) => {
    expect(legacy(toolkit).load).toContain(load);
    expect(legacy(toolkit).leave).toMatch(leave);
  });

  it("writes a specification with the hook from 1.17.5 on, and without the hook from 1.18 on", () => {
    expect(cdi("1.17.4").load).toContain("update the NVIDIA Container Toolkit 1.17.4 to 1.17.5 or newer");
    expect(cdi("1.17.5").load).toMatch(/^write the CDI specification again, .*: nvidia-ctk cdi generate/);
    expect(cdi("1.18.0").load).toMatch(/: systemctl restart nvidia-cdi-refresh/);
    expect(cdi("1.17.8").leave).toContain("update the NVIDIA Container Toolkit 1.17.8 to 1.18 or newer");
    expect(cdi("1.18.0").leave).toMatch(/^write the CDI specification without the hook/);
    expect(cdi().leave).toMatch(/^write the CDI specification without the hook/);
  });
});
