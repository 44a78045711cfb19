/* utf8: characters of text that others wrote. */
#ifndef LOCKSTEP_UTF8_H
#define LOCKSTEP_UTF8_H

/* Bytes of the UTF-8 character that begins at `at`; 0 for an invalid or control character. */
int utf8_printable(const char *at);

#endif
