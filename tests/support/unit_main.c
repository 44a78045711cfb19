/* unit_main.c: the main program of unit tests. usage: PROGRAM [NAME]: run the tests of test_NAME.c */
#include "support/unit.h"

int main(int count, char **argument)
{
    return unit_run(count > 1 ? argument[1] : NULL);
}
