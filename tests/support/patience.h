/* patience: the factor on time limits of an idle machine that a C test keeps itself (LOCKSTEP_PATIENCE; frame.sh has it for scripts) */
#ifndef LOCKSTEP_PATIENCE_H
#define LOCKSTEP_PATIENCE_H

#include <stdlib.h>

static inline double patience(void)
{
    const char *text = getenv("LOCKSTEP_PATIENCE");
    return text ? atof(text) : 1;
}

#endif
