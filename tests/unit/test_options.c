/* test_options.c: test the command line parser, both valid and invalid command lines. */
#include "base/die.h"
#include "base/number.h"
#include "options/options.h"
#include "support/ending.h"
#include "support/near.h"
#include "support/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    int ranks, backend;
    uint64_t seed;
    double sleep_ms, shift;
    bool quick;
    const char *out, *note;
    struct option_list cases;
};

static const struct settings defaults = {
    .ranks = 4, .seed = 2025, .backend = 1, .sleep_ms = 40, .shift = -0.5, .out = "results"
};

/* Tables with a row of every kind. There are two, because a lab has its own table in addition to the common one. */
#define AT(member) offsetof(struct settings, member)
static const struct option_row own[] = {
    { "--sleep-ms", OPTION_NUMBER, AT(sleep_ms), 0, 60000, "MS", "how long the rank sleeps" },
    { "--shift", OPTION_NUMBER, AT(shift), -5, 5, "X", "a number of either sign" },
    { 0 },
};
static const struct option_row shared[] = {
    { "--ranks", OPTION_INTEGER, AT(ranks), 1, 1024, "N", "world size" },
    { "--seed", OPTION_SEED, AT(seed), 0, 0, "N", "seed of everything" },
    { "--quick", OPTION_SWITCH, AT(quick), 0, 0, "", "short rounds" },
    { "--backend", OPTION_CHOICE, AT(backend), 0, 0, "auto mpi sim", "where ranks run" },
    { "--out", OPTION_TEXT, AT(out), 0, 0, "DIR", "folder of the results" },
    { "--note", OPTION_TEXT, AT(note), 0, 0, "WORDS", "a text without a default" },
    { "--cases", OPTION_LIST, AT(cases), 0, 0, "CASE", "may be repeated" },
    { 0 },
};
#undef AT
static const struct option_row *const tables[] = { own, shared, NULL };
static const char spec[] = "Who is late?";

enum { WORDS_MOST = 80 };

/* Parse `words` (NULL-terminated, without the program name) on top of the defaults. */
static struct settings parsed(const char *const *words)
{
    char *argv[WORDS_MOST + 2] = { (char *)"test_options" };
    int argc = 1;
    while (*words && argc <= WORDS_MOST)
        argv[argc++] = (char *)*words++;
    struct settings settings = defaults;
    options_parse(tables, &settings, spec, argc, argv);
    return settings;
}

/* Parse the words of one line, separated by blanks. `line` must outlive the settings. */
static struct settings parsed_line(char *line)
{
    const char *words[WORDS_MOST + 1] = { NULL };
    int count = 0;
    for (char *word = strtok(line, " "); word && count < WORDS_MOST; word = strtok(NULL, " "))
        words[count++] = word;
    return parsed(words);
}

static void parse(const void *words)
{
    parsed(words);
}

/* Assert that the parser refuses `words`: status 2, nothing on standard output and one line on standard error. The line
 * holds all `parts` (NULL-terminated), such as the wrong word and the cure. */
static void assert_refused(const char *const *words, const char *const *parts)
{
    struct ending ending = ending_of(parse, words);
    const char *end = strchr(ending.err, '\n');
    if (ending.status != STATUS_USAGE)
        fail_msg("\"%.60s %.60s\" ends with %d: %s", words[0], words[1] ? words[1] : "", ending.status, ending.err);
    if (!end || end[1] != '\0')
        fail_msg("not one line: %s", ending.err);
    assert_string_equal(ending.out, "");
    assert_int_equal(strncmp(ending.err, program_invocation_short_name, strlen(program_invocation_short_name)), 0);
    for (; *parts; parts++)
        assert_holds(ending.err, *parts);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* --- valid command lines ---------------------------------------------------------------------------------------- */

TEST(without_words_defaults_stay)
{
    struct settings s = parsed((const char *const[]){ NULL });
    assert_memory_equal(&s, &defaults, sizeof s);
}

TEST(a_value_follows_or_is_joined)
{
    struct settings apart = parsed(WORDS("--ranks", "8", "--sleep-ms", "1.5", "--backend", "sim", "--out", "a b"));
    struct settings joined = parsed(WORDS("--ranks=8", "--sleep-ms=1.5", "--backend=sim", "--out=a b"));
    assert_int_equal(apart.ranks, 8);
    assert_exactly(apart.sleep_ms, 1.5);
    assert_int_equal(apart.backend, 2);
    assert_string_equal(apart.out, "a b");
    assert_int_equal(joined.ranks, apart.ranks);
    assert_exactly(joined.sleep_ms, apart.sleep_ms);
    assert_int_equal(joined.backend, apart.backend);
    assert_string_equal(joined.out, apart.out);
}

TEST(what_is_not_named_keeps_its_default)
{
    struct settings s = parsed(WORDS("--ranks", "8", "--quick"));
    assert_true(s.quick);
    assert_int_equal(s.seed, defaults.seed);
    assert_int_equal(s.backend, defaults.backend);
    assert_exactly(s.sleep_ms, defaults.sleep_ms);
    assert_string_equal(s.out, defaults.out);
    assert_null(s.note);
    assert_int_equal(s.cases.count, 0);
}

TEST(bounds_are_inclusive)
{
    assert_int_equal(parsed(WORDS("--ranks", "1")).ranks, 1);
    assert_int_equal(parsed(WORDS("--ranks", "1024")).ranks, 1024);
    assert_int_equal(parsed(WORDS("--seed", "2147483647")).seed, 2147483647);
    assert_true(parsed(WORDS("--seed", "18446744073709551615")).seed == UINT64_MAX);
    assert_true(parsed(WORDS("--seed", "0")).seed == 0);
    assert_exactly(parsed(WORDS("--sleep-ms", "0")).sleep_ms, 0);
    assert_exactly(parsed(WORDS("--sleep-ms", "6e4")).sleep_ms, 60000);
    assert_exactly(parsed(WORDS("--shift", "-5")).shift, -5);
    assert_exactly(parsed(WORDS("--shift=-.25")).shift, -0.25);
}

TEST(a_value_may_look_like_an_assignment)
{
    assert_string_equal(parsed(WORDS("--note=a=b")).note, "a=b");
    assert_string_equal(parsed(WORDS("--note", "a=b")).note, "a=b");
}

TEST(a_list_keeps_order_up_to_its_most)
{
    const char *words[WORDS_MOST + 1] = { NULL };
    for (int i = 0; i < OPTION_LIST_MOST; i++)
        words[i] = i % 2 ? "--cases=odd" : "--cases=even";
    struct settings s = parsed(words);
    assert_int_equal(s.cases.count, OPTION_LIST_MOST);
    for (int i = 0; i < OPTION_LIST_MOST; i++)
        assert_string_equal(s.cases.text[i], i % 2 ? "odd" : "even");

    words[OPTION_LIST_MOST] = "--cases=more";
    assert_refused(words, WORDS("--cases", "32"));
}

/* --- invalid command lines -------------------------------------------------------------------------------------- */

TEST(an_unknown_flag_is_named_and_the_nearest_shown)
{
    assert_refused(WORDS("--rank", "8"), WORDS("'--rank'", "did you mean --ranks"));
    assert_refused(WORDS("--sleepms=3"), WORDS("'--sleepms'", "did you mean --sleep-ms"));
    assert_refused(WORDS("--sleep", "3"), WORDS("'--sleep'", "did you mean --sleep-ms"));
    assert_refused(WORDS("-q"), WORDS("'-q'", "--help"));
    assert_refused(WORDS("--frobnicate"), WORDS("'--frobnicate'", "--help"));
}

TEST(a_stray_word_is_named)
{
    assert_refused(WORDS("--ranks", "4", "5"), WORDS("'5'", "--help"));
    assert_refused(WORDS("everything"), WORDS("'everything'", "--help"));
    assert_refused(WORDS(""), WORDS("''", "--help"));
    assert_refused(WORDS("--"), WORDS("'--'", "--help"));
}

TEST(a_missing_value_is_asked_for)
{
    assert_refused(WORDS("--ranks"), WORDS("--ranks", "value", "--help"));
    assert_refused(WORDS("--quick", "--cases"), WORDS("--cases", "value", "--help"));
    assert_refused(WORDS("--ranks", "--quick"), WORDS("--ranks", "'--quick'", "1024"));
}

TEST(an_empty_value_is_no_value)
{
    static const char *const flags[] = { "--ranks", "--sleep-ms", "--backend", "--out", "--cases" };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char joined[32];
        snprintf(joined, sizeof joined, "%s=", flags[i]);
        assert_refused(WORDS(flags[i], ""), WORDS(flags[i], "value", "--help"));
        assert_refused(WORDS(joined), WORDS(flags[i], "value", "--help"));
    }
}

TEST(a_whole_number_is_digits_and_nothing_else)
{
    static const char *const wrong[] = { "12x", " 12", "12 ", "0x10", "1e2", "4.0", "four", "-", "nan", "inf" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(WORDS("--ranks", wrong[i]), WORDS("--ranks", wrong[i], "1 to 1024"));
}

TEST(a_number_is_decimal_and_finite)
{
    static const char *const wrong[] = { "12x", " 12", "12 ", "1,5", "0x10", "ms", ".", "nan", "-nan", "inf" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(WORDS("--sleep-ms", wrong[i]), WORDS("--sleep-ms", wrong[i], "0 to 60000"));
}

TEST(a_short_time_has_three_digits)
{
    assert_int_equal(number_ms_decimals(70.2e-3), 1);
    assert_int_equal(number_ms_decimals(12345e-3), 1);
    assert_int_equal(number_ms_decimals(10e-3), 1);
    assert_int_equal(number_ms_decimals(9.996e-3), 1); /* 10.0, not 10.00 */
    assert_int_equal(number_ms_decimals(9.994e-3), 2);
    assert_int_equal(number_ms_decimals(-4.27e-3), 2);
    assert_int_equal(number_ms_decimals(1e-3), 2);
    assert_int_equal(number_ms_decimals(0.9996e-3), 2); /* 1.00, not 1.000 */
    assert_int_equal(number_ms_decimals(0.427e-3), 3);
    assert_int_equal(number_ms_decimals(-0.427e-3), 3);
    assert_int_equal(number_ms_decimals(0.0006e-3), 3);
    assert_int_equal(number_ms_decimals(0.0004e-3), 1); /* 0.0, not 0.000 */
    assert_int_equal(number_ms_decimals(0), 1);
}

TEST(out_of_range_shows_the_range)
{
    assert_refused(WORDS("--ranks", "0"), WORDS("--ranks", "0", "1 to 1024"));
    assert_refused(WORDS("--ranks", "1025"), WORDS("--ranks", "1025", "1 to 1024"));
    assert_refused(WORDS("--ranks=-4"), WORDS("--ranks", "-4", "1 to 1024"));
    assert_refused(WORDS("--sleep-ms", "-1"), WORDS("--sleep-ms", "-1", "0 to 60000"));
    assert_refused(WORDS("--sleep-ms", "60000.01"), WORDS("--sleep-ms", "60000.01", "0 to 60000"));
    assert_refused(WORDS("--sleep-ms", "1e999"), WORDS("--sleep-ms", "1e999", "0 to 60000"));
    assert_refused(WORDS("--shift", "-5.1"), WORDS("--shift", "-5.1", "-5 to 5"));
}

TEST(what_overflows_is_out_of_range)
{
    static const char *const wrong[] = { "2147483648", "4294967300", "-9223372036854775809", "99999999999999999999" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(WORDS("--ranks", wrong[i]), WORDS("--ranks", wrong[i], "range"));
    assert_refused(WORDS("--seed", "18446744073709551616"), WORDS("--seed", "18446744073709551616"));
    assert_refused(WORDS("--seed", "99999999999999999999999"), WORDS("--seed"));
}

/* Check that the error message shows bounds as digits that a user can type. */
TEST(a_large_bound_is_shown_in_full)
{
    assert_refused(WORDS("--seed", "-1"), WORDS("0 to 18446744073709551615"));
    assert_refused(WORDS("--seed", "x"), WORDS("0 to 18446744073709551615"));
}

TEST(an_unknown_choice_shows_all)
{
    assert_refused(WORDS("--backend", "gpu"), WORDS("--backend", "'gpu'", "auto mpi sim"));
    assert_refused(WORDS("--backend", "mp"), WORDS("--backend", "'mp'", "auto mpi sim"));
    assert_refused(WORDS("--backend", "mpi sim"), WORDS("--backend", "'mpi sim'", "auto mpi sim"));
}

TEST(a_switch_takes_no_value)
{
    assert_refused(WORDS("--quick=yes"), WORDS("--quick", "=yes", "leave out"));
    assert_refused(WORDS("--quick="), WORDS("--quick", "leave out"));
    assert_refused(WORDS("--quick", "yes"), WORDS("'yes'", "--help"));
}

TEST(a_huge_word_is_cut_short)
{
    size_t size = 1u << 20; /* more than argv holds on most systems; the parser must not rely on that */
    char *huge = malloc(size + 16);
    assert_non_null(huge);
    const char *const starts[] = { "", "--", "--ranks=", "--sleep-ms=", "--backend=", "--quick=" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t length = strlen(starts[i]);
        memcpy(huge, starts[i], length);
        memset(huge + length, 'x', size);
        huge[length + size] = '\0';
        assert_refused(WORDS(huge), WORDS("xxxx"));
        assert_true(strlen(ending_of(parse, WORDS(huge)).err) < 250);
    }
    memset(huge, '9', size);
    huge[size] = '\0';
    assert_refused(WORDS("--ranks", huge), WORDS("--ranks", "9999", "1 to 1024"));
    free(huge);
}

/* Check that the error message stays one line even if a word contains line ends. */
TEST(a_line_end_within_a_word_does_not_end_the_line)
{
    assert_refused(WORDS("--ranks", "4\n5"), WORDS("--ranks", "1 to 1024"));
    assert_refused(WORDS("two\nlines"), WORDS("two", "--help"));
    assert_refused(WORDS("--backend", "mpi\n"), WORDS("--backend", "auto mpi sim"));
}

/* --- help and echo ---------------------------------------------------------------------------------------------- */

/* Copy the help line that describes `flag` into `line`. */
static void find_help(const char *help, const char *flag, char *line, size_t size)
{
    char start[40];
    snprintf(start, sizeof start, "\n  %s ", flag);
    const char *found = strstr(help, start);
    if (!found)
        fail_msg("%s is missing in the help: %s", flag, help);
    else
        snprintf(line, size, "%.*s", (int)strcspn(found + 1, "\n"), found + 1);
}

TEST(help_shows_every_flag_with_its_default)
{
    struct ending ending = ending_of(parse, WORDS("--help"));
    assert_int_equal(ending.status, STATUS_RIGHT);
    assert_string_equal(ending.err, "");
    assert_holds(ending.out, spec);
    char line[256] = "";
    for (const struct option_row *const *table = tables; *table; table++)
        for (const struct option_row *row = *table; row->flag; row++) {
            find_help(ending.out, row->flag, line, sizeof line);
            assert_holds(line, row->help);
        }
    find_help(ending.out, "--help", line, sizeof line);

    static const char *const shown[][2] = { { "--sleep-ms", "[40]" }, { "--shift", "[-0.5]" },
                                            { "--ranks", "[4]" },     { "--seed", "[2025]" },
                                            { "--backend", "[mpi]" }, { "--backend", "auto mpi sim" },
                                            { "--out", "[results]" } };
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        find_help(ending.out, shown[i][0], line, sizeof line);
        assert_holds(line, shown[i][1]);
    }
    static const char *const bare[] = { "--quick", "--note", "--cases" }; /* without a default to show */
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
        find_help(ending.out, bare[i], line, sizeof line);
        assert_null(strchr(line, '['));
    }
}

TEST(help_is_given_among_other_words)
{
    assert_int_equal(ending_of(parse, WORDS("--ranks", "8", "--help")).status, STATUS_RIGHT);
}

/* Return the settings as options_echo() prints them; release with free(). */
static char *echo_of(const struct settings *settings, const char *const *without)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    options_echo(out, tables, settings, without);
    fclose(out);
    return text;
}

TEST(the_echo_is_the_command_line)
{
    char *echo = echo_of(&defaults, NULL);
    assert_string_equal(echo, "--sleep-ms 40 --shift -0.5 --ranks 4 --seed 2025 --backend mpi");
    free(echo);
    struct settings s = defaults;
    s.quick = true;
    s.backend = 2;
    echo = echo_of(&s, NULL);
    assert_string_equal(echo, "--sleep-ms 40 --shift -0.5 --ranks 4 --seed 2025 --quick --backend sim");
    free(echo);
    echo = echo_of(&s, (const char *const[]){ "--sleep-ms", "--quick", "--rank", NULL });
    assert_string_equal(echo, "--shift -0.5 --ranks 4 --seed 2025 --backend sim");
    free(echo);
}

TEST(the_echo_sets_the_same_again)
{
    static const double numbers[] = { 0, 1e-9, 0.1, 0.1 + 0.2, 1 / 3., 123.456, 59999.999999999993, 60000 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct settings s = defaults;
        s.sleep_ms = numbers[i];
        s.shift = -numbers[i] / 12000;
        s.ranks = 1 + (int)i;
        s.seed = UINT64_MAX - i;
        s.backend = (int)i % 3;
        s.quick = i % 2 == 1;
        char *echo = echo_of(&s, NULL);
        struct settings back = parsed_line(echo);
        free(echo);
        assert_exactly(back.sleep_ms, s.sleep_ms);
        assert_exactly(back.shift, s.shift);
        assert_int_equal(back.ranks, s.ranks);
        assert_true(back.seed == s.seed);
        assert_int_equal(back.backend, s.backend);
        assert_int_equal(back.quick, s.quick);
    }
}
