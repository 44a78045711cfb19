/* planted.c: make a mistake that a sanitizer must find. usage: planted leak|overflow|undefined|cast|race|nothing
 *
 * A rank makes the mistake between MPI_Init and MPI_Finalize, where our programs would. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile size_t five = 5; /* volatile, so that the compiler does not see the mistakes */
static volatile double too_much = 1e10;
static int shared;

static void leak(void)
{
    char *volatile lost = malloc(five);
    lost = NULL;
}

static void overflow(void)
{
    volatile char *short_one = malloc(five);
    short_one[five] = '\0';
    free((void *)short_one);
}

static void undefined(void)
{
    printf("%d\n", (int)(1 << (five + 27)) << 1);
}

static void cast(void)
{
    printf("%d\n", (int)too_much);
}

static void *count(void *unused)
{
    for (int i = 0; i < 1000; i++)
        shared++;
    return unused;
}

static void race(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, count, NULL) != 0)
        exit(EXIT_FAILURE);
    count(NULL);
    pthread_join(other, NULL);
    printf("%d\n", shared);
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*plant)(void);
    } plants[] = { { "leak", leak }, { "overflow", overflow }, { "undefined", undefined },
                   { "cast", cast }, { "race", race },         { "nothing", nothing } };
    if (argc != 2)
        return EXIT_FAILURE;
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
        if (strcmp(argv[1], plants[i].name) == 0)
            plants[i].plant();
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        MPI_Finalize();
    return EXIT_SUCCESS;
}
