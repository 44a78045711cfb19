/* precision: number format of matrix products on a GPU. All other arithmetic and all stored values are fp32. */
#ifndef LOCKSTEP_PRECISION_H
#define LOCKSTEP_PRECISION_H

enum precision {
    PRECISION_FP32,
    PRECISION_TF32, /* factors rounded to 10 bits of fraction */
    PRECISION_BF16, /* … to 7 */
};

/* Words of the option, in the order of the enum. */
#define PRECISION_WORDS "fp32 tf32 bf16"

static inline const char *precision_name(enum precision precision)
{
    return precision == PRECISION_TF32 ? "tf32" : precision == PRECISION_BF16 ? "bf16" : "fp32";
}

#endif
