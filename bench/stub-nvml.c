/* A libnvidia-ml of one healthy H200 that answers at once, and with -DCALLER a program that asks it what imgmatch asks. */

#include <string.h>

static int text(char *to, unsigned int length, const char *from) {
  strncpy(to, from, length);
  return 0;
}

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *to, unsigned int length) { return text(to, length, "580.159.04"); }
int nvmlSystemGetNVMLVersion(char *to, unsigned int length) { return text(to, length, "13.580.159.04"); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return *version = 13000, 0; }
int nvmlSystemGetConfComputeState(unsigned int *state) { return memset(state, 0, 12), 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { return *count = 1, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) { return *device = text, index != 0; }
int nvmlDeviceGetUUID(void *device, char *to, unsigned int length) {
  return text(to, length, "GPU-00000000-1111-4222-8333-444444444444");
}
int nvmlDeviceGetName(void *device, char *to, unsigned int length) { return text(to, length, "NVIDIA H200"); }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { return *major = 9, *minor = 0, 0; }
int nvmlDeviceGetPciInfo_v3(void *device, char *info) {
  unsigned int id = 0x233510de;
  memcpy(info + 28, &id, 4);
  return text(info + 36, 32, "00000000:00:06.0");
}
int nvmlDeviceGetMemoryInfo_v2(void *device, unsigned long long *memory) { return memory[1] = 150754820096ULL, 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count, void *infos) { return *count = 0, 0; }
int nvmlDeviceGetMigMode(void *device, unsigned int *current, unsigned int *pending) { return *current = *pending = 0, 0; }
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned int *count) { return *count = 7, 0; }
int nvmlDeviceGetGpuFabricInfo(void *device, char *info) { return memset(info, 0, 25), info[24] = 3, 0; }
int nvmlDeviceGetComputeMode(void *device, int *mode) { return *mode = 0, 0; }
int nvmlDeviceGetFieldValues(void *device, int count, char *values) { return memset(values + 28, 0, 12), 0; }
int nvmlDeviceGetRemappedRows(void *device, int *corrected, int *uncorrected, int *pending, int *failed) {
  return *corrected = *uncorrected = *pending = *failed = 0, 0;
}
int nvmlDeviceGetVirtualizationMode(void *device, int *mode) { return *mode = 1, 0; }

#ifdef CALLER
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
  char buffer[2048] = {0};
  void *library = dlopen(arguments[1], RTLD_NOW), *device = 0;
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
#define ASK(name, ...) (((int (*)())dlsym(library, #name))(__VA_ARGS__))
  ASK(nvmlInit_v2);
  ASK(nvmlDeviceGetCount_v2, buffer);
  ASK(nvmlSystemGetDriverVersion, buffer, 96);
  ASK(nvmlSystemGetNVMLVersion, buffer, 96);
  ASK(nvmlSystemGetCudaDriverVersion_v2, buffer);
  ASK(nvmlDeviceGetHandleByIndex_v2, 0, &device);
  ASK(nvmlDeviceGetUUID, device, buffer, 96);
  ASK(nvmlDeviceGetName, device, buffer, 96);
  ASK(nvmlDeviceGetCudaComputeCapability, device, buffer, buffer + 4);
  ASK(nvmlDeviceGetPciInfo_v3, device, buffer);
  ASK(nvmlDeviceGetMemoryInfo_v2, device, buffer);
  ASK(nvmlDeviceGetComputeRunningProcesses_v3, device, buffer, 0);
  ASK(nvmlDeviceGetMigMode, device, buffer, buffer + 4);
  ASK(nvmlDeviceGetMaxMigDeviceCount, device, buffer);
  ASK(nvmlDeviceGetGpuFabricInfo, device, buffer);
  ASK(nvmlDeviceGetComputeMode, device, buffer);
  ASK(nvmlDeviceGetFieldValues, device, 1, buffer);
  ASK(nvmlDeviceGetRemappedRows, device, buffer, buffer + 4, buffer + 8, buffer + 12);
  ASK(nvmlDeviceGetVirtualizationMode, device, buffer);
  ASK(nvmlSystemGetConfComputeState, buffer);
  return ASK(nvmlShutdown);
}
#endif
