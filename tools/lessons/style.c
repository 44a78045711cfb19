#include "style.h"

#include "base/memory.h"
#include "number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A word of a block: bytes without blanks. Code and a formula are one word each. */
struct word {
    size_t begin, end;
    bool is_word;     /* has a letter or a digit, unlike · or × */
    bool ends, opens; /* may end, may begin a sentence */
};

static bool is_part(enum role role)
{
    return role == ROLE_PROSE || role == ROLE_CODE || role == ROLE_FORMULA;
}

static bool is_blank(const struct lesson_text *text, size_t at)
{
    return text->role[at] == ROLE_PROSE && (isspace((unsigned char)text->raw[at]) || text->raw[at] == '|');
}

/* True if a full stop, question mark or exclamation mark ends the word, perhaps within brackets or emphasis. */
static bool ends_sentence(const char *raw, size_t begin, size_t end)
{
    static const char *const short_forms[] = { "e.g.", "i.e.", "vs.", "cf.", NULL };
    while (end > begin && strchr(")*_\"]", raw[end - 1]))
        end--;
    for (int i = 0; short_forms[i]; i++) {
        size_t length = strlen(short_forms[i]);
        if (end - begin >= length && strncmp(raw + end - length, short_forms[i], length) == 0)
            return false;
    }
    return end > begin && strchr(".?!", raw[end - 1]);
}

/* Find the next word of a block from byte *at, and set *at behind it. */
static bool word_next(const struct lesson_text *text, const struct block *block, size_t *at, struct word *word)
{
    size_t i = *at, last = 0;
    while (i < block->end && (is_blank(text, i) || !is_part(text->role[i])))
        i++;
    if (i >= block->end)
        return false;
    *word = (struct word){ .begin = i };
    for (; i < block->end && !is_blank(text, i); i++) {
        if (!is_part(text->role[i]))
            continue;
        unsigned char c = (unsigned char)text->raw[i];
        word->is_word |= isalnum(c) || c == 0xce || c == 0xcf; /* or a Greek letter */
        last = i + 1;
    }
    word->end = last;
    size_t first = word->begin + strspn(text->raw + word->begin, "(*_\"[");
    word->ends = ends_sentence(text->raw, word->begin, word->end);
    word->opens = !islower((unsigned char)text->raw[first]);
    *at = i;
    return true;
}

static int words_of(const struct lesson_text *text, const struct block *block)
{
    int count = 0;
    struct word word;
    for (size_t at = block->begin; word_next(text, block, &at, &word);)
        count += word.is_word;
    return count;
}

/* Return the bytes from `begin` that make some six words, on the same line. */
static int length_of_opening(const char *raw, size_t begin)
{
    const char *from = raw + begin;
    int length = 0, most = (int)strcspn(from, "\n"), words = 0;
    for (; length < most; length++)
        if (from[length] == ' ' && ++words == 6)
            break;
    return length;
}

static void end_sentence(struct check *check, size_t begin, int words)
{
    if (words > STYLE_SENTENCE_WORDS)
        complain(check, begin, "a sentence of %d words, %d at most: %.*s …", words, STYLE_SENTENCE_WORDS,
                 length_of_opening(check->text->raw, begin), check->text->raw + begin);
}

static void check_sentences(struct check *check, const struct block *block)
{
    struct word word;
    size_t begin = block->begin;
    int words = 0;
    bool has_ended = true;
    for (size_t at = block->begin; word_next(check->text, block, &at, &word);) {
        if (has_ended && word.opens) {
            end_sentence(check, begin, words);
            begin = word.begin;
            words = 0;
        }
        words += word.is_word;
        has_ended = word.ends;
    }
    end_sentence(check, begin, words);
}

static void check_numbers(struct check *check, const struct block *block)
{
    struct number number;
    int count = 0;
    for (size_t at = block->begin; number_next(check->text, &at, &number) && number.begin < block->end;)
        count += !number.is_name && !number.is_count;
    if (count > STYLE_PARAGRAPH_NUMBERS)
        complain(check, block->begin, "a paragraph with %d numbers, %d at most", count, STYLE_PARAGRAPH_NUMBERS);
}

static void check_whole(struct check *check, int most_words)
{
    const struct lesson_text *text = check->text;
    int words = 0, pictures = 0;
    for (int i = 0; i < text->block_count; i++)
        words += text->blocks[i].is_above ? words_of(text, &text->blocks[i]) : 0;
    for (int i = 0; i < text->picture_count; i++)
        pictures += text->pictures[i].is_above;
    if (words > most_words)
        complain(check, 0, "%d words above the rule, %d at most", words, most_words);
    if (pictures > STYLE_PICTURES)
        complain(check, 0, "%d pictures above the rule, %d at most", pictures, STYLE_PICTURES);
}

void style_check(struct check *check, int most_words)
{
    const struct lesson_text *text = check->text;
    for (int i = 0; i < text->block_count; i++) {
        if (text->blocks[i].kind != BLOCK_PARAGRAPH)
            continue;
        check_sentences(check, &text->blocks[i]);
        check_numbers(check, &text->blocks[i]);
    }
    if (most_words > 0)
        check_whole(check, most_words);
}
