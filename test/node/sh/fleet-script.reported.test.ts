/** Hosts of public reports: the script answers as resolve does, or refuses by name. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { NvmlReading } from "../../../src/host/nvidia/nvml-reading.ts";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { isOfHost } from "../../../src/resolve/verdict.ts";
import { needs } from "../../support/needs.ts";
import { hostOf, lockFor, samples, whyNoSamples, withoutMig } from "../../support/reported-hosts.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { fakeSmi, fixtureMachine, writeMachine } from "./support/machine.ts";
import { runScripts } from "./support/run-scripts.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-sh-reported-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const bin = join(folder, "bin");
mkdirSync(bin);
/** Counts its answers: an older nvidia-smi refuses a field that it does not know, and is asked again without. */
const counting = fakeSmi.replace('\necho "$h"', '\necho asked >>"$IMGMATCH_ROOT/.asked"\necho "$h"');
writeFileSync(join(bin, "nvidia-smi"), counting, { mode: 0o755 });
const dialects = findDialects(join(folder, "awks"));

const withMig = (nvml: NvmlReading) => nvml;
const waiting = (nvml: NvmlReading): NvmlReading => {
  const { devices, ...rest } = withoutMig(nvml);
  return {
    ...rest,
    devices: devices.map((each) => ({ ...each, fabric: { value: { state: 2, status: 0 } } })),
  };
};

describe(
  "hosts of public reports (../shared/samples/hosts)",
  needs(whyNoSamples ?? whyNoDialect(dialects)),
  () => {
    it.each([
      ["01-gb10-proprietary-module", withoutMig, /HOST_BROKEN: HOST_NO_DEVICES/],
      ["01c-p4-open-module", withoutMig, /HOST_BROKEN: HOST_NO_DEVICES/],
      ["02-h200-fabricmanager-802", waiting, /HOST_BROKEN: HOST_FABRIC_NOT_READY: .*nvidia-fabricmanager/],
      ["03-mig-enabled-no-instances", withMig, /HOST_BROKEN: HOST_MIG_EMPTY: .*nvidia-smi -mig 0/],
      ["05-orin-jp6-cuda129-compat", withoutMig, /COMPAT_NOT_SUPPORTED for cu129-compat/],
      ["b-01b-eks-g7-2c3a-proprietary-smi", withoutMig, /HOST_BROKEN: HOST_NO_DEVICES: .*00000000:57:00.0/],
      ["b-02-vgpu-manager-host-no-libcuda", withoutMig, /HOST_BROKEN: HOST_NO_LIBCUDA/],
      ["b-02b-vgpu-manager-host-cuda-na", withoutMig, /HOST_BROKEN: HOST_NO_LIBCUDA/],
      ["b-07-halo-kernel6189-rocm71", withoutMig, /^$/],
      ["b-44-mi250x-lumi-driver-5.16", withoutMig, /^$/],
      ["b-08c-wsl-no-nvidia-cpu-fleet", withoutMig, /^$/],
      ["10-azure-milan-no-pku", withoutMig, /^$/],
      ["14-m4-vm-sve2-without-sve", withoutMig, /^$/],
      ["17b-lxc-no-uvm", withoutMig, /HOST_BROKEN: HOST_NO_UVM/],
      ["18-nova-core", withoutMig, /HOST_GPU_TAKEN/],
      ["21-pascal-plus-blackwell", withoutMig, /^$/],
      ["22-r590-pascal", withoutMig, /HOST_NO_DRIVER/],
      ["26-wsl-551-cuda128", withoutMig, /NVIDIA_REQUIRE_UNSATISFIED for cu128/],
    ] as const)("%s", async (name, change, said) => {
      const lock = lockFor(name);
      const { match, rejected } = resolveImage(lock, await hostOf(name, change));
      const script = join(folder, `${name}.sh`);
      writeFileSync(script, (await fleetScript(lock, { version: "1.0.0" })).text);
      // Under WSL without NVIDIA's Windows driver an nvidia-smi of a Linux package fails, which is no fault of the host.
      const { env, smi, ...machine } = fixtureMachine(join(samples, name), change);
      writeMachine(join(folder, name), { ...machine, env, smi });
      const asked = { script, root: join(folder, name), env, smi: smi === null ? null : bin };
      for (const dialect of dialects) {
        const [result] = runScripts(mkdtempSync(join(folder, "out-")), dialect, [asked]);
        const status = match !== null ? 0 : rejected.some(({ code }) => isOfHost(code)) ? 4 : 3;
        expect([result?.status, result?.stdout.trim()], dialect.name).toEqual([
          status,
          match?.reference ?? "",
        ]);
        expect(result?.stderr.trim()).toMatch(said);
        // One answer, however much is to be known: on some machines each takes seconds.
        const questions = join(folder, name, ".asked");
        const count = existsSync(questions) ? readFileSync(questions, "utf8").split("\n").length - 1 : 0;
        expect(count, dialect.name).toBe(smi?.fields === undefined ? 0 : 1);
        rmSync(questions, { force: true });
      }
    });
  },
);
