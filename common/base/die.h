/* die: the one way to stop a program that cannot go on.
 *
 * Every message is one line: the program, what is wrong, on which value, the likely cure.
 */
#ifndef LOCKSTEP_DIE_H
#define LOCKSTEP_DIE_H

/* The variable that names a file to which die() adds its message as well, without the program's name. */
#define DIE_COMPLAINTS "LOCKSTEP_COMPLAINTS"

/* What a program's exit status says. */
enum status {
    STATUS_RIGHT = 0,   /* done, and every check held */
    STATUS_WRONG = 1,   /* a check failed, a rank died, or the deadline passed */
    STATUS_USAGE = 2,   /* bad usage: nothing was started */
    STATUS_CANNOT = 77, /* cannot run on this machine; the reason was printed */
};

/* Prints "program: message" on standard error and exits with `status`. STATUS_USAGE and STATUS_CANNOT are
 * found by every rank of a job alike, so there only the first one speaks. */
_Noreturn void die(enum status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* This process's rank in the launcher's words; NULL where nothing tells it. */
const char *die_rank(void);

/* What die() calls before it prints; NULL for nothing. */
void die_before(void (*act)(void));

/* Prints "program: message" on standard error and goes on. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
