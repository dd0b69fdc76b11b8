/** Turns the facts of this machine into findings: about the host, the containers' access to its GPUs, the engine and the logins. */

import type { Problem } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";

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
 * @param closed device files of AMD GPUs that this user may not open
 */
export function diagnose(
  host: HostFacts,
  engine: EngineState,
  logins: LoginState,
  closed: readonly string[] = [],
): readonly Finding[] {
  return [
    ...examineCpu(host),
    ...examineNvidia(host),
    ...examineAmd(host),
    ...closedFindings(host, closed),
    ...host.problems.map((problem) => wrong("host", problem)),
    ...examineEngine(engine, host),
    ...examineAmdRuntime(host),
    ...examineNvidiaRuntime(host, engine),
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

function examineNvidia({ nvidia, amd, problems }: HostFacts): readonly Finding[] {
  if (nvidia === undefined)
    return [unknown("nvidia", "the facts do not tell whether there is an NVIDIA GPU")];
  if (nvidia === null)
    return [ok("nvidia", `neither device nor driver${amd == null ? ": images without GPU code fit" : ""}`)];
  const gpus = nvidia.gpus.map(({ index, name, compute, mig }) => {
    const instances = mig == null ? "" : `, ${mig.length} MIG instances`;
    const found = `${index}: ${name ?? "unnamed"}, compute capability ${compute ?? "unknown"}${instances}`;
    return compute === null ? unknown("gpu", found) : ok("gpu", found);
  });
  if (nvidia.driver === null) {
    // A problem tells more than "unknown".
    const isExplained = problems.some(({ code }) => code.startsWith("HOST_"));
    if (isExplained) return gpus;
    return [unknown("nvidia", "a device is there, the driver's version is unknown"), ...gpus];
  }
  const details = [
    `driver ${nvidia.driver}`,
    ...(nvidia.module === null ? [] : [`${nvidia.module} module`]),
    nvidia.cuda === null ? "CUDA version unknown" : `CUDA up to ${nvidia.cuda}`,
  ];
  return [ok("nvidia", details.join(", ")), ...gpus];
}

/** Most machines have no AMD GPU, and get no finding. */
function examineAmd({ amd, problems, sources }: HostFacts): readonly Finding[] {
  if (amd === undefined) return [unknown("amd", "the facts do not tell whether there is an AMD GPU")];
  if (amd === null) return [];
  const gpus = amd.gpus.map(({ index, name, target, partition }) => {
    const part = partition === null || partition === "SPX" ? "" : `, a partition (${partition})`;
    const found = `${index}: ${name ?? "unnamed AMD GPU"}, ${target ?? "target unknown"}${part}`;
    return target === null ? unknown("gpu", found) : ok("gpu", found);
  });
  if (amd.driver !== null) return [ok("amd", `driver ${amd.driver}`), ...gpus];
  if (sources["amd.driver"] !== undefined)
    return [ok("amd", "the kernel's own driver, which has no version"), ...gpus];
  // A problem tells more than "unknown".
  const isExplained = problems.some(({ code }) => code.startsWith("HOST_AMD_"));
  return isExplained ? gpus : [unknown("amd", "a device is there, its driver is unknown"), ...gpus];
}

/** HOST_AMD_NO_PERMISSION tells already that no GPU can be opened. */
function closedFindings({ problems }: HostFacts, closed: readonly string[]): readonly Finding[] {
  if (closed.length === 0) return [];
  const message = `this user may not open ${closed.join(", ")}`;
  return problems.some(({ code }) => code === "HOST_AMD_NO_PERMISSION")
    ? [unknown("gpu", message)]
    : [unknown("gpu", `${message}: ROCm leaves that GPU out`)];
}

function examineEngine({ answer, configured, command }: EngineState, host: HostFacts): readonly Finding[] {
  if (!answer.ok) {
    const absent = answer.problem.code === "ENGINE_NOT_FOUND" && !configured;
    return [
      absent
        ? ok("engine", "none here: build and run need one, nothing else does")
        : wrong("engine", answer.problem),
    ];
  }
  const { name, shown, platform } = answer;
  const foreign = platform !== null && platform !== host.platform;
  const other = foreign ? `, for ${platform}: what it builds and runs is not for ${host.platform}` : "";
  const engine = ok("engine", `${name} at ${shown}${other}`);
  if (command !== null) return [engine, ok("command", command)];
  const fix = "install Docker's command line (Debian, Ubuntu: apt-get install docker-cli, or docker.io)";
  const message = "the engine answers and there is no docker command: imgmatch build and run need it";
  return [engine, wrong("command", { code: "LAUNCH_FAILED", message, fix })];
}

/** A container needs only the device files, so no toolkit is required. */
function examineAmdRuntime({ amd, runtime }: HostFacts): readonly Finding[] {
  if (amd == null || amd.gpus.length === 0) return [];
  const how = runtime.amd === "cdi" ? "through CDI" : "as device files";
  return [ok("runtime", `containers get the AMD GPUs ${how}`)];
}

function examineNvidiaRuntime({ nvidia, runtime }: HostFacts, { answer }: EngineState): readonly Finding[] {
  if (nvidia == null || nvidia.gpus.length === 0) return [];
  if (runtime.nvidia === "cdi" || runtime.nvidia === "legacy") {
    const how = runtime.nvidia === "cdi" ? "CDI" : "the NVIDIA runtime";
    const packages =
      runtime.compat === undefined
        ? "; what becomes of a forward-compatibility package is not known"
        : `; forward-compatibility packages: ${runtime.compat}`;
    const toolkit = runtime.toolkit === undefined ? "" : ` of toolkit ${runtime.toolkit}`;
    return [ok("runtime", `containers get the GPUs through ${how}${toolkit}${packages}`)];
  }
  if (answer.ok && answer.nvidiaRuntime) return [ok("runtime", "the engine has the NVIDIA runtime")];
  if (runtime.nvidia === null && !answer.ok)
    return [unknown("runtime", "how containers would get the GPUs cannot be seen here")];
  const message =
    "there are GPUs and a container engine, and no NVIDIA support in it: no container can use them";
  const fix =
    "install the NVIDIA Container Toolkit and run: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml";
  return [wrong("runtime", { code: "LAUNCH_FAILED", message, fix })];
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
