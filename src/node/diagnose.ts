/** Turns the facts of this machine into findings: about the host, the containers' access to its GPUs, the engine and the logins. */

import type { Problem } from "../errors.ts";
import { type StartAnswer, startWords } from "../host/ask-start.ts";
import type { HostFacts, HostProblem, VendorFacts } from "../facts/facts.ts";
import { specificationCure } from "../facts/toolkit-cures.ts";
import { type GpuVendor, gpuVendors, vendorNames } from "../hardware/gpu-vendors.ts";

/** `unknown` is neither a problem nor its absence. */
export type FindingState = "ok" | "problem" | "unknown";

export interface Finding {
  /** `cpu`, `kernel`, `nvidia`, `amd`, `gpu` and `host` are the host's, `engine`, `command`, `runtime` and `logins` the machine's. */
  readonly check: string;
  readonly state: FindingState;
  /** A problem's code. */
  readonly code: string | null;
  readonly message: string;
  readonly fix: string | null;
}

export interface EngineState {
  readonly answer:
    | {
        readonly ok: true;
        readonly name: string;
        readonly shown: string;
        /** `linux/amd64`; null if the engine does not tell. */
        readonly platform: string | null;
        readonly nvidiaRuntime: boolean;
      }
    | { readonly ok: false; readonly problem: Problem };
  /** A variable or a Docker context names an engine, so its absence is a mistake. */
  readonly configured: boolean;
  /** The path of the docker command; null without one. */
  readonly command: string | null;
  /** Podman or Buildah: `command` is its path, or null where it answers at a socket as Docker does. */
  readonly isPodman?: true;
}

export interface LoginState {
  /** Registries with a login in the file, or with their own helper. */
  readonly registries: readonly string[];
  /** Named helper programs that are not in PATH. */
  readonly missingHelpers: readonly string[];
  /** The general helper, which may know further logins. */
  readonly store: string | null;
  readonly path: string;
  readonly problem: Problem | null;
}

/**
 * Findings in reading order. A missing GPU or engine is no problem: a CPU node needs neither.
 *
 * @param closed AMD device files without permission for this user
 * @param answers of the drivers, to the question of a start
 * @param own reasons against a start in this process
 */
export function diagnose(
  host: HostFacts,
  engine: EngineState,
  logins: LoginState,
  closed: readonly string[] = [],
  answers: readonly StartAnswer[] = [],
  own: readonly HostProblem[] = [],
): readonly Finding[] {
  return [
    ...examineCpu(host),
    ...gpuVendors.flatMap((vendor) => examineGpus(host, vendor)),
    ...answers.flatMap(startFinding),
    ...closedFindings(host, closed),
    ...[...host.problems, ...own].map((problem) => wrong("host", problem)),
    ...examineEngine(engine, host),
    ...[...gpuVendors]
      .reverse()
      .filter((vendor) => (host[vendor]?.gpus.length ?? 0) > 0)
      .map((vendor) => examined[vendor].containers(host.runtime, engine)),
    examineLogins(logins),
  ];
}

const ok = (check: string, message: string): Finding => finding(check, "ok", message);
const unknown = (check: string, message: string): Finding => finding(check, "unknown", message);

function finding(check: string, state: FindingState, message: string): Finding {
  return { check, state, code: null, message, fix: null };
}

function wrong(
  check: string,
  { code, message, fix = null }: Pick<Problem, "code" | "message"> & { fix?: string | null },
): Finding {
  return { check, state: "problem", code, message, fix };
}

function examineCpu({ platform, kernel, cpu }: HostFacts): readonly Finding[] {
  const model = cpu.model ?? cpu.vendor ?? "of unknown make";
  return [
    cpu.features === null
      ? unknown("cpu", `${platform}, ${model}: its features cannot be read`)
      : ok(
          "cpu",
          `${platform}, ${model}: ${cpu.level ?? "no generic level"}, ${cpu.features.length} features`,
        ),
    kernel === null ? unknown("kernel", "its version cannot be read") : ok("kernel", kernel),
  ];
}

interface Examined<Facts, Gpu> {
  /** Without device and driver. */
  readonly absent: (host: HostFacts) => readonly Finding[];
  readonly gpu: (gpu: Gpu) => Finding;
  /** null for an unknown driver. */
  readonly driver: (facts: Facts, sources: HostFacts["sources"]) => string | null;
  readonly driverless: string;
  /** The start of the codes of problems that tell more than "unknown". */
  readonly problems: string;
  /** Asked only for a host with GPUs. */
  readonly containers: (runtime: HostFacts["runtime"], engine: EngineState) => Finding;
}

const examined: {
  readonly [V in GpuVendor]: Examined<VendorFacts[V], VendorFacts[V]["gpus"][number]>;
} = {
  nvidia: {
    absent: (host) => {
      const none = gpuVendors.every((vendor) => host[vendor] == null);
      return [ok("nvidia", `neither device nor driver${none ? ": images without GPU code fit" : ""}`)];
    },
    gpu: ({ index, name, compute, mig }) => {
      const instances = mig == null ? "" : `, ${mig.length} MIG instances`;
      const found = `${index}: ${name ?? "unnamed"}, compute capability ${compute ?? "unknown"}${instances}`;
      return compute === null ? unknown("gpu", found) : ok("gpu", found);
    },
    driver: ({ driver, module, cuda }) =>
      driver === null
        ? null
        : [
            `driver ${driver}`,
            ...(module === null ? [] : [`${module} module`]),
            cuda === null ? "CUDA version unknown" : `CUDA up to ${cuda}`,
          ].join(", "),
    driverless: "a device is there, the driver's version is unknown",
    problems: "HOST_",
    containers: (runtime, { answer }) => {
      if (runtime.nvidia === "cdi" || runtime.nvidia === "legacy") {
        const how = runtime.nvidia === "cdi" ? "CDI" : "the NVIDIA runtime";
        const packages =
          runtime.compat === undefined
            ? "; what becomes of a forward-compatibility package is not known"
            : `; forward-compatibility packages: ${runtime.compat}`;
        const toolkit = runtime.toolkit === undefined ? "" : ` of toolkit ${runtime.toolkit}`;
        return ok("runtime", `containers get the GPUs through ${how}${toolkit}${packages}`);
      }
      if (answer.ok && answer.nvidiaRuntime) return ok("runtime", "the engine has the NVIDIA runtime");
      if (runtime.nvidia === null && !answer.ok)
        return unknown("runtime", "how containers would get the GPUs cannot be seen here");
      const message =
        "there are GPUs and a container engine, and no NVIDIA support in it: no container can use them";
      return wrong("runtime", { code: "LAUNCH_FAILED", message, fix: specificationCure(null) });
    },
  },
  amd: {
    // Most machines have no AMD GPU.
    absent: () => [],
    gpu: ({ index, name, target, partition }) => {
      const part = partition === null || partition === "SPX" ? "" : `, a partition (${partition})`;
      const found = `${index}: ${name ?? "unnamed AMD GPU"}, ${target ?? "target unknown"}${part}`;
      return target === null ? unknown("gpu", found) : ok("gpu", found);
    },
    driver: ({ driver }, sources) =>
      driver !== null
        ? `driver ${driver}`
        : sources["amd.driver"] === undefined
          ? null
          : "the kernel's own driver, which has no version",
    driverless: "a device is there, its driver is unknown",
    problems: "HOST_AMD_",
    // A container needs only the device files, so no toolkit is required.
    containers: ({ amd }) =>
      ok("runtime", `containers get the AMD GPUs ${amd === "cdi" ? "through CDI" : "as device files"}`),
  },
};

function examineGpus<V extends GpuVendor>(host: HostFacts, vendor: V): readonly Finding[] {
  const row = examined[vendor];
  const facts: VendorFacts[V] | null | undefined = (host as Partial<VendorFacts>)[vendor];
  if (facts === undefined)
    return [unknown(vendor, `the facts do not tell whether there is an ${vendorNames[vendor]} GPU`)];
  if (facts === null) return row.absent(host);
  const gpus = facts.gpus.map((gpu) => row.gpu(gpu as VendorFacts[V]["gpus"][number]));
  const driver = row.driver(facts, host.sources);
  if (driver !== null) return [ok(vendor, driver), ...gpus];
  const isExplained = host.problems.some(({ code }) => code.startsWith(row.problems));
  return isExplained ? gpus : [unknown(vendor, row.driverless), ...gpus];
}

/** A failure is a problem of the facts, or of this process. */
function startFinding(answer: StartAnswer): readonly Finding[] {
  const { vendor, runtime, start, why = "its library cannot be loaded here" } = answer;
  const words = startWords({ ...answer, why }).map((word) => unknown(vendor, word));
  return start !== null && "devices" in start
    ? [
        ok(vendor, `${runtime} starts and finds ${start.devices} device${start.devices === 1 ? "" : "s"}`),
        ...words,
      ]
    : words;
}

/** HOST_AMD_NO_PERMISSION tells already that no GPU can be opened. */
function closedFindings({ problems }: HostFacts, closed: readonly string[]): readonly Finding[] {
  if (closed.length === 0) return [];
  const message = `this user may not open ${closed.join(", ")}`;
  return problems.some(({ code }) => code === "HOST_AMD_NO_PERMISSION")
    ? [unknown("gpu", message)]
    : [unknown("gpu", `${message}: ROCm leaves that GPU out`)];
}

/** True if no engine is here, and nothing names one. */
function isAbsent({ answer, configured }: EngineState): boolean {
  return !answer.ok && answer.problem.code === "ENGINE_NOT_FOUND" && !configured;
}

function examineEngine(state: EngineState, host: HostFacts): readonly Finding[] {
  const { answer, command } = state;
  if (!answer.ok) {
    return [
      isAbsent(state)
        ? ok("engine", "none here: build and run need one, nothing else does")
        : wrong("engine", answer.problem),
    ];
  }
  const { name, shown, platform } = answer;
  if (state.isPodman)
    return [ok("engine", `${name} at ${shown}: add --engine podman to build, run and pull`)];
  const foreign = platform !== null && platform !== host.platform;
  const other = foreign ? `, for ${platform}: what it builds and runs is not for ${host.platform}` : "";
  const engine = ok("engine", `${name} at ${shown}${other}`);
  if (command !== null) return [engine, ok("command", command)];
  const fix = "install Docker's command line (Debian, Ubuntu: apt-get install docker-cli, or docker.io)";
  const message = "the engine answers and there is no docker command: imgmatch build and run need it";
  return [engine, wrong("command", { code: "LAUNCH_FAILED", message, fix })];
}

function examineLogins({ registries, missingHelpers, store, path, problem }: LoginState): Finding {
  if (problem !== null) return wrong("logins", problem);
  if (missingHelpers.length > 0) {
    const helpers = missingHelpers.map((name) => `docker-credential-${name}`).join(", ");
    const message = `${path} names ${helpers}, which is not in PATH`;
    const fix = "install it, or log in again with docker login after removing it from the file";
    return wrong("logins", { code: "REGISTRY_AUTH", message, fix });
  }
  const asked = store === null ? "" : `docker-credential-${store} is asked`;
  const known = [registries.join(", "), asked].filter((part) => part !== "").join("; ");
  return ok("logins", known === "" ? "none: registries are asked without one" : known);
}
