#include "launch/platform.h"

#include "base/die.h"
#include "base/hash.h"
#include "base/memory.h"
#include "launch/job.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 512, SLOTS_MOST = 1 << 20 };

char *platform_program(const struct platform *platform, const char *lab)
{
    char *file = memory_text("%s.so", lab);
    char *program = job_library(platform->is_modelled ? "model" : "sim", file);
    free(file);
    return program;
}

static bool is_on_path(const char *program)
{
    const char *path = getenv("PATH");
    char *folders = memory_text("%s", path ? path : ""), *rest = folders;
    bool is_there = false;
    for (char *folder; !is_there && (folder = strsep(&rest, ":"));) {
        char *full = memory_text("%s/%s", folder, program);
        is_there = access(full, X_OK) == 0;
        free(full);
    }
    free(folders);
    return is_there;
}

const char *platform_lacks(const char *lab)
{
    if (!is_on_path("smpirun"))
        return "SimGrid is not installed (Debian, Ubuntu: apt-get install libsimgrid-dev, then build again)";
    char *program = platform_program(&(struct platform){ 0 }, lab);
    bool is_built = access(program, R_OK) == 0;
    free(program);
    return is_built ? NULL : "this build was made without SimGrid (run cmake and build again)";
}

/* Start describe_platform on `file`. Return its output, which includes SimGrid's error messages. */
static FILE *describe(const char *file)
{
    char *program = job_library("sim", "describe_platform");
    FILE *lines = job_listen(program, file, "--log=root.thres:error");
    free(program);
    return lines;
}

static void add_host(struct platform *p, const char *name, int ranks, double speed, bool is_modelled, const char *costs)
{
    if (ranks <= 0)
        return;
    for (int model = 0; model < WORK_MODELS; model++)
        p->is_free[model] |= is_modelled && costs[model] == 'n';
    if (p->slots == 0)
        p->is_modelled = is_modelled;
    if (p->is_modelled != is_modelled)
        die(STATUS_USAGE,
            "--platform %s mixes hosts that compute with hosts that only model; give all hosts the same device",
            p->file);
    if (ranks > SLOTS_MOST - p->slots)
        ranks = SLOTS_MOST - p->slots;
    p->host = memory_grow(p->host, (size_t)(p->slots + ranks) * sizeof *p->host);
    for (int i = 0; i < ranks; i++)
        p->host[p->slots++] = memory_text("%s", name);
    p->speed = fmax(p->speed, speed);
}

static char *name_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *name = memory_text("%s", slash ? slash + 1 : file);
    char *dot = strrchr(name, '.');
    if (dot && dot > name)
        *dot = '\0';
    for (char *c = name; *c; c++) /* the name becomes a folder's name and a CSV cell */
        if (strchr(",\"\n\r#", *c))
            *c = '_';
    return name;
}

/* Return the hash of the file's bytes. */
static uint64_t hash_of(const char *file)
{
    FILE *in = fopen(file, "r");
    uint64_t hash = HASH_BEGIN;
    for (int c; in && (c = getc(in)) != EOF;)
        hash = hash_add(hash, (uint64_t)c);
    if (in)
        fclose(in);
    return hash;
}

static const char ending[] = ".xml";

static bool has_ending(const char *name)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static int is_platform(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && has_ending(entry->d_name);
}

/* List the machines of this project: "a, b, c". */
static char *list_names(void)
{
    struct dirent **entries = NULL;
    int count = scandir(LOCKSTEP_PLATFORMS, &entries, is_platform, alphasort);
    if (count < 0)
        count = 0;
    const char **names = memory_new((size_t)count + 1, sizeof *names);
    for (int i = 0; i < count; i++) {
        *strrchr(entries[i]->d_name, *ending) = '\0';
        names[i] = entries[i]->d_name;
    }
    char *list = memory_join(names, ", ");
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    free(names);
    return list;
}

/* Return the path of a platform file. A word that looks like a file or is one is a path. Other words name a machine of this
 * project. */
static char *file_of(const char *word)
{
    struct stat status;
    if (strchr(word, '/') || has_ending(word) || (stat(word, &status) == 0 && !S_ISDIR(status.st_mode)))
        return memory_text("%s", word);
    char *file = memory_text("%s/%s%s", LOCKSTEP_PLATFORMS, word, ending);
    if (access(file, F_OK) == 0)
        return file;
    char *names = list_names();
    die(STATUS_USAGE, "--platform %.200s: no such machine (available: %s); name one of them, or a SimGrid file (%s)",
        word, *names ? names : "none in " LOCKSTEP_PLATFORMS, ending);
}

void platform_open(struct platform *p, const char *word, int ranks, enum status too_few)
{
    char *file = file_of(word);
    if (access(file, R_OK) != 0)
        die(STATUS_USAGE, "--platform %.200s cannot be read: %s; name a SimGrid platform file", file, strerror(errno));
    struct stat status;
    if (stat(file, &status) == 0 && S_ISDIR(status.st_mode))
        die(STATUS_USAGE, "--platform %.200s is a folder; name a SimGrid platform file", file);
    *p = (struct platform){ .name = name_of(file), .file = file, .ranks = ranks };
    char line[LINE], complaint[LINE] = "";
    FILE *lines = describe(file);
    while (fgets(line, sizeof line, lines)) {
        char name[LINE], device[8], costs[WORK_MODELS + 8];
        int slots = 0, cores = 0;
        double speed = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%511s %d %d %lf %7s %9s", name, &slots, &cores, &speed, device, costs) == 6) {
            if (p->slots < ranks && slots > 0)
                p->cores += cores;
            add_host(p, name, slots, speed, strcmp(device, "model") == 0, costs);
        } else if (!*complaint) { /* "[0.000000] file.cpp:95: [xbt_exception/ERROR] Parse error at …" */
            const char *category = strstr(line, "/ERROR] ");
            snprintf(complaint, sizeof complaint, "%s", category ? category + strlen("/ERROR] ") : line);
        }
    }
    if (pclose(lines) != 0 || p->slots == 0)
        die(STATUS_USAGE, "--platform %.200s cannot be simulated: %s; correct the file, or name another", file,
            *complaint ? complaint : "it has no host that takes a rank");
    p->key =
        memory_text("%s %016llx%s", p->name, (unsigned long long)hash_of(file), p->is_modelled ? JOB_MODELLED : "");
    if (ranks > p->slots)
        die(too_few, "--ranks %d, but platform %s takes %d; start fewer, or give its hosts more `ranks`", ranks,
            p->name, p->slots);
}

void platform_close(struct platform *p)
{
    for (int i = 0; i < p->slots; i++)
        free(p->host[i]);
    free(p->host);
    free(p->name);
    free(p->key);
    free(p->file);
    *p = (struct platform){ 0 };
}
