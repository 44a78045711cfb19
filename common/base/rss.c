#include "base/rss.h"

#include "base/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rss rss_now(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    struct rss here = { 0 };
    char line[128];
    double kilobytes = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmHWM: %lf", &kilobytes) == 1)
            here.most = kilobytes * 1024;
        if (sscanf(line, "VmRSS: %lf", &kilobytes) == 1)
            here.now = kilobytes * 1024;
    }
    if (file)
        fclose(file);
    return here;
}

/* Return the value of a line "key: n kB" in bytes; 0 if there is none. */
static double kilobytes_in(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    char line[128];
    double found = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            found = strtod(line + strlen(key), NULL) * 1024;
    if (file)
        fclose(file);
    return found;
}

struct rss_parts rss_parts_now(void)
{
    return (struct rss_parts){ .anonymous = kilobytes_in("/proc/self/status", "RssAnon:"),
                               .file = kilobytes_in("/proc/self/status", "RssFile:") };
}

double rss_proportional(void)
{
    return kilobytes_in("/proc/self/smaps_rollup", "Pss:");
}

void rss_restart_peak(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5", file); /* resets the peak resident memory, proc(5) */
    fclose(file);
}

char *rss_peaks_text(const struct rss_peaks *most)
{
    return memory_text("of a rank at most %.1f MB while it trained, %.1f MB before, %.1f MB with nothing open",
                       most->trained / 1e6, most->prepared / 1e6, most->empty / 1e6);
}

bool rss_peaks_read(struct rss_peaks *most, const char *text)
{
    const char *words = "of a rank at most %lf MB while it trained, %lf MB before, %lf MB with nothing open";
    if (sscanf(text, words, &most->trained, &most->prepared, &most->empty) != 3)
        return false;
    most->trained *= 1e6;
    most->prepared *= 1e6;
    most->empty *= 1e6;
    return true;
}
