#include "launch/mpirun.h"

#include "base/die.h"
#include "launch/job.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const char mpirun_program[] = "mpirun";

const char *mpirun_version(void)
{
    enum { NOT_FOUND = 127 }; /* the shell's status */
    /* Static, because every job of this process would otherwise start mpirun once more. */
    static char line[256];
    static bool is_known;
    if (is_known)
        return line;
    FILE *answer = job_listen(mpirun_program, "--version", "");
    if (!fgets(line, sizeof line, answer))
        line[0] = '\0';
    while (fgetc(answer) != EOF) /* read all, because mpirun complains if it cannot write */
        ;
    int status = pclose(answer);
    bool is_there = !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND);
    line[is_there ? strcspn(line, "\n") : 0] = '\0';
    is_known = true;
    return line;
}

void mpirun_check(void)
{
    const char *version = mpirun_version();
    if (*version && !strstr(version, "Open MPI"))
        die(STATUS_CANNOT,
            "the %s on the PATH is not Open MPI's: its --version prints '%s'; put Open MPI's first on the PATH "
            "(Debian, Ubuntu: apt-get install openmpi-bin; update-alternatives --config mpirun)",
            mpirun_program, version);
}

const char *const *mpirun_placing(bool has_own_cores)
{
    static const char *const own_cores[] = { "--map-by", "core", "--bind-to", "core", NULL };
    static const char *const all_cores[] = { "--oversubscribe", "--bind-to", "none", NULL };
    return has_own_cores ? own_cores : all_cores;
}

void mpirun_set_environment(void)
{
    static const char *const variables[][2] = {
        { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
        { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
        { "OMPI_MCA_btl_base_warn_component_unused", "0" },
        { "RES_OPTIONS", "timeout:1 attempts:1" }, /* one host needs no name server, so do not wait for a missing one */
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i][0], variables[i][1], 1);
}

/* All versions put session files below TMPDIR. The shared-memory component has a variable of its own. The component is named vader
 * in Open MPI 4 and sm since. Later versions still accept the old name, but may drop that name. */
void mpirun_share_in(const char *folder)
{
    setenv("TMPDIR", folder, 1);
    setenv("OMPI_MCA_btl_vader_backing_directory", folder, 0);
    setenv("OMPI_MCA_btl_sm_backing_directory", folder, 0);
}
