/* Read or measure a lab's machine card. */
#include "base/memory.h"
#include "card/calibrate.h"
#include "card/card_file.h"
#include "card/probe.h"
#include "collective/collective.h"
#include "device/device.h"
#include "frame/lab_private.h"
#include "frame/placement.h"
#include "world/hosts.h"

#include <stdio.h>
#include <stdlib.h>

/* Return the key of the card. A card measured among other hosts has another key. */
static char *card_key_of(const struct lab *lab)
{
    char *platform =
        lab->hosts ? memory_text("%s, %s", job_platform_key(), lab->hosts) : memory_text("%s", job_platform_key());
    char *key = placement_key(platform, run_results_label(lab->run.ranks), &lab->run);
    free(platform);
    return key;
}

/* On rank 0: print the platform, device and hosts of the numbers below. */
static void print_card(const struct lab *lab)
{
    if (world_is_simulated())
        printf("Simulated, platform %s: %s.\n", world_platform(), world_about());
    if (device_gpus() > 0)
        printf("Trained on %s; %s.\n", run_results_label(lab->run.ranks), device_about());
    if (lab->hosts)
        printf("Hosts: %s.\n", lab->hosts);
    if (collective_hides_arrivals())
        printf("Waiting and transfer are n/a: %s.\n", collective_hides_arrivals());
    card_show(stdout, &lab->card, workload_of(lab->base), &lab->run);
    fflush(stdout);
}

/* all: scale an earlier card to the machine as it is now. Return the part that still holds: `found`, CARD_SHORT or CARD_NONE. */
static enum card_found bring_up_to_date(struct lab *lab, enum card_found found)
{
    static const char *const says[] = { [CARD_SCALES] = "is scaled to this moment",
                                        [CARD_SUMS_OUTDATED] = "needs new collectives",
                                        [CARD_OUTDATED] = "no longer fits" };
    char why[CARD_NAME] = "";
    const enum card_fit fit = calibrate_again(&lab->card, lab->world, workload_of(lab->base), &lab->run, why);
    if (fit != CARD_FITS && world_rank(lab->world) == 0)
        fprintf(stderr, "the machine card %s: %s than it says\n", says[fit], why);
    return fit == CARD_OUTDATED ? CARD_NONE : fit == CARD_SUMS_OUTDATED ? CARD_SHORT : found;
}

void lab_get_card(struct lab *lab)
{
    const struct workload *workload = workload_of(lab->base);
    const struct card_uses uses = lab_spec_uses(lab->spec, lab->base);
    bool is_first = world_rank(lab->world) == 0;
    bool may_read = is_first && !lab->run.card_only && device_computes();
    lab->card_key = card_key_of(lab);
    enum card_found found = CARD_NONE;
    if (may_read)
        found = card_read(&lab->card, lab->folder, workload, &lab->run, &uses, lab->card_key, world_cores(lab->world));
    world_broadcast(lab->world, &found, sizeof found);
    if (found != CARD_NONE)
        world_broadcast(lab->world, &lab->card, sizeof lab->card);
    if (found != CARD_NONE && !lab->run.keep_card)
        found = bring_up_to_date(lab, found);
    if (is_first && found != CARD_WHOLE && device_computes())
        fputs("measuring the machine card, a few seconds ...\n", stderr);
    if (found == CARD_NONE)
        lab->tried = calibrate(&lab->card, lab->world, workload, &lab->run, &uses);
    else if (found == CARD_SHORT)
        lab->tried = calibrate_uses(&lab->card, lab->world, workload, &lab->run, &uses);
    if (is_first && found != CARD_WHOLE && lab->tried.count == 0)
        card_write(&lab->card, lab->folder, workload, &lab->run, lab->card_key);
    if (lab->hosts) {
        struct host *hosts = memory_new((size_t)world_size(lab->world), sizeof *hosts);
        hosts_list(lab->world, hosts);
        card_on_hosts(&lab->card, hosts);
        free(hosts);
    }
    if (device_gpus() > 0)
        card_on_gpus(&lab->card, device_about(), device_gpus());
    if (is_first)
        print_card(lab);
}

bool lab_probe(struct lab *lab, bool is_whole, struct card_drift *drift)
{
    const struct card_probe now = is_whole ? probe_measure(lab->probe, PROBE_VISITS) : probe_local_step(lab->probe);
    *drift = card_drift_of(card_predicts(&lab->card, workload_of(lab->base), &lab->run, now.larger_bytes), now);
    if (!is_whole || now.sums_disturbed)
        drift->transfer = drift->beyond = 0;
    if (!(now.local.passes > 0)) {
        drift->local = 0;
        drift->together = (struct parts_drift){ 0 };
    }
    drift->bytes = workload_gradient_bytes(workload_of(lab->base));
    if (is_whole)
        own_probe_measure(lab->own_probe, &lab->card.own, (struct own_pace){ drift->local, drift->transfer },
                          &drift->own);
    return world_rank(lab->world) == 0;
}
