#include "feed/shard_make.h"

#include "feed/bijection.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static bool is_wide(enum shard_format format)
{
    return format == SHARD_LLMC_32 || format == SHARD_NPY_32;
}

/* Numbers are little-endian in all formats. */
static void put(FILE *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        putc_unlocked((int)(number >> 8 * i & 0xff), out);
}

static void put_llmc_header(FILE *out, enum shard_format format, uint64_t tokens)
{
    const bool wide = is_wide(format);
    put(out, wide ? LLMC_MAGIC_32 : LLMC_MAGIC_16, 4);
    put(out, wide ? LLMC_VERSION_32 : LLMC_VERSION_16, 4);
    put(out, tokens, 4);
    for (int i = 3; i < LLMC_HEADER; i++)
        put(out, 0, 4);
}

/* Version 1.0; the header ends with a line end, and the data begin at a multiple of 64 bytes (numpy.lib.format). */
static void put_npy_header(FILE *out, enum shard_format format, uint64_t tokens)
{
    enum { BEGIN = 10, DATA = 128 };
    char head[DATA - BEGIN + 1];
    int length = snprintf(head, sizeof head, "{'descr': '<u%d', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
                          is_wide(format) ? 4 : 2, tokens);
    memset(head + length, ' ', sizeof head - (size_t)length);
    head[DATA - BEGIN - 1] = '\n';
    fwrite("\x93NUMPY\x01\x00", 1, 8, out);
    put(out, DATA - BEGIN, 2);
    fwrite(head, 1, DATA - BEGIN, out);
}

void shard_make_header(FILE *out, enum shard_format format, uint64_t tokens)
{
    if (format == SHARD_LLMC_16 || format == SHARD_LLMC_32)
        put_llmc_header(out, format, tokens);
    if (format == SHARD_NPY_16 || format == SHARD_NPY_32)
        put_npy_header(out, format, tokens);
}

void shard_make_token(FILE *out, enum shard_format format, uint32_t token)
{
    put(out, token, is_wide(format) ? 4 : 2);
}

uint64_t shard_make_most(enum shard_format format)
{
    return format == SHARD_LLMC_16 || format == SHARD_LLMC_32 ? UINT32_MAX : UINT64_MAX / 8;
}

void shard_make(FILE *out, const struct shard_recipe *r)
{
    const uint32_t range = r->vocab / 64 > 0 ? r->vocab / 64 : 1;
    const uint32_t document = token_shard_document(r->format);
    uint32_t topic = 0;
    bool begins = true;
    shard_make_header(out, r->format, r->tokens);
    for (uint64_t i = 0; i < r->tokens; i++) {
        const uint64_t draw = bijection_mix(r->seed, i);
        const uint32_t low = (uint32_t)draw, high = (uint32_t)(draw >> 32);
        if (begins)
            topic = high % (r->vocab - range + 1);
        uint32_t token = begins ? document : low % 2 ? topic + high % range : high % r->vocab;
        shard_make_token(out, r->format, token);
        begins = !begins && (uint64_t)(low >> 1) * r->document < UINT64_C(1) << 31;
    }
}
