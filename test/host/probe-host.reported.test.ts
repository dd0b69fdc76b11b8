/** Hosts of public reports, as faked roots and node objects: each with the answer that its report asks for. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expandMatrix } from "../../src/fleet/cells/expand.ts";
import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import type { LockedImage } from "../../src/lock/lock.ts";
import { cuda, image, lockOf, rocmImage } from "../resolve/support/locks.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";
import { needs } from "../support/needs.ts";
import type { NvmlReading } from "../../src/host/nvidia/nvml-reading.ts";
import { problemLines } from "../../src/resolve/answer-lines.ts";
import {
  hostOf,
  lockFor,
  samples,
  type Wanted,
  whyNoSamples,
  withoutMig,
} from "../support/reported-hosts.ts";

/** The winner, and each refusal as its code, message and cure. */
function answer(name: string, host: HostFacts, change?: Partial<Wanted>) {
  const { match, rejected } = resolveImage(lockFor(name, change), host);
  const why = rejected.map(({ cell, code, message, fix }) => `${cell} ${code} ${message} → ${fix}`);
  return { cell: match?.cell ?? null, tier: match?.tier, why: why.join("\n") };
}

describe("hosts of public reports (../shared/samples/hosts)", needs(whyNoSamples), () => {
  it.each([
    ["01-gb10-proprietary-module", null, /HOST_BROKEN.*does not drive Blackwell.*→ install the open flavor/],
    ["01c-p4-open-module", null, /HOST_BROKEN.*does not drive Pascal.*→ install the proprietary flavor/],
    [
      "b-01b-eks-g7-2c3a-proprietary-smi",
      null,
      /HOST_NO_DEVICES: .*00000000:57:00.0: the proprietary kernel module .* → install the open flavor/,
    ],
    [
      "b-02-vgpu-manager-host-no-libcuda",
      null,
      /HOST_BROKEN HOST_NO_LIBCUDA: .*→ install .*compute libraries/,
    ],
    ["b-02b-vgpu-manager-host-cuda-na", null, /HOST_NO_LIBCUDA: .*→ install .*compute libraries/],
    ["b-08c-wsl-no-nvidia-cpu-fleet", "cpu", /^$/],
    ["10-azure-milan-no-pku", "zen3", /^$/],
    ["14-m4-vm-sve2-without-sve", "m1", /only-sve2 CPU_FEATURES_MISSING needs sve2/],
    ["17b-lxc-no-uvm", null, /HOST_BROKEN HOST_NO_UVM/],
    [
      "18-nova-core",
      "cpu",
      /NovaCore holds 1 NVIDIA GPU.*→ blacklist nova_core \(blacklist nova_core\), install/,
    ],
    ["21-pascal-plus-blackwell", "cu130", /^$/],
    ["22-r590-pascal", "cpu", /driver 590.48.01 no longer drives Pascal.*→ install a driver of branch 580$/],
    ["24-milan-old-nfd011", "zen3", /^$/],
    ["26-wsl-551-cuda128", "cpu", /NVIDIA_REQUIRE_UNSATISFIED .*cannot be proved.*CUDA 12.4 here/],
  ])("%s: %s", async (name, cell, why) => {
    const host = await hostOf(name);
    const read = parseHostFacts(formatHostFacts(host), "facts.json");
    for (const each of [host, read]) {
      const said = answer(name, each);
      expect(said.cell, said.why).toBe(cell);
      expect(said.why).toMatch(why);
      expect(said.why).not.toMatch(/power-cycle|modprobe nvidia\b/);
    }
  });

  it("leaves no report out: each is in a test of this file, of broken states or of the machine with an H200", () => {
    const files = ["host/probe-host.reported.test.ts", "facts/broken-states.test.ts", "support/h200-vm.ts"];
    const tests = files.map((file) => readFileSync(join(import.meta.dirname, "..", file), "utf8")).join("");
    const folders = readdirSync(samples, { withFileTypes: true }).filter((each) => each.isDirectory());
    expect(folders.map(({ name }) => name).filter((name) => !tests.includes(name))).toEqual([]);
  });

  it("b-08c: WSL2 tells of no NVIDIA GPU, and of one whose libraries are there", async () => {
    const host = await hostOf("b-08c-wsl-no-nvidia-cpu-fleet");
    expect([host.nvidia, host.problems]).toEqual([null, []]);
    const io = fixtureHostIo(join(samples, "b-08c-wsl-no-nvidia-cpu-fleet"));
    const libcuda = "/usr/lib/wsl/lib/libcuda.so.1";
    const found = await probeHost({ ...io, exists: (path) => path === libcuda || io.exists(path) });
    expect(found.problems.map(({ code }) => code)).toEqual(["HOST_NVML_FAILED"]);
  });

  it("b-27: labels tell no higher CUDA version than the driver's branch offers", async () => {
    const host = await hostOf("b-27-gfd-runtime-117-on-470");
    expect(host.nvidia).toMatchObject({ driver: "470.129.06", cuda: "11.4" });
    const built = (code: string) => {
      const side = cuda("11.7.1", [code], { driver: { mode: "host", minimum: "450.80.02" } });
      return image({ requires: { cpu: { march: "any", features: [] }, cuda: side } });
    };
    const { match, rejected } = resolveImage(
      lockOf({ sass: built("sm_75"), ptx: built("compute_75") }),
      host,
    );
    expect(match).toMatchObject({ cell: "sass", tier: "minor" });
    expect(rejected.map(({ cell, code }) => [cell, code])).toEqual([["ptx", "PTX_TOO_NEW"]]);
  });

  it("b-15: a vGPU without its licence is told, by NVML and by nvidia-smi, and works so far", async () => {
    const name = "b-15-vgpu-unlicensed-a10";
    const io = fixtureHostIo(join(samples, name));
    const licence = (licensed: boolean) => (nvml: NvmlReading) => ({
      ...withoutMig(nvml),
      devices: withoutMig(nvml).devices.map((each) => ({ ...each, licensed: { value: licensed } })),
    });
    const columns = {
      ...{ index: "0", name: "NVIDIA A10-24Q", driver_version: "535.161.08", compute_cap: "8.6" },
      ...{ "pci.bus_id": "00000002:00:00.0", "mig.mode.current": "[N/A]", "memory.total": "24512 MiB" },
    };
    const smi = (status: string) => async (_: string, args: readonly string[]) => {
      const product = `    vGPU Software Licensed Product\n        License Status : ${status}\n`;
      const whole = `Attached GPUs : 1\nGPU 00000002:00:00.0\n    Product Name : NVIDIA A10-24Q\n${product}`;
      const csv = `${Object.keys(columns).join(", ")}\n${Object.values(columns).join(", ")}\n`;
      return { status: 0, stdout: args.includes("-q") ? whole : csv, stderr: "", timedOut: false };
    };
    // An older driver's PCI ids do not tell all of it, so nvidia-smi is asked.
    const bySmi = (status: string) => probeHost({ ...io, readNvml: async () => null, run: smi(status) });
    for (const host of [
      await hostOf(name, licence(false)),
      await bySmi("Unlicensed (Unrestricted)"),
      await bySmi("Unlicensed (Restricted)"),
    ]) {
      expect(host.nvidia?.gpus[0]?.licensed).toBe(false);
      expect(host.problems).toEqual([expect.objectContaining({ code: "HOST_GPU_UNLICENSED" })]);
      expect(host.problems[0]?.message).toContain("nvidia-smi -q, License Status");
      expect(answer(name, parseHostFacts(formatHostFacts(host), "facts.json")).cell).toBe("cu121");
    }
    for (const host of [await hostOf(name, licence(true)), await bySmi("Licensed (Expiry: 2027-1-1)")])
      expect([host.nvidia?.gpus[0]?.licensed, host.problems]).toEqual([true, []]);
    const silent = await hostOf(name);
    expect([silent.nvidia?.gpus[0]?.licensed, silent.problems]).toEqual([undefined, []]);
  });

  it.each([
    [
      "b-34-wsl-555-toolkit-1143",
      /container toolkit 1\.14\.3 .*Windows driver, 555\.85, here.*500/,
      /1\.14\.4/,
    ],
    [
      "b-47-podman-stale-cdi",
      /\/etc\/cdi\/nvidia\.yaml \(driver 535\.183\.01\) .*driver, 580\.95\.05, is/,
      /nvidia-ctk cdi generate/,
    ],
  ])("%s: what hands the GPUs to containers is told as older than the driver", async (name, message, fix) => {
    const host = await hostOf(name);
    for (const each of [host, parseHostFacts(formatHostFacts({ ...host, problems: [] }), "facts.json")]) {
      expect(each.problems.map(({ code }) => code)).toEqual(["HOST_CONTAINERS_OUTDATED"]);
      expect(each.problems[0]?.message).toMatch(message);
      expect(each.problems[0]?.fix).toMatch(fix);
      expect(answer(name, each).cell).toMatch(/^cu/);
    }
    expect(problemLines(host)[0]).toContain("HOST_CONTAINERS_OUTDATED: ");
  });

  it("b-47: from 1.18 on a service writes the specification, and one that fits is enough", async () => {
    const root = fixtureHostIo(join(samples, "b-47-podman-stale-cdi"));
    const readNvml = async (paths: readonly string[]) => {
      const nvml = await root.readNvml(paths);
      return nvml && withoutMig(nvml);
    };
    const io = { ...root, readNvml };
    const toolkit = (version: string) =>
      probeHost({
        ...io,
        readLink: (path) =>
          path.endsWith("/lib64/libnvidia-container.so.1")
            ? `libnvidia-container.so.${version}`
            : io.readLink(path),
      });
    const fixOf = async (version: string) => (await toolkit(version)).problems[0]?.fix;
    expect(await fixOf("1.17.8")).toBe(
      "write the specification again: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    );
    expect(await fixOf("1.18.0")).toMatch(/systemctl restart nvidia-cdi-refresh/);
    expect(await fixOf("1.11.0")).toMatch(
      /update the NVIDIA Container Toolkit 1\.11\.0 to 1\.12 or newer, and run nvidia-ctk/,
    );
    const fresh = "kind: nvidia.com/gpu\nmounts:\n- hostPath: /usr/lib64/libcuda.so.580.95.05\n";
    const both = await probeHost({
      ...io,
      list: (path) => (path === "/var/run/cdi" ? ["fresh.yaml"] : io.list(path)),
      readText: (path) => (path === "/var/run/cdi/fresh.yaml" ? fresh : io.readText(path)),
    });
    expect(both.problems).toEqual([]);
  });

  it("b-44: a driver of AMD's with five numbers is one, and its window of releases is told", async () => {
    const name = "b-44-mi250x-lumi-driver-5.16";
    const host = await hostOf(name);
    expect(host.amd?.driver).toBe("5.16.9.22.20");
    const read = parseHostFacts(formatHostFacts(host), "facts.json");
    const { match, notes } = resolveImage(lockFor(name), read);
    expect([match?.cell, notes]).toEqual([
      "rocm60",
      [
        "AMD names ROCm from 5.0 to 5.4 for its driver 5.2 (amdgpu 5.16.9), the image has ROCm 6.0: whether it works is not known",
      ],
    ]);
  });

  it("b-07: a kernel on which AMD does not support the release is told, and what it supports goes first", async () => {
    const name = "b-07-halo-kernel6189-rocm71";
    const host = await hostOf(name);
    const answered = (images: Readonly<Record<string, LockedImage>>, kernel = host.kernel) => {
      const lock = lockFor(name);
      const { match, notes } = resolveImage(
        { ...lock, images: { ...lock.images, ...images } },
        { ...host, kernel },
      );
      return [match?.cell, notes];
    };
    const unsupported = expect.stringMatching(
      /^AMD lists ROCm 7\.1 as not supported for .*gfx1151, on Linux 6\.18\.4 and newer, and ROCm 7\.2\.0, 7\.2\.1, 7\.11 as supported/,
    );
    expect(answered({})).toEqual(["rocm71", [unsupported]]);
    const of = (release: string, code: string) => ({ ...rocmImage([code], release), tag: release });
    const [newer, generic] = [of("7.10", "gfx1151"), of("7.2.1", "gfx11-generic")];
    expect(answered({ newer, generic })).toEqual(["generic", undefined]);
    // On older kernels the distribution decides: the order stays.
    expect(answered({ newer, generic }, "6.17.0")).toEqual([
      "newer",
      [
        expect.stringMatching(
          /^AMD lists ROCm 7\.10 as unstable .* before 6\.18\.4, unless the distribution/,
        ),
      ],
    ]);
    expect(answered({ newer, generic }, null)).toEqual(["newer", undefined]);
  });

  it("05: an Orin takes the package for Jetson, and none for servers", async () => {
    const probed = await hostOf("05-orin-jp6-cuda129-compat");
    for (const host of [probed, parseHostFacts(formatHostFacts(probed), "facts.json")]) {
      const servers = answer("05-orin-jp6-cuda129-compat", host);
      expect(servers.cell).toBeNull();
      expect(servers.why).toMatch(
        /cu129-compat COMPAT_NOT_SUPPORTED .* is one for servers, and this host is a Jetson/,
      );
      expect(servers.why).not.toMatch(/driver: 575|→ 575/);
      const jetson = { for: "jetson", package: "12.9", branches: ["540"] } as const;
      const fits = answer("05-orin-jp6-cuda129-compat", host, jetson);
      expect(fits).toMatchObject({ cell: "cu129-compat", tier: "forward", why: "" });
    }
  });

  it("05m: a plan names the cell that no machine runs", () => {
    const text = readFileSync(join(samples, "05m-orin-matrix/matrix.yaml"), "utf8");
    const reasons = (matrix: string) =>
      expandMatrix(parseMatrix(matrix, "matrix.yaml")).map(({ skipped }) => skipped?.reason ?? null);
    expect(reasons(text)).toEqual([null, expect.stringContaining("driver: { mode: compat, for: jetson }")]);
    expect(reasons(text.replace("mode: compat", "mode: compat, for: jetson"))).toEqual([null, null]);
  });

  it("21: no cure loses the card that works", async () => {
    const { problems } = await hostOf("21-pascal-plus-blackwell");
    expect(problems.map(({ code }) => code)).toEqual(["HOST_GPU_UNSUPPORTED_BY_DRIVER"]);
    expect(problems[0]?.fix).toMatch(
      /^no flavor of the driver drives this GPU and GPU 0 \(NVIDIA GeForce RTX 5090/,
    );
  });

  it("10: a kernel that prints no rdpid is named where the CPU is not known", async () => {
    const host = await hostOf("10-azure-milan-no-pku");
    const features = host.cpu.features?.filter((feature) => feature !== "rdpid") ?? [];
    const { why } = answer("10-azure-milan-no-pku", { ...host, cpu: { ...host.cpu, features } });
    expect(why).toContain("needs rdpid (znver3), of which this host's kernel, 3.10.0, prints nothing");
  });
});
