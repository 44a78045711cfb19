/* test_card.c: test that a machine card is read back as written, and only where it fits the job and machine; that it shows
 * how well it predicts, and is compared and scaled part by part. */
#include "base/cores.h"
#include "card/card.h"
#include "card/card_file.h"
#include "card/drift.h"
#include "card/predict.h"
#include "launch/job.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

/* Costs of a lab of its own, and those of another lab, which has one of them too. */
static double never(const struct own_where *where, int which)
{
    (void)where, (void)which;
    assert_true(false);
    return 0;
}
static const struct own_cost own[] = { { "dispatch_s", OWN_SECONDS, "a dispatch takes", "ns", 1e9, 0, never, 0 },
                                       { "triad_bytes_per_s", OWN_RATE, "a triad moves", "GB/s", 1e-9, 3e6, never, 0 },
                                       { "disk_s", OWN_STAYS, "a read takes", "ms", 1e3, 9e6, never, 0 },
                                       { 0 } },
                             another[] = { { "disk_s", OWN_STAYS, "a read takes", "ms", 1e3, 9e6, never, 0 },
                                           { "page_s", OWN_SECONDS, "a page takes", "us", 1e6, 0, never, 0 },
                                           { 0 } };
static const double own_values[] = { 123.456789012345e-9, 9.87654321e9, 4.25e-3 };

static char folder[] = "/tmp/lockstep-card-XXXXXX";

static void make_card_folder(void)
{
    if (!mkdtemp(folder))
        abort();
}

static void drop_card_folder(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/machine.csv", folder);
    unlink(path);
    rmdir(folder);
}

static struct run run_here(void)
{
    struct run run = run_published;
    run.out = folder;
    return run;
}

/* Every kind in four groups of four ranks. */
static struct card_uses uses_here(double bytes)
{
    const struct card_group groups[] = { first_ranks(4), first_ranks(2), { 2, 2, false }, { 2, 2, true } };
    struct card_uses uses = { .messages = true };
    for (int group = 0; group < 4; group++)
        for (enum collective_kind kind = 0; kind < COLLECTIVE_KINDS; kind++)
            card_use(&uses, kind, groups[group], bytes);
    return uses;
}

/* Seconds of use i of these. */
static double line_of(int i, double bytes)
{
    return 1e-5 * (i + 1) + bytes * 3e-10;
}

static struct card card_here(void)
{
    struct card card = { .ranks = 4,
                         .cores = 8,
                         .alone = { { { 1e-6, 2e-7 } }, { { 3e-3, 0.1234567890123e-3, 2e-9 } }, 0.3, 4e-3 },
                         .together = { { { 1.5e-6, 2.5e-7 } }, { { 3.5e-3, 0.15e-3, 0, 5e-12 } }, 0.31, 4.5e-3 },
                         .reference.alone = { 2.6e-5, 19e-3, 4.1e-3 },
                         .reference.together = { 3.2e-5, 23e-3, 4.6e-3 },
                         .reference.transfer = 4e-3,
                         .reference.alone_error = { 0.012, 0.034 },
                         .reference.together_error = { -0.021, 0.02 },
                         .jitter = 5e-3,
                         .copy_bandwidth = 12.5e9,
                         .sleep_overshoot = 6e-5,
                         .sleep_excess = 0.002,
                         .sleeps.short_over = 5e-5,
                         .sleeps.brief_over = 3e-5,
                         .transfer_core = 1,
                         .stamp_cost = 2.5e-8,
                         .queued_share = 0.3,
                         .stolen_share = 0.001 };
    cores_name(card.cpu, CARD_NAME);
    const struct card_uses uses = uses_here(0);
    for (int i = 0; i < uses.count; i++) {
        struct alpha_beta *cost = &collective_costs_add(&card.collectives, uses.at[i].kind, uses.at[i].group)->cost;
        for (double bytes = 4; bytes < 3e7 && uses.at[i].kind != BARRIER; bytes *= 8)
            alpha_beta_add(cost, bytes, line_of(i, bytes));
        if (uses.at[i].kind == BARRIER)
            alpha_beta_add(cost, 0, line_of(i, 0));
        alpha_beta_fit(cost);
    }
    struct message_cost *near = &card.p2p.near, *far = &card.p2p.far;
    struct alpha_beta *messages[] = { &near->send, &near->exchange, &far->send, &far->exchange,
                                      &near->add,  &near->add_sent, &far->add,  &far->add_sent };
    for (int i = 0; i < 8; i++) {
        *messages[i] = collective_costs_find(&card.collectives, ALL_REDUCE, first_ranks(2))->cost;
        messages[i]->ranks = i < 4 ? 2 : 1;
        for (int point = 0; point < messages[i]->points; point++)
            messages[i]->seconds[point] *= 3 + i;
    }
    p2p_cost_fit(&card.p2p);
    own_costs_make_room(&card.own, own);
    for (int i = 0; i < card.own.count; i++)
        card.own.at[i].value = own_values[i];
    return card;
}

static enum card_found found(struct card *read, const struct run *run, double largest, const char *platform, int cores)
{
    const struct card_uses uses = uses_here(largest);
    return card_read(read, run->out, &published_mlp, run, &uses, platform, cores);
}

static struct card read_back(const struct card *written, const struct run *run)
{
    struct card read;
    card_write(written, run->out, &published_mlp, run, "here");
    assert_int_equal(found(&read, run, 0, "here", 8), CARD_WHOLE);
    return read;
}

TEST(what_was_written_is_read)
{
    struct run run = run_here();
    struct card written = card_here(), read = read_back(&written, &run);
    assert_memory_equal(&read.alone, &written.alone, sizeof read.alone);
    assert_memory_equal(&read.together, &written.together, sizeof read.together);
    assert_memory_equal(&read.reference.alone, &written.reference.alone, sizeof read.reference.alone);
    assert_memory_equal(&read.reference.together, &written.reference.together, sizeof read.reference.together);
    assert_memory_equal(&read.reference.alone_error, &written.reference.alone_error, sizeof read.reference.alone_error);
    assert_memory_equal(&read.reference.together_error, &written.reference.together_error,
                        sizeof read.reference.together_error);
    assert_memory_equal(&read.reference.transfer, &written.reference.transfer, sizeof read.reference.transfer);
    const struct card_uses uses = uses_here(0);
    double bytes = 12496800, reach = alpha_beta_max_bytes(&read.collectives.at[0].cost);
    assert_int_equal(found(&read, &run, reach, "here", 8), CARD_WHOLE);
    assert_int_equal(found(&read, &run, reach + 4, "here", 8), CARD_SHORT);
    assert_int_equal(read.collectives.count, uses.count);
    for (int i = 0; i < uses.count; i++) {
        const struct collective_use *use = &uses.at[i];
        double seconds = card_collective(&read, use->kind, use->group, bytes);
        assert_true(fabs(seconds / line_of(i, use->kind == BARRIER ? 0 : bytes) - 1) < 1e-9);
    }
    assert_true(fabs(card_allreduce(&read, 4, bytes) / line_of(0, bytes) - 1) < 1e-9);
    assert_true(fabs(card_barrier(&read, 4) / line_of(BARRIER, 0) - 1) < 1e-9);
    assert_true(isnan(card_allreduce(&read, 3, bytes)));
    assert_true(isnan(card_collective(&read, ALL_REDUCE, (struct card_group){ 4, 1, true }, bytes)));
    const struct message_cost *near = &read.p2p.near, *far = &read.p2p.far;
    double line = line_of(COLLECTIVE_KINDS, bytes); /* two ranks come after all kinds of four */
    const struct alpha_beta *messages[] = { &near->send, &near->exchange, &far->send, &far->exchange,
                                            &near->add,  &near->add_sent, &far->add,  &far->add_sent };
    for (int i = 0; i < 8; i++)
        assert_true(fabs(alpha_beta_seconds(messages[i], bytes) / ((3 + i) * line) - 1) < 1e-9);
    assert_true(fabs(card_allreduce(&read, 1, bytes)) <= 0); /* one rank needs no transfer */
}

/* Return what card_show() prints; release with free(). */
static char *shown(const struct card *card)
{
    struct run run = run_here();
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    card_show(out, card, &published_mlp, &run);
    fclose(out);
    return text;
}

/* --- costs of a lab's own ------------------------------------------------------------------------------------- */

static enum card_found found_with(struct card *read, const struct run *run, const struct own_cost *list)
{
    struct card_uses uses = uses_here(0);
    uses.own = list;
    return card_read(read, run->out, &published_mlp, run, &uses, "here", 8);
}

TEST(own_costs_are_read_as_written)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(found_with(&read, &run, own), CARD_WHOLE);
    assert_int_equal(read.own.count, 3);
    for (int i = 0; i < 3; i++)
        assert_relatively_near(card_cost(&read, own[i].name), own_values[i], 1e-12);
    assert_true(isnan(card_cost(&read, "page_s")) && isnan(card_cost(&read, "own_disk_s")));
    assert_int_equal(found_with(&read, &run, NULL), CARD_WHOLE); /* a lab without such costs does not read them */
    assert_int_equal(read.own.count, 0);
}

TEST(a_card_without_an_own_cost_is_short)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(found_with(&read, &run, another), CARD_SHORT);
    assert_relatively_near(card_cost(&read, "disk_s"), 4.25e-3, 1e-12);
    assert_true(isnan(card_cost(&read, "page_s")));
    for (int left_out = 0; left_out < 3; left_out++) {
        written = card_here();
        written.own.at[left_out].value = (double)NAN; /* could not be measured */
        card_write(&written, run.out, &published_mlp, &run, "here");
        assert_int_equal(found_with(&read, &run, own), CARD_SHORT);
    }
}

/* Own costs follow local steps, and are means of the card and of what probes found of each. One that stays does neither. */
TEST(own_costs_follow_local_steps_and_their_own_probes)
{
    const struct card card = card_here();
    struct card_drift drift = { .local = 1.25, .transfer = 3 };
    struct card now = card_drifted(&card, drift);
    assert_relatively_near(card_cost(&now, "dispatch_s"), 1.25 * own_values[0], 1e-12);
    assert_relatively_near(card_cost(&now, "triad_bytes_per_s"), own_values[1] / 1.25, 1e-12);
    assert_relatively_near(card_cost(&now, "disk_s"), own_values[2], 1e-12);
    drift.own.at[0].seconds = 2e-7;
    drift.own.at[1].seconds = 1e-10;
    drift.own.at[0].weight = drift.own.at[1].weight = 0.5;
    now = card_drifted(&card, drift);
    assert_relatively_near(card_cost(&now, "dispatch_s"), 1.25 * (own_values[0] + 0.5 * 2e-7) / 1.5, 1e-12);
    assert_relatively_near(card_cost(&now, "triad_bytes_per_s"), 1.5 / (1.25 * (1 / own_values[1] + 0.5e-10)), 1e-12);
    assert_relatively_near(card_cost(&now, "disk_s"), own_values[2], 1e-12);
}

/* Collectives follow all-reduces. A cost that is a difference may be 0 or less, on the card or in a probe: noise. */
TEST(own_collectives_and_differences_follow_too)
{
    static const struct own_cost list[] = { { "gather_s", OWN_COLLECTIVE, "", "", 1, 0, never, 0 },
                                            { "nothing_s", OWN_SECONDS, "", "", 1, 0, never, 0 },
                                            { "unknown_s", OWN_SECONDS, "", "", 1, 0, never, 0 },
                                            { 0 } };
    struct own_costs costs = { 0 };
    own_costs_make_room(&costs, list);
    costs.at[0].value = 4, costs.at[1].value = 0;
    struct own_now now = { .at = { { 2, 1 }, { -6, 1 }, { 5, 1 } } };
    struct own_costs then = costs;
    own_costs_follow(&then, &now, (struct own_pace){ 2, 3 });
    assert_relatively_near(then.at[0].value, 3 * (4 + 2) / 2.0, 1e-12);
    assert_relatively_near(then.at[1].value, 2 * -6 / 2.0, 1e-12);
    assert_true(isnan(then.at[2].value)); /* this machine cannot do it */
    then = costs;
    own_costs_follow(&then, &(struct own_now){ 0 }, (struct own_pace){ 2, 0 });
    assert_relatively_near(then.at[0].value, 4, 1e-12);
    assert_true(fabs(then.at[1].value) < 1e-12);
}

/* An earlier card, with only the local step measured again. */
TEST(own_costs_of_an_earlier_card_are_scaled_by_kind)
{
    const struct card card = card_here();
    struct card_probe slow = card_usual(&card);
    slow.local.fetch *= 1.25, slow.local.passes *= 1.25, slow.local.update *= 1.25;
    const struct card slower = card_scaled(&card, &slow);
    assert_relatively_near(card_cost(&slower, "dispatch_s"), 1.25 * own_values[0], 1e-12);
    assert_relatively_near(card_cost(&slower, "triad_bytes_per_s"), own_values[1] / 1.25, 1e-12);
    assert_relatively_near(card_cost(&slower, "disk_s"), own_values[2], 1e-12);
}

TEST(own_costs_are_shown_in_their_unit)
{
    struct card card = card_here();
    card.own.at[2].value = (double)NAN;
    own_costs_make_room(&card.own, another);
    card.own.at[3].value = 0;
    char *text = shown(&card);
    assert_non_null(strstr(text, "  a dispatch takes                    123 ns\n"));
    assert_non_null(strstr(text, "  a triad moves                      9.88 GB/s\n"));
    assert_null(strstr(text, "a read takes"));
    assert_null(strstr(text, "a page takes"));
    free(text);
    assert_relatively_near(own_costs_bytes(own), 9e6, 1e-12);
    assert_true(own_costs_bytes(NULL) <= 0);
}

TEST(a_card_says_who_disturbed_it)
{
    struct run run = run_here();
    struct card card = card_here(), read = read_back(&card, &run);
    char *text = shown(&read);
    assert_non_null(strstr(text, "rank 0 had to share its core for 30 % of that time (other programs 30 %); "));
    free(text);
    card.queued_share = 0.04;
    card.stolen_share = 0.25;
    text = shown(&card);
    assert_non_null(
        strstr(text, "for 29 % of that time (other programs 4 %, the host of this virtual machine 25 %); "));
    free(text);
    card.stolen_share = 0.009;
    text = shown(&card);
    assert_null(strstr(text, "disturbed"));
    free(text);
}

TEST(a_card_shows_how_well_it_predicts)
{
    struct card card = card_here();
    card.reference.transfer = line_of(0, 12496800) / 0.9;
    char *text = shown(&card);
    assert_non_null(strstr(
        text, "  fit: usual batch predicted +1.2 % alone, -2.1 % at once; other shapes within 3.4 % when left out\n"));
    assert_non_null(strstr(text, "(4 ranks, predicted from other sizes: -10.0 % off)\n"));
    free(text);
    card = (struct card){ .ranks = 4, .cores = 8 }; /* of a platform file */
    text = shown(&card);
    assert_null(strstr(text, "fit"));
    free(text);
}

/* Cards of earlier versions lack the usual batch, and are measured again. */
TEST(a_card_without_a_reference_does_not_fit)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    written.reference.together.passes = (double)NAN; /* a row without a value */
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(found(&read, &run, 0, "here", 8), CARD_NONE);
    written = card_here();
    written.reference.alone.passes = 0;
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(found(&read, &run, 0, "here", 8), CARD_NONE);
    written = card_here();
    written.reference.transfer = 0;
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(found(&read, &run, 0, "here", 8), CARD_SHORT);
}

/* On a modelled machine nothing is measured, so its card needs no reference, and its file has no such rows. */
TEST(a_modelled_card_has_no_reference)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    const char *platform = "x 0123" JOB_MODELLED;
    card_write(&written, run.out, &published_mlp, &run, platform);
    assert_int_equal(found(&read, &run, 0, platform, 8), CARD_WHOLE);
    assert_false(card_is_measured(&read));
    const struct card_probe now = { .local = { 1, 1, 1 }, .transfer = 1 };
    const struct card_drift drift = card_drift_of(card_usual(&read), now);
    assert_true(fabs(drift.local - 1) <= 0 && fabs(drift.transfer - 1) <= 0);
}

TEST(a_card_without_messages_is_short)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    written.p2p.far.exchange.points = 0;
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(found(&read, &run, 0, "here", 8), CARD_SHORT);
}

TEST(a_card_without_a_collective_is_short)
{
    struct run run = run_here();
    struct card card = card_here(), read;
    for (int left_out = 0; left_out < card.collectives.count; left_out++) {
        struct card written = card;
        written.collectives.at[left_out].cost.points = 0;
        card_write(&written, run.out, &published_mlp, &run, "here");
        assert_int_equal(found(&read, &run, 0, "here", 8), CARD_SHORT);
        const struct collective_cost *lost = &card.collectives.at[left_out];
        assert_true(isnan(card_collective(&read, lost->kind, lost->group, 4)));
    }
}

TEST(only_whole_groups_run)
{
    const struct card_group half = first_ranks(3), apart = { 2, 2, false }, apart_at_once = { 2, 2, true },
                            beside_at_once = { 2, 1, true };
    const int expected[][6] = { { 0, 0, 0, -1, -1, -1 },
                                { 0, -1, 0, -1, -1, -1 },
                                { 0, 1, 0, 1, -1, -1 }, /* ranks 4 and 5 have no partner two ranks away */
                                { 0, 0, 1, 1, 2, 2 } };
    for (int rank = 0; rank < 6; rank++) {
        assert_int_equal(card_group_of(half, rank, 6), expected[0][rank]);
        assert_int_equal(card_group_of(apart, rank, 6), expected[1][rank]);
        assert_int_equal(card_group_of(apart_at_once, rank, 6), expected[2][rank]);
        assert_int_equal(card_group_of(beside_at_once, rank, 6), expected[3][rank]);
    }
    assert_int_equal(card_group_of((struct card_group){ 3, 3, false }, 0, 6), -1); /* there is no rank 6 */
}

TEST(uses_are_kept_once_by_group)
{
    struct card_uses uses = { 0 };
    card_use(&uses, BARRIER, first_ranks(4), 0);
    card_use(&uses, ALL_REDUCE, first_ranks(2), 0);
    card_use(&uses, ALL_REDUCE, first_ranks(1), 0); /* needs no collective */
    card_use(&uses, ALL_REDUCE, first_ranks(4), 8e6);
    card_use(&uses, ALL_REDUCE, first_ranks(4), 4e6);
    card_use(&uses, ALL_REDUCE, (struct card_group){ 2, 1, true }, 0);
    assert_int_equal(uses.count, 4);
    assert_int_equal(uses.at[0].kind, ALL_REDUCE);
    assert_int_equal((int)uses.at[0].bytes, 8000000);
    assert_int_equal(uses.at[1].kind, BARRIER);
    assert_int_equal(uses.at[2].group.ranks, 2);
    assert_true(uses.at[3].group.with_siblings);
}

TEST(groups_use_the_links_of_their_hosts)
{
    struct card card = card_here();
    card.place[2].host = card.place[3].host = 1; /* two hosts of two ranks */
    assert_int_equal(card_group_hosts(&card, first_ranks(4)), 2);
    assert_int_equal(card_group_hosts(&card, first_ranks(2)), 1);
    assert_int_equal(card_group_hosts(&card, (struct card_group){ 2, 2, true }), 2);
    char *text = shown(&card);
    assert_non_null(strstr(text, "(4 ranks on 2 hosts, predicted from other sizes)"));
    assert_non_null(strstr(text, "(2 ranks, stride 2 on 2 hosts, all such groups at once)\n"));
    free(text);
}

TEST(another_job_or_machine_does_not_fit)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(found(&read, &run, 0, "here", 2), CARD_NONE); /* not 8 cores */
    assert_int_equal(found(&read, &run, 0, "dedicated-cores 0123", 8), CARD_NONE);
    struct run other = run;
    other.ranks = 2;
    assert_int_equal(found(&read, &other, 0, "here", 8), CARD_NONE);
    struct workload wider = published_mlp;
    wider.of.mlp.hidden_dim = 512;
    const struct card_uses uses = uses_here(0);
    assert_int_equal(card_read(&read, run.out, &wider, &run, &uses, "here", 8), CARD_NONE);
    other = run;
    other.batch_size = 64;
    assert_int_equal(found(&read, &other, 0, "here", 8), CARD_NONE);
    other = run;
    other.out = "/nonexistent";
    assert_int_equal(found(&read, &other, 0, "here", 8), CARD_NONE);
}

/* The key names every host of a cluster, so its line may be of any length. */
TEST(a_card_of_many_hosts_is_found_again)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    char hosts[4000] = "";
    for (int host = 0; host < 64; host++)
        snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts),
                 "; node-%02d.cluster.example: ranks %d on 8 cores", host, host);
    card_write(&written, run.out, &published_mlp, &run, hosts);
    assert_int_equal(found(&read, &run, 0, hosts, 8), CARD_WHOLE);
    hosts[strlen(hosts) - 1]++;
    assert_int_equal(found(&read, &run, 0, hosts, 8), CARD_NONE);
}

/* A lab with another model replaces the folder's card. The copies that labs keep beside their tables are still there. */
TEST(a_lab_keeps_its_card)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    char path[64], lab[64];
    card_write(&written, run.out, &published_mlp, &run, "here");
    snprintf(path, sizeof path, "%s/machine.csv", folder);
    snprintf(lab, sizeof lab, "%s/01_straggler", folder);
    assert_int_equal(mkdir(lab, 0700), 0);
    snprintf(lab, sizeof lab, "%s/01_straggler/card.csv", folder);
    assert_int_equal(rename(path, lab), 0);
    card_write(&written, run.out, &published_mlp, &run, "elsewhere");
    assert_int_equal(found(&read, &run, 0, "here", 8), CARD_WHOLE);
    assert_int_equal(found(&read, &run, 0, "elsewhere", 8), CARD_WHOLE);
    time_t now = time(NULL);
    utime(lab, &(struct utimbuf){ now - 3700, now - 3700 });
    assert_int_equal(found(&read, &run, 0, "here", 8), CARD_NONE);
    unlink(lab);
    *strrchr(lab, '/') = '\0';
    rmdir(lab);
}

TEST(an_old_card_is_not_believed)
{
    struct run run = run_here();
    struct card written = card_here(), read;
    card_write(&written, run.out, &published_mlp, &run, "here");
    char path[64];
    snprintf(path, sizeof path, "%s/machine.csv", folder);
    time_t now = time(NULL);
    utime(path, &(struct utimbuf){ now - 3500, now - 3500 });
    assert_int_equal(found(&read, &run, 0, "here", 8), CARD_WHOLE);
    utime(path, &(struct utimbuf){ now - 3700, now - 3700 });
    assert_int_equal(found(&read, &run, 0, "here", 8), CARD_NONE);
}

/* --- drift ------------------------------------------------------------------------------------------------------ */

static bool agrees(const struct card *card, struct card_probe probe, char why[CARD_NAME])
{
    why[0] = '\0';
    return card_fit_of(card, &probe, why) == CARD_FITS;
}

TEST(a_card_agrees_part_by_part)
{
    const struct card card = card_here();
    const struct card_probe usual = card_usual(&card);
    char why[CARD_NAME];
    assert_true(usual.local.passes >= 23e-3 && usual.local.passes <= 23e-3); /* all four ranks have a core */
    assert_true(agrees(&card, usual, why));
    struct card_probe probe = usual;
    probe.local.passes *= 1.049;
    probe.local.update *= 0.951;
    probe.transfer *= 1.049;
    assert_true(agrees(&card, probe, why));
    probe.local.passes = usual.local.passes * 1.06;
    assert_false(agrees(&card, probe, why));
    assert_string_equal(why, "forward and backward take 6 % longer");
    probe.local.update = usual.local.update * 0.9;
    assert_false(agrees(&card, probe, why));
    assert_string_equal(why, "the update takes 10 % less");
    probe = usual;
    probe.alone.update *= 1.08;
    assert_false(agrees(&card, probe, why));
    assert_string_equal(why, "the update of a rank alone takes 8 % longer");
    probe.alone = (struct local_times){ 0 }; /* not measured */
    assert_true(agrees(&card, probe, why));
    probe = usual;
    probe.transfer *= 1.2;
    assert_false(agrees(&card, probe, why));
    assert_string_equal(why, "an all-reduce of the gradients takes 20 % longer");
    probe = usual;
    probe.local.fetch = usual.local.fetch + 0.3e-3; /* fetching is 0.1 % of the step of 31.6 ms */
    assert_true(agrees(&card, probe, why));
    probe.local.fetch = usual.local.fetch + 0.4e-3; /* above 1 % of it */
    assert_false(agrees(&card, probe, why));
    assert_string_equal(why, "fetching a batch takes 1250 % longer");
    probe = usual;
    probe.local.update = (double)NAN;
    assert_false(agrees(&card, probe, why));
    probe = usual;
    struct card unknown = card;
    unknown.reference.transfer = 0; /* not measured: cannot disagree */
    assert_true(agrees(&unknown, probe, why));
}

/* Other programs make a probe longer. What it finds shorter is shorter all the same. */
TEST(a_disturbed_probe_condemns_no_card_for_being_faster)
{
    const struct card card = card_here();
    const struct card_probe usual = card_usual(&card);
    struct card_probe probe = usual;
    char why[CARD_NAME];
    probe.local.passes *= 1.7;
    probe.transfer *= 44;
    assert_int_equal(card_fit_of(&card, &probe, why), CARD_SUMS_OUTDATED);
    struct card_probe rest = card_probe_disturbed(&card, probe);
    assert_int_equal(card_fit_of(&card, &rest, why), CARD_FITS);
    probe.local.update *= 0.4;
    rest = card_probe_disturbed(&card, probe);
    assert_int_equal(card_fit_of(&card, &rest, why), CARD_OUTDATED);
    assert_string_equal(why, "the update takes 60 % less");
    probe.local.update = (double)NAN;
    rest = card_probe_disturbed(&card, probe);
    assert_int_equal(card_fit_of(&card, &rest, why), CARD_OUTDATED);
}

/* A probe within a factor of 2 scales the card part by part, and then fits it. */
TEST(a_card_is_scaled_to_a_probe)
{
    const struct card card = card_here();
    const struct card_probe usual = card_usual(&card);
    struct card_probe probe = { .local = { 1.5 * usual.local.fetch, 1.2 * usual.local.passes,
                                           0.6 * usual.local.update },
                                .transfer = 1.9 * usual.transfer };
    char why[CARD_NAME];
    assert_int_equal(card_fit_of(&card, &probe, why), CARD_SCALES);
    const struct card scaled = card_scaled(&card, &probe);
    assert_int_equal(card_fit_of(&scaled, &probe, why), CARD_FITS);
    assert_true(fabs(scaled.together.update - 0.6 * card.together.update) < 1e-12);
    for (int term = 0; term < COST_TERMS; term++)
        assert_true(fabs(scaled.alone.passes.term[term] - 1.2 * card.alone.passes.term[term]) < 1e-12);
    for (int i = 0; i < card.collectives.count; i++)
        assert_true(fabs(alpha_beta_seconds(&scaled.collectives.at[i].cost, 1e6) -
                         1.9 * alpha_beta_seconds(&card.collectives.at[i].cost, 1e6)) < 1e-12);
    probe.local.update = 0.4 * usual.local.update;
    assert_int_equal(card_fit_of(&card, &probe, why), CARD_OUTDATED);
    probe.local.update = (double)NAN;
    assert_int_equal(card_fit_of(&card, &probe, why), CARD_OUTDATED);
}

/* Where a probe finds only all-reduces far off, the rest of the card stays: local steps and own costs may have taken most of its time. */
TEST(a_card_whose_all_reduces_alone_changed_keeps_the_rest)
{
    struct card card = card_here();
    struct card_probe probe = card_usual(&card);
    char why[CARD_NAME];
    probe.local.passes *= 1.2, probe.local.fixed *= 1.2, probe.alone.passes *= 1.3;
    probe.transfer *= 2.4;
    assert_int_equal(card_fit_of(&card, &probe, why), CARD_SUMS_OUTDATED);
    assert_string_equal(why, "an all-reduce of the gradients takes 140 % longer");
    static const struct own_cost costs[] = { { "block_sum_s", OWN_COLLECTIVE, "", "s", 1, 0, NULL, 0 },
                                             { "disk_s", OWN_STAYS, "", "s", 1, 0, NULL, 0 },
                                             { "page_s", OWN_SECONDS, "", "s", 1, 0, NULL, 0 },
                                             { "copies_per_s", OWN_RATE, "", "s", 1, 0, NULL, 0 },
                                             { 0 } };
    own_costs_make_room(&card.own, costs);
    for (int i = 0; i < card.own.count; i++)
        card.own.at[i].value = 6;
    const struct card rest = card_without_sums(&card, probe);
    assert_int_equal(rest.collectives.count, 0);
    assert_true(isnan(card_cost(&rest, "block_sum_s"))); /* of the network as it was */
    assert_near(card_cost(&rest, "disk_s"), 6, 1e-12);
    const double longer = card_cost(&rest, "page_s") / 6; /* as the whole step, most of which are passes */
    assert_true(longer > 1.1 && longer < 1.2);
    assert_near(card_cost(&rest, "copies_per_s"), 6 / longer, 1e-12);
    assert_true(rest.reference.transfer <= 0 && !p2p_cost_is_known(&rest.p2p));
    for (int term = 0; term < COST_TERMS; term++)
        assert_true(fabs(rest.alone.passes.term[term] - 1.3 * card.alone.passes.term[term]) < 1e-12);
    probe.transfer = 0; /* without a reference it says nothing */
    assert_int_equal(card_fit_of(&rest, &probe, why), CARD_FITS);
    probe.local.update *= 3;
    probe.transfer = 2.4 * card.reference.transfer;
    assert_int_equal(card_fit_of(&card, &probe, why), CARD_OUTDATED);
}

/* With more ranks than cores a probe is of one rank alone. */
TEST(a_card_of_shared_cores_is_compared_alone)
{
    struct card card = card_here();
    card.cores = 2;
    const struct card_probe usual = card_usual(&card);
    assert_true(fabs(usual.local.passes - card.reference.alone.passes) <= 0);
    const struct card_probe probe = { .local = { 2 * usual.local.fetch, 2 * usual.local.passes,
                                                 2 * usual.local.update },
                                      .transfer = 3 * usual.transfer };
    const struct card_drift drift = card_drift_of(usual, probe);
    assert_true(fabs(drift.local - 2) < 1e-12 && fabs(drift.transfer - 3) < 1e-12);
}

/* However wrong the fits are for the usual batch, the card of the moment predicts what the probe found. */
TEST(a_drifted_card_predicts_the_probe)
{
    const struct card card = card_here();
    const struct run run = run_here();
    const struct card_probe probe = { .local = { 1e-5, 31e-3, 5e-3, .fixed = 6e-3 },
                                      .alone = { 1e-5, 30e-3, 3e-3 },
                                      .transfer = 7e-3 };
    const struct card drifted =
        card_drifted(&card, card_drift_of(card_predicts(&card, &published_mlp, &run, 0), probe));
    const struct card_probe then = card_predicts(&drifted, &published_mlp, &run, 0);
    assert_true(fabs(then.local.fetch + then.local.passes - 31.01e-3) < 1e-9 && fabs(then.local.update - 5e-3) < 1e-9);
    assert_true(fabs(then.alone.fetch + then.alone.passes - 30.01e-3) < 1e-9 && fabs(then.alone.update - 3e-3) < 1e-9);
    assert_true(fabs(then.local.fixed - 6e-3) < 1e-9 && fabs(then.transfer - 7e-3) < 1e-9);
}

/* What is fixed in the passes may drift by itself, while they keep at least half of their fixed part, and of what grows. */
TEST(a_probe_of_passes_keeps_both_their_parts)
{
    const struct card card = card_here();
    const struct run run = run_here();
    const struct card_probe usual = card_predicts(&card, &published_mlp, &run, 0);
    const double fixed = usual.local.fixed, passes = usual.local.fetch + usual.local.passes;
    const double not_told = 0;
    const struct {
        double now, is;
    } tried[] = {
        { 2 * fixed, 2 * fixed }, { -fixed, fixed / 2 }, { 2 * passes, (fixed + passes) / 2 }, { not_told, fixed }
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct card_probe probe = usual;
        probe.local.fixed = tried[i].now;
        probe.alone = (struct local_times){ 0 };
        const struct card drifted = card_drifted(&card, card_drift_of(usual, probe));
        const struct card_probe then = card_predicts(&drifted, &published_mlp, &run, 0);
        assert_relatively_near(then.local.fixed, tried[i].is, 1e-9);
        assert_relatively_near(then.local.fetch + then.local.passes, passes, 1e-9);
        assert_relatively_near(then.alone.fixed / usual.alone.fixed,
                               parts_growing(card_drift_of(usual, probe).together), 1e-9);
    }
}

/* A probe says nothing of transfers larger than its own: they are slower by the same time. */
TEST(larger_transfers_are_not_scaled)
{
    const struct card card = card_here();
    const double probed = 1e6, larger = 8e6, small = 1e4, before = card_allreduce(&card, 4, probed);
    const struct card drifted =
        card_drifted(&card, (struct card_drift){ .local = 1, .transfer = 1.5, .bytes = probed });
    assert_true(fabs(card_allreduce(&drifted, 4, small) - 1.5 * card_allreduce(&card, 4, small)) < 1e-12);
    assert_true(fabs(card_allreduce(&drifted, 4, probed) - 1.5 * before) < 1e-12);
    assert_true(fabs(card_allreduce(&drifted, 4, larger) - card_allreduce(&card, 4, larger) - 0.5 * before) < 1e-12);
}

/* A probe that also measured a larger transfer is met there, at the gradients' size, and in between in proportion. */
TEST(a_larger_probe_is_met_too)
{
    const struct card card = card_here();
    const struct run run = run_here();
    const double larger = 120e6, gradients = workload_gradient_bytes(&published_mlp);
    const struct card_probe usual = card_predicts(&card, &published_mlp, &run, larger);
    struct card_probe probe = usual;
    probe.transfer *= 1.5;
    probe.larger = probe.transfer + 3 * (usual.larger - usual.transfer);
    struct card_drift drift = card_drift_of(usual, probe);
    assert_relatively_near(drift.beyond, 3, 1e-12);
    drift.bytes = gradients;
    const struct card drifted = card_drifted(&card, drift);
    assert_relatively_near(card_allreduce(&drifted, 4, gradients), probe.transfer, 1e-12);
    assert_relatively_near(card_allreduce(&drifted, 4, larger), probe.larger, 1e-12);
    const double middle = (larger + gradients) / 2, more = card_allreduce(&card, 4, middle) - usual.transfer;
    assert_relatively_near(card_allreduce(&drifted, 4, middle), probe.transfer + 3 * more, 1e-12);
    assert_relatively_near(card_allreduce(&drifted, 4, 1e4), 1.5 * card_allreduce(&card, 4, 1e4), 1e-12);
}

TEST(short_sleeps_exceed_by_what_was_measured)
{
    struct card card = {
        .sleep_overshoot = 1e-4, .sleep_excess = 0.01, .sleeps.short_over = 9e-5, .sleeps.brief_over = 7e-5
    };
    assert_relatively_near(card_sleep(&card, 0.04), 0.04 + 1e-4 + 4e-4, 1e-12);
    assert_relatively_near(card_sleep(&card, SLEEP_LONG_S), SLEEP_LONG_S + 2e-4, 1e-12);
    assert_relatively_near(card_sleep(&card, 6e-3), 6e-3 + (2e-4 + 9e-5) / 2, 1e-12); /* half-way */
    assert_relatively_near(card_sleep(&card, SLEEP_SHORT_S), SLEEP_SHORT_S + 9e-5, 1e-12);
    assert_relatively_near(card_sleep(&card, 1.1e-3), 1.1e-3 + 8e-5, 1e-12);
    assert_relatively_near(card_sleep(&card, 1e-5), 1e-5 + 7e-5, 1e-12);
    card.sleeps.brief_over = card.sleeps.short_over = 0; /* a modelled machine */
    assert_relatively_near(card_sleep(&card, 1e-3), 1e-3 + 1e-4 + 1e-5, 1e-12);
}

/* Predict a step with a sleep of 40 ms on rank 0. */
static struct prediction predicted(const struct card *card, double sleep, double *local)
{
    struct load loads[4];
    for (int rank = 0; rank < 4; rank++)
        loads[rank] = predict_load(card, 4, work_samples(128));
    *local = loads[0].data + loads[0].local;
    loads[0].data += sleep > 0 ? card_sleep(card, sleep) : 0;
    return predict_step(card, loads, 4, card_jitter(card, 4, *local), card_allreduce(card, 4, 12496800));
}

TEST(a_drifted_card_is_slower_but_sleeps_as_long)
{
    const struct card card = card_here(),
                      drifted = card_drifted(&card, (struct card_drift){ .local = 1.25, .transfer = 0.8 });
    double local, local_then;
    const struct prediction now = predicted(&card, 0.04, &local), then = predicted(&drifted, 0.04, &local_then);
    const struct prediction quick = predicted(&card, 0, &local), quick_then = predicted(&drifted, 0, &local_then);
    assert_relatively_near(local_then, 1.25 * local, 1e-12);
    assert_relatively_near(then.transfer, 0.8 * now.transfer, 1e-12);
    assert_relatively_near(prediction_step(&quick_then) - quick_then.transfer,
                           1.25 * (prediction_step(&quick) - quick.transfer), 1e-12);
    /* The slowest rank's step grows by its sleep, then as now. */
    const double sleep = card_sleep(&card, 0.04);
    assert_relatively_near(prediction_step(&now) - now.transfer, local + sleep, 1e-12);
    assert_relatively_near(prediction_step(&then) - then.transfer, local_then + sleep, 1e-12);
    assert_relatively_near(drifted.copy_bandwidth, card.copy_bandwidth / 1.25, 1e-12);
    assert_relatively_near(drifted.jitter, card.jitter, 1e-12);
    const struct card uneven = card_drifted(&card, (struct card_drift){ .local = 1, .transfer = 1, .jitter = 0.25 });
    assert_relatively_near(uneven.jitter, 0.25, 1e-12);
    assert_relatively_near(card_barrier(&drifted, 4), 0.8 * card_barrier(&card, 4), 1e-12);
    assert_relatively_near(alpha_beta_seconds(&drifted.p2p.far.send, 1e6),
                           0.8 * alpha_beta_seconds(&card.p2p.far.send, 1e6), 1e-12);
    assert_relatively_near(alpha_beta_seconds(&drifted.p2p.far.exchange, 1e6),
                           0.8 * alpha_beta_seconds(&card.p2p.far.exchange, 1e6), 1e-12);
    assert_relatively_near(alpha_beta_seconds(&drifted.p2p.far.add, 1e6),
                           1.25 * alpha_beta_seconds(&card.p2p.far.add, 1e6), 1e-12);
    assert_true(fabs(drifted.stamp_cost - card.stamp_cost) <= 0);
    /* A probe of the drifted machine finds this drift. */
    const struct card_probe probe = card_usual(&drifted);
    const struct card_drift found_again = card_drift_of(card_usual(&card), probe);
    assert_relatively_near(found_again.local, 1.25, 1e-12);
    assert_relatively_near(found_again.transfer, 0.8, 1e-12);
}

AROUND_TESTS(make_card_folder, drop_card_folder)
