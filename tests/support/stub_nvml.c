/* A stand-in for NVIDIA's management library: it tells what the file named by STUB_NVML says, one fact a line,
   fields parted by `|`. Only the calls that the probe makes. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 16

typedef struct { char name[96]; unsigned long long memory; } instance_t;
typedef struct {
    char name[96], uuid[96], bus[32];
    unsigned int pci_id;
    unsigned long long memory;
    int major, minor, mig, instances;
    instance_t instance[MOST];
} device_t;
typedef struct {
    char old_bus_id[16];
    unsigned int domain, bus, device, pci_id, subsystem_id;
    char bus_id[32];
} pci_t;
typedef struct { unsigned long long total, free, used; } memory_t;

static char driver[96];
static int cuda, devices, hangs, crashes, failures;
static device_t device[MOST];
static struct { char call[64]; int code; } failure[MOST];

static int fails(const char *call) {
    for (int i = 0; i < failures; i++)
        if (!strcmp(failure[i].call, call)) return failure[i].code;
    return 0;
}

static void copy(char *to, const char *from, size_t size) {
    if (from) snprintf(to, size, "%s", from);
}

static void read_line(char *line) {
    char *part[12] = {0};
    int parts = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *p; parts < 12 && (p = strsep(&line, "|")); parts++) part[parts] = p;
    if (!strcmp(part[0], "hangs")) hangs = 1;
    else if (!strcmp(part[0], "crashes")) crashes = 1;
    else if (!strcmp(part[0], "driver")) copy(driver, part[1], sizeof driver);
    else if (!strcmp(part[0], "cuda")) cuda = atoi(part[1]);
    else if (!strcmp(part[0], "fail") && failures < MOST) {
        copy(failure[failures].call, part[1], sizeof failure[0].call);
        failure[failures++].code = atoi(part[2]);
    } else if (!strcmp(part[0], "device") && parts >= 9 && devices < MOST) {
        device_t *d = &device[devices++];
        copy(d->name, part[1], sizeof d->name);
        copy(d->uuid, part[2], sizeof d->uuid);
        copy(d->bus, part[3], sizeof d->bus);
        d->pci_id = strtoul(part[4], 0, 16);
        d->memory = strtoull(part[5], 0, 10);
        d->major = atoi(part[6]);
        d->minor = atoi(part[7]);
        d->mig = atoi(part[8]);
    } else if (!strcmp(part[0], "instance") && devices && device[devices - 1].instances < MOST) {
        device_t *d = &device[devices - 1];
        copy(d->instance[d->instances].name, part[1], 96);
        d->instance[d->instances++].memory = strtoull(part[2], 0, 10);
    }
}

int nvmlInit_v2(void) {
    const char *path = getenv("STUB_NVML");
    FILE *file = path ? fopen(path, "r") : 0;
    char line[512];
    if (!file) return 9;
    while (fgets(line, sizeof line, file)) read_line(line);
    fclose(file);
    if (crashes) abort();
    if (hangs) sleep(600);
    return fails("nvmlInit_v2");
}

int nvmlShutdown(void) { return 0; }

int nvmlSystemGetDriverVersion(char *text, unsigned int size) {
    copy(text, driver, size);
    return fails("nvmlSystemGetDriverVersion");
}

int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    *version = cuda;
    return fails("nvmlSystemGetCudaDriverVersion_v2");
}

int nvmlDeviceGetCount_v2(unsigned int *count) {
    *count = devices;
    return fails("nvmlDeviceGetCount_v2");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) {
    if (index >= (unsigned int)devices) return 2;
    *handle = &device[index];
    return fails("nvmlDeviceGetHandleByIndex_v2");
}

static device_t *whole(void *handle) {
    device_t *d = handle;
    return d >= device && d < device + MOST ? d : 0;
}

int nvmlDeviceGetName(void *handle, char *text, unsigned int size) {
    device_t *d = whole(handle);
    if (d && ((char *)handle - (char *)device) % sizeof(device_t) == 0) copy(text, d->name, size);
    else copy(text, ((instance_t *)handle)->name, size);
    return fails("nvmlDeviceGetName");
}

int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size) {
    copy(text, ((device_t *)handle)->uuid, size);
    return fails("nvmlDeviceGetUUID");
}

int nvmlDeviceGetPciInfo_v3(void *handle, pci_t *pci) {
    device_t *d = handle;
    memset(pci, 0, sizeof *pci);
    pci->pci_id = d->pci_id;
    copy(pci->bus_id, d->bus, sizeof pci->bus_id);
    return fails("nvmlDeviceGetPciInfo_v3");
}

int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory) {
    device_t *d = whole(handle);
    memset(memory, 0, sizeof *memory);
    if (d && ((char *)handle - (char *)device) % sizeof(device_t) == 0) memory->total = d->memory;
    else memory->total = ((instance_t *)handle)->memory;
    return fails("nvmlDeviceGetMemoryInfo");
}

int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    *major = ((device_t *)handle)->major;
    *minor = ((device_t *)handle)->minor;
    return fails("nvmlDeviceGetCudaComputeCapability");
}

int nvmlDeviceGetMigMode(void *handle, unsigned int *current, unsigned int *pending) {
    *current = *pending = ((device_t *)handle)->mig;
    return ((device_t *)handle)->mig ? 0 : 3;
}

int nvmlDeviceGetDriverModel(void *handle, unsigned int *current, unsigned int *pending) {
    return 3;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned int *count) {
    *count = 7;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int index, void **instance) {
    device_t *d = handle;
    if (index >= (unsigned int)d->instances) return 6;
    *instance = &d->instance[index];
    return 0;
}
