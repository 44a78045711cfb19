/* 08_token_loader_ladder: ladder.csv, latency.csv and resident.csv of lab 08: each way alone, as fast as it can. The ways take
 * turns in rounds, so that each round can compare them. Before the ways of a round the parts of all ways are measured anew, and each way is
 * predicted from them: this machine's speed a minute ago says less. */
#include "08_token_loader.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 9, LEAST_ROUNDS = 3, QUICK_ROUNDS = 2, LIMIT = SOURCE_WAYS, LINES = SOURCE_WAYS + 1, QUANTILES = 100 };

/* The ladder takes this share of --seconds, but three rounds at least. */
static const double budget_share = 0.3;

/* The results of one state of the page cache, and one width of x and y. */
struct measured {
    enum page_state state;
    int width, rounds;
    double cached;                   /* share of the shards in the page cache before */
    double rate[LINES][ROUNDS];      /* tokens per second, */
    double predicted[LINES][ROUNDS]; /* and by the parts of the round */
    double *seconds[LINES];          /* (rounds x batches) */
    struct ladder_pass last[LINES];
    uint64_t *wanted; /* (batches) sums */
};

struct source_settings settings_alone(const struct options *base, const struct shard_set *set, int width,
                                      enum source_way way)
{
    struct source_settings s = { .set = set, .order = order_of(base, set), .way = way, .width = width };
    s.order.tail = TAIL_PUBLISHED;
    s.order.shuffle = SHUFFLE_NONE;
    s.order.rows = 1;
    s.order.length = (uint64_t)base->ladder_tokens;
    s.order.ranks = 1;
    return s;
}

/* True if a batch of the way has this part: its cost is a sum of its parts. */
static bool has_part(const struct source_settings *s, enum token_part part)
{
    struct token_parts one = { { 0 } };
    one.of[part] = 1;
    return alone_seconds(&one, s, PAGES_COLD) > 0;
}

struct token_parts parts_here(const struct card *card, struct parts_files *files, const struct source_settings *of,
                              struct rest rest)
{
    const struct parts_shape shape = { .widths = { of->set->width, of->width },
                                       .tokens = of->order.rows * of->order.length,
                                       .rest = rest };
    struct token_parts parts = parts_on(card);
    for (enum token_part part = 0; files && part < TOKEN_PARTS; part++)
        if (!is_rest(rest) || has_part(of, part))
            parts.of[part] = parts_measure(part, files, &shape);
    return parts;
}

/* Measurements before a round. */
struct before {
    struct token_parts parts;
    double between; /* seconds between two batches */
};

static struct before before_round(const struct measured *m, const struct card *card, const struct options *base,
                                  const struct shard_set *set)
{
    const struct source_settings s = settings_alone(base, set, m->width, SOURCE_ELEMENTS);
    if (m->state == PAGES_EVICTED)
        ladder_cache(set);
    struct parts_files *files = parts_files_of(set);
    const struct before before = { .parts = parts_here(card, files, &s, (struct rest){ 0 }),
                                   .between = ladder_between(&s) };
    parts_files_close(files);
    return before;
}

static double predicted_rate(const struct measured *m, const struct before *before, const struct source_settings *s)
{
    const double seconds = m->state == PAGES_EVICTED ? evicted_seconds(&before->parts, s, before->between)
                                                     : alone_seconds(&before->parts, s, m->state);
    return (double)(s->order.rows * s->order.length) / seconds;
}

/* Count batches whose sum is not that of the way by elements. */
static void compare(struct lab *lab, const struct ladder_pass *pass, const uint64_t *wanted, const char *way)
{
    struct check_failures wrong = { 0 };
    for (uint64_t i = 0; i < pass->batches; i++)
        if (pass->sum[i] != wanted[i])
            check_failures_add(&wrong, "%s: batch %llu has other tokens than read one by one", way,
                               (unsigned long long)i);
    lab_add_wrong(lab, wrong);
}

static void begin(struct measured *m, const struct options *base, const struct shard_set *set)
{
    const struct source_settings s = settings_alone(base, set, m->width, SOURCE_ELEMENTS);
    const uint64_t batches = ladder_batches(&s.order);
    m->wanted = memory_new(batches, sizeof *m->wanted);
    for (int line = 0; line < LINES; line++)
        m->seconds[line] = memory_new(ROUNDS * batches, sizeof **m->seconds);
    m->cached = m->state == PAGES_EVICTED ? ladder_evict(set) : ladder_cache(set);
}

static void end(struct measured *m)
{
    free(m->wanted);
    for (int line = 0; line < LINES; line++)
        free(m->seconds[line]);
}

/* Let each way read a pass. The first way of the first round is the one by elements, whose sums all others must have. */
static void measure_round(struct measured *m, int round, struct lab *lab, const struct options *base,
                          const struct shard_set *set)
{
    const struct before before = before_round(m, lab_card(lab), base, set);
    for (int turn = 0; turn < LINES; turn++) {
        const int line = round == 0 ? turn : (turn + 2 * round) % LINES;
        const struct source_settings s =
            settings_alone(base, set, m->width, line == LIMIT ? SOURCE_ELEMENTS : (enum source_way)line);
        const uint64_t batches = ladder_batches(&s.order);
        struct ladder_pass pass = { .seconds = m->seconds[line] + (uint64_t)round * batches,
                                    .sum = memory_new(batches, sizeof *pass.sum) };
        m->predicted[line][round] = line == LIMIT ? (double)NAN : predicted_rate(m, &before, &s);
        if (line == LIMIT)
            ladder_copy_limit(&pass, &s);
        else
            ladder_read(&pass, &s, m->state);
        if (round == 0 && turn == 0)
            memcpy(m->wanted, pass.sum, batches * sizeof *m->wanted);
        else if (line != LIMIT && (line != SOURCE_VIEWS || set->width == m->width))
            compare(lab, &pass, m->wanted, source_ways[line]);
        m->rate[line][round] = (double)batches * base->ladder_tokens / pass.total;
        m->last[line] = pass;
        free(pass.sum);
    }
}

/* Return the rounds that fit into this group's share of the budget, if the first one took `seconds`. */
static int rounds_in(const struct options *base, int groups, double seconds)
{
    const double budget = budget_share * base->run.seconds / groups;
    return base->run.quick ? QUICK_ROUNDS : (int)fmin(ROUNDS, fmax(LEAST_ROUNDS, budget / seconds));
}

static const double ones[ROUNDS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };

static struct ratio rates_ratio(const double *rates, const double *others, int rounds)
{
    double logs[ROUNDS];
    for (int i = 0; i < rounds; i++)
        logs[i] = log(rates[i] / others[i]);
    return stats_ratio(logs, rounds);
}

static void put_ratio(struct csv *csv, const char *const names[3], struct ratio ratio)
{
    csv_ratio(csv, names[0], ratio.value);
    csv_ratio(csv, names[1], ratio.low);
    csv_ratio(csv, names[2], ratio.high);
}

static void write_line(struct csv *csv, const struct options *base, const struct shard_set *set,
                       const struct measured *m, int line)
{
    static const char *const buffered[] = { "vs_buffered", "vs_buffered_low", "vs_buffered_high" },
                             *const limit[] = { "share_of_limit", "share_of_limit_low", "share_of_limit_high" },
                             *const off[] = { "predicted_over_measured", "predicted_over_measured_low",
                                              "predicted_over_measured_high" };
    const struct ladder_pass *pass = &m->last[line];
    const int count = m->rounds * (int)pass->batches;
    const struct ratio rate = rates_ratio(m->rate[line], ones, m->rounds),
                       predicted = rates_ratio(m->predicted[line], ones, m->rounds);
    const double per = line == LIMIT ? (double)NAN : 1000 / (double)pass->batches;
    do {
        csv_text(csv, "way", line == LIMIT ? "copy_limit" : source_ways[line]);
        csv_text(csv, "pages", page_states[m->state]);
        csv_ratio(csv, "cached_before", m->cached);
        csv_integer(csv, "width", line == SOURCE_VIEWS ? set->width : m->width);
        csv_integer(csv, "batch_tokens", base->ladder_tokens);
        csv_integer(csv, "rounds", m->rounds);
        csv_ratio(csv, "tokens_per_s", rate.value);
        put_ratio(csv, buffered, rates_ratio(m->rate[line], m->rate[SOURCE_BUFFERED], m->rounds));
        put_ratio(csv, limit, rates_ratio(m->rate[line], m->rate[LIMIT], m->rounds));
        csv_ms(csv, "p50_ms", stats_quantile(m->seconds[line], count, 0.5));
        csv_ms(csv, "p99_ms", stats_quantile(m->seconds[line], count, 0.99));
        csv_ms(csv, "most_ms", stats_quantile(m->seconds[line], count, 1));
        csv_ms(csv, "mean_ms", base->ladder_tokens / rate.value);
        csv_ms(csv, "predicted_ms", base->ladder_tokens / predicted.value);
        put_ratio(csv, off, rates_ratio(m->rate[line], m->predicted[line], m->rounds));
        csv_ratio(csv, "minor_faults_per_1000", per * pass->kernel.minor_faults);
        csv_ratio(csv, "major_faults_per_1000", per * pass->kernel.major_faults);
        csv_ratio(csv, "reads_per_1000", per * (double)pass->counts.reads);
        csv_ratio(csv, "allocations_per_1000", per * (double)pass->counts.allocations);
        csv_ratio(csv, "rss_anon_mb", line == LIMIT ? (double)NAN : pass->rss[LADDER_SAMPLES].anonymous / 1e6);
        csv_ratio(csv, "rss_file_mb", line == LIMIT ? (double)NAN : pass->rss[LADDER_SAMPLES].file / 1e6);
        csv_ratio(csv, "pss_mb", line == LIMIT ? (double)NAN : pass->pss / 1e6);
    } while (csv_end_row(csv));
}

/* Write quantiles of the batch times of each way, for the present state of the pages. */
static void write_latency(struct csv *csv, const struct measured *m)
{
    for (int way = 0; way < SOURCE_WAYS; way++)
        for (int i = 0; i <= QUANTILES; i++)
            do {
                csv_text(csv, "way", source_ways[way]);
                csv_text(csv, "pages", page_states[m->state]);
                csv_ratio(csv, "share", (double)i / QUANTILES);
                csv_ms(csv, "batch_ms",
                       stats_quantile(m->seconds[way], m->rounds * (int)m->last[way].batches, (double)i / QUANTILES));
            } while (csv_end_row(csv));
}

static void write_resident(struct csv *csv, const struct measured *m, double shard_mb)
{
    for (int way = 0; way < SOURCE_WAYS; way++)
        for (int i = 0; i <= LADDER_SAMPLES; i++)
            do {
                csv_text(csv, "way", source_ways[way]);
                csv_ratio(csv, "read_mb", shard_mb * i / LADDER_SAMPLES);
                csv_ratio(csv, "rss_anon_mb", m->last[way].rss[i].anonymous / 1e6);
                csv_ratio(csv, "rss_file_mb", m->last[way].rss[i].file / 1e6);
            } while (csv_end_row(csv));
}

/* all: measure a state and width; `csv` is NULL on ranks other than 0. All ranks with a core measure at once, as they fetch in training.
 * But pages that another rank has mapped cannot be dropped from the page cache, so that state is for rank 0 alone. */
static void measure_group(struct lab *lab, const struct options *base, const struct shard_set *set, struct measured *m,
                          int groups, bool is_first)
{
    struct world *world = lab_world(lab);
    const bool is_alone = m->state == PAGES_EVICTED;
    const bool takes_part = is_first || (!is_alone && world_rank(world) < world_cores(world));
    if (is_alone && !takes_part)
        return;
    if (takes_part)
        begin(m, base, set);
    const double begun = world_now();
    if (takes_part)
        measure_round(m, 0, lab, base, set);
    m->rounds = rounds_in(base, groups, world_now() - begun);
    if (!is_alone)
        world_broadcast(world, &m->rounds, sizeof m->rounds);
    for (int round = 1; takes_part && round < m->rounds; round++)
        measure_round(m, round, lab, base, set);
}

static void climb(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct csv *latency = lab_table(lab, "latency.csv"), *resident = lab_table(lab, "resident.csv");
    struct shard_set *set = shards_of_tables(base);
    const int groups = PAGE_STATES * (set->width == 2 ? 2 : 1);
    for (enum page_state state = PAGES_WARM; state < PAGE_STATES; state++)
        for (int width = (int)sizeof(int32_t); width >= set->width; width -= 2) {
            struct measured m = { .state = state, .width = width };
            measure_group(lab, base, set, &m, groups, csv);
            world_heartbeat(lab_world(lab));
            for (int line = 0; line < LINES && csv; line++)
                write_line(csv, base, set, &m, line);
            if (csv && width == (int)sizeof(int32_t))
                write_latency(latency, &m);
            if (csv && state == PAGES_COLD && width == (int)sizeof(int32_t))
                write_resident(resident, &m, (double)shard_set_tokens(set) * set->width / 1e6);
            end(&m);
        }
    shard_set_close(set);
}

void write_ladder(struct lab *lab, const struct options *base, struct csv *csv)
{
    climb(lab, base, csv);
    world_park(lab_world(lab)); /* until rank 0 has measured its state */
}
