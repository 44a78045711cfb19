/* sabotage_blas.c: a second CBLAS for LD_PRELOAD, whose matrix product ends the program. */
#include <stdio.h>
#include <stdlib.h>

enum { STATUS_USED = 33 };

void cblas_sgemm(void);
void cblas_sgemm(void)
{
    fputs("the product of another CBLAS was used\n", stderr);
    _Exit(STATUS_USED);
}
