/* test_csv.c: test that written tables can be read back, and that errors of the reader name the line. */
#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "support/ending.h"
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* A table written to memory. `text` holds it after `csv.out` is closed. */
struct page {
    struct csv csv;
    char *text;
    size_t size;
};

static void open_page(struct page *page)
{
    *page = (struct page){ 0 };
    page->csv.out = open_memstream(&page->text, &page->size);
    assert_non_null(page->csv.out);
}

static void assert_wrote(struct page *page, const char *expected)
{
    fclose(page->csv.out);
    assert_string_equal(page->text, expected);
    free(page->text);
}

/* Write one row in the way the labs do. */
static void write_row(struct csv *csv, const char *name, int rank, double ratio, double seconds)
{
    do {
        csv_text(csv, "case", name);
        csv_integer(csv, "steps", 10);
        csv_index(csv, "rank", rank);
        csv_number(csv, "ratio", ratio);
        csv_ms(csv, "step_ms", seconds);
    } while (csv_end_row(csv));
}

TEST(names_come_once_and_before_the_first_row)
{
    struct page page;
    open_page(&page);
    write_row(&page.csv, "baseline", 0, 1, 0.025);
    write_row(&page.csv, "skew_ws4", 3, 2.5, 0.0651);
    assert_wrote(&page, "case,steps,rank,ratio,step_ms\n"
                        "baseline,10,0,1,25.000000\n"
                        "skew_ws4,10,3,2.5,65.100000\n");
}

TEST(what_does_not_exist_is_blank)
{
    struct page page;
    open_page(&page);
    write_row(&page.csv, "", -1, (double)NAN, (double)NAN);
    assert_wrote(&page, "case,steps,rank,ratio,step_ms\n,10,,,\n");
}

TEST(commas_quotes_and_line_ends_are_quoted)
{
    struct page page;
    open_page(&page);
    page.csv.is_named = true; /* rows only */
    csv_text(&page.csv, "plain", "one rank sleeps");
    csv_text(&page.csv, "comma", "before, not after");
    csv_text(&page.csv, "quote", "the \"slow\" one");
    csv_text(&page.csv, "line", "two\nlines");
    csv_end_row(&page.csv);
    assert_wrote(&page, "one rank sleeps,\"before, not after\",\"the \"\"slow\"\" one\",\"two\nlines\"\n");
}

/* Check that numbers are the shortest decimals that read back as the same double (David Gay's problem). The expected
 * texts equal Python's repr(). */
TEST(numbers_are_short_and_exact)
{
    static const struct {
        double value;
        const char *text;
    } known[] = { { 0, "0" },
                  { 1, "1" },
                  { -2.5, "-2.5" },
                  { 0.1, "0.1" },
                  { 0.1 + 0.2, "0.30000000000000004" },
                  { 1 / 3., "0.3333333333333333" },
                  { 70.24137309999787, "70.24137309999787" },
                  { 3124200, "3124200" },
                  { 1e-300, "1e-300" },
                  { 1.7976931348623157e308, "1.7976931348623157e+308" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct page page;
        open_page(&page);
        page.csv.is_named = true;
        csv_number(&page.csv, "x", known[i].value);
        assert_wrote(&page, known[i].text);
        assert_true(strtod(known[i].text, NULL) >= known[i].value && strtod(known[i].text, NULL) <= known[i].value);
    }
}

/* Check that ratios of two processors, different in the last digits of a double, give the same text. */
TEST(ratios_have_nine_digits)
{
    static const double found[] = { 1.3182623397660354, 1.3182623397660356 };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        struct page page;
        open_page(&page);
        page.csv.is_named = true;
        csv_ratio(&page.csv, "a", found[i]);
        csv_ratio(&page.csv, "b", 1e6 / 3);
        csv_ratio(&page.csv, "c", 2);
        csv_ratio(&page.csv, "d", NAN);
        assert_wrote(&page, "1.31826234,333333.333,2,");
    }
}

TEST(milliseconds_have_six_decimals)
{
    struct page page;
    open_page(&page);
    page.csv.is_named = true;
    csv_ms(&page.csv, "a", 0.07024137309999787);
    csv_ms(&page.csv, "b", 1e-9);
    csv_ms(&page.csv, "c", 0);
    csv_ms(&page.csv, "d", -0.0015);
    csv_ms(&page.csv, "e", 3600);
    assert_wrote(&page, "70.241373,0.000001,0.000000,-1.500000,3600000.000000");
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* Write `size` bytes to `folder`/table.csv. Return the path; release with free(). */
static char *put(const char *folder, const void *bytes, size_t size)
{
    char *path = memory_text("%s/table.csv", folder);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
    return path;
}

static struct csv_table read_text(const char *folder, const char *text)
{
    char *path = put(folder, text, strlen(text));
    char why[512] = "";
    struct csv_table table;
    if (!csv_read(path, &table, why, sizeof why))
        fail_msg("refused: %s", why);
    free(path);
    return table;
}

/* Assert that csv_read() refuses the file. The reason is one line that begins with the path and holds `part`. */
static void assert_refused(const char *path, const char *part)
{
    char why[512] = "";
    struct csv_table table;
    if (csv_read(path, &table, why, sizeof why))
        fail_msg("%s was read: %d rows of %d columns", path, table.rows, table.columns);
    assert_holds(why, part);
    assert_int_equal(strncmp(why, path, strlen(path)), 0);
    assert_null(strchr(why, '\n'));
}

static void assert_text_refused(const char *folder, const char *text, const char *part)
{
    char *path = put(folder, text, strlen(text));
    assert_refused(path, part);
    free(path);
}

static void assert_field(const struct csv_table *table, int row, const char *name, const char *expected)
{
    const char *field = csv_field(table, row, name);
    assert_non_null(field);
    assert_string_equal(field, expected);
}

static void assert_value(const struct csv_table *table, int row, const char *name, double expected)
{
    double value = csv_value(table, row, name);
    if (!(value <= expected && value >= expected))
        fail_msg("%s in row %d: %.17g is not %.17g", name, row, value, expected);
}

TEST_IN_FOLDER(a_written_table_is_read_back)
{
    struct page page;
    open_page(&page);
    fputs("# lockstep: 0\n# command: a, b\n", page.csv.out);
    write_row(&page.csv, "baseline, \"plain\"", 0, 70.24137309999787, 0.025);
    write_row(&page.csv, "two\nlines", -1, (double)NAN, (double)NAN);
    fclose(page.csv.out);

    struct csv_table table = read_text(*state, page.text);
    free(page.text);
    assert_int_equal(table.rows, 2);
    assert_int_equal(table.columns, 5);
    assert_field(&table, 0, "case", "baseline, \"plain\"");
    assert_value(&table, 0, "steps", 10);
    assert_value(&table, 0, "rank", 0);
    assert_value(&table, 0, "ratio", 70.24137309999787);
    assert_value(&table, 0, "step_ms", 25);
    assert_field(&table, 1, "case", "two\nlines");
    assert_true(isnan(csv_value(&table, 1, "rank")));
    assert_field(&table, 1, "ratio", "");
    assert_true(isnan(csv_value(&table, 1, "ratio")));
    csv_free(&table);
}

/* Check that text with a special meaning in CSV is read back unchanged. */
TEST_IN_FOLDER(awkward_texts_are_read_back)
{
    static const char *const texts[] = { "# no comment", "\"", "\"\"", ",", "a\r\nb", "a\rb", "\r", " blank ", "…" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct page page;
        open_page(&page);
        do {
            csv_text(&page.csv, "first", texts[i]);
            csv_text(&page.csv, "second", texts[i]);
        } while (csv_end_row(&page.csv));
        fclose(page.csv.out);
        struct csv_table table = read_text(*state, page.text);
        free(page.text);
        assert_int_equal(table.rows, 1);
        assert_field(&table, 0, "first", texts[i]);
        assert_field(&table, 0, "second", texts[i]);
        csv_free(&table);
    }
}

TEST_IN_FOLDER(comments_and_blank_lines_are_skipped)
{
    struct csv_table table = read_text(*state, "# a\n#\n\na,b\n# between, with, commas\n1,2\n\n3,4\n#end");
    assert_int_equal(table.rows, 2);
    assert_value(&table, 0, "a", 1);
    assert_value(&table, 1, "b", 4);
    assert_int_equal(table.line[0], 4);
    assert_int_equal(table.line[1], 6);
    assert_int_equal(table.line[2], 8);
    csv_free(&table);
}

TEST_IN_FOLDER(lines_may_end_in_crlf_or_with_the_file)
{
    static const char *const same[] = { "a,b\n1,x\n2,\n", "a,b\r\n1,x\r\n2,\r\n", "# c\r\na,b\r\n\r\n1,x\r\n2,",
                                        "a,b\n1,x\n2,", "a,b\n1,\"x\"\n2,\"\"" };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct csv_table table = read_text(*state, same[i]);
        assert_int_equal(table.rows, 2);
        assert_int_equal(table.columns, 2);
        assert_value(&table, 0, "a", 1);
        assert_field(&table, 0, "b", "x");
        assert_value(&table, 1, "a", 2);
        assert_field(&table, 1, "b", "");
        csv_free(&table);
    }
}

TEST_IN_FOLDER(rows_are_found_by_what_they_hold)
{
    struct csv_table table = read_text(*state, "case,rank\na,0\nb,1\nb,2\n");
    assert_int_equal(csv_find(&table, "case", "a"), 0);
    assert_int_equal(csv_find(&table, "case", "b"), 1); /* the first */
    assert_int_equal(csv_find(&table, "rank", "2"), 2);
    assert_int_equal(csv_find(&table, "case", "case"), -1);
    assert_int_equal(csv_find(&table, "nothing", "a"), -1);
    csv_free(&table);
    assert_int_equal(csv_find(&table, "case", "a"), -1); /* a freed table */
}

static void assert_head(const struct csv_table *table, const char *key, int n, const char *expected)
{
    char *text = csv_comment(table, key, n);
    if (text && expected)
        assert_string_equal(text, expected);
    else
        assert_true(!text && !expected);
    free(text);
}

TEST_IN_FOLDER(the_head_tells_what_stands_behind_a_key)
{
    struct csv_table table =
        read_text(*state, "# command: lab --sleep-ms 40 # command: no\r\n#\n\n# kept:  one\n# kept of a: x\n"
                          "# kept: two\n#kept: no\n# blank:\ncase,note\n# kept: three\na,\"x\n# kept: four\"\n");
    assert_head(&table, "command", 0, "lab --sleep-ms 40 # command: no");
    assert_head(&table, "command", 1, NULL);
    assert_head(&table, "kept", 0, "one");
    assert_head(&table, "kept", 1, "two");
    assert_head(&table, "kept", 2, NULL); /* the third is below the column names */
    assert_head(&table, "kept of a", 0, "x");
    assert_head(&table, "kep", 0, NULL);
    assert_head(&table, "blank", 0, "");
    csv_free(&table);
    assert_head(&table, "kept", 0, NULL);
}

TEST_IN_FOLDER(a_byte_order_mark_is_no_part_of_a_name)
{
    struct csv_table table = read_text(*state, "\xef\xbb\xbf"
                                               "case,rank\nbaseline,3\n");
    assert_string_equal(table.cell[0], "case");
    assert_field(&table, 0, "rank", "3");
    csv_free(&table);
    table = read_text(*state, "\xef\xbb\xbf# head\ncase\na\n");
    assert_int_equal(table.rows, 1);
    assert_int_equal(strncmp(table.text, "# head\n", 7), 0);
    csv_free(&table);
    assert_text_refused(*state, "\xef\xbb\xbf", "no header line");
}

TEST_IN_FOLDER(quoted_fields_hold_commas_and_quotes)
{
    struct csv_table table = read_text(*state, "id,\"why, in words\",n\n1,\"a, \"\"b\"\", c\",3\n2,\"\",4\n");
    assert_int_equal(table.columns, 3);
    assert_field(&table, 0, "why, in words", "a, \"b\", c");
    assert_value(&table, 0, "n", 3);
    assert_field(&table, 1, "why, in words", "");
    assert_value(&table, 1, "n", 4);
    csv_free(&table);
}

TEST_IN_FOLDER(names_alone_are_a_table_without_rows)
{
    struct csv_table table = read_text(*state, "a,b\n");
    assert_int_equal(table.rows, 0);
    assert_int_equal(table.columns, 2);
    assert_null(csv_field(&table, 0, "a"));
    csv_free(&table);
}

TEST_IN_FOLDER(what_is_not_there_has_no_field)
{
    struct csv_table table = read_text(*state, "a,b\n1,2x\n");
    assert_null(csv_field(&table, 0, "c"));
    assert_null(csv_field(&table, 1, "a"));
    assert_null(csv_field(&table, -1, "a"));
    assert_true(isnan(csv_value(&table, 0, "c")));
    assert_true(isnan(csv_value(&table, 1, "a")));
    assert_true(isnan(csv_value(&table, 0, "b"))); /* not a number */
    csv_free(&table);
}

TEST_IN_FOLDER(a_large_table_is_read_whole)
{
    enum { ROWS = 20000 }; /* more than one read block */
    struct page page;
    open_page(&page);
    for (int i = 0; i < ROWS; i++)
        write_row(&page.csv, "baseline", i, i / 7., i);
    fclose(page.csv.out);
    struct csv_table table = read_text(*state, page.text);
    free(page.text);
    assert_int_equal(table.rows, ROWS);
    for (int i = 0; i < ROWS; i += 997) {
        assert_value(&table, i, "rank", i);
        assert_value(&table, i, "ratio", i / 7.);
    }
    csv_free(&table);
}

TEST_IN_FOLDER(a_row_of_other_length_is_refused_with_its_line)
{
    assert_text_refused(*state, "a,b,c\n1,2,3\n4,5\n", "table.csv:3: 2 fields, but the header has 3");
    assert_text_refused(*state, "a,b\n1,2,3\n", "table.csv:2: 3 fields, but the header has 2");
    assert_text_refused(*state, "# one\n# two\na,b\n1,2\n# five\n6", "table.csv:6: ");
    assert_text_refused(*state, "a,b\r\n1\r\n", "table.csv:2: ");
}

/* Check that the line number in a message is the one that an editor shows, after blank and multi-line rows too. */
TEST_IN_FOLDER(blank_and_quoted_lines_count_as_lines)
{
    assert_text_refused(*state, "\n\na,b\n1\n", "table.csv:4: ");
    assert_text_refused(*state, "a,b\n\n\n1,2\n5\n", "table.csv:5: ");
    assert_text_refused(*state, "a,b\r\n\r\n1,2\r\n4\r\n", "table.csv:4: ");
    assert_text_refused(*state, "a,b\n\"two\nlines\",2\n4\n", "table.csv:4: ");
}

/* Check that a missing closing quote is an error. Otherwise the reader would silently take the rest as one field. */
TEST_IN_FOLDER(a_quote_that_never_ends_is_refused)
{
    assert_text_refused(*state, "a,b\n1,\"2\n3,4\n5,6\n", "table.csv:2: ");
}

TEST_IN_FOLDER(what_is_no_table_is_refused)
{
    assert_text_refused(*state, "", "no header line");
    assert_text_refused(*state, "# only\n# comments\n", "no header line");
    static const char binary[] = "a,b\n1,\0002\n";
    char *path = put(*state, binary, sizeof binary - 1);
    assert_refused(path, "zero byte");
    remove(path);
    assert_refused(path, "No such file");
    free(path);
    assert_refused(*state, ""); /* a folder */
}
