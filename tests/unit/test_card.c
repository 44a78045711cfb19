/* test_card.c: test that a machine card is read back as written, and only where it fits the job and machine. */
#include "base/cores.h"
#include "card/card.h"
#include "card/card_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <cmocka.h>

static char folder[] = "/tmp/lockstep-card-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/machine.csv", folder);
    unlink(path);
    return rmdir(folder);
}

static struct run run_here(void)
{
    struct run run = run_published;
    run.out = folder;
    return run;
}

static struct card card_here(void)
{
    struct card card = { .ranks = 4,
                         .cores = 8,
                         .alone = { { { 1e-6, 2e-7 } }, { { 3e-3, 0.1234567890123e-3, 2e-9 } }, 4e-3 },
                         .together = { { { 1.5e-6, 2.5e-7 } }, { { 3.5e-3, 0.15e-3, 0, 5e-12 } }, 4.5e-3 },
                         .jitter = 1e-4,
                         .copy_bandwidth = 12.5e9,
                         .sleep_overshoot = 6e-5,
                         .sleep_excess = 0.002,
                         .transfer_core = 1,
                         .stamp_cost = 2.5e-8,
                         .queued_share = 0.3,
                         .stolen_share = 0.001,
                         .links = 2 };
    cores_name(card.cpu, CARD_NAME);
    for (int i = 0; i < card.links; i++) {
        struct alpha_beta *link = &card.link[i];
        link->ranks = i ? 2 : 4;
        for (double bytes = 4; bytes < 3e7; bytes *= 8) {
            link->bytes[link->points] = bytes;
            link->seconds[link->points++] = 1e-5 * (i + 1) + bytes * 3e-10;
        }
        alpha_beta_fit(link);
    }
    struct alpha_beta *messages[] = { &card.p2p.send, &card.p2p.exchange, &card.p2p.add };
    for (int i = 0; i < 3; i++) {
        *messages[i] = card.link[1];
        messages[i]->ranks = i < 2 ? 2 : 1;
        for (int point = 0; point < messages[i]->points; point++)
            messages[i]->seconds[point] *= 3 + i;
    }
    p2p_cost_fit(&card.p2p);
    return card;
}

static struct card read_back(const struct card *written, const struct run *run)
{
    struct card read;
    card_write(written, run->out, &published_mlp, run, "here");
    assert_int_equal(card_read(&read, run->out, &published_mlp, run, 0, "here", 8), CARD_WHOLE);
    return read;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct run run = run_here();
    struct card written = card_here(), read = read_back(&written, &run);
    assert_memory_equal(&read.alone, &written.alone, sizeof read.alone);
    assert_memory_equal(&read.together, &written.together, sizeof read.together);
    assert_int_equal(read.links, 2);
    double bytes = 12496800, reach = alpha_beta_max_bytes(&read.link[0]);
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, reach, "here", 8), CARD_WHOLE);
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, reach + 4, "here", 8), CARD_SHORT);
    for (int ranks = 2; ranks <= 4; ranks += 2)
        assert_true(fabs(card_allreduce(&read, ranks, bytes) / card_allreduce(&written, ranks, bytes) - 1) < 1e-12);
    assert_true(fabs(card_allreduce(&read, 4, bytes) / (1e-5 + bytes * 3e-10) - 1) < 1e-9);
    assert_true(isnan(card_allreduce(&read, 3, bytes)));
    const struct p2p_cost *p = &read.p2p;
    double line = 2e-5 + bytes * 3e-10;
    assert_true(fabs(alpha_beta_seconds(&p->send, bytes) / (3 * line) - 1) < 1e-9);
    assert_true(fabs(alpha_beta_seconds(&p->exchange, bytes) / (4 * line) - 1) < 1e-9);
    assert_true(fabs(alpha_beta_seconds(&p->add, bytes) / (5 * line) - 1) < 1e-9);
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

static void a_card_says_who_disturbed_it(void **state)
{
    (void)state;
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

static void a_card_without_messages_is_short(void **state)
{
    (void)state;
    struct run run = run_here();
    struct card written = card_here(), read;
    written.p2p.exchange.points = 0;
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, 0, "here", 8), CARD_SHORT);
}

static void another_job_or_machine_does_not_fit(void **state)
{
    (void)state;
    struct run run = run_here();
    struct card written = card_here(), read;
    card_write(&written, run.out, &published_mlp, &run, "here");
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, 0, "here", 2), CARD_NONE); /* not 8 cores */
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, 0, "dedicated-cores 0123", 8), CARD_NONE);
    struct run other = run;
    other.ranks = 2;
    assert_int_equal(card_read(&read, other.out, &published_mlp, &other, 0, "here", 8), CARD_NONE);
    struct workload wider = published_mlp;
    wider.of.mlp.hidden_dim = 512;
    assert_int_equal(card_read(&read, run.out, &wider, &run, 0, "here", 8), CARD_NONE);
    other = run;
    other.batch_size = 64;
    assert_int_equal(card_read(&read, other.out, &published_mlp, &other, 0, "here", 8), CARD_NONE);
    other = run;
    other.out = "/nonexistent";
    assert_int_equal(card_read(&read, other.out, &published_mlp, &other, 0, "here", 8), CARD_NONE);
}

/* The key names every host of a cluster, so its line may be of any length. */
static void a_card_of_many_hosts_is_found_again(void **state)
{
    (void)state;
    struct run run = run_here();
    struct card written = card_here(), read;
    char hosts[4000] = "";
    for (int host = 0; host < 64; host++)
        snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts),
                 "; node-%02d.cluster.example: ranks %d on 8 cores", host, host);
    card_write(&written, run.out, &published_mlp, &run, hosts);
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, 0, hosts, 8), CARD_WHOLE);
    hosts[strlen(hosts) - 1]++;
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, 0, hosts, 8), CARD_NONE);
}

static void an_old_card_is_not_believed(void **state)
{
    (void)state;
    struct run run = run_here();
    struct card written = card_here(), read;
    card_write(&written, run.out, &published_mlp, &run, "here");
    char path[64];
    snprintf(path, sizeof path, "%s/machine.csv", folder);
    time_t now = time(NULL);
    utime(path, &(struct utimbuf){ now - 3500, now - 3500 });
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, 0, "here", 8), CARD_WHOLE);
    utime(path, &(struct utimbuf){ now - 3700, now - 3700 });
    assert_int_equal(card_read(&read, run.out, &published_mlp, &run, 0, "here", 8), CARD_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_card_says_who_disturbed_it),
        cmocka_unit_test(a_card_without_messages_is_short),
        cmocka_unit_test(another_job_or_machine_does_not_fit),
        cmocka_unit_test(a_card_of_many_hosts_is_found_again),
        cmocka_unit_test(an_old_card_is_not_believed),
    };
    return cmocka_run_group_tests_name("card", tests, make_folder, drop_folder);
}
