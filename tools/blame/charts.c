#include "charts.h"

#include "base/die.h"
#include "base/memory.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void charts_remove(const char *folder)
{
    static const char *const names[] = { "charts.csv",   "breakdown.svg", "breakdown.png", "timeline.svg",
                                         "timeline.png", "step_time.svg", "step_time.png" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = memory_text("%s/%s", folder, names[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            die(STATUS_WRONG, "cannot remove %s, a chart of earlier tables: %s", path, strerror(errno));
        free(path);
    }
}

bool charts_draw(const struct report *r, const struct outcome *shown)
{
    extern char **environ;
    char *settings =
        memory_text("timeline_cases='%s %s'", r->outcomes[0].name, shown == r->outcomes ? "" : shown->name);
    char *folder = memory_text("%s", r->folder), script[] = LOCKSTEP_PLOTS "/draw.sh", stem[] = "blame";
    char *argv[] = { script, stem, folder, settings, NULL };
    pid_t child;
    fflush(stdout); /* draw.sh may print */
    int status = 0, error = posix_spawn(&child, script, NULL, NULL, argv, environ);
    bool is_drawn = !error && waitpid(child, &status, 0) >= 0 && status == 0;
    if (error)
        warn("the charts could not be drawn: %s: %s", script, strerror(error));
    free(folder);
    free(settings);
    return is_drawn;
}
