/* A stand-in for the NVIDIA driver's libnvidia-ml.so.1: what rigledger calls, and no more.

   Everything it says stands in the text file named by FAKE_NVML, read anew on every call, one
   "key value" a line:

     init 9                          nvmlInit fails with this NVML return code
     driver 580.65.06
     cards GPU-a GPU-b               UUIDs in the order of their index
     GPU-a.power 25000               what the card says to a question
     GPU-a.power.error 15            ... or the code it fails with; "all.error" fails every question
     GPU-a.power.hang 60             ... or the seconds that it takes to answer
     GPU-a.compute 100 200           ids of the processes that compute (or draw: "graphics")

   A question that the file does not answer is not supported by the card. A handle stays with its
   UUID whatever becomes of the order. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
};
enum { LINE = 1024, CARDS = 16 };

typedef struct card {
    char uuid[80];
} card;

typedef struct {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
} process;

static card known[CARDS];
static int opened;

/* The value of a key, or NULL; it lives until the next call. */
static char *value(const char *key) {
    static char line[LINE];
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    size_t length = strlen(key);
    char *found = NULL;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, key, length) && line[length] == ' ') found = line + length + 1;
    }
    if (file) fclose(file);
    return found;
}

static char *card_value(const card *c, const char *question, const char *suffix) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s%s", c->uuid, question, suffix);
    return value(key);
}

static int present(const char *uuid) {
    char *list = value("cards");
    for (char *word = list ? strtok(list, " ") : NULL; word; word = strtok(NULL, " "))
        if (!strcmp(word, uuid)) return 1;
    return 0;
}

/* What stands in the way of an answer: a hang first, then an error. */
static int trouble(const card *c, const char *question) {
    if (!opened) return UNINITIALIZED;
    if (c < known || c >= known + CARDS || !c->uuid[0]) return INVALID_ARGUMENT;
    char *text = card_value(c, question, ".hang");
    if (text) sleep((unsigned)atoi(text));
    if (!(text = card_value(c, "all", ".error"))) text = card_value(c, question, ".error");
    return text ? atoi(text) : SUCCESS;
}

static int number(const card *c, const char *question, unsigned long long *out) {
    int code = trouble(c, question);
    if (code) return code;
    char *text = card_value(c, question, "");
    if (!text) return NOT_SUPPORTED;
    *out = strtoull(text, NULL, 10);
    return SUCCESS;
}

static int small_number(const card *c, const char *question, unsigned *out) {
    unsigned long long wide = 0;
    int code = number(c, question, &wide);
    if (!code) *out = (unsigned)wide;
    return code;
}

static int processes(const card *c, const char *question, unsigned *count, process *out) {
    int code = trouble(c, question);
    if (code) return code;
    char *list = card_value(c, question, "");
    unsigned room = *count, found = 0;
    for (char *word = list ? strtok(list, " ") : NULL; word; word = strtok(NULL, " "), found++)
        if (out && found < room) out[found] = (process){.pid = (unsigned)atoi(word)};
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    char *text = value("init");
    if (text) return atoi(text);
    opened = 1;
    return SUCCESS;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    if (!opened) return UNINITIALIZED;
    opened = 0;
    return SUCCESS;
}

const char *nvmlErrorString(int code) { return code ? "failed" : "success"; }

int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    char *text = value("driver");
    if (!opened || !text) return UNINITIALIZED;
    snprintf(out, size, "%s", text);
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *out) {
    if (!opened) return UNINITIALIZED;
    char *list = value("cards");
    *out = 0;
    for (char *word = list ? strtok(list, " ") : NULL; word; word = strtok(NULL, " ")) ++*out;
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, card **out) {
    if (!opened) return UNINITIALIZED;
    if (!present(uuid)) return NOT_FOUND;
    for (card *c = known; c < known + CARDS; c++) {
        if (!c->uuid[0]) snprintf(c->uuid, sizeof c->uuid, "%s", uuid);
        if (strcmp(c->uuid, uuid)) continue;
        *out = c;
        return trouble(c, "handle");
    }
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, card **out) {
    if (!opened) return UNINITIALIZED;
    char *list = value("cards"), uuid[80] = "";
    char *word = list ? strtok(list, " ") : NULL;
    while (word && index--) word = strtok(NULL, " ");
    if (!word) return INVALID_ARGUMENT;
    snprintf(uuid, sizeof uuid, "%s", word);
    return nvmlDeviceGetHandleByUUID(uuid, out);
}

int nvmlDeviceGetUUID(const card *c, char *out, unsigned size) {
    int code = trouble(c, "uuid");
    if (!code) snprintf(out, size, "%s", c->uuid);
    return code;
}

int nvmlDeviceGetName(const card *c, char *out, unsigned size) {
    int code = trouble(c, "name");
    if (!code) snprintf(out, size, "A card of paper");
    return code;
}

int nvmlDeviceGetPowerUsage(const card *c, unsigned *mw) { return small_number(c, "power", mw); }

int nvmlDeviceGetTotalEnergyConsumption(const card *c, unsigned long long *mj) {
    return number(c, "energy", mj);
}

int nvmlDeviceGetUtilizationRates(const card *c, unsigned out[2]) {
    out[1] = 0;
    return small_number(c, "utilization", &out[0]);
}

int nvmlDeviceGetMemoryInfo(const card *c, unsigned long long out[3]) {
    int code = number(c, "memory", &out[2]);
    if (code) return code;
    out[0] = 24ull << 30;
    out[1] = out[0] - out[2];
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(const card *c, int which, unsigned *mhz) {
    return which == 1 ? small_number(c, "clock", mhz) : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(const card *c, int sensor, unsigned *celsius) {
    return sensor == 0 ? small_number(c, "temperature", celsius) : INVALID_ARGUMENT;
}

int nvmlDeviceGetCurrentClocksEventReasons(const card *c, unsigned long long *mask) {
    return number(c, "throttle", mask);
}

int nvmlDeviceGetComputeRunningProcesses_v3(const card *c, unsigned *count, process *out) {
    return processes(c, "compute", count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(const card *c, unsigned *count, process *out) {
    return processes(c, "graphics", count, out);
}
