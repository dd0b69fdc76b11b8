/*
 * A stand-in for libcuda.so.1 with the signatures and numbers of cuda.h (CUDA 13.0), which knows the rules of one driver: of CUDA 12.8,
 * on an H100 (9.0) and an A100 (8.0). FAKE_CUDA in the environment has it fail, lie, crash, hang, print or answer for others.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int CUresult;

static int major[2] = {9, 8};
static int current = -1;

static int acts(const char *how) {
  const char *told = getenv("FAKE_CUDA");
  return told != NULL && strcmp(told, how) == 0;
}

CUresult cuInit(unsigned int flags) {
#ifdef STUB
  return 34;
#endif
  if (acts("braces")) {
    puts("{\n[\n{\"problem\":1}\n[[]]");
    fflush(stdout);
  }
  if (acts("answer")) dprintf(3, "{\"nvidia\":{\"gpus\":[]},\"of\":\"mine\"}\n");
  /* As of a variable that other tests do not set. */
  const char *code = getenv("FAKE_CUDA_INIT");
  if (code != NULL && strcmp(code, "hang") == 0) for (;;) pause();
  if (code != NULL && strcmp(code, "crash") == 0) raise(SIGSEGV);
  if (code != NULL) return atoi(code);
  return flags != 0 ? 1 : acts("no-device") ? 100 : 0;
}

CUresult cuDriverGetVersion(int *version) {
  *version = 12080;
  return 0;
}

CUresult cuDeviceGetCount(int *count) {
  *count = acts("none") || getenv("CUDA_VISIBLE_DEVICES") != NULL ? 0 : 3;
  return 0;
}

/* The third is a second H100. */
CUresult cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}

CUresult cuDeviceGetName(char *name, int length, int device) {
  snprintf(name, length, "%s", device == 1 ? "NVIDIA A100-SXM4-80GB" : "NVIDIA H100 80GB HBM3");
  return 0;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (attribute != 75 && attribute != 76) return 1;
  *value = attribute == 75 ? major[device % 2] : 0;
  return 0;
}

CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = (void *)(size_t)(device + 1);
  return 0;
}

CUresult cuCtxSetCurrent(void *context) {
  current = (int)(size_t)context - 1;
  return 0;
}

static CUresult ptx(int isa, int arch, char suffix) {
  int own = major[current % 2] * 10;
  if (isa > 87) return 222;
  if (suffix == 'a' ? arch != own : arch > own) return 218;
  return 0;
}

/* No GPU of these has machine code of its own major and a minor above or below its own. */
static CUresult sass(int arch) { return arch == major[current % 2] * 10 ? 0 : 209; }

static CUresult judge(const unsigned char *image) {
  if (image[0] == '.') {
    int isaMajor, isaMinor, arch;
    char suffix = 0;
    if (sscanf((const char *)image, ".version %d.%d .target sm_%d%c", &isaMajor, &isaMinor, &arch, &suffix) < 3) return 218;
    return ptx(isaMajor * 10 + isaMinor, arch, suffix);
  }
  if (memcmp(image, "\x50\xed\x55\xba", 4) == 0) {
    const unsigned char *entry = image + 16;
    int arch = entry[28];
    /* CUDA 13 writes cubins of format 1.8. */
    if (entry[0] == 2) return entry[24] > 7 ? 209 : sass(arch);
    CUresult answer = ptx(entry[26] * 10 + entry[24], arch, entry[42] & 0x10 ? 'a' : 0);
    return answer == 218 ? 209 : answer;
  }
  if (memcmp(image, "\x7f" "ELF", 4) == 0) return sass(image[48]);
  return 200;
}

CUresult cuModuleLoadData(void **module, const void *image) {
  CUresult answer = judge(image);
  if (acts("lie") && (answer == 209 || answer == 218)) answer = 0;
  if (acts("crash") && answer == 222) raise(SIGSEGV);
  while (acts("hang")) pause();
  while (acts("chatter")) puts("a driver that tells all that it does");
  *module = (void *)1;
  return answer;
}

CUresult cuModuleUnload(void *module) { return module == (void *)1 ? 0 : 400; }

CUresult cuGetErrorName(CUresult error, const char **name) {
  switch (error) {
    case 0: *name = "CUDA_SUCCESS"; return 0;
    case 100: *name = "CUDA_ERROR_NO_DEVICE"; return 0;
    case 200: *name = "CUDA_ERROR_INVALID_IMAGE"; return 0;
    case 209: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; return 0;
    case 218: *name = "CUDA_ERROR_INVALID_PTX"; return 0;
    case 222: *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"; return 0;
  }
  *name = NULL;
  return 1;
}
