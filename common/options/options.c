#include "options/options.h"

#include "base/did_you_mean.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 28, SHOWN_CHARACTERS = 60 };

static const struct option_row *find_row(const struct option_row *const *tables, const char *flag, size_t length)
{
    for (; *tables; tables++)
        for (const struct option_row *row = *tables; row->flag; row++)
            if (strlen(row->flag) == length && strncmp(row->flag, flag, length) == 0)
                return row;
    return NULL;
}

_Noreturn static void die_unknown(const struct option_row *const *tables, const char *word, size_t length)
{
    struct did_you_mean spelling = { 0 };
    for (; *tables; tables++)
        for (const struct option_row *row = *tables; row->flag; row++)
            did_you_mean_try(&spelling, word, length, row->flag);
    int shown = length < SHOWN_CHARACTERS ? (int)length : SHOWN_CHARACTERS;
    if (spelling.nearest)
        die(STATUS_USAGE, "unknown option '%.*s'; did you mean %s? (--help lists all)", shown, word, spelling.nearest);
    die(STATUS_USAGE, "unknown %s '%.*s'; --help lists the options", word[0] == '-' ? "option" : "word", shown, word);
}

static double parse_number(const struct option_row *row, const char *text)
{
    bool is_whole = row->kind == OPTION_INTEGER;
    const char *what = is_whole ? "a whole number" : "a number";
    double value = NAN;
    bool is_number = number_parse(text, &value) && !(is_whole && text[strcspn(text, ".eEnN")] != '\0');
    if (!is_number)
        die(STATUS_USAGE, "%s takes %s from %.12g to %.12g, not '%.*s'", row->flag, what, row->low, row->high,
            SHOWN_CHARACTERS, text);
    if (!(value >= row->low && value <= row->high)) /* also refuses nan and overflow */
        die(STATUS_USAGE, "%s %.*s is out of range; it takes %s from %.12g to %.12g", row->flag, SHOWN_CHARACTERS, text,
            what, row->low, row->high);
    return value;
}

static uint64_t parse_seed(const struct option_row *row, const char *text)
{
    errno = 0;
    char *end;
    unsigned long long seed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno) /* it also takes blanks and signs */
        die(STATUS_USAGE, "%s takes a whole number from 0 to %" PRIu64 ", not '%.*s'", row->flag, UINT64_MAX,
            SHOWN_CHARACTERS, text);
    return seed;
}

/* Index of `text` among blank-separated words; -1 if it is none of them. */
static int word_index(const char *words, const char *text)
{
    size_t wanted = strlen(text);
    int index = 0;
    while (*words) {
        size_t length = strcspn(words, " ");
        if (length == wanted && strncmp(words, text, length) == 0)
            return index;
        words += length + strspn(words + length, " ");
        index++;
    }
    return -1;
}

/* Refuse control characters: they would end lines in files that quote the word, or words passed to the ranks (job.h). */
static void refuse_controls(const struct option_row *row, const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            die(STATUS_USAGE, "%s takes no control characters, but '%.*s' contains one, code %d; leave it out",
                row->flag, SHOWN_CHARACTERS, text, *c);
}

static void store(const struct option_row *row, void *values, const char *text)
{
    void *place = (char *)values + row->offset;
    if (row->kind != OPTION_SWITCH && text[0] == '\0')
        die(STATUS_USAGE, "%s needs a value, not an empty one; --help shows what it takes", row->flag);
    switch (row->kind) {
    case OPTION_INTEGER:
        *(int *)place = (int)parse_number(row, text);
        break;
    case OPTION_SEED:
        *(uint64_t *)place = parse_seed(row, text);
        break;
    case OPTION_NUMBER:
        *(double *)place = parse_number(row, text);
        break;
    case OPTION_SWITCH:
        *(bool *)place = true;
        break;
    case OPTION_CHOICE: {
        int index = word_index(row->words, text);
        if (index < 0)
            die(STATUS_USAGE, "%s takes one of: %s; not '%.*s'", row->flag, row->words, SHOWN_CHARACTERS, text);
        *(int *)place = index;
        break;
    }
    case OPTION_TEXT:
        refuse_controls(row, text);
        *(const char **)place = text;
        break;
    case OPTION_LIST: {
        refuse_controls(row, text);
        struct option_list *list = place;
        if (list->count == OPTION_LIST_MOST)
            die(STATUS_USAGE, "%s may be given at most %d times", row->flag, OPTION_LIST_MOST);
        list->text[list->count++] = text;
        break;
    }
    }
}

static void print_word(FILE *out, const char *words, int index)
{
    while (index-- > 0)
        words += strcspn(words, " ") + strspn(words + strcspn(words, " "), " ");
    fprintf(out, "%.*s", (int)strcspn(words, " "), words);
}

static void print_value(FILE *out, const struct option_row *row, const void *values)
{
    const void *place = (const char *)values + row->offset;
    switch (row->kind) {
    case OPTION_INTEGER:
        fprintf(out, "%d", *(const int *)place);
        break;
    case OPTION_SEED:
        fprintf(out, "%" PRIu64, *(const uint64_t *)place);
        break;
    case OPTION_NUMBER: {
        char text[NUMBER_TEXT];
        number_shortest(text, *(const double *)place);
        fputs(text, out);
        break;
    }
    case OPTION_CHOICE:
        print_word(out, row->words, *(const int *)place);
        break;
    case OPTION_TEXT:
        fprintf(out, "%s", *(const char *const *)place ? *(const char *const *)place : "");
        break;
    case OPTION_SWITCH:
    case OPTION_LIST:
        break;
    }
}

static void print_help(const struct option_row *const *tables, const void *values, const char *spec)
{
    printf("%s\n\nusage: %s [option value]...; the last value of a repeated option counts\n\n", spec,
           program_invocation_short_name);
    for (; *tables; tables++) {
        for (const struct option_row *row = *tables; row->flag; row++) {
            int width = printf("  %s", row->flag);
            if (row->kind == OPTION_CHOICE)
                width += printf(" WORD");
            else if (row->kind != OPTION_SWITCH)
                width += printf(" %s", row->words);
            printf("%*s%s", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "", row->help);
            if (row->kind == OPTION_CHOICE)
                printf(": %s", row->words);
            bool has_default = row->kind == OPTION_TEXT
                                   ? *(const char *const *)((const char *)values + row->offset) != NULL
                                   : row->kind != OPTION_SWITCH && row->kind != OPTION_LIST;
            if (has_default) {
                printf(" [");
                print_value(stdout, row, values);
                printf("]");
            }
            putchar('\n');
        }
    }
    printf("  --help%*sthis text\n", HELP_COLUMN - 8, "");
}

void options_parse(const struct option_row *const *tables, void *values, const char *spec, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            print_help(tables, values, spec);
            exit(STATUS_RIGHT);
        }
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
        size_t length = equals ? (size_t)(equals - word) : strlen(word);
        const struct option_row *row = find_row(tables, word, length);
        if (!row)
            die_unknown(tables, word, length);
        if (row->kind == OPTION_SWITCH) {
            if (equals)
                die(STATUS_USAGE, "%s takes no value; leave out '%.*s'", row->flag, SHOWN_CHARACTERS, equals);
            store(row, values, "");
        } else if (equals) {
            store(row, values, equals + 1);
        } else if (i + 1 < argc) {
            const char *value = argv[++i];
            bool is_free_text = row->kind == OPTION_TEXT || row->kind == OPTION_LIST;
            if (is_free_text && find_row(tables, value, strlen(value)))
                die(STATUS_USAGE, "%s needs a value, not the option '%s'; --help shows what it takes", row->flag,
                    value);
            store(row, values, value);
        } else {
            die(STATUS_USAGE, "%s needs a value; --help shows what it takes", row->flag);
        }
    }
}

struct option_row *options_moved(const struct option_row *rows, size_t by)
{
    int count = 0;
    while (rows[count].flag)
        count++;
    struct option_row *moved = memory_new((size_t)count + 1, sizeof *moved);
    for (int i = 0; i < count; i++) {
        moved[i] = rows[i];
        moved[i].offset += by;
    }
    return moved;
}

bool options_name(int argc, char *const *argv, const char *flag)
{
    size_t length = strlen(flag);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], flag, length) == 0 && (argv[i][length] == '\0' || argv[i][length] == '='))
            return true;
    return false;
}

bool option_list_has(const struct option_list *list, const char *word)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->text[i], word) == 0)
            return true;
    return false;
}

char **options_words(const struct option_row *rows, const void *values)
{
    int count = 0;
    while (rows[count].flag)
        count++;
    char **words = memory_new((size_t)count + 1, sizeof *words);
    for (int i = 0, word = 0; i < count; i++) {
        if (rows[i].kind == OPTION_TEXT || rows[i].kind == OPTION_LIST || rows[i].kind == OPTION_SWITCH)
            continue;
        size_t size = 0;
        FILE *out = memory_stream(&words[word++], &size);
        fprintf(out, "%s=", rows[i].flag);
        print_value(out, &rows[i], values);
        fclose(out);
    }
    return words;
}

static bool is_among(const char *flag, const char *const *flags)
{
    while (flags && *flags && strcmp(*flags, flag) != 0)
        flags++;
    return flags && *flags;
}

void options_echo(FILE *out, const struct option_row *const *tables, const void *values, const char *const *without)
{
    const char *gap = "";
    for (; *tables; tables++)
        for (const struct option_row *row = *tables; row->flag; row++) {
            if (is_among(row->flag, without))
                continue;
            const void *place = (const char *)values + row->offset;
            bool is_off = row->kind == OPTION_SWITCH && !*(const bool *)place;
            const struct option_list *list = row->kind == OPTION_LIST ? place : NULL;
            for (int i = 0; list && i < list->count; i++, gap = " ")
                fprintf(out, "%s%s %s", gap, row->flag, list->text[i]);
            if (is_off || row->kind == OPTION_TEXT || list)
                continue;
            fprintf(out, "%s%s", gap, row->flag);
            gap = " ";
            if (row->kind != OPTION_SWITCH) {
                fputc(' ', out);
                print_value(out, row, values);
            }
        }
}
