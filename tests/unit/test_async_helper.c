#include "world/async_helper.h"

#include "support/unit.h"

#include <sched.h>
#include <stdatomic.h>

/* Result of a job. */
struct found {
    atomic_int core; /* -1: it has not begun */
    int sent_to;     /* the core to which the job binds its thread; -1: none */
};

static void look(void *context)
{
    struct found *found = context;
    if (found->sent_to >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((size_t)found->sent_to, &one);
        sched_setaffinity(0, sizeof one, &one); /* so it is woken there, as Linux often does of itself */
    }
    atomic_store(&found->core, sched_getcpu());
}

/* Bind a helper's thread to the core of this one, then begin a job while this thread computes. Return the job's core, or -1 if the test
 * may use one core only. */
static int core_of_job(int spare_cores, int *mine)
{
    cpu_set_t all, one;
    int core = -1;
    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2)
        return -1;
    *mine = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET((size_t)*mine, &one);
    struct async_helper *helper = async_helper_open_on_any_core(spare_cores);
    sched_setaffinity(0, sizeof one, &one);
    struct found first = { .core = -1, .sent_to = *mine }, second = { .core = -1, .sent_to = -1 };
    async_helper_begin(helper, look, &first);
    async_helper_end(helper);
    async_helper_begin(helper, look, &second);
    while ((core = atomic_load(&second.core)) < 0)
        continue;
    async_helper_close(helper);
    sched_setaffinity(0, sizeof all, &all);
    return core;
}

TEST(a_helper_leaves_the_core_of_a_rank_that_computes)
{
    int mine = 0;
    const int core = core_of_job(1, &mine);
    if (core >= 0)
        assert_int_not_equal(core, mine);
}

TEST(a_helper_stays_where_no_core_is_spare)
{
    int mine = 0;
    const int core = core_of_job(0, &mine);
    if (core >= 0)
        assert_int_equal(core, mine);
}
