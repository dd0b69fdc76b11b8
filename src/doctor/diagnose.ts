/** Examines what imgmatch stands on here: the host, the way containers reach its GPUs, the container engine, the logins. */

import type { Problem } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";

/** `unknown` is not a problem, and not the absence of one. */
export type FindingState = "ok" | "problem" | "unknown";

export interface Finding {
  /** `cpu`, `kernel`, `nvidia`, `gpu`, `runtime`, `engine`, `command`, `logins` */
  readonly check: string;
  readonly state: FindingState;
  readonly message: string;
  /** Of a problem that has one. */
  readonly code?: string;
  readonly fix?: string;
}

export interface EngineState {
  /** What answered, or why nothing did. */
  readonly answer:
    | { readonly ok: true; readonly name: string; readonly shown: string; readonly info: EngineInfo }
    | { readonly ok: false; readonly problem: Problem };
  /** Whether a variable or a Docker context names an engine: then its absence is a mistake. */
  readonly configured: boolean;
  /** Path of the docker command; null where there is none. */
  readonly command: string | null;
}

export interface EngineInfo {
  /** `linux/amd64`; null when the engine does not tell. */
  readonly platform: string | null;
  readonly nvidiaRuntime: boolean;
}

export interface LoginState {
  /** Registries with a login in the file or a helper of their own. */
  readonly registries: readonly string[];
  /** Helper programs that are named and are not in PATH. */
  readonly missingHelpers: readonly string[];
  /** The general helper, which may know more. */
  readonly store: string | null;
  readonly path: string;
  readonly problem: Problem | null;
}

export interface Diagnosis {
  readonly host: readonly Finding[];
  readonly engine: readonly Finding[];
}

/** Findings in the order in which to read them. No GPU and no engine are facts, not problems: a CPU node needs neither. */
export function diagnose(host: HostFacts, engine: EngineState, logins: LoginState): Diagnosis {
  return {
    host: [...examineCpu(host), ...examineNvidia(host), ...hostProblems(host)],
    engine: [...examineEngine(engine, host), ...examineRuntime(host, engine), examineLogins(logins)],
  };
}

function examineCpu({ platform, kernel, cpu }: HostFacts): readonly Finding[] {
  const model = cpu.model ?? cpu.vendor ?? "of unknown make";
  const known: Finding =
    cpu.features === null
      ? { check: "cpu", state: "unknown", message: `${platform}, ${model}: its features cannot be read` }
      : {
          check: "cpu",
          state: "ok",
          message: `${platform}, ${model}: ${cpu.level ?? "no generic level"}, ${cpu.features.length} features`,
        };
  const version: Finding =
    kernel === null
      ? { check: "kernel", state: "unknown", message: "its version cannot be read" }
      : { check: "kernel", state: "ok", message: kernel };
  return [known, version];
}

function examineNvidia({ nvidia, problems }: HostFacts): readonly Finding[] {
  if (nvidia === null) {
    return [
      { check: "nvidia", state: "ok", message: "neither device nor driver: images without GPU code fit" },
    ];
  }
  // A problem of its own says more than "unknown" does.
  const told = problems.some(({ code }) => code.startsWith("HOST_"));
  const driver: readonly Finding[] =
    nvidia.driver === null
      ? told
        ? []
        : [
            {
              check: "nvidia",
              state: "unknown",
              message: "a device is there, the driver's version is unknown",
            },
          ]
      : [
          {
            check: "nvidia",
            state: "ok",
            message: [
              `driver ${nvidia.driver}`,
              ...(nvidia.module === null ? [] : [`${nvidia.module} module`]),
              nvidia.cuda === null ? "CUDA version unknown" : `CUDA up to ${nvidia.cuda}`,
            ].join(", "),
          },
        ];
  const gpus = nvidia.gpus.map(
    ({ index, name, compute, mig }): Finding => ({
      check: "gpu",
      state: compute === null ? "unknown" : "ok",
      message: `${index}: ${name ?? "unnamed"}, compute capability ${compute ?? "unknown"}${mig.length === 0 ? "" : `, ${mig.length} MIG instances`}`,
    }),
  );
  return [...driver, ...gpus];
}

function hostProblems({ problems }: HostFacts): readonly Finding[] {
  return problems.map(({ code, message, fix }) => ({
    check: "host",
    state: "problem",
    code,
    message,
    ...(fix === undefined ? {} : { fix }),
  }));
}

function examineEngine({ answer, configured, command }: EngineState, host: HostFacts): readonly Finding[] {
  if (!answer.ok) {
    const { code, message, fix } = answer.problem;
    const absent = code === "ENGINE_NOT_FOUND" && !configured;
    return [
      absent
        ? { check: "engine", state: "ok", message: "none here: build and run need one, nothing else does" }
        : { check: "engine", state: "problem", code, message, ...(fix === undefined ? {} : { fix }) },
    ];
  }
  const { name, shown, info } = answer;
  const foreign = info.platform !== null && info.platform !== host.platform;
  const engine: Finding = {
    check: "engine",
    state: "ok",
    message: `${name} at ${shown}${foreign ? `, for ${info.platform}: what it builds and runs is not for ${host.platform}` : ""}`,
  };
  if (command !== null) return [engine, { check: "command", state: "ok", message: command }];
  const fix = "install Docker's command line (Debian, Ubuntu: apt-get install docker-cli, or docker.io)";
  const missing = "the engine answers and there is no docker command: imgmatch run needs it, build does not";
  return [engine, { check: "command", state: "problem", code: "LAUNCH_FAILED", message: missing, fix }];
}

function examineRuntime({ nvidia, runtime }: HostFacts, { answer }: EngineState): readonly Finding[] {
  if (nvidia === null || nvidia.gpus.length === 0) return [];
  if (runtime.nvidia === "cdi" || runtime.nvidia === "legacy") {
    const how = runtime.nvidia === "cdi" ? "CDI" : "the NVIDIA runtime";
    return [{ check: "runtime", state: "ok", message: `containers get the GPUs through ${how}` }];
  }
  if (answer.ok && answer.info.nvidiaRuntime) {
    return [{ check: "runtime", state: "ok", message: "the engine has the NVIDIA runtime" }];
  }
  if (runtime.nvidia === null && !answer.ok) {
    return [
      {
        check: "runtime",
        state: "unknown",
        message: "how containers would get the GPUs cannot be seen here",
      },
    ];
  }
  return [
    {
      check: "runtime",
      state: "problem",
      code: "LAUNCH_FAILED",
      message:
        "there are GPUs and a container engine, and no NVIDIA support in it: no container can use them",
      fix: "install the NVIDIA Container Toolkit and run: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    },
  ];
}

function examineLogins({ registries, missingHelpers, store, path, problem }: LoginState): Finding {
  if (problem !== null) {
    const { code, message, fix } = problem;
    return { check: "logins", state: "problem", code, message, ...(fix === undefined ? {} : { fix }) };
  }
  if (missingHelpers.length > 0) {
    return {
      check: "logins",
      state: "problem",
      code: "REGISTRY_AUTH",
      message: `${path} names ${missingHelpers.map((name) => `docker-credential-${name}`).join(", ")}, which is not in PATH`,
      fix: "install it, or log in again with docker login after removing it from the file",
    };
  }
  const known = registries.length === 0 ? "" : registries.join(", ");
  const asked = store === null ? "" : `docker-credential-${store} is asked`;
  const message = [known, asked].filter((part) => part !== "").join("; ");
  return {
    check: "logins",
    state: "ok",
    message: message === "" ? "none: registries are asked without one" : message,
  };
}
