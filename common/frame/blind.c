#include "frame/blind.h"

#include "base/die.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "launch/job.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const judgement_names[] = {
    [JUDGED_NOTHING] = "",
    [JUDGED_WRONG] = "wrong",
    [JUDGED_HALF] = "half",
    [JUDGED_RIGHT] = "right",
};

/* --- the draw --------------------------------------------------------------------------------------------------- */

void blind_take_seed(int *argc, char ***argv)
{
    enum { SEEDS = 1000000 }; /* six digits: short enough to pass on by hand */
    if (job_is_rank() || !options_name(*argc, *argv, "--blind") || options_name(*argc, *argv, "--seed"))
        return;
    uint64_t fresh = hash_add(hash_add(HASH_BEGIN, (uint64_t)time(NULL)), (uint64_t)getpid());
    char **longer = memory_new((size_t)*argc + 2, sizeof *longer);
    memcpy(longer, *argv, (size_t)*argc * sizeof *longer);
    longer[(*argc)++] = memory_text("--seed=%d", (int)(fresh % SEEDS));
    *argv = longer;
}

void blind_refuse(const struct run *run)
{
    if (run->guesses.count > 0)
        die(STATUS_USAGE, "--guess %.60s names a case, but --blind hides which case runs; leave one out",
            run->guesses.text[0]);
    if (run->dry_run)
        die(STATUS_USAGE, "--dry-run prints what would run, but --blind hides it; leave one out");
    if (run->card_only)
        die(STATUS_USAGE, "--card-only runs no case that --blind could hide; leave one out");
    if (job_is_rank() && job_cores() == 0)
        die(STATUS_USAGE, "--blind asks questions at the end, and ranks under another launcher cannot ask; start the "
                          "lab without mpirun or srun");
}

/* Return the quiz's own random sequence. From the plain sequence of the seed, ranks draw weights, orders and stalls. */
static struct random quiz_random(const struct run *run)
{
    struct random random;
    random_seed(&random, hash_add(HASH_BEGIN, run->seed));
    return random;
}

const struct variant *blind_drawn(const struct lab_spec *spec, const struct run *run)
{
    struct random random = quiz_random(run);
    return lab_spec_find_variant(spec, run->cases.text[random_below(&random, (uint32_t)run->cases.count)]);
}

/* Return the address of the option that lab_spec.hidden_option names; NULL if the lab hides no rank. */
static int *hidden_rank(const struct lab_spec *spec, struct options *base)
{
    for (const struct option_row *row = spec->rows; spec->hidden_option && row->flag; row++)
        if (strcmp(row->flag, spec->hidden_option) == 0)
            return (int *)((char *)base + row->offset);
    return NULL;
}

bool blind_is_made_up(const struct lab_spec *spec, const struct run *run)
{
    return run->blind && spec->draw && run->cases.count == 1 && strcmp(run->cases.text[0], spec->draw->name) == 0;
}

/* Set the options of a made-up case that the user did not type. */
static void make_up(const struct lab_spec *spec, struct options *base, struct random *random, int argc,
                    char *const *argv)
{
    struct options *drawn = lab_spec_settings(spec, base, &(struct variant){ 0 });
    spec->draw->draw(drawn, random);
    for (const struct option_row *row = spec->rows; row->flag; row++)
        for (const char *const *flag = spec->draw->flags; *flag; flag++)
            if (strcmp(row->flag, *flag) == 0 && !options_name(argc, argv, *flag))
                memcpy((char *)base + row->offset, (const char *)drawn + row->offset, sizeof(double));
    free(drawn);
}

void blind_draw(const struct lab_spec *spec, struct options *base, int argc, char *const *argv)
{
    const struct run *run = run_of(base);
    const bool is_made_up = blind_is_made_up(spec, run);
    if (run->cases.count < 2 && !is_made_up)
        die(STATUS_USAGE, "--cases leaves --blind %s to draw from; name two cases beside the baseline, or none for all",
            run->cases.count ? "a single case" : "no case");
    struct random random = quiz_random(run);
    random_below(&random, (uint32_t)run->cases.count); /* skip the number that blind_drawn() uses */
    if (is_made_up)
        make_up(spec, base, &random, argc, argv);
    int *rank = hidden_rank(spec, base);
    if (rank && !options_name(argc, argv, spec->hidden_option))
        *rank = (int)random_below(&random, (uint32_t)run->ranks);
}

int blind_culprit(const struct lab_spec *spec, const struct options *base, const struct variant *variant)
{
    if (!spec->culprit || ((const struct run *)base)->ranks == 1)
        return -1;
    struct options *settings = lab_spec_settings(spec, base, variant);
    int culprit = spec->culprit(settings);
    free(settings);
    return culprit;
}

/* --- text ------------------------------------------------------------------------------------------------------- */

const struct variant *blind_root(const struct lab_spec *spec, const struct variant *variant)
{
    static const char continues[] = "…";
    while (variant > spec->variants && strncmp(variant->idea, continues, strlen(continues)) == 0)
        variant--;
    return variant;
}

char *blind_idea(const struct lab_spec *spec, const struct variant *variant)
{
    const struct variant *root = blind_root(spec, variant);
    return root == variant ? memory_text("%s", variant->idea) : memory_text("%s %s", root->idea, variant->idea);
}

char *blind_folder(const char *of_platform, const char *lab)
{
    return memory_text("%s/blind/%s", of_platform, lab);
}

/* Print a word, quoted for a shell if necessary. */
static void put_word(FILE *out, const char *word)
{
    const char *c = word;
    while (isalnum((unsigned char)*c) || (*c && strchr("-_./=+:,@%", *c)))
        c++;
    if (*word && !*c) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (c = word; *c; c++)
        fputs(*c == '\'' ? "'\\''" : (const char[]){ *c, '\0' }, out);
    fputc('\'', out);
}

/* Print the typed words without --cases; print --blind only if `keeps_blind`. */
static void put_words(FILE *out, char *const *argv, bool keeps_blind)
{
    for (argv++; *argv; argv++) {
        bool is_case = strcmp(*argv, "--cases") == 0;
        if (is_case)
            argv++; /* its value */
        if (is_case || strncmp(*argv, "--cases=", 8) == 0 || (!keeps_blind && strcmp(*argv, "--blind") == 0))
            continue;
        fputc(' ', out);
        put_word(out, *argv);
    }
}

void blind_echo(FILE *out, char *const *argv)
{
    put_words(out, argv, true);
}

/* Print the options of a made-up case that were not typed. */
static void put_drawn(FILE *out, const struct lab_spec *spec, const struct options *base, int argc, char *const *argv)
{
    for (const struct option_row *row = spec->rows; row->flag; row++)
        for (const char *const *flag = spec->draw->flags; *flag; flag++)
            if (strcmp(row->flag, *flag) == 0 && !options_name(argc, argv, *flag))
                fprintf(out, " %s %g", *flag, *(const double *)((const char *)base + row->offset));
}

void blind_print_command(FILE *out, const struct lab_spec *spec, const struct options *base, char *const *argv)
{
    struct options *settings =
        lab_spec_settings(spec, base, spec->variants); /* a copy: hidden_rank() returns no const pointer */
    const int *rank = hidden_rank(spec, settings);
    int argc = 0;
    while (argv[argc])
        argc++;
    put_word(out, program_invocation_name);
    put_words(out, argv, false);
    fprintf(out, " --cases %s", blind_drawn(spec, (const struct run *)base)->name);
    if (rank && !options_name(argc, argv, spec->hidden_option))
        fprintf(out, " %s %d", spec->hidden_option, *rank);
    if (blind_is_made_up(spec, (const struct run *)base))
        put_drawn(out, spec, base, argc, argv);
    free(settings);
}

enum judgement blind_judge(const struct variant *truth, const struct variant *answer)
{
    if (!answer)
        return JUDGED_NOTHING;
    if (answer == truth)
        return JUDGED_RIGHT;
    return answer->fault == truth->fault ? JUDGED_HALF : JUDGED_WRONG;
}
