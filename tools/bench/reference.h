/* reference: another program that trains the same models, window by window, on request. Between requests the program is idle.
 * tools/bench/torch_step.py is one.
 *
 * The protocol consists of lines. The program begins with "ready PyTorch 2.5 on NVIDIA H200" or with "absent REASON";
 * torch_labs.py prints "ready VERSION, BLAS, …", which tables name. Then the benchmark asks
 *     mlp,PRECISION,SAMPLES                     mlp,fp32,512
 *     transformer,PRECISION,TEXTS,TOKENS        transformer,fp32,8,128
 * and the program answers with the same words, its model's number of parameters, and the milliseconds of a step by its clock:
 *     mlp,fp32,512,3124200,0.4
 * or with "absent REASON". A fourth value is the CPU seconds of the window, of all its processes. The program ends at the end of
 * its input. */
#ifndef LOCKSTEP_REFERENCE_H
#define LOCKSTEP_REFERENCE_H

#include <stdbool.h>
#include <sys/types.h>

enum { REFERENCE_WORDS_MOST = 32, REFERENCE_LINE = 256 };

struct reference {
    pid_t process;              /* 0: not running */
    int line;                   /* socket: its input and output */
    double busy;                /* CPU seconds of all windows, if the program reports them */
    char about[REFERENCE_LINE]; /* text after "ready "; empty if never started */
    char lacks[REFERENCE_LINE]; /* reason why not running */
};

/* Start a program, found along PATH, with these arguments (NULL-terminated, the first is its name). */
void reference_open(struct reference *reference, char *const *words);
void reference_close(struct reference *reference);

/* Time a window now. Return seconds per step; NaN on failure, for this and all later windows (`lacks` has the reason). */
double reference_window(struct reference *reference, const char *question, double parameters);

#endif
