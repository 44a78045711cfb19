#include "launch.h"

#include "die.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    GRACE_S = 3,          /* between asking a job to end and ending it */
    STATUS_NO_EXEC = 127, /* the shell's word for "no such program" */
    UNKNOWN_COLUMNS = 110,
};

static const char terminal_variable[] = "LOCKSTEP_TERMINAL";
static const char pulse_variable[] = "LOCKSTEP_PULSE"; /* path of the file that launch_beat() touches */

bool launch_is_rank(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK");
}

struct terminal launch_terminal(void)
{
    struct terminal terminal = { .columns = UNKNOWN_COLUMNS };
    const char *told = getenv(terminal_variable);
    int live = 0, color = 0;
    if (told && sscanf(told, "%d %d %d", &terminal.columns, &live, &color) == 3) {
        terminal.is_live = live;
        terminal.has_color = color;
        return terminal;
    }
    struct winsize size = { 0 };
    const char *columns = getenv("COLUMNS");
    const char *no_color = getenv("NO_COLOR");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        terminal.columns = size.ws_col;
    else if (columns && atoi(columns) > 0)
        terminal.columns = atoi(columns);
    terminal.is_live = isatty(STDERR_FILENO);
    terminal.has_color = isatty(STDOUT_FILENO) && !(no_color && *no_color);
    return terminal;
}

void launch_beat(void)
{
    const char *path = getenv(pulse_variable);
    int pulse = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (pulse < 0)
        return;
    ssize_t written = write(pulse, ".", 1);
    (void)written; /* a lost beat only shortens the deadline */
    close(pulse);
}

/* Two jobs bound to cores at once would stack on the same ones and measure each other. The lock is a file that
 * everybody may open; it is released when this process ends, however it ends. */
static int take_machine_lock(void)
{
    const char *path = "/tmp/lockstep.lock";
    int lock = open(path, O_RDONLY | O_CLOEXEC);
    if (lock < 0)
        lock = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock; /* without a lock file we measure all the same */
    warn("another run is measuring on this machine (it holds /tmp/lockstep.lock); waiting for it to end, Ctrl-C gives "
         "up");
    flock(lock, LOCK_EX);
    return lock;
}

static void set_environment(const struct launch *launch)
{
    static const char *const settings[][2] = {
        { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
        { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
        { "OMPI_MCA_btl_base_warn_component_unused", "0" },
        { "OPENBLAS_NUM_THREADS", "1" }, /* read when the library is loaded, so it has to be here */
        { "OMP_NUM_THREADS", "1" },
        { "RES_OPTIONS",
          "timeout:1 attempts:1" }, /* one host needs no name server; do not wait long for an absent one */
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i][0], settings[i][1], 1);
    struct terminal terminal = launch_terminal();
    char text[64];
    snprintf(text, sizeof text, "%d %d %d", terminal.columns, terminal.is_live, terminal.has_color);
    setenv(terminal_variable, text, 1);
    snprintf(text, sizeof text, "%d", launch->cores);
    setenv("LOCKSTEP_CORES", text, 1);
}

/* mpirun's command line: a core for each rank where there are enough, else all ranks on all cores. */
static char **mpirun_arguments(const struct launch *launch)
{
    static const char *const own_cores[] = { "--map-by", "core", "--bind-to", "core", NULL };
    static const char *const shared_cores[] = { "--oversubscribe", "--bind-to", "none", NULL };
    const char *const *binding = launch->ranks > launch->cores ? shared_cores : own_cores;
    static char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        die(STATUS_CANNOT, "cannot find this program's own path: %s; is /proc mounted?", strerror(errno));
    self[length] = '\0';

    size_t given = 0, count = 0;
    while (launch->arguments[given])
        given++;
    char **list = memory_new(given + 16, sizeof *list);
    list[count++] = "mpirun";
    list[count++] = "--quiet";
    list[count++] = "-np";
    list[count++] = memory_text("%d", launch->ranks);
    while (*binding)
        list[count++] = (char *)*binding++;
    list[count++] = self;
    for (size_t i = 1; i < given; i++) /* a lone colon would be mpirun's own word */
        list[count++] = strcmp(launch->arguments[i], ":") == 0 ? (char *)"./:" : launch->arguments[i];
    list[count++] = (char *)launch->extra;
    return list;
}

static pid_t start_mpirun(char *const *arguments, const sigset_t *signals_before)
{
    pid_t supervisor = getpid();
    pid_t child = fork();
    if (child < 0)
        die(STATUS_WRONG, "cannot start a process: %s", strerror(errno));
    if (child > 0)
        return child;
    sigprocmask(SIG_SETMASK, signals_before, NULL);
    setpgid(0, 0);                    /* Ctrl-C reaches the supervisor alone, which passes it on */
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* and a killed supervisor takes its job along */
    if (getppid() != supervisor)
        _exit(STATUS_WRONG);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    execvp(arguments[0], arguments);
    _exit(STATUS_NO_EXEC);
}

/* This process's children: at most `most` of them, into `pids`. Returns how many. */
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

enum { CHILDREN_MOST = 4096 };

/* Children that were there before the job: whoever started this program by exec may have left some. */
struct strangers {
    int count, pids[CHILDREN_MOST];
};

static bool is_stranger(const struct strangers *strangers, int pid)
{
    for (int i = 0; i < strangers->count; i++)
        if (strangers->pids[i] == pid)
            return true;
    return false;
}

/* Ranks that outlived mpirun have become our children (we are their subreaper); none may stay. */
static void end_orphans(const struct strangers *strangers)
{
    int pids[CHILDREN_MOST];
    for (int tries = 0; tries < 100; tries++) {
        int orphans = 0;
        for (int i = list_children(pids, CHILDREN_MOST); i-- > 0;)
            if (!is_stranger(strangers, pids[i])) {
                kill(pids[i], SIGKILL);
                waitpid(pids[i], NULL, WNOHANG);
                orphans++;
            }
        if (!orphans)
            return;
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How many signs of life there were. */
static off_t beats(int pulse)
{
    struct stat status;
    return fstat(pulse, &status) == 0 ? status.st_size : 0;
}

/* Waits for `child`, for a signal to pass on, or for `deadline_s` without a sign of life. Returns the child's wait
 * status; *ended_by says which signal (SIGALRM for the deadline) made us end it, 0 when it ended by itself. */
static int wait_for_end(pid_t child, double deadline_s, int pulse, const sigset_t *watched, int *ended_by)
{
    double deadline = now() + deadline_s;
    off_t beaten = 0;
    int status = 0;
    *ended_by = 0;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return status;
        if (!*ended_by && beats(pulse) > beaten) {
            beaten = beats(pulse);
            deadline = now() + deadline_s;
        }
        if (deadline <= now()) {
            kill(child, *ended_by ? SIGKILL : SIGTERM);
            if (!*ended_by)
                *ended_by = SIGALRM;
            deadline = now() + GRACE_S;
            continue;
        }
        int received =
            sigtimedwait(watched, NULL, &(struct timespec){ .tv_sec = 1 }); /* the pulse is felt each second */
        if ((received == SIGINT || received == SIGTERM || received == SIGHUP) && !*ended_by) {
            *ended_by = received;
            kill(child, SIGTERM);
            deadline = now() + GRACE_S;
        }
    }
}

/* The signals that end a job, less those that whoever started us wants ignored (nohup), and SIGCHLD. */
static void choose_signals(sigset_t *watched)
{
    static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
    sigemptyset(watched);
    sigaddset(watched, SIGCHLD);
    signal(SIGCHLD, SIG_DFL); /* inherited as ignored, it would hide the child's end */
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        struct sigaction action;
        if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(watched, ending[i]);
    }
}

/* Turns an ending by itself into our exit status, and says what the ranks could not. */
static int judge_end(int status, bool has_started)
{
    if (!WIFEXITED(status)) {
        warn("mpirun was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        return STATUS_WRONG;
    }
    int code = WEXITSTATUS(status);
    if (code == STATUS_NO_EXEC) {
        warn("mpirun was not found; install Open MPI (Debian, Ubuntu: apt-get install openmpi-bin)");
        return STATUS_CANNOT;
    }
    if (code == STATUS_RIGHT || code == STATUS_USAGE || code == STATUS_CANNOT || (code == STATUS_WRONG && has_started))
        return code;
    if (code > 128)
        warn("a rank was ended by signal %d (%s); files of earlier runs are untouched", code - 128,
             strsignal(code - 128));
    else if (!has_started)
        warn("mpirun could not start the ranks (status %d); it says why in: mpirun -np 1 true", code);
    else
        warn("mpirun ended with status %d; files of earlier runs are untouched", code);
    return STATUS_WRONG;
}

int launch_ranks(const struct launch *launch)
{
    int lock = take_machine_lock();
    int pulse = memfd_create("lockstep-pulse", MFD_CLOEXEC); /* nameless: nothing stays behind, however we end */
    char pulse_path[64];
    snprintf(pulse_path, sizeof pulse_path, "/proc/%d/fd/%d", (int)getpid(), pulse);
    setenv(pulse_variable, pulse_path, 1);
    set_environment(launch);
    char **arguments = mpirun_arguments(launch);
    struct strangers strangers;
    strangers.count = list_children(strangers.pids, CHILDREN_MOST);
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    sigset_t watched, before;
    choose_signals(&watched);
    sigprocmask(SIG_BLOCK, &watched, &before);
    fflush(NULL);
    int ended_by = 0;
    pid_t child = start_mpirun(arguments, &before);
    int status = wait_for_end(child, launch->deadline_s, pulse, &watched, &ended_by);
    end_orphans(&strangers);
    sigprocmask(SIG_SETMASK, &before, NULL);
    bool has_started = beats(pulse) > 0;
    close(pulse);
    free(arguments);
    if (lock >= 0)
        close(lock);

    if (ended_by == SIGALRM) {
        warn("no sign of life for %g s: a rank hangs or the machine is too slow; files of earlier runs are untouched "
             "(--deadline-s allows more time)",
             launch->deadline_s);
        return STATUS_WRONG;
    }
    if (ended_by) {
        warn("stopped; all ranks ended, files of earlier runs are untouched");
        return 128 + ended_by;
    }
    return judge_end(status, has_started);
}
