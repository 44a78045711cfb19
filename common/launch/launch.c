#include "launch/launch.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "launch/mpirun.h"
#include "launch/mpirun_output.h"
#include "launch/rank_exits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    GRACE_S = 3,          /* between SIGTERM and SIGKILL for a job */
    STATUS_NO_EXEC = 127, /* the shell's status for a missing program */
    FREE_DESCRIPTOR = 20, /* above the descriptors that shells use internally */
};

/* Wait for the machine's lock and return its descriptor. Two jobs bound to cores at once would share cores and disturb each other's
 * measurements. Every user can open the lock file. The kernel releases the lock when this process ends. */
static int take_machine_lock(void)
{
    const char *own = getenv("LOCKSTEP_LOCK"), *path = own && *own ? own : "/tmp/lockstep.lock";
    int lock = open(path, O_RDONLY | O_CLOEXEC);
    if (lock < 0)
        lock = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock; /* a run continues without a lock file */
    warn("another run measures on this machine (it holds %s); waiting for its end, Ctrl-C stops", path);
    flock(lock, LOCK_EX);
    return lock;
}

/* Redirect smpirun's output to /dev/null, because smpirun prints text of its own on every failure, also on standard output. The
 * ranks restore both descriptors after their start (world_sim.c). */
static void keep_output_for_ranks(void)
{
    char descriptors[32];
    snprintf(descriptors, sizeof descriptors, "%d %d", fcntl(STDOUT_FILENO, F_DUPFD, FREE_DESCRIPTOR),
             fcntl(STDERR_FILENO, F_DUPFD, FREE_DESCRIPTOR));
    setenv(JOB_OUTPUT, descriptors, 1);
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

static pid_t start(const struct job_command *command, const struct launch *launch, struct launcher_output *output,
                   const sigset_t *signals_before)
{
    pid_t supervisor = getpid();
    pid_t child = fork();
    if (child < 0)
        die(STATUS_WRONG, "cannot start a process: %s", strerror(errno));
    if (child > 0)
        return child;
    sigprocmask(SIG_SETMASK, signals_before, NULL);
    setpgid(0, 0);                    /* Ctrl-C reaches only the supervisor, which passes it on */
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* the job ends if the supervisor is killed */
    if (getppid() != supervisor)
        _exit(STATUS_WRONG);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    if (output) {
        mpirun_output_enter(output);
        mpirun_share_in(command->scratch.folder);
    }
    if (launch->is_silent)
        freopen("/dev/null", "w", stdout);
    if (launch->platform)
        keep_output_for_ranks();
    execvp(command->word[0], command->word);
    _exit(STATUS_NO_EXEC);
}

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

enum { CHILDREN_MOST = 4096 };

/* Children that existed before the job. A program that became this one by exec may have left some. */
struct earlier_children {
    int count, pids[CHILDREN_MOST];
};

static bool is_earlier_child(const struct earlier_children *earlier_children, int pid)
{
    for (int i = 0; i < earlier_children->count; i++)
        if (earlier_children->pids[i] == pid)
            return true;
    return false;
}

/* Kill ranks that outlived their launcher. This process is their subreaper and has become their parent. */
static void end_orphans(const struct earlier_children *earlier_children)
{
    int pids[CHILDREN_MOST];
    for (int tries = 0; tries < 100; tries++) {
        int orphans = 0;
        for (int i = list_children(pids, CHILDREN_MOST); i-- > 0;)
            if (!is_earlier_child(earlier_children, pids[i])) {
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

/* A running job, and the cause of its end. */
struct job {
    pid_t child;
    double timeout; /* timeout in seconds from the last heartbeat to the next */
    int ranks;      /* that write to the flight recorder; 0 for simulated ranks */
    struct flight_recorder *recorder;
    int ended_by;    /* signal for which we ended the job, SIGALRM for the timeout; 0: ended without us */
    char *diagnosis; /* missing ranks by the flight recorder; after a timeout the whole message */
    struct launcher_output *output; /* of real ranks; NULL: simulated ranks write directly */
};

static void end_job(struct job *job, int signal)
{
    job->ended_by = signal;
    free(job->diagnosis);
    job->diagnosis = signal == SIGALRM ? flight_recorder_timeout_text(job->recorder, job->timeout) : NULL;
    kill(job->child, SIGTERM);
}

/* Wait for the child's end. End the job on a signal, or on a timeout without a heartbeat. Return the child's wait status. */
static int wait_for_end(struct job *job, const sigset_t *signals)
{
    double deadline = now() + job->timeout;
    unsigned long beats_seen = 0;
    int status = 0;
    struct rank_watch *watch = rank_exits_open(job->recorder, job->ranks, signals);
    for (;;) {
        pid_t ended = waitpid(job->child, &status, WNOHANG);
        if (ended == job->child || (ended < 0 && errno != EINTR))
            break;
        struct heartbeat heartbeat = flight_recorder_read(job->recorder);
        if (!job->ended_by && heartbeat.heartbeats != beats_seen) {
            beats_seen = heartbeat.heartbeats;
            job->timeout = heartbeat.timeout;
            deadline = now() + job->timeout;
        }
        if (deadline <= now()) {
            if (job->ended_by)
                kill(job->child, SIGKILL);
            else
                end_job(job, SIGALRM);
            deadline = now() + GRACE_S;
            continue;
        }
        double since = now();
        int received = rank_exits_wait(watch);
        if (!job->diagnosis && flight_recorder_has_lost(job->recorder, job->ranks))
            job->diagnosis = flight_recorder_text(job->recorder); /* before other ranks end as a consequence */
        if (now() - since > FLIGHT_RECORDER_PAUSE_S)
            deadline += now() - since;
        if (received > 0 && received != SIGCHLD && !job->ended_by) {
            end_job(job, received);
            deadline = now() + GRACE_S;
        }
    }
    rank_exits_close(watch);
    if (!job->diagnosis)
        job->diagnosis = flight_recorder_text(job->recorder);
    return status;
}

/* Collect the signals that end a job, except those that the parent process set to ignored (nohup), and SIGCHLD. */
static void choose_signals(sigset_t *watched)
{
    static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigemptyset(watched);
    sigaddset(watched, SIGCHLD);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        struct sigaction action;
        if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(watched, ending[i]);
    }
}

/* Return the text that the launcher of real ranks printed; blank for simulated ranks. */
static const char *launcher_text(const struct job *job)
{
    return job->output ? mpirun_output_words(job->output) : "";
}

/* True if the launcher refused to start the ranks. Some launchers exit with a status that has another meaning among our ranks, so
 * look for a heartbeat or output of a rank. */
static bool has_refused(const struct job *job)
{
    bool have_started =
        flight_recorder_read(job->recorder).heartbeats > 0 || (job->output && mpirun_output_has_ranks(job->output));
    return !have_started && *launcher_text(job);
}

static void print_refusal(const struct job_command *command, int code, const struct job *job)
{
    char *tried = memory_text("%s", command->word[0]), *version = mpirun_version();
    for (int i = 1; i < command->words; i++) {
        char *longer = memory_text("%s %s", tried, command->word[i]);
        free(tried);
        tried = longer;
    }
    warn("%s could not start the ranks (status %d): '%s'; its version is '%s', and the command was: %s",
         command->word[0], code, launcher_text(job), version, tried);
    free(version);
    free(tried);
}

/* Print the end of a job that no rank explained. */
static void print_end(const char *launcher, int code, const struct job *job)
{
    const char *words = launcher_text(job), *kept = flight_recorder_kept_text(job->recorder);
    const char *quoted[] = { *words ? ": '" : "", *words ? "'" : "" };
    if (code > 128 && code < 128 + NSIG)
        warn("a rank was ended by signal %d (%s)%s%s; %s", code - 128, strsignal(code - 128),
             *job->diagnosis ? ": " : "", job->diagnosis, kept);
    else if (flight_recorder_read(job->recorder).heartbeats == 0)
        warn("%s could not start the ranks (status %d)%s%s%s", launcher, code, quoted[0], words, quoted[1]);
    else
        warn("%s ended with status %d%s%s%s; %s", launcher, code, quoted[0], words, quoted[1], kept);
}

/* Return the exit status for a job that ended without us. Print the reason if no rank did. */
static int judge_end(const struct job_command *command, int status, const struct job *job)
{
    const char *launcher = command->word[0];
    const struct heartbeat heartbeat = flight_recorder_read(job->recorder);
    if (!WIFEXITED(status)) {
        warn("%s was ended by signal %d (%s); %s", launcher, WTERMSIG(status), strsignal(WTERMSIG(status)),
             flight_recorder_kept_text(job->recorder));
        return STATUS_WRONG;
    }
    int code = WEXITSTATUS(status);
    if (code == STATUS_NO_EXEC) {
        warn("%s was not found; install it (Debian, Ubuntu: apt-get install %s)", launcher,
             job->output ? "openmpi-bin" : "libsimgrid-dev");
        return STATUS_CANNOT;
    }
    if (code != STATUS_RIGHT && has_refused(job)) {
        print_refusal(command, code, job);
        return STATUS_WRONG;
    }
    /* smpirun exits with status 0 when all ranks wait for each other. */
    if (code == STATUS_RIGHT && !heartbeat.has_ended) {
        warn("%s ended with status 0, but the ranks did not finish: a deadlock, if simulated; %s", launcher,
             flight_recorder_kept_text(job->recorder));
        return STATUS_WRONG;
    }
    if (code == STATUS_RIGHT || code == STATUS_USAGE || code == STATUS_CANNOT)
        return code;
    bool is_explained = flight_recorder_has_spoken(job->recorder) || (code == STATUS_WRONG && heartbeat.has_ended);
    if (!is_explained) /* otherwise a rank has printed the reason */
        print_end(launcher, code, job);
    return STATUS_WRONG;
}

/* Put the path of an open file into an environment variable for the ranks. Return the path, which the environment owns. */
static const char *export_path(const char *variable, int file)
{
    char *path = job_command_path_of(file);
    setenv(variable, path, 1);
    free(path);
    return getenv(variable);
}

int launch_ranks(const struct launch *launch)
{
    bool measures = !launch->platform || !launch->platform->is_modelled; /* modelled runs disturb no measurement */
    int lock = measures ? take_machine_lock() : -1;
    struct job job = { .timeout = launch->timeout, .ranks = launch->platform ? 0 : launch->ranks };
    int recorder = flight_recorder_create();
    job.recorder = flight_recorder_open(export_path(JOB_RECORDER, recorder), -1);
    if (!job.recorder)
        die(STATUS_WRONG, "no shared memory for the heartbeats of the ranks: %s; is /proc mounted?", strerror(errno));
    struct job_command command = job_command_for(launch);
    struct earlier_children earlier_children;
    earlier_children.count = list_children(earlier_children.pids, CHILDREN_MOST);
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    sigset_t signals, before;
    choose_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    fflush(NULL);
    job.output = launch->platform ? NULL : mpirun_output_open();
    job.child = start(&command, launch, job.output, &before);
    if (job.output)
        mpirun_output_follow(job.output);
    int status = wait_for_end(&job, &signals);
    end_orphans(&earlier_children);
    if (job.output)
        mpirun_output_finish(job.output);
    sigprocmask(SIG_SETMASK, &before, NULL);

    int verdict = STATUS_WRONG;
    if (job.ended_by == SIGALRM) {
        warn("%s", job.diagnosis);
    } else if (job.ended_by) {
        warn("stopped; all ranks ended, %s", flight_recorder_kept_text(job.recorder));
        verdict = 128 + job.ended_by;
    } else {
        verdict = judge_end(&command, status, &job);
    }
    close(recorder);
    flight_recorder_close(job.recorder);
    if (job.output)
        mpirun_output_close(job.output);
    free(job.diagnosis);
    job_command_drop(&command);
    if (lock >= 0)
        close(lock);
    return verdict;
}
