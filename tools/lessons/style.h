/* style: checks that a text is short and plain enough to be read aloud. */
#ifndef LOCKSTEP_LESSONS_STYLE_H
#define LOCKSTEP_LESSONS_STYLE_H

#include "marker.h"

enum {
    STYLE_SENTENCE_WORDS = 30,
    STYLE_PARAGRAPH_NUMBERS = 3, /* besides counts up to 12, dates, versions */
    STYLE_LESSON_WORDS = 900,    /* above the rule, tables and headings included, code not */
    STYLE_README_WORDS = 500,
    STYLE_PICTURES = 2, /* above the rule */
};

/* Complain of each sentence and each paragraph that is too long, and of the text if it has more than `most_words` or too many
 * pictures above its rule. 0: any number of both. */
void style_check(struct check *check, int most_words);

#endif
