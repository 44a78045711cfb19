#include "launch/launch.h"

#include "base/die.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "launch/job_end.h"
#include "launch/mpirun.h"
#include "launch/mpirun_output.h"
#include "launch/orphans.h"
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

static pid_t start(const struct job_command *command, const struct launch *launch, struct mpirun_output *output,
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

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_for(double seconds)
{
    const struct timespec time = { .tv_nsec = (long)(1e9 * seconds) };
    nanosleep(&time, NULL);
}

/* A running job, and the cause of its end. */
struct job {
    pid_t child;
    double timeout; /* timeout in seconds from the last heartbeat to the next */
    int ranks;      /* that write to the flight recorder; 0 for simulated ranks */
    struct flight_recorder *recorder;
    int ended_by;     /* signal for which we ended the job, SIGALRM if it stood still; 0: ended without us */
    char *diagnosis;  /* missing ranks by the flight recorder; of a job that stood still, the whole message */
    double diagnosed; /* now() at that message */
    struct mpirun_output *output; /* of real ranks; NULL: simulated ranks write directly */
};

/* End the job because of a signal (no message) or for the reason in this message, which the job then owns. */
static void end_job(struct job *job, int signal, char *message)
{
    job->ended_by = signal;
    free(job->diagnosis);
    job->diagnosis = message;
    job->diagnosed = now();
    flight_recorder_stop(job->recorder);
    kill(job->child, SIGTERM);
}

/* Wait for the child's end. End the job on a signal, or on a timeout without a heartbeat. Return the child's wait status. */
static int wait_for_end(struct job *job, const sigset_t *signals)
{
    double deadline = now() + job->timeout;
    unsigned long beats_seen = 0;
    int status = 0;
    struct rank_exits *watch = rank_exits_open(job->recorder, job->ranks, signals);
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
        char *reason = job->ended_by ? NULL : flight_recorder_desync_text(job->recorder, sleep_for);
        if (!reason && !job->ended_by && deadline <= now())
            reason = flight_recorder_timeout_text(job->recorder, job->timeout);
        if (reason || deadline <= now()) {
            if (job->ended_by)
                kill(job->child, SIGKILL);
            else
                end_job(job, SIGALRM, reason);
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
            end_job(job, received, NULL);
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

/* Put the path of an open file into an environment variable for the ranks. Return the path, which the environment owns. */
static const char *export_path(const char *variable, int file)
{
    char *path = job_command_path_of(file);
    setenv(variable, path, 1);
    free(path);
    return getenv(variable);
}

/* Run the job's ranks. Return the launcher's wait status, once all processes of the job have ended. */
static int run(struct job *job, const struct job_command *command, const struct launch *launch)
{
    const struct earlier_children earlier_children = orphans_adopt();
    sigset_t signals, before;
    choose_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    fflush(NULL);
    job->output = launch->platform ? NULL : mpirun_output_open();
    job->child = start(command, launch, job->output, &before);
    if (job->output)
        mpirun_output_follow(job->output);
    int status = wait_for_end(job, &signals);
    orphans_end(&earlier_children);
    if (job->output)
        mpirun_output_finish(job->output);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Return the exit status for this program, and print the reason of a failure. */
static int judge(const struct job *job, const struct job_command *command, int status)
{
    const char *said = flight_recorder_said(job->recorder);
    if (said)
        warn("%s", said);
    if (job->ended_by == SIGALRM) {
        if (!flight_recorder_has_spoken(job->recorder))
            warn("%s", job->diagnosis);
        if (flight_recorder_planted(job->recorder) > 0)
            printf("diagnosed %.2f s after the mistake\n", job->diagnosed - flight_recorder_planted(job->recorder));
        return STATUS_WRONG;
    }
    if (job->ended_by) {
        warn("stopped; all ranks ended, %s", flight_recorder_kept_text(job->recorder));
        return 128 + job->ended_by;
    }
    const struct job_end end = { status, job->recorder, job->diagnosis, job->output };
    return job_end_judge(command, &end);
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
    flight_recorder_supervise(job.recorder);
    struct job_command command = job_command_for(launch);
    int verdict = judge(&job, &command, run(&job, &command, launch));
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
