/* test_json.c: test the values that programs write into JSON texts. */
#include "base/json.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_text(const char *text, const char *expected)
{
    char *got = NULL;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    json_text(out, text);
    fclose(out);
    assert_string_equal(got, expected);
    free(got);
}

TEST(texts_are_escaped)
{
    assert_text("", "\"\"");
    assert_text(NULL, "null");
    assert_text("a \"b\" \\ / é …", "\"a \\\"b\\\" \\\\ / é …\"");
    assert_text("tab\tend\n\x1b\x7f", "\"tab\\u0009end\\u000a\\u001b\\u007f\"");
    assert_text("\xff \xc3", "\"\\ufffd \\ufffd\""); /* no UTF-8 */
    assert_text("\xc2\x85", "\"\\ufffd\\ufffd\"");   /* a control character of two bytes */
}

static void assert_number(double value, const char *expected)
{
    char *got = NULL;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    json_number(out, value);
    fclose(out);
    assert_string_equal(got, expected);
    free(got);
}

TEST(numbers_are_finite)
{
    assert_number(0.1, "0.1");
    assert_number(-3, "-3");
    assert_number((double)NAN, "null");
    assert_number(INFINITY, "null");
}
