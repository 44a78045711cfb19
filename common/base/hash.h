/* hash: FNV-1a over 64-bit values, to compare two things. */
#ifndef LOCKSTEP_HASH_H
#define LOCKSTEP_HASH_H

#include <stdint.h>

static const uint64_t HASH_BEGIN = 0xcbf29ce484222325u;

static inline uint64_t hash_add(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x100000001b3u;
}

#endif
