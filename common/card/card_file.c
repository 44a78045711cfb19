#include "card/card_file.h"

#include "base/cores.h"
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/memory.h"
#include "device/device.h"
#include "launch/job.h"
#include "options/algorithm.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FRESH_S = 3600 };
static const double IMPOSSIBLE = 1e15; /* limit of seconds, bytes, and bytes per second */

/* True if ranks train on GPUs, by the key of their machine. */
static bool is_of_gpus(const char *platform)
{
    return strstr(platform, JOB_ON_GPUS) != NULL;
}

static bool is_modelled(const char *platform)
{
    return strstr(platform, JOB_MODELLED) != NULL;
}

/* Return the key that a card and a run must share. It names processor and kernel only if they train. */
static char *card_key(const struct workload *workload, const struct run *run, const char *platform, const char *cpu,
                      int cores)
{
    char *model = workload_name(workload);
    bool is_elsewhere = is_of_gpus(platform) || is_modelled(platform);
    char *key = memory_text("%s; %s; %d %s; %s; %s; %d ranks; batch %d; %s; lockstep %s", platform,
                            is_elsewhere ? "no processor" : cpu, cores, is_of_gpus(platform) ? "GPUs" : "cores",
                            is_elsewhere ? "no kernel" : device_kernel(), algorithm_name(), run->ranks, run->batch_size,
                            model, LOCKSTEP_VERSION);
    free(model);
    return key;
}

/* Beginnings of the lines with the key and, on GPUs, the kernel. A program for cores cannot determine a GPU kernel: it reads
 * such a card only to ask for a guess, and the ranks check again. */
static const char key_line[] = "# for: ", kernel_line[] = "# kernel: ";

static const char *kernel_wanted(const char *platform)
{
    return is_of_gpus(platform) && strcmp(device_name(), "cuda") == 0 ? device_kernel() : NULL;
}

/* A number of the card and its name; one list for reading and writing. */
struct entry {
    char quantity[64];
    int ranks; /* ranks it was measured on */
    double *value;
};
enum { ENTRIES_MOST = 64 };
struct entries {
    int count;
    struct entry at[ENTRIES_MOST];
};

static void add_entry(struct entries *all, int ranks, double *value, const char *where, const char *what,
                      const char *term)
{
    if (all->count == ENTRIES_MOST)
        die(STATUS_WRONG, "a machine card has more than %d numbers; raise ENTRIES_MOST", ENTRIES_MOST);
    struct entry *e = &all->at[all->count++];
    snprintf(e->quantity, sizeof e->quantity, "%s%s%s", where, what, term);
    e->ranks = ranks;
    e->value = value;
}

static void add_local(struct entries *all, int ranks, struct local_cost *cost, const char *where)
{
    for (int term = 0; term < COST_TERMS; term++) {
        char name[40];
        snprintf(name, sizeof name, "_%s_s", cost_terms[term]);
        add_entry(all, ranks, &cost->fetch.term[term], where, "_fetch", name);
        add_entry(all, ranks, &cost->passes.term[term], where, "_forward_backward", name);
    }
    add_entry(all, ranks, &cost->forward_share, where, "_forward", "_share");
    add_entry(all, ranks, &cost->update, where, "_update", "_s");
}

static void add_usual(struct entries *all, int ranks, struct local_times *times, struct fit_error *error,
                      const char *where)
{
    add_entry(all, ranks, &times->fetch, "usual_", where, "_fetch_s");
    add_entry(all, ranks, &times->passes, "usual_", where, "_forward_backward_s");
    add_entry(all, ranks, &times->update, "usual_", where, "_update_s");
    add_entry(all, ranks, &error->usual, "fit_error_", where, "_usual_share");
    add_entry(all, ranks, &error->left_out, "fit_error_", where, "_left_out_share");
}

/* List the numbers. On a modelled machine nothing is measured to compare the costs with, and a sleep takes what the platform file says. */
static void list_entries(struct card *c, const char *platform, struct entries *all)
{
    all->count = 0;
    add_local(all, 1, &c->alone, "alone");
    add_local(all, card_busy_ranks(c), &c->together, "together");
    add_entry(all, card_busy_ranks(c), &c->jitter, "jitter", "", "_share");
    add_entry(all, 1, &c->copy_bandwidth, "copy_bandwidth", "", "_bytes_per_s");
    add_entry(all, 1, &c->sleep_overshoot, "sleep_overshoot", "", "_s");
    add_entry(all, 1, &c->sleep_excess, "sleep_stretch_share", "", "");
    add_entry(all, 1, &c->transfer_core, "transfer_core_share", "", "");
    add_entry(all, 1, &c->stamp_cost, "stamp_cost", "", "_s");
    add_entry(all, 1, &c->queued_share, "queued_share", "", "");
    add_entry(all, 1, &c->stolen_share, "stolen_share", "", "");
    if (is_modelled(platform))
        return;
    add_usual(all, 1, &c->reference.alone, &c->reference.alone_error, "alone");
    add_usual(all, card_busy_ranks(c), &c->reference.together, &c->reference.together_error, "together");
    add_entry(all, c->ranks, &c->reference.transfer, "usual_allreduce", "", "_s");
    add_entry(all, 1, &c->sleeps.short_over, "sleep_2ms_overshoot", "", "_s");
    add_entry(all, 1, &c->sleeps.brief_over, "sleep_200us_overshoot", "", "_s");
}

static void write_row(struct csv *csv, const char *quantity, int ranks, double bytes, double value)
{
    do {
        csv_text(csv, "quantity", quantity);
        csv_integer(csv, "ranks", ranks);
        csv_number(csv, "bytes", bytes);
        csv_number(csv, "value", value);
    } while (csv_end_row(csv));
}

/* The message costs of a card by name, likewise. */
enum { CARD_MESSAGES = 8 };
struct named_link {
    const char *quantity;
    struct alpha_beta *link;
};

static void list_messages(struct card *c, struct named_link messages[CARD_MESSAGES])
{
    messages[0] = (struct named_link){ "send_s", &c->p2p.near.send };
    messages[1] = (struct named_link){ "exchange_s", &c->p2p.near.exchange };
    messages[2] = (struct named_link){ "add_s", &c->p2p.near.add };
    messages[3] = (struct named_link){ "add_sent_s", &c->p2p.near.add_sent };
    messages[4] = (struct named_link){ "send_far_s", &c->p2p.far.send };
    messages[5] = (struct named_link){ "exchange_far_s", &c->p2p.far.exchange };
    messages[6] = (struct named_link){ "add_far_s", &c->p2p.far.add };
    messages[7] = (struct named_link){ "add_sent_far_s", &c->p2p.far.add_sent };
}

/* --- collectives ------------------------------------------------------------------------------------------------ */

static const char *const kind_words[COLLECTIVE_KINDS] = {
    [ALL_REDUCE] = "allreduce", [ALL_GATHER] = "allgather",      [REDUCE_SCATTER] = "reduce_scatter",
    [BROADCAST] = "broadcast",  [SEND_RECEIVE] = "send_receive", [BARRIER] = "barrier",
};

/* Write the name of a collective's rows: "allreduce_s"; of another group than the first ranks,
 * "allreduce_stride4_siblings_s". */
enum { COLLECTIVE_NAME = 64 };
static void name_collective(char name[COLLECTIVE_NAME], enum collective_kind kind, struct card_group group)
{
    char stride[24] = "";
    if (group.stride > 1)
        snprintf(stride, sizeof stride, "_stride%d", group.stride);
    snprintf(name, COLLECTIVE_NAME, "%s%s%s_s", kind_words[kind], stride, group.with_siblings ? "_siblings" : "");
}

/* Find the kind and group that a row is of; false if it is of no collective. */
static bool parse_collective(const char *name, int ranks, enum collective_kind *kind, struct card_group *group)
{
    for (*kind = 0; *kind < COLLECTIVE_KINDS; (*kind)++) {
        const size_t length = strlen(kind_words[*kind]);
        if (strncmp(name, kind_words[*kind], length) != 0)
            continue;
        *group = first_ranks(ranks);
        sscanf(name + length, "_stride%4d", &group->stride);
        group->with_siblings = strstr(name + length, "_siblings") != NULL;
        char whole[COLLECTIVE_NAME];
        name_collective(whole, *kind, *group);
        if (group->stride > 0 && strcmp(name, whole) == 0)
            return true;
    }
    return false;
}

static void write_collectives(struct csv *csv, const struct collective_costs *costs)
{
    for (int i = 0; i < costs->count; i++) {
        const struct collective_cost *entry = &costs->at[i];
        char name[COLLECTIVE_NAME];
        name_collective(name, entry->kind, entry->group);
        for (int p = 0; p < entry->cost.points; p++)
            write_row(csv, name, entry->group.ranks, entry->kind == BARRIER ? (double)NAN : entry->cost.bytes[p],
                      entry->cost.seconds[p]);
    }
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

void card_put(const struct card *card, FILE *out, const struct workload *workload, const struct run *run,
              const char *platform)
{
    struct card copy = *card;
    struct entries entries;
    list_entries(&copy, platform, &entries);
    char *key = card_key(workload, run, platform, card->cpu, card->cores);
    fprintf(out, "# the machine card: what this machine does when nothing is wrong\n%s%s\n", key_line, key);
    free(key);
    if (is_of_gpus(platform))
        fprintf(out, "%s%s\n", kernel_line, device_kernel());
    struct csv csv = { .out = out };
    for (int i = 0; i < entries.count; i++)
        write_row(&csv, entries.at[i].quantity, entries.at[i].ranks, NAN, *entries.at[i].value);
    for (int i = 0; i < card->own.count; i++) {
        char *name = memory_text(WORK_OWN_COST "%s", card->own.at[i].name);
        write_row(&csv, name, card_busy_ranks(card), NAN, card->own.at[i].value);
        free(name);
    }
    write_collectives(&csv, &card->collectives);
    struct named_link messages[CARD_MESSAGES];
    list_messages(&copy, messages);
    for (int i = 0; i < CARD_MESSAGES; i++)
        for (int p = 0; p < messages[i].link->points; p++)
            write_row(&csv, messages[i].quantity, messages[i].link->ranks, messages[i].link->bytes[p],
                      messages[i].link->seconds[p]);
}

void card_write(const struct card *card, const char *folder, const struct workload *workload, const struct run *run,
                const char *platform)
{
    struct file file = file_begin(folder, CARD_FILE);
    card_put(card, file.out, workload, run, platform);
    file_commit(&file);
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

static bool line_is(const char *line, const char *beginning, const char *rest)
{
    size_t length = strlen(beginning);
    return strncmp(line, beginning, length) == 0 && strcmp(line + length, rest) == 0;
}

/* True if the file has this key and kernel; `kernel` NULL: any kernel. */
static bool is_of_job(const char *path, const char *key, const char *kernel)
{
    FILE *file = fopen(path, "r");
    char *line = NULL; /* the key names all hosts, so its line may be long */
    size_t size = 0;
    bool has_key = false, has_kernel = !kernel;
    while (file && getline(&line, &size, file) > 0 && line[0] == '#') {
        line[strcspn(line, "\n")] = '\0';
        has_key |= line_is(line, key_line, key);
        has_kernel |= kernel && line_is(line, kernel_line, kernel);
    }
    free(line);
    if (file)
        fclose(file);
    return has_key && has_kernel;
}

/* A card of this job, and when it was written; both 0 if none was found. Free the path. */
struct candidate {
    char *path;
    time_t written;
};

/* Return when a file was written; 0 if it is not fresh. */
static time_t written_when(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && difftime(time(NULL), status.st_mtime) <= FRESH_S ? status.st_mtime : 0;
}

bool card_is_fresh(const char *path)
{
    return written_when(path) > 0;
}

/* Keep the file instead if it is a newer card. */
static void prefer_newer(struct candidate *best, const char *path, const char *key, const char *kernel)
{
    const time_t written = written_when(path);
    if (written <= best->written || !is_of_job(path, key, kernel))
        return;
    free(best->path);
    *best = (struct candidate){ .path = memory_text("%s", path), .written = written };
}

/* Return the newest card of this job: the folder's, or the copy of a lab, because a lab with another model may have replaced the
 * folder's. NULL: none. Free it. */
static char *find_card(const char *folder, const char *key, const char *kernel)
{
    struct candidate best = { 0 };
    char *path = memory_text("%s/" CARD_FILE, folder), *escaped = file_glob_escape(folder),
         *copies = memory_text("%s/*/" CARD_COPY, escaped);
    glob_t found = { 0 };
    prefer_newer(&best, path, key, kernel);
    if (glob(copies, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            prefer_newer(&best, found.gl_pathv[i], key, kernel);
    globfree(&found);
    free(copies);
    free(escaped);
    free(path);
    return best.path;
}

/* True for a usable value. A modelled machine's memory costs nothing: its bandwidth is infinite. */
static bool is_possible(double value, const char *platform)
{
    return fabs(value) < IMPOSSIBLE || (value > IMPOSSIBLE && is_modelled(platform));
}

static bool is_possible_point(double bytes, double seconds)
{
    return bytes > 0 && bytes < IMPOSSIBLE && seconds > 1 / IMPOSSIBLE;
}

static void add_point(struct alpha_beta *link, double bytes, double seconds)
{
    if (is_possible_point(bytes, seconds))
        alpha_beta_add(link, bytes, seconds);
}

/* Add a row of a collective, if it is one. Every entry in use has a point. */
static void add_collective(struct card *card, const char *name, double ranks, double bytes, double seconds)
{
    enum collective_kind kind;
    struct card_group group;
    if (!(ranks >= 2 && ranks <= card->ranks) || !parse_collective(name, (int)ranks, &kind, &group))
        return;
    if (!is_possible_point(kind == BARRIER ? 1 : bytes, seconds))
        return;
    struct collective_cost *entry = collective_costs_add(&card->collectives, kind, group);
    if (entry)
        alpha_beta_add(&entry->cost, kind == BARRIER ? 0 : bytes, seconds);
}

enum card_found card_read(struct card *card, const char *folder, const struct workload *workload, const struct run *run,
                          const struct card_uses *uses, const char *platform, int cores)
{
    *card = (struct card){ .ranks = run->ranks, .cores = cores };
    cores_name(card->cpu, CARD_NAME);
    char *key = card_key(workload, run, platform, card->cpu, cores),
         *path = find_card(folder, key, kernel_wanted(platform));
    struct csv_table table;
    char why[256];
    bool is_usable = path && csv_read(path, &table, why, sizeof why);
    free(path);
    free(key);
    if (!is_usable)
        return CARD_NONE;
    struct entries entries;
    list_entries(card, platform, &entries);
    struct named_link messages[CARD_MESSAGES];
    list_messages(card, messages);
    own_costs_make_room(&card->own, uses->own);
    bool is_there[ENTRIES_MOST] = { false };
    int found = 0;
    for (int row = 0; row < table.rows; row++) {
        const char *quantity = csv_field(&table, row, "quantity");
        double value = csv_value(&table, row, "value");
        if (!quantity || !is_possible(value, platform))
            continue; /* a damaged file: missing numbers are measured again */
        add_collective(card, quantity, csv_value(&table, row, "ranks"), csv_value(&table, row, "bytes"), value);
        double *own = own_costs_row(&card->own, quantity);
        if (own)
            *own = value;
        for (int i = 0; i < CARD_MESSAGES; i++)
            if (strcmp(quantity, messages[i].quantity) == 0)
                add_point(messages[i].link, csv_value(&table, row, "bytes"), value);
        for (int i = 0; i < entries.count; i++)
            if (strcmp(quantity, entries.at[i].quantity) == 0) {
                *entries.at[i].value = value;
                found += !is_there[i];
                is_there[i] = true;
            }
    }
    csv_free(&table);
    for (int i = 0; i < card->collectives.count; i++)
        alpha_beta_fit(&card->collectives.at[i].cost);
    if (p2p_cost_is_known(&card->p2p))
        p2p_cost_fit(&card->p2p);
    if (found != entries.count || (!is_modelled(platform) && !card_is_measured(card)))
        return CARD_NONE;
    return card_covers(card, uses) ? CARD_WHOLE : CARD_SHORT;
}
