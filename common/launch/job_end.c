#include "launch/job_end.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/mpirun.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Return the text that the launcher of real ranks printed; blank for simulated ranks. */
static const char *launcher_text(const struct job_end *end)
{
    return end->output ? mpirun_output_words(end->output) : "";
}

/* True if the launcher refused to start the ranks. Some launchers exit with a status that has another meaning among our ranks, so
 * look for a heartbeat or output of a rank. */
static bool has_refused(const struct job_end *end)
{
    bool have_started =
        flight_recorder_read(end->recorder).heartbeats > 0 || (end->output && mpirun_output_has_ranks(end->output));
    return !have_started && *launcher_text(end);
}

static void print_refusal(const struct job_command *command, int code, const struct job_end *end)
{
    char *tried = memory_join((const char *const *)command->word, " ");
    warn("%s could not start the ranks (status %d): '%s'; its version is '%s', and the command was: %s",
         command->word[0], code, launcher_text(end), mpirun_version(), tried);
    free(tried);
}

/* Print which ranks' calls differ, and return true; false if none do. Then the launcher's message is only a consequence: a message that
 * is too long, or a deadlock. */
static bool print_desync(const struct job_end *end)
{
    char *text = flight_recorder_desync_text(end->recorder, NULL);
    const bool is_there = text;
    if (text)
        warn("%s", text);
    free(text);
    return is_there;
}

/* Print the end of a job that no rank explained. */
static void print_end(const char *launcher, int code, const struct job_end *end)
{
    const char *words = launcher_text(end), *kept = flight_recorder_kept_text(end->recorder);
    const char *quoted[] = { *words ? ": '" : "", *words ? "'" : "" };
    if (code > 128 && code < 128 + NSIG)
        warn("a rank was ended by signal %d (%s)%s%s; %s", code - 128, strsignal(code - 128),
             *end->diagnosis ? ": " : "", end->diagnosis, kept);
    else if (flight_recorder_read(end->recorder).heartbeats == 0)
        warn("%s could not start the ranks (status %d)%s%s%s", launcher, code, quoted[0], words, quoted[1]);
    else
        warn("%s ended with status %d%s%s%s; %s", launcher, code, quoted[0], words, quoted[1], kept);
}

int job_end_judge(const struct job_command *command, const struct job_end *end)
{
    const int status = end->status;
    const char *launcher = command->word[0];
    const struct heartbeat heartbeat = flight_recorder_read(end->recorder);
    if (!WIFEXITED(status)) {
        warn("%s was ended by signal %d (%s); %s", launcher, WTERMSIG(status), strsignal(WTERMSIG(status)),
             flight_recorder_kept_text(end->recorder));
        return STATUS_WRONG;
    }
    int code = WEXITSTATUS(status);
    if (code == STATUS_NO_EXEC) {
        warn("%s was not found; install it (Debian, Ubuntu: apt-get install %s)", launcher,
             end->output ? "openmpi-bin" : "libsimgrid-dev");
        return STATUS_CANNOT;
    }
    if (code != STATUS_RIGHT && has_refused(end)) {
        print_refusal(command, code, end);
        return STATUS_WRONG;
    }
    /* smpirun exits with status 0 when all ranks wait for each other. */
    if (code == STATUS_RIGHT && !heartbeat.has_ended) {
        if (!print_desync(end))
            warn("%s ended with status 0, but the ranks did not finish: a deadlock, if simulated; %s", launcher,
                 flight_recorder_kept_text(end->recorder));
        return STATUS_WRONG;
    }
    if (code == STATUS_RIGHT || code == STATUS_USAGE || code == STATUS_CANNOT)
        return code;
    bool is_explained = flight_recorder_has_spoken(end->recorder) || (code == STATUS_WRONG && heartbeat.has_ended);
    if (!is_explained && !print_desync(end)) /* otherwise a rank has printed the reason */
        print_end(launcher, code, end);
    return STATUS_WRONG;
}
