/* 08_token_loader_costs: what lab 08 adds to the machine card: the parts of every way to bring tokens (08_token_loader_parts.c), of
 * tokens that become int32. */
#include "08_token_loader.h"

#include <math.h>

static double measure(const struct own_where *where, int which)
{
    const struct parts_shape shape = { .widths = { 2, 4 },
                                       .tokens = (size_t)(where->run->batch_size *
                                                          where->workload->of.transformer.texts.fixed_length),
                                       .rest = { .steps = where->steps },
                                       .is_in_case = true };
    struct parts_files *files = parts_files_in_memory();
    const double seconds = parts_measure((enum token_part)which, files, &shape);
    parts_files_close(files);
    frequency_recover();
    return seconds;
}

/* clang-format off */
const struct own_cost token_costs[] = {
    { "read_call_s",     OWN_SECONDS, "a read() of cached tokens takes", "us", 1e6,  PARTS_MEMORY, measure, PART_READ_CALL },
    { "read_byte_s",     OWN_SECONDS, "… and per MB",                    "us", 1e12, PARTS_MEMORY, measure, PART_READ_BYTE },
    { "fread_more_s",    OWN_SECONDS, "fread() takes longer by",         "us", 1e6,  PARTS_MEMORY, measure, PART_FREAD_MORE },
    { "fault_byte_s",    OWN_SECONDS, "page faults take, per MB",        "us", 1e12, PARTS_MEMORY, measure, PART_FAULT_BYTE },
    { "populate_byte_s", OWN_SECONDS, "… and as advised, per MB",        "us", 1e12, PARTS_MEMORY, measure, PART_POPULATE_BYTE },
    { "unmap_byte_s",    OWN_SECONDS, "unmapping pages takes, per MB",   "us", 1e12, PARTS_MEMORY, measure, PART_UNMAP_BYTE },
    { "element_s",       OWN_SECONDS, "a token by itself takes",         "ns", 1e9,  PARTS_MEMORY, measure, PART_ELEMENT },
    { "loop_s",          OWN_SECONDS, "… in llm.c's loop, just read",    "ns", 1e9,  PARTS_MEMORY, measure, PART_LOOP },
    { "widen_s",         OWN_SECONDS, "… in a block, just read",         "ns", 1e9,  PARTS_MEMORY, measure, PART_WIDEN },
    { "mapped_widen_s",  OWN_SECONDS, "… in a block, mapped",            "ns", 1e9,  PARTS_MEMORY, measure, PART_MAPPED_WIDEN },
    { "allocation_s",    OWN_SECONDS, "an allocation takes",             "us", 1e6,  PARTS_MEMORY, measure, PART_ALLOCATION },
    { "handoff_s",       OWN_SECONDS, "taking a helper's batch takes",   "us", 1e6,  PARTS_MEMORY, measure, PART_HANDOFF },
    { "ask_s",           OWN_SECONDS, "asking for a batch takes",        "us", 1e6,  PARTS_MEMORY, measure, PART_ASK },
    PAUSE_COSTS,
    { 0 },
};
/* clang-format on */

double token_cost(const struct card *card, const char *name)
{
    const double seconds = card_cost(card, name);
    return isnan(seconds) ? 0 : seconds;
}

struct token_parts parts_on(const struct card *card)
{
    struct token_parts parts = { { 0 } };
    for (int part = 0; part < TOKEN_PARTS; part++)
        parts.of[token_costs[part].which] = token_cost(card, token_costs[part].name);
    return parts;
}
