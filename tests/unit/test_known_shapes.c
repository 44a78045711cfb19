/* Parameters of public models, against what their makers or checkpoints state. */
#include "model/known_shapes.h"
#include "support/unit.h"

#include <string.h>

TEST(parameters_are_those_published)
{
    for (int i = 0; i < KNOWN_SHAPES; i++)
        if (known_shape_parameters(&known_shapes[i]) != known_shapes[i].published)
            fail_msg("%s: %.0f parameters, published are %.0f", known_shapes[i].name,
                     known_shape_parameters(&known_shapes[i]), known_shapes[i].published);
}

/* The words of the option name the rows in their order. */
TEST(words_are_the_names)
{
    char words[256] = "";
    for (int i = 0; i < KNOWN_SHAPES; i++) {
        strcat(words, i > 0 ? " " : "");
        strcat(words, known_shapes[i].name);
    }
    assert_string_equal(words, KNOWN_SHAPES_WORDS);
}

TEST(a_token_keeps_what_the_paper_counts_without_dropout)
{
    assert_true(known_shape_token_bytes(&known_shapes[0]) == 32 * 768);
}
