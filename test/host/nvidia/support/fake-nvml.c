/*
 * A stand-in for libnvidia-ml.so.1 with the signatures and struct layouts of nvml.h (CUDA 13.0), for tests of the binding.
 * GPU 0 is an H100 with two MIG instances of which slot 1 is empty, GPU 1 is lost, GPU 2 has no v2 memory call and no MIG.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int nvmlReturn_t;
typedef struct fake *nvmlDevice_t;

typedef struct {
  char busIdLegacy[16];
  unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
} nvmlPciInfo_t;

typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct {
  unsigned int version;
  unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

#ifndef FABRIC_STATUS
#define FABRIC_STATUS 0
#endif

struct fake {
  int id;
};

static struct fake gpus[3] = {{0}, {1}, {2}}, migs[3] = {{10}, {11}, {12}};
static int initialized = 0;

static nvmlReturn_t text(char *buffer, unsigned int length, const char *value) {
  if (!initialized) return 1;
  if (strlen(value) + 1 > length) return 7;
  strcpy(buffer, value);
  return 0;
}

#ifdef INIT_HANGS
/* Loaded first, it tells a machine without GPUs that the driver's device is there. */
int access(const char *path, int mode) {
  return strcmp(path, "/dev/nvidiactl") == 0 ? 0 : syscall(SYS_faccessat, AT_FDCWD, path, mode);
}
#endif

nvmlReturn_t nvmlInit_v2(void) {
#ifdef INIT_HANGS
  fputs("hangs", stderr);
  for (;;) pause();
#endif
#ifdef INIT_FAILS
  return INIT_FAILS;
#endif
  initialized = 1;
  return 0;
}

nvmlReturn_t nvmlShutdown(void) {
  initialized = 0;
  return 0;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *v, unsigned int n) { return text(v, n, "570.172.08"); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, unsigned int n) { return text(v, n, "12.570.172.08"); }

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
  *version = 12080;
  return 0;
}

#ifndef COUNT
#define COUNT 3
#endif

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
  *count = COUNT;
  return 0;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
  if (index == 1) return 15;
  if (index > 2) return 2;
  *device = &gpus[index];
  return 0;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
  char value[96];
  snprintf(value, sizeof value, device->id < 10 ? "GPU-%08x-1111-4222-8333-444444444444" : "MIG-%08x-1111-4222-8333-444444444444", device->id);
  return text(uuid, length, value);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
  if (device->id == 2) return text(name, length, "NVIDIA A100-SXM4-80GB");
  return text(name, length, device->id == 10 ? "NVIDIA H100 80GB HBM3 MIG 3g.40gb" : device->id == 12 ? "NVIDIA H100 80GB HBM3 MIG 1g.10gb" : "NVIDIA H100 80GB HBM3");
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
  *major = device->id == 2 ? 8 : 9;
  *minor = 0;
  return 0;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
  memset(pci, 0x7f, sizeof *pci);
  strcpy(pci->busIdLegacy, "0000:17:00.0");
  pci->domain = 0;
  pci->bus = 0x17;
  pci->device = 0;
  pci->pciDeviceId = device->id == 2 ? 0x20b210de : 0x233010de;
  pci->pciSubSystemId = 0x16c110de;
  strcpy(pci->busId, device->id == 2 ? "00000000:CA:00.0" : "00000000:17:00.0");
  return 0;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
  if (device->id == 2) return 13;
  if (memory->version != (sizeof(nvmlMemory_v2_t) | (2 << 24))) return 25;
  memory->total = 81559ULL << 20;
  memory->reserved = 479ULL << 20;
  memory->free = 81021ULL << 20;
  memory->used = 59ULL << 20;
  return 0;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
  (void)device;
  memory->total = 81920ULL << 20;
  memory->free = 81000ULL << 20;
  memory->used = 920ULL << 20;
  return 0;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, void *infos) {
  if (device->id == 2) {
    *count = 0;
    return 0;
  }
  if (infos != NULL || *count != 0) return 2;
  *count = 5;
  return 7;
}

typedef struct {
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  unsigned char state;
} nvmlGpuFabricInfo_t;

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info) {
  if (device->id == 2) return 3;
  memset(info, 0x7f, sizeof *info);
  info->status = FABRIC_STATUS;
  info->state = 3;
  return 0;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int *mode) {
  *mode = device->id == 2 ? 2 : 3;
  return 0;
}

typedef struct {
  unsigned int fieldId, scopeId;
  long long timestamp, latencyUsec;
  int valueType;
  nvmlReturn_t nvmlReturn;
  union {
    double dVal;
    unsigned int uiVal;
    unsigned long long ullVal;
  } value;
} nvmlFieldValue_t;

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
  if (count != 1 || values->fieldId != 230 || values->scopeId != 0) return 2;
  values->timestamp = values->latencyUsec = -1;
  values->valueType = 1;
  values->nvmlReturn = device->id == 2 ? 3 : 0;
  values->value.ullVal = 0xffffffff00000004ULL;
  return 0;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected, unsigned int *pending, unsigned int *failed) {
  *corrected = 7;
  *uncorrected = 9;
  *pending = 1;
  *failed = device->id == 2;
  return 0;
}

typedef struct {
  unsigned int environment, ccFeature, devToolsMode;
} nvmlConfComputeSystemState_t;

nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state) {
#ifdef CC_OFF
  *state = (nvmlConfComputeSystemState_t){2, 0, 1};
#else
  *state = (nvmlConfComputeSystemState_t){2, 1, 0};
#endif
  return 0;
}

nvmlReturn_t nvmlSystemGetConfComputeGpusReadyState(unsigned int *accepting) {
  *accepting = 0;
  return 0;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
  if (device->id == 2) return 3;
  *current = *pending = 1;
  return 0;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
  (void)device;
  *count = 7;
  return 0;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig) {
  (void)device;
#ifdef MIG_DENIED
  return MIG_DENIED;
#endif
  if (index != 0 && index != 2) return 6;
  *mig = &migs[index];
  return 0;
}

#ifndef P2P_STATUS
#define P2P_STATUS 0
#endif

/* Of index 2, NVLink. */
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t from, nvmlDevice_t to, int capability, int *status) {
  if (from == to || from->id > 2 || to->id > 2 || capability != 2) return 2;
  *status = P2P_STATUS;
  return 0;
}

/* 2: the part of a GPU that a virtual machine has. */
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, int *mode) {
  *mode = device->id == 2 ? 2 : 0;
  return 0;
}

typedef struct {
  int featureCode;
  unsigned int featureState;
  char licenseInfo[128], productName[128];
  unsigned int featureEnabled;
  struct {
    unsigned int year;
    unsigned short month, day, hour, min, sec;
    unsigned char status;
  } licenseExpiry;
} nvmlGridLicensableFeature_t;

typedef struct {
  int isGridLicenseSupported;
  unsigned int licensableFeaturesCount;
  nvmlGridLicensableFeature_t gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_t;

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *features) {
  if (device->id != 2) return 2;
  *features = (nvmlGridLicensableFeatures_t){1, 2, {{.featureCode = 1, .productName = "?"}, {.featureCode = 2, .featureEnabled = 1}}};
#ifdef LICENSED
  features->gridLicensableFeatures[1].featureState = 1;
#endif
  return 0;
}
