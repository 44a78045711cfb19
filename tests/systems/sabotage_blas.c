/* A second CBLAS in the process, to be loaded before all others: its product ends the program. */
#include <stdio.h>
#include <stdlib.h>

enum { STATUS_USED = 33 };

void cblas_sgemm(void);
void cblas_sgemm(void)
{
    fputs("the product of another CBLAS was used\n", stderr);
    _Exit(STATUS_USED);
}
