/* reference: another program that trains the same models beside us, window by window: it is asked for one, we wait for its
 * answer, and while nobody asks it does nothing. tools/torch_step.py is one.
 *
 * The protocol, in lines. First it says what it is, "ready PyTorch 2.5 on NVIDIA H200", or that it cannot, "absent REASON".
 * From then on we ask
 *     mlp,PRECISION,SAMPLES                     mlp,fp32,512
 *     transformer,PRECISION,TEXTS,TOKENS        transformer,fp32,8,128
 * and it answers with the same words, the parameters of its model and the milliseconds of a step, by its own clock:
 *     mlp,fp32,512,3124200,0.4
 * or with "absent REASON". The end of its input is the end of it. */
#ifndef LOCKSTEP_REFERENCE_H
#define LOCKSTEP_REFERENCE_H

#include <stdbool.h>
#include <sys/types.h>

enum { REFERENCE_WORDS_MOST = 32, REFERENCE_LINE = 256 };

struct reference {
    pid_t process;              /* 0 where there is none, */
    int line;                   /* and to it */
    char about[REFERENCE_LINE]; /* what it is; blank where there never was one */
    char lacks[REFERENCE_LINE]; /* why there is none, or none any more */
};

/* Starts a program, which is looked for along PATH, with these words (NULL-terminated, the first is its name). */
void reference_open(struct reference *reference, char *const *words);
void reference_close(struct reference *reference);

/* Seconds of a step in a window that it makes now; NaN where it makes none, which then stays so: `lacks` says why. */
double reference_window(struct reference *reference, const char *question, double parameters);

#endif
