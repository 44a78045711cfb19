#include "flight_file.h"

#include "base/die.h"
#include "base/memory.h"
#include "flight_json.h"
#include "rank_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHAT = 48 };

/* --- calls ------------------------------------------------------------------------------------------------------- */

/* Return the number of elements in a list of shapes, [[2, 500], [1000]]; 0 for none. */
static double elements_of(const char *path, const char *what, yajl_val shapes)
{
    double all = 0;
    for (size_t i = 0; YAJL_IS_ARRAY(shapes) && i < shapes->u.array.len; i++) {
        yajl_val shape = shapes->u.array.values[i];
        double elements = 1;
        for (size_t d = 0; YAJL_IS_ARRAY(shape) && d < shape->u.array.len; d++) {
            yajl_val size = shape->u.array.values[d];
            if (!YAJL_IS_INTEGER(size) || YAJL_GET_INTEGER(size) < 0)
                die(STATUS_USAGE, "%s: a size in %s is no whole number; dump the flight recorder again", path, what);
            elements *= (double)YAJL_GET_INTEGER(size);
        }
        all += elements;
    }
    return all;
}

static void describe_sizes(struct flight_call *call, yajl_val entry)
{
    yajl_val types = flight_json_field(entry, "input_dtypes");
    yajl_val type = YAJL_IS_ARRAY(types) && types->u.array.len ? types->u.array.values[0] : NULL;
    char word[16] = "";
    if (YAJL_IS_STRING(type))
        flight_json_copy(word, sizeof word, YAJL_GET_STRING(type));
    if (call->in > 0)
        snprintf(call->sizes, sizeof call->sizes, "%.0f %s", call->in, word[0] ? word : "elements");
}

static void name_call(const char *path, const char *what, struct flight_call *call, yajl_val entry)
{
    const char *kind = YAJL_GET_STRING(flight_json_need(path, what, entry, "profiling_name", yajl_t_string));
    const char *colon = strchr(kind, ':'); /* "gloo:all_reduce", "nccl:send 0->1" */
    flight_json_copy(call->kind, sizeof call->kind, colon ? colon + 1 : kind);
    yajl_val group = flight_json_need(path, what, entry, "process_group", yajl_t_array);
    for (size_t i = 0; i < 2; i++) {
        if (group->u.array.len != 2 || !YAJL_IS_STRING(group->u.array.values[i]))
            die(STATUS_USAGE, "%s: process_group of %s is not [name, description]; dump the flight recorder again",
                path, what);
        flight_json_copy(i ? call->description : call->group, FLIGHT_NAME, YAJL_GET_STRING(group->u.array.values[i]));
    }
}

static struct flight_call read_call(const char *path, yajl_val entry, size_t index)
{
    struct flight_call call = { 0 };
    char what[WHAT];
    snprintf(what, sizeof what, "entry %zu", index);
    name_call(path, what, &call, entry);
    call.is_message = YAJL_IS_TRUE(flight_json_field(entry, "is_p2p"));
    call.sequence = call.is_message ? (int64_t)index : flight_json_whole(path, what, entry, "collective_seq_id", 0, -1);
    if (call.sequence < 0)
        die(STATUS_USAGE, "%s: %s has no collective_seq_id; dumps of PyTorch 2.3 and later have it", path, what);
    call.created = flight_json_whole(path, what, entry, "time_created_ns", 0, 0);
    call.completed = flight_json_whole(path, what, entry, "time_discovered_completed_ns", 0, 0);
    const char *state = YAJL_GET_STRING(flight_json_field(entry, "state"));
    call.is_completed = call.completed > 0 || (state && strcmp(state, "completed") == 0);
    call.is_ended = call.is_completed || YAJL_IS_TRUE(flight_json_field(entry, "retired"));
    call.in = elements_of(path, what, flight_json_field(entry, "input_sizes"));
    call.out = elements_of(path, what, flight_json_field(entry, "output_sizes"));
    describe_sizes(&call, entry);
    return call;
}

static int compare_calls(const void *a, const void *b)
{
    const struct flight_call *x = a, *y = b;
    if (x->is_message != y->is_message)
        return x->is_message - y->is_message;
    int groups = x->is_message ? 0 : strcmp(x->group, y->group);
    return groups ? groups : (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static void read_calls(struct flight_dump *dump, yajl_val tree)
{
    yajl_val entries = flight_json_need(dump->path, "the file", tree, "entries", yajl_t_array);
    size_t count = entries->u.array.len;
    dump->call = memory_new(count + 1, sizeof *dump->call);
    for (size_t i = 0; i < count; i++)
        dump->call[i] = read_call(dump->path, entries->u.array.values[i], i);
    qsort(dump->call, count, sizeof *dump->call, compare_calls);
    for (size_t i = 0; i < count; i++) { /* parts of a coalesced call share its number, and end with any of them */
        struct flight_call *last = dump->count ? &dump->call[dump->count - 1] : NULL;
        if (last && compare_calls(last, &dump->call[i]) == 0)
            last->is_ended |= dump->call[i].is_ended, last->is_completed |= dump->call[i].is_completed;
        else
            dump->call[dump->count++] = dump->call[i];
    }
}

/* --- groups ------------------------------------------------------------------------------------------------------ */

static int compare_ranks(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Read "[0, 1, 2]", as PyTorch writes the members of a group. */
static void read_members(const char *path, struct flight_group *group, const char *text)
{
    group->rank = memory_new(strlen(text) + 1, sizeof *group->rank);
    for (const char *at = text; *at; at += isdigit((unsigned char)*at) ? strspn(at, "0123456789") : 1) {
        if (!isdigit((unsigned char)*at))
            continue;
        int rank = rank_of_digits(at);
        if (rank < 0)
            die(STATUS_USAGE, "%s: group '%s' has a rank above %d; dump the flight recorder again", path, group->name,
                RANK_MOST);
        group->rank[group->count++] = rank;
    }
    qsort(group->rank, (size_t)group->count, sizeof *group->rank, compare_ranks);
}

static void read_groups(struct flight_dump *dump, yajl_val tree)
{
    yajl_val groups = flight_json_field(tree, "pg_config");
    if (!YAJL_IS_OBJECT(groups))
        return;
    dump->group = memory_new(groups->u.object.len + 1, sizeof *dump->group);
    for (size_t i = 0; i < groups->u.object.len; i++) {
        yajl_val ranks = flight_json_field(groups->u.object.values[i], "ranks");
        if (!YAJL_IS_STRING(ranks))
            continue;
        struct flight_group *group = &dump->group[dump->groups++];
        flight_json_copy(group->name, sizeof group->name, groups->u.object.keys[i]);
        read_members(dump->path, group, YAJL_GET_STRING(ranks));
    }
}

/* --- together ---------------------------------------------------------------------------------------------------- */

bool flight_file_is_dump(const char *path)
{
    enum { HEAD = 65536 };
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    char *head = memory_new(HEAD, 1);
    size_t size = fread(head, 1, HEAD - 1, file);
    fclose(file);
    head[size] = '\0';
    bool is_dump = head[strspn(head, " \t\r\n")] == '{' && !strstr(head, "\"traceEvents\"") &&
                   !strstr(head, "\"schemaVersion\"") && (strstr(head, "\"entries\"") || strstr(head, "\"pg_status\""));
    free(head);
    return is_dump;
}

static int rank_of(const char *path)
{
    int rank = rank_of_name(path);
    if (rank < 0)
        die(STATUS_USAGE, "%s: the name has no rank, and neither has the dump; name it like dump_rank3.json", path);
    return rank;
}

struct flight_dump flight_file_read(const char *path)
{
    yajl_val tree = flight_json_read(path);
    struct flight_dump dump = { .path = path, .rank = rank_of(path) };
    read_calls(&dump, tree);
    read_groups(&dump, tree);
    yajl_tree_free(tree);
    return dump;
}

void flight_file_close(struct flight_dump *dump)
{
    for (int i = 0; i < dump->groups; i++)
        free(dump->group[i].rank);
    free(dump->group);
    free(dump->call);
}
