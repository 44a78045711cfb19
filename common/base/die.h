/* die: end a program that cannot continue.
 *
 * Every message is one line with the program, the error, the offending value and the likely cure.
 */
#ifndef LOCKSTEP_DIE_H
#define LOCKSTEP_DIE_H

/* Environment variable with the path of a file; die() also appends its message there, without the program's name. */
#define DIE_COMPLAINTS "LOCKSTEP_COMPLAINTS"

/* Exit statuses of a program. */
enum status {
    STATUS_RIGHT = 0,   /* done, and every check passed */
    STATUS_WRONG = 1,   /* a check failed, a rank died, or the deadline passed */
    STATUS_USAGE = 2,   /* bad usage: nothing was started */
    STATUS_CANNOT = 77, /* cannot run on this machine; the reason was printed */
};

/* Print "program: message" on standard error and exit with `status`. All ranks of a job reach STATUS_USAGE and STATUS_CANNOT
 * alike, so only the first rank prints these. */
_Noreturn void die(enum status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Rank of this process as text, from the launcher's environment variables; NULL if none is set. */
const char *die_rank(void);

/* Set a function that die() calls before printing; NULL for none. */
void die_before(void (*act)(void));

/* Print "program: message" on standard error and return. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Set a function that warn() calls with `to` and each message as it was printed, without the program's name; NULL for none. */
void warn_also(void (*take)(void *to, const char *message), void *to);

#endif
