/* token_ladder: measures ways to load tokens, each alone (common/feed/ladder.h), for the benchmark's part `tokens`.
 *
 *     token_ladder GLOB TOKENS        shards, and tokens of a batch
 *
 * Prints a line per way: its name, the state of the pages, seconds of a batch (median over rounds of the mean), and the bytes of resident
 * memory, heap and files together, after the way's last pass. Little else is linked, so that the memory is that of a loader. */
#include "base/die.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stats.h"
#include "feed/ladder.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 5, LIMIT = SOURCE_WAYS };

static const struct line {
    const char *name;
    int way; /* enum source_way, or LIMIT */
    enum page_state state;
} lines[] = {
    { "windowed", SOURCE_WINDOWED, PAGES_COLD }, /* first: in the first round no other way has touched memory yet */
    { "buffered", SOURCE_BUFFERED, PAGES_COLD },         { "mapped", SOURCE_MAPPED, PAGES_COLD },
    { "windowed", SOURCE_WINDOWED, PAGES_WARM },         { "buffered", SOURCE_BUFFERED, PAGES_WARM },
    { "preallocated", SOURCE_PREALLOCATED, PAGES_WARM }, { "copies", LIMIT, PAGES_WARM },
};
enum { LINES = sizeof lines / sizeof *lines };

int main(int argc, char **argv)
{
    double tokens = 0;
    if (argc != 3 || !number_parse(argv[2], &tokens) || !(tokens >= 1))
        die(STATUS_USAGE, "usage: token_ladder GLOB TOKENS");
    struct shard_set *set = shard_set_open(argv[1]);
    struct source_settings s = { .set = set, .width = 4 };
    s.order = (struct window_order){
        .rows = 1, .length = (uint64_t)tokens, .ranks = 1, .shards = set->count, .start = set->start
    };
    const uint64_t batches = ladder_batches(&s.order);
    struct ladder_pass pass = { .seconds = memory_new(batches, sizeof *pass.seconds),
                                .sum = memory_new(batches, sizeof *pass.sum) };
    double seconds[LINES][ROUNDS], bytes[LINES] = { 0 };
    uint64_t wanted = 0;
    ladder_cache(set);
    for (int round = 0; round < ROUNDS; round++)
        for (int turn = 0; turn < LINES; turn++) {
            const int i = (turn + 2 * round) % LINES; /* so that each line follows others */
            s.way = lines[i].way == LIMIT ? SOURCE_PREALLOCATED : (enum source_way)lines[i].way;
            if (lines[i].way == LIMIT)
                ladder_copy_limit(&pass, &s);
            else
                ladder_read(&pass, &s, lines[i].state);
            seconds[i][round] = pass.total / (double)batches;
            bytes[i] = round == 0 ? pass.rss[LADDER_SAMPLES].anonymous + pass.rss[LADDER_SAMPLES].file : bytes[i];
            uint64_t sum = 0;
            for (uint64_t b = 0; b < batches; b++)
                sum = 31 * sum + pass.sum[b];
            wanted = round == 0 && i == 0 ? sum : wanted;
            if (lines[i].way != LIMIT && sum != wanted)
                die(STATUS_WRONG, "%s has other tokens than %s", lines[i].name, lines[0].name);
        }
    for (int i = 0; i < LINES; i++)
        printf("%s %s %.9g %.9g\n", lines[i].name, page_states[lines[i].state], stats_lower_median(seconds[i], ROUNDS),
               bytes[i]);
    free(pass.seconds);
    free(pass.sum);
    shard_set_close(set);
    return STATUS_RIGHT;
}
