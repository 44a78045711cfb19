#include "supervise.h"

#include "cores.h"
#include "die.h"
#include "guess.h"
#include "launch.h"
#include "memory.h"
#include "mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEADLINE_BASE_S = 120,    /* starting, the card, the least rounds on a slow machine, writing */
    DEADLINE_PER_SECOND = 10, /* of the measuring budget: shared machines stop for a while */
};

static int start(const struct run *run, char *const *arguments, int cores, const char *extra)
{
    double derived = DEADLINE_BASE_S + DEADLINE_PER_SECOND * run->seconds;
    return launch_ranks(&(struct launch){ .ranks = run->ranks,
                                          .cores = cores,
                                          .deadline_s = run->deadline_s > 0 ? run->deadline_s : derived,
                                          .arguments = arguments,
                                          .extra = extra });
}

static char *ask(const struct story *story, const struct options *base, const struct card *card)
{
    const struct run *run = (const struct run *)base;
    double step = local_step(&card->alone, run->batch_size);
    char *event = story->event(base);
    char *question = memory_text("Alone, one rank steps in %.0f ms; an all-reduce of %.1f MB among %d takes %.0f ms.\n"
                                 "Now %s.\n"
                                 "A step of all %d will take ... ms? [Enter skips]",
                                 1e3 * step, mlp_gradient_bytes(run) / 1e6, run->ranks,
                                 1e3 * card_allreduce(card, run->ranks, mlp_gradient_bytes(run)), event, run->ranks);
    double guess = guess_ask(question);
    free(question);
    free(event);
    return isnan(guess) ? NULL : memory_text("--guess=%s=%g", story->asked, guess);
}

void supervise(const struct story *story, const struct options *base, char *const *arguments)
{
    const struct run *run = (const struct run *)base;
    int cores = cores_here();
    char *guess = NULL;
    bool may_ask = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && run->guesses.count == 0 && !run->card_only &&
                   run->ranks > 1 && (run->cases.count == 0 || option_list_has(&run->cases, story->asked));
    if (may_ask) {
        struct card card;
        if (!card_read(&card, run, cores)) {
            int status = start(run, arguments, cores, "--card-only");
            if (status != STATUS_RIGHT)
                exit(status);
            may_ask = card_read(&card, run, cores);
        }
        if (may_ask)
            guess = ask(story, base, &card);
    }
    exit(start(run, arguments, cores, guess));
}
