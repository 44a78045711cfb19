/* test_json.c: test the values that programs write into JSON texts. */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void texts_are_escaped(void **state)
{
    (void)state;
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

static void numbers_are_finite(void **state)
{
    (void)state;
    assert_number(0.1, "0.1");
    assert_number(-3, "-3");
    assert_number((double)NAN, "null");
    assert_number(INFINITY, "null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(numbers_are_finite),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
