#include "launch/orphans.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Write at most `most` children of this process into `pids`. Return their number. */
static int list_children(int *pids, int most)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    int count = 0;
    while (file && count < most && fscanf(file, "%d", &pids[count]) == 1)
        count++;
    if (file)
        fclose(file);
    return count;
}

struct earlier_children orphans_adopt(void)
{
    struct earlier_children earlier;
    earlier.count = list_children(earlier.pids, CHILDREN_MOST);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return earlier;
}

static bool is_earlier_child(const struct earlier_children *earlier, int pid)
{
    for (int i = 0; i < earlier->count; i++)
        if (earlier->pids[i] == pid)
            return true;
    return false;
}

void orphans_end(const struct earlier_children *earlier)
{
    int pids[CHILDREN_MOST];
    for (int tries = 0; tries < 100; tries++) {
        int orphans = 0;
        for (int i = list_children(pids, CHILDREN_MOST); i-- > 0;)
            if (!is_earlier_child(earlier, pids[i])) {
                kill(pids[i], SIGKILL);
                waitpid(pids[i], NULL, WNOHANG);
                orphans++;
            }
        if (!orphans)
            return;
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
}
