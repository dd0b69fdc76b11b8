/*
 * The driver of one H200 as its programs met it (580.159.04, CUDA 13.0): a library or program for each name that is defined. Nodes and files
 * decide what it answers: with /dev/nvidia1 to 3 there are more cards, and NVLink joins each two whose number has the same last bit. Signatures: nvml.h and cuda.h of CUDA 13.0.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The driver's libraries make an absent node where their user may. 0, or the reason. */
static int opens(const char *node) {
  int file = open(node, O_RDWR);
  if (file < 0 && errno == ENOENT && mknod(node, S_IFCHR | 0666, makedev(1, 3)) == 0) {
    chmod(node, 0666);
    file = open(node, O_RDWR);
  }
  if (file < 0) return errno;
  close(file);
  return 0;
}

#ifdef LIBCUDA
int cuInit(unsigned int flags) {
  const char *seen = getenv("CUDA_VISIBLE_DEVICES");
  (void)flags;
#ifdef STUB
  return 34;
#endif
  if (opens("/dev/nvidiactl") != 0 || opens("/dev/nvidia0") != 0) return 100;
  if (opens("/dev/nvidia-uvm") != 0) return 999;
  return seen != NULL && strcmp(seen, "0") != 0 && strcmp(seen, UUID) != 0 ? 100 : 0;
}
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
#endif

#ifdef LIBNVML
static int text(char *buffer, unsigned int length, const char *value) {
  return snprintf(buffer, length, "%s", value) < (int)length ? 0 : 7;
}
int nvmlInit_v2(void) { return opens("/dev/nvidiactl") == 0 ? 0 : access("/dev/nvidiactl", F_OK) == 0 ? 4 : 9; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *to, unsigned int length) { return text(to, length, DRIVER); }
int nvmlSystemGetNVMLVersion(char *to, unsigned int length) { return text(to, length, "13." DRIVER); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) {
  void *library = dlopen("libcuda.so.1", RTLD_LAZY);
  return library == NULL ? 6 : dlsym(library, "cuDriverGetVersion") == NULL ? 13 : (*version = 13000, 0);
}
/* Of a card whose node nobody made, the first is tried. */
static int isThere(unsigned int index) {
  char node[32];
  snprintf(node, sizeof node, "/dev/nvidia%u", index);
  return index == 0 ? opens(node) == 0 : index < 4 && access(node, R_OK | W_OK) == 0;
}
int nvmlDeviceGetCount_v2(unsigned int *count) {
  for (*count = 0; isThere(*count);) ++*count;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) {
  return *device = (void *)(size_t)(index + 1), isThere(index) ? 0 : 2;
}
int nvmlDeviceGetUUID(void *device, char *to, unsigned int length) {
  int code = text(to, length, UUID);
  return to[sizeof UUID - 2] += (size_t)device - 1, code;
}
int nvmlDeviceGetP2PStatus(void *from, void *to, int capability, int *status) {
  return *status = (size_t)from % 2 == (size_t)to % 2 ? 0 : 5, capability == 2 && from != to ? 0 : 2;
}
int nvmlDeviceGetName(void *device, char *to, unsigned int length) { return (void)device, text(to, length, NAME); }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
  return (void)device, *major = 9, *minor = 0, 0;
}
struct pci {
  char legacy[16];
  unsigned int domain, bus, device, id, subsystem;
  char address[32];
};
int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci) {
  if (access("/sys/bus/pci/devices/" ADDRESS, F_OK) != 0) return 999;
  memset(pci, 0, sizeof *pci);
  pci->id = PCI;
  int code = text(pci->address, 32, "0000" ADDRESS);
  return pci->address[sizeof "0000" ADDRESS - 4] += (size_t)device - 1, code;
}
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3]) {
  return (void)device, memory[0] = MEMORY * 1048576ULL, memory[1] = memory[0], memory[2] = 0, 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count, void *infos) {
  return (void)device, (void)infos, *count = 0, 0;
}
int nvmlDeviceGetMigMode(void *device, unsigned int *now, unsigned int *then) {
  return (void)device, *now = *then = 0, 0;
}
int nvmlDeviceGetComputeMode(void *device, int *mode) { return (void)device, *mode = 0, 0; }
#endif

#ifdef SMI
static int (*init)(void), (*countOf)(unsigned int *), (*cudaOf)(int *), (*pciOf)(void *, void *);
static int (*uuidOf)(void *, char *, unsigned int), (*p2pOf)(void *, void *, int, int *);

/* The handle of a card. */
static void *at(size_t card) { return (void *)(card + 1); }

static int column(unsigned int card, const char *name, char *to) {
  static const char *told[][2] = {
    {"name", NAME}, {"driver_version", DRIVER}, {"compute_mode", "Default"},
    {"mig.mode.current", "Disabled"}, {"compute_cap", "9.0"}, {"fabric.state", "N/A"}, {"fabric.status", "N/A"},
    {"memory.used", "0 MiB"},
  };
  char pci[256];
  int isBlind = pciOf(at(card), pci) != 0;
  for (unsigned int i = 0; i < sizeof told / sizeof *told; i++)
    if (strcmp(told[i][0], name) == 0) return strcpy(to, told[i][1]), 1;
  if (strcmp(name, "index") == 0) return sprintf(to, "%u", card), 1;
  if (strcmp(name, "uuid") == 0) return uuidOf(at(card), to, 96), 1;
  if (strcmp(name, "memory.total") == 0) return sprintf(to, "%d MiB", MEMORY), 1;
  if (strcmp(name, "pci.bus_id") == 0) return strcpy(to, isBlind ? "[Unknown Error]" : pci + 36), 1;
  if (strcmp(name, "pci.device_id") != 0) return 0;
  return isBlind ? strcpy(to, "[Unknown Error]") : (sprintf(to, "0x%08X", PCI), to), 1;
}

static int query(const char *asked, unsigned int cards) {
  char head[2048] = "", rows[8192] = "", cell[128], fields[2048];
  for (unsigned int card = 0; card < cards; card++) {
    strcpy(fields, asked);
    for (char *name = strtok(fields, ","), *comma = ""; name != NULL; name = strtok(NULL, ","), comma = ", ") {
      if (!column(card, name, cell)) return printf("Field \"%s\" is not a valid field to query.\n\n", name), 2;
      if (card == 0) sprintf(head + strlen(head), "%s%s%s", comma, name, strncmp(name, "memory.", 7) ? "" : " [MiB]");
      sprintf(rows + strlen(rows), "%s%s", comma, cell);
    }
    strcat(rows, "\n");
  }
  return printf("%s\n%s", head, rows), 0;
}

static int topology(unsigned int cards) {
  int status;
  printf("\t\033[4m");
  for (unsigned int card = 0; card < cards; card++) printf("GPU%u\t", card);
  printf("CPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n");
  for (unsigned int card = 0; card < cards; card++) {
    printf("GPU%u", card);
    for (unsigned int other = 0; other < cards; other++)
      printf("\t%s", other == card ? " X " : p2pOf(at(card), at(other), 2, &status) == 0 && status == 0 ? "NV18" : "SYS");
    printf("\t0-15\t0\t\tN/A\n");
  }
  return printf("\nLegend:\n\n  X    = Self\n"), 0;
}

int main(int words, char **word) {
  void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  unsigned int count = 0;
  int cuda = 0;
  if (nvml == NULL) return puts("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly installed and present in your system."), 12;
  *(void **)&init = dlsym(nvml, "nvmlInit_v2");
  *(void **)&countOf = dlsym(nvml, "nvmlDeviceGetCount_v2");
  *(void **)&cudaOf = dlsym(nvml, "nvmlSystemGetCudaDriverVersion_v2");
  *(void **)&pciOf = dlsym(nvml, "nvmlDeviceGetPciInfo_v3");
  *(void **)&uuidOf = dlsym(nvml, "nvmlDeviceGetUUID");
  *(void **)&p2pOf = dlsym(nvml, "nvmlDeviceGetP2PStatus");
  switch (init()) {
    case 0: break;
    case 4: return puts("Failed to initialize NVML: Insufficient Permissions"), 4;
    default: return puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."), 9;
  }
  countOf(&count);
  if (count == 0) return puts("No devices found."), 0;
  if (words > 1 && strncmp(word[1], "--query-gpu=", 12) == 0) return query(word[1] + 12, count);
  if (words > 2 && strcmp(word[1], "topo") == 0 && strcmp(word[2], "-m") == 0) return topology(count);
  if (words > 1 && strncmp(word[1], "--query-compute-apps=", 21) == 0) return 0;
  if (words > 1 && strcmp(word[1], "-L") == 0) return printf("GPU 0: %s (UUID: %s)\n", NAME, UUID), 0;
  printf("| NVIDIA-SMI %s             Driver Version: %s     CUDA Version: ", DRIVER, DRIVER);
  return cudaOf(&cuda) == 0 ? printf("%d.%d     |\n", cuda / 1000, cuda % 1000 / 10) : puts("N/A      |"), 0;
}
#endif

#ifdef ASKS
int main(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  int (*start)(unsigned int);
  if (library == NULL) return puts("cannot be loaded"), 0;
  *(void **)&start = dlsym(library, "cuInit");
  return printf("%d\n", start(0)), 0;
}
#endif
