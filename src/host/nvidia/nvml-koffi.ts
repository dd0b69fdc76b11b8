/** Calls NVML in this process through koffi. Source of every signature and struct: nvml.h of CUDA 13.0. */

import {
  type Call,
  cString,
  type NativeLibrary,
  openLibrary,
  pointer,
  uint,
  wide,
} from "../native-library.ts";
import { type NvmlAnswer, nvmlCode, nvmlCodes, type NvmlDevice, type NvmlReading } from "./nvml-reading.ts";

/** Buffer sizes: NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE, both 96; versions take 80. */
const textBytes = 96;
/** More GPUs than any machine has. */
const maxDevices = 256;
/** More GPUs than any machine has links between. */
const maxLinked = 32;

/** Loads the first library that can be loaded, reads everything and shuts NVML down; null without koffi or library. */
export async function readNvmlWithKoffi(
  libraries: readonly string[],
  pairs = false,
): Promise<NvmlReading | null> {
  const opened = await openLibrary(libraries, nvmlCodes.absent);
  return opened && ask(opened, pairs);
}

function ask(library: NativeLibrary, pairs: boolean): NvmlReading {
  const { path } = library;
  const init = library.bind("nvmlInit_v2", [])();
  const failed = { code: nvmlCodes.uninitialized };
  if (init !== nvmlCodes.success) {
    const nothing = { driverVersion: failed, nvmlVersion: failed, cudaVersion: failed, deviceCount: failed };
    return { library: path, init, ...nothing, devices: [] };
  }
  const deviceCount = readNumber(library.bind("nvmlDeviceGetCount_v2", ["void *"]));
  const count = "value" in deviceCount ? Math.min(deviceCount.value, maxDevices) : 0;
  const handleOf = library.bind("nvmlDeviceGetHandleByIndex_v2", ["uint", "void *"]);
  const handles = Array.from({ length: count }, (_, index) => readHandle(handleOf, index));
  const isPaired = pairs && count <= maxLinked;
  const reading: NvmlReading = {
    library: path,
    init,
    driverVersion: readString(library.bind("nvmlSystemGetDriverVersion", ["void *", "uint"])),
    nvmlVersion: readString(library.bind("nvmlSystemGetNVMLVersion", ["void *", "uint"])),
    cudaVersion: readNumber(library.bind("nvmlSystemGetCudaDriverVersion_v2", ["void *"])),
    deviceCount,
    devices: handles.map((handle) => ({
      ...readDevice(library, handle),
      ...(isPaired && { nvlink: readLinks(library, handle, handles) }),
    })),
    ...readReady(library),
  };
  library.bind("nvmlShutdown", [])();
  return reading;
}

function readDevice(library: NativeLibrary, handle: NvmlAnswer<bigint>): NvmlDevice {
  const device = "value" in handle ? handle.value : 0n;
  // The library would dereference an absent handle, so every answer is the code of the handle.
  const on = (name: string, types: readonly string[]): Call =>
    "value" in handle
      ? (...args) => library.bind(name, ["uintptr_t", ...types])(device, ...args)
      : () => handle.code;
  return {
    handle: nvmlCode(handle),
    uuid: readString(on("nvmlDeviceGetUUID", ["void *", "uint"])),
    name: readString(on("nvmlDeviceGetName", ["void *", "uint"])),
    compute: readPair(on("nvmlDeviceGetCudaComputeCapability", ["void *", "void *"])),
    pci: readPci(on("nvmlDeviceGetPciInfo_v3", ["void *"])),
    memory: readMemory(
      on("nvmlDeviceGetMemoryInfo_v2", ["void *"]),
      on("nvmlDeviceGetMemoryInfo", ["void *"]),
    ),
    processes: readProcessCount(on),
    mig: readMig(library, on),
    fabric: readFabric(on("nvmlDeviceGetGpuFabricInfo", ["void *"])),
    computeMode: readNumber(on("nvmlDeviceGetComputeMode", ["void *"])),
    recovery: readField(on("nvmlDeviceGetFieldValues", ["int", "void *"]), recoveryField),
    remapFailed: readRemapFailed(on("nvmlDeviceGetRemappedRows", ["void *", "void *", "void *", "void *"])),
    ...readLicence(on),
  };
}

/** NVML_P2P_CAPS_INDEX_NVLINK: NVSwitches count, links to processors do not. */
const nvlinkIndex = 2;

function readLinks(
  library: NativeLibrary,
  from: NvmlAnswer<bigint>,
  all: readonly NvmlAnswer<bigint>[],
): readonly NvmlAnswer<number>[] {
  const status = library.bind("nvmlDeviceGetP2PStatus", ["uintptr_t", "uintptr_t", "int", "void *"]);
  return all.map((to) => {
    if (!("value" in from)) return from;
    if (!("value" in to)) return to;
    return from === to
      ? { value: 0 }
      : readNumber((buffer) => status(from.value, to.value, nvlinkIndex, buffer));
  });
}

function answer<T>(code: number, value: () => T): NvmlAnswer<T> {
  return code === nvmlCodes.success ? { value: value() } : { code };
}

function readString(call: Call): NvmlAnswer<string> {
  const buffer = Buffer.alloc(textBytes);
  return answer(call(buffer, textBytes), () => cString(buffer));
}

function readNumber(call: Call): NvmlAnswer<number> {
  const buffer = Buffer.alloc(4);
  return answer(call(buffer), () => new Int32Array(buffer.buffer, buffer.byteOffset, 1)[0] ?? 0);
}

function readPair(call: Call): NvmlAnswer<readonly [number, number]> {
  const [major, minor] = [Buffer.alloc(4), Buffer.alloc(4)];
  return answer(call(major, minor), () => [uint(major, 0), uint(minor, 0)] as const);
}

function readHandle(call: Call, ...before: readonly (bigint | number)[]): NvmlAnswer<bigint> {
  const buffer = Buffer.alloc(8);
  return answer(call(...before, buffer), () => pointer(buffer));
}

/** nvmlPciInfo_t: char[16] legacy bus id, uint domain, bus, device, pciDeviceId, pciSubSystemId, char[32] bus id. */
function readPci(call: Call): NvmlAnswer<{ id: number; bus: string }> {
  const info = Buffer.alloc(128);
  return answer(call(info), () => ({ id: uint(info, 28), bus: cString(info.subarray(36, 68)) }));
}

/** nvmlMemory_v2_t: uint version, then u64 total, reserved, free, used; nvmlMemory_t: u64 total, free, used. */
function readMemory(second: Call, first: Call): NvmlAnswer<{ totalBytes: number; usedBytes: number }> {
  const v2 = Buffer.alloc(40);
  new Uint32Array(v2.buffer, v2.byteOffset, 1)[0] = 40 | (2 << 24);
  const code = second(v2);
  if (code === nvmlCodes.success) return { value: { totalBytes: wide(v2, 8), usedBytes: wide(v2, 32) } };
  const v1 = Buffer.alloc(24);
  return answer(first(v1), () => ({ totalBytes: wide(v1, 0), usedBytes: wide(v1, 16) }));
}

/** With a buffer for none, NVML answers with the count alone: success for 0, else "insufficient size". */
function readProcessCount(on: NativeLibrary["bind"]): NvmlAnswer<number> {
  for (const version of ["_v3", "_v2", ""]) {
    const count = Buffer.alloc(4);
    const code = on(`nvmlDeviceGetComputeRunningProcesses${version}`, ["void *", "void *"])(count, null);
    if (code === nvmlCodes.absent) continue;
    return code === nvmlCodes.insufficientSize
      ? { value: uint(count, 0) }
      : answer(code, () => uint(count, 0));
  }
  return { code: nvmlCodes.absent };
}

/** nvmlGpuFabricInfo_t: char[16] uuid of the cluster, uint status, uint clique, uchar state. */
function readFabric(call: Call): NvmlAnswer<{ state: number; status: number }> {
  const info = Buffer.alloc(64);
  return answer(call(info), () => ({ state: info.readUInt8(24), status: uint(info, 16) }));
}

/** NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, from R565 on. */
const recoveryField = 230;

/** nvmlFieldValue_t: uint field, uint scope, two times of 8 bytes, uint type, int code, and a value of 8 bytes. */
function readField(call: Call, field: number): NvmlAnswer<number> {
  const info = Buffer.alloc(40);
  new Uint32Array(info.buffer, info.byteOffset, 1)[0] = field;
  const code = call(1, info);
  return answer(code === nvmlCodes.success ? uint(info, 28) : code, () => uint(info, 32));
}

/** Rows remapped after correctable and after uncorrectable errors, whether some wait for a reset, whether one ever failed. */
function readRemapFailed(call: Call): NvmlAnswer<boolean> {
  const rows = Buffer.alloc(16);
  const code = call(...[0, 4, 8, 12].map((at) => rows.subarray(at)));
  return answer(code, () => uint(rows, 12) !== 0);
}

/** NVML_GPU_VIRTUALIZATION_MODE_VGPU: a virtual machine has this part of a GPU. */
const vgpuMode = 2;

/** nvmlGridLicensableFeatures_t: int supported, uint count, three features of 284 bytes: int code, uint licensed, and what it is called. */
function readLicence(on: NativeLibrary["bind"]): Pick<NvmlDevice, "licensed"> {
  const mode = readNumber(on("nvmlDeviceGetVirtualizationMode", ["void *"]));
  if (!("value" in mode) || mode.value !== vgpuMode) return {};
  const info = Buffer.alloc(8 + 3 * 284);
  const code = on("nvmlDeviceGetGridLicensableFeatures_v4", ["void *"])(info);
  const states = Array.from({ length: Math.min(uint(info, 4), 3) }, (_, at) => uint(info, 12 + at * 284));
  if (code === nvmlCodes.success && states.length === 0) return {};
  return { licensed: answer(code, () => states.some((state) => state !== 0)) };
}

/** nvmlConfComputeSystemState_t: uint environment, uint feature, uint mode of developers' tools. */
function readReady(library: NativeLibrary): Pick<NvmlReading, "ready"> {
  const state = Buffer.alloc(12);
  const code = library.bind("nvmlSystemGetConfComputeState", ["void *"])(state);
  if (code !== nvmlCodes.success || uint(state, 4) !== 1) return {};
  const ready = readNumber(library.bind("nvmlSystemGetConfComputeGpusReadyState", ["void *"]));
  return { ready: "value" in ready ? { value: ready.value !== 0 } : ready };
}

function readMig(library: NativeLibrary, on: NativeLibrary["bind"]): NvmlDevice["mig"] {
  const mode = readPair(on("nvmlDeviceGetMigMode", ["void *", "void *"]));
  if (!("value" in mode)) return mode;
  const count = readNumber(on("nvmlDeviceGetMaxMigDeviceCount", ["void *"]));
  if (mode.value[0] !== 1) return { value: null };
  if (!("value" in count)) return count;
  const handleOf = on("nvmlDeviceGetMigDeviceHandleByIndex", ["uint", "void *"]);
  const codes = new Set<number>();
  const devices = Array.from({ length: Math.min(count.value, 64) }, (_, index) => {
    const handle = readHandle(handleOf, index);
    codes.add(nvmlCode(handle));
    if (!("value" in handle)) return [];
    const get = (name: string): Call => {
      const call = library.bind(name, ["uintptr_t", "void *", "uint"]);
      return (...args) => call(handle.value, ...args);
    };
    const [uuid, name] = [readString(get("nvmlDeviceGetUUID")), readString(get("nvmlDeviceGetName"))];
    return "value" in uuid ? [{ uuid: uuid.value, name: "value" in name ? name.value : "" }] : [];
  });
  // An empty place is "not found". After another code, instances may be there that were not listed.
  const failed = [...codes].find((code) => code !== nvmlCodes.success && code !== nvmlCodes.notFound);
  const found = devices.flat();
  return found.length === 0 && failed !== undefined ? { code: failed } : { value: found };
}
