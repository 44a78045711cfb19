/* Ask the user to predict the step time, before the ranks run. */
#include "base/die.h"
#include "base/memory.h"
#include "base/number.h"
#include "card/card_file.h"
#include "frame/supervise_private.h"
#include "report/guess.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static bool may_ask(const struct request *request)
{
    const struct run *run = request->run;
    return !lab_spec_has_other_job(request->spec, request->base) && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
           run->guesses.count == 0 && !run->card_only && !run->blind && run->ranks > 1 &&
           (run->cases.count == 0 || option_list_has(&run->cases, request->spec->asked));
}

/* Return the card key of real ranks. The ranks compute the same key themselves (lab_card.c). */
static char *key_of_real(const struct request *request)
{
    const char *backend = placement_backend(request->mode), *device = placement_device(request->mode);
    return placement_key("here", placement_label(backend, device, request->run->ranks, request->gpus), request->run);
}

static int cores_of(const struct request *request)
{
    if (request->platform)
        return request->platform->cores;
    return request->mode == PLACEMENT_CORES ? request->cores : request->gpus;
}

static bool read_card(struct card *card, const struct request *request)
{
    const struct platform *p = request->platform;
    char *folder = run_folder(request->run, p ? p->name : "here");
    char *key = p ? memory_text("%s", p->key) : key_of_real(request);
    const struct card_uses uses = lab_spec_uses(request->spec, request->base);
    enum card_found found =
        card_read(card, folder, workload_of(request->base), request->run, &uses, key, cores_of(request));
    /* a card that lacks large sizes is good enough for a question */
    bool is_there = found == CARD_WHOLE ||
                    (found == CARD_SHORT && !isnan(card_allreduce(card, request->run->ranks, sizeof(float))));
    free(key);
    free(folder);
    return is_there;
}

/* Read the card, or measure it first. Return false if it cannot be read back. */
static bool get_card(struct card *card, const struct request *request)
{
    if (read_card(card, request))
        return true;
    struct request measuring = *request;
    measuring.is_silent = true; /* the run after the guess prints the card */
    int status = request_start(&measuring, "--card-only");
    if (status != STATUS_RIGHT)
        exit(status);
    return read_card(card, request);
}

char *request_guess(const struct request *request)
{
    const struct run *run = request->run;
    struct card card;
    if (!may_ask(request) || !get_card(&card, request))
        return NULL;
    const struct workload *workload = workload_of(request->base);
    double step = local_step(&card.alone, workload_usual(workload, run)), bytes = workload_gradient_bytes(workload);
    double sum = card_allreduce(&card, run->ranks, bytes);
    char *event = request->spec->event(request->base);
    char *transfer = isnan(sum) ? memory_text("%s", "") /* the lab uses none */
                                : memory_text("; an all-reduce of %.1f MB among %d takes %.*f ms", bytes / 1e6,
                                              run->ranks, number_ms_decimals(sum), 1e3 * sum);
    char *question = memory_text("Alone, one rank steps in %.*f ms%s.\n"
                                 "Now %s.\n"
                                 "A step of all %d will take ... ms? [Enter skips]",
                                 number_ms_decimals(step), 1e3 * step, transfer, event, run->ranks);
    free(transfer);
    double guess = guess_ask(question);
    free(question);
    free(event);
    return isnan(guess) ? NULL : memory_text("--guess=%s=%g", request->spec->asked, guess);
}
