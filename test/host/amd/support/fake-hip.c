/* A stand-in for libamdhip64 with the signatures of hip_runtime_api.h. FAKE_HIP_INIT in the environment is the answer of hipInit. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hipInit(unsigned int flags) {
  const char *code = getenv("FAKE_HIP_INIT");
  if (code != NULL && strcmp(code, "crash") == 0) raise(SIGSEGV);
  return code == NULL ? (int)flags : atoi(code);
}

int hipGetDeviceCount(int *count) {
  *count = getenv("HIP_VISIBLE_DEVICES") == NULL ? 1 : 0;
  return 0;
}
