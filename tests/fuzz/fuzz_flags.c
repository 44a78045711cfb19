/* fuzz_flags.c: try random command lines and check that no program crashes, hangs or silently ignores a value.
 *
 *     fuzz_flags --program build/bin/01_straggler --program build/bin/claims --count 1500 --seed 1
 *
 * Flags are read from each program's --help, their kinds and bounds from its error messages, so that new flags are tested
 * automatically. A program that has --dry-run gets it as first word, a script that has --list as last word, so nothing is
 * started. Each command line must satisfy:
 *
 *     the program ends by itself, within 1 s of CPU time and 5 s in total,
 *     both times LOCKSTEP_PATIENCE                                              otherwise: crash or hang
 *     status 0: nothing on standard error                                       otherwise: wrong exit
 *     status 2, 77: one line there, which names a typed word and a cure         otherwise: wrong exit
 *     status 0, dry run: each given value is in the echoed command line         otherwise: silent default
 *
 * The same seed gives the same command lines; --only I runs only the I-th and shows its output. */
#include "base/die.h"
#include "base/memory.h"
#include "base/random.h"
#include "options/options.h"
#include "support/patience.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    FLAGS_MOST = 64,
    TEXTS_MOST = 256,
    WORDS_MOST = 12,
    JOBS_MOST = 64,
    LONGEST = 131071, /* longest word that Linux passes to a program */
    ARGV = WORDS_MOST + 4,
};
static const double CPU_MOST_S = 1, WAIT_MOST_S = 5;

enum kind { SWITCH, INTEGER, NUMBER, CHOICE, TEXT };

struct flag {
    char *name, *words; /* "--ranks"; for a choice, "mpi sim" */
    char *help;         /* its line */
    enum kind kind;
    double low, high;
};

struct program {
    char *path;
    const char *first, *last; /* words that keep the program from starting anything; NULL for none */
    int flags, texts;
    struct flag flag[FLAGS_MOST];
    char *text[TEXTS_MOST]; /* words of its help: cases, machines */
};

struct options {
    struct option_list programs;
    int count, seed, only, jobs;
    const char *scratch;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--program", OPTION_LIST, AT(programs), 0, 0, "FILE", "to be tried; may be repeated" },
    { "--count", OPTION_INTEGER, AT(count), 1, 100000000, "N", "command lines" },
    { "--seed", OPTION_INTEGER, AT(seed), 0, 2147483647, "N", "of which ones" },
    { "--only", OPTION_INTEGER, AT(only), -1, 100000000, "I", "the I-th alone, and what it says; -1: all" },
    { "--jobs", OPTION_INTEGER, AT(jobs), 1, JOBS_MOST, "N", "so many at once" },
    { "--scratch", OPTION_TEXT, AT(scratch), 0, 0, "DIR", "an empty folder to start them in" },
    { 0 },
};

/* --- one command line ------------------------------------------------------------------------------------------- */

struct attempt {
    int index;
    const struct program *program;
    char *argv[ARGV];
    pid_t pid;
    double began, cpu, waited;
    int out, err; /* descriptors of its output */
    int status;
    bool was_ended;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin(struct attempt *a)
{
    a->out = memfd_create("out", MFD_CLOEXEC);
    a->err = memfd_create("err", MFD_CLOEXEC);
    a->began = now();
    a->pid = fork();
    if (a->pid < 0)
        die(STATUS_WRONG, "cannot start a process");
    if (a->pid > 0)
        return;
    setpgid(0, 0);
    dup2(a->out, STDOUT_FILENO);
    dup2(a->err, STDERR_FILENO);
    freopen("/dev/null", "r", stdin);
    execv(a->program->path, a->argv);
    _exit(126);
}

/* True if the process has ended, or was killed now since it took too long. */
static bool has_ended(struct attempt *a)
{
    struct rusage used;
    pid_t ended = wait4(a->pid, &a->status, WNOHANG, &used);
    if (ended == 0 && now() - a->began < WAIT_MOST_S * patience())
        return false;
    if (ended == 0) {
        a->was_ended = true;
        kill(-a->pid, SIGKILL);
        wait4(a->pid, &a->status, 0, &used);
    }
    a->waited = now() - a->began;
    a->cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
             1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return true;
}

static char *read_all(int descriptor)
{
    off_t size = lseek(descriptor, 0, SEEK_END);
    char *text = memory_new((size_t)size + 1, 1);
    ssize_t got = pread(descriptor, text, (size_t)size, 0);
    text[got < 0 ? 0 : got] = '\0';
    close(descriptor);
    return text;
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
}

/* --- flags of a program ----------------------------------------------------------------------------------------- */

/* Run the program with these words (NULL ends them). Return its status and both outputs. */
static int ask(const struct program *p, char *const words[], char **out, char **err)
{
    struct attempt a = { .program = p };
    int count = 0;
    a.argv[count++] = p->path;
    if (p->first)
        a.argv[count++] = (char *)p->first;
    while (*words)
        a.argv[count++] = *words++;
    if (p->last)
        a.argv[count++] = (char *)p->last;
    begin(&a);
    while (!has_ended(&a))
        pause_briefly();
    *out = read_all(a.out);
    *err = read_all(a.err);
    return WIFEXITED(a.status) ? WEXITSTATUS(a.status) : -1;
}

/* Find kind and bounds of a flag from the error message about an invalid value. */
static void learn_bounds(const struct program *p, struct flag *flag)
{
    char *out, *err, *takes;
    ask(p, (char *const[]){ flag->name, "no:value", NULL }, &out, &err);
    flag->kind = TEXT;
    if ((takes = strstr(err, " takes a ")) &&
        sscanf(takes, " takes a whole number from %lf to %lf", &flag->low, &flag->high) == 2)
        flag->kind = INTEGER;
    else if (takes && sscanf(takes, " takes a number from %lf to %lf", &flag->low, &flag->high) == 2)
        flag->kind = NUMBER;
    free(out);
    free(err);
}

/* Take kind and bounds from an earlier program with the same line of help, as labs have many. Return false if there is none. */
static bool know_bounds(const struct program *earlier, int count, struct flag *flag)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < earlier[i].flags; j++) {
            const struct flag *known = &earlier[i].flag[j];
            if (strcmp(known->help, flag->help) == 0) {
                flag->kind = known->kind;
                flag->low = known->low;
                flag->high = known->high;
                return true;
            }
        }
    return false;
}

/* Parse a line of help: "  --backend WORD   where ranks run: auto mpi sim nccl [auto]" */
static void learn_flag(struct program *p, const struct program *earlier, int count, const char *line)
{
    char name[64], value[64] = "";
    int end = 0;
    if (p->flags == FLAGS_MOST || sscanf(line, "  %63s%n", name, &end) != 1)
        return;
    if (line[end] == ' ' && line[end + 1] != ' ')
        sscanf(line + end, " %63s", value);
    struct flag *flag = &p->flag[p->flags++];
    *flag = (struct flag){ .name = memory_text("%s", name), .help = memory_text("%s", line), .kind = SWITCH };
    const char *words = strrchr(line, ':'), *close = strrchr(line, '[');
    if (strcmp(value, "WORD") == 0 && words) {
        flag->kind = CHOICE;
        flag->words =
            memory_text("%.*s", (int)(close && close > words ? close - words - 3 : (long)strlen(words) - 2), words + 2);
    } else if (*value && !know_bounds(earlier, count, flag)) {
        learn_bounds(p, flag);
    }
}

/* Learn the flags of a program, behind `count` earlier ones. */
static void learn(struct program *p, const struct program *earlier, int count, const char *path)
{
    char *help, *err, *rest;
    *p = (struct program){ .path = realpath(path, NULL) };
    if (!p->path)
        die(STATUS_USAGE, "--program %s is not there; build it first", path);
    if (ask(p, (char *const[]){ "--help", NULL }, &help, &err) != 0)
        die(STATUS_WRONG, "%s --help fails", path);
    if (strstr(help, "  --dry-run"))
        p->first = "--dry-run";
    else if (strstr(help, "  --list "))
        p->last = "--list";
    rest = help;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "  --", 4) == 0)
            learn_flag(p, earlier, count, line);
        char word[64];
        if (p->texts < TEXTS_MOST && sscanf(line, " %63s", word) == 1)
            p->text[p->texts++] = memory_text("%s", word);
    }
    free(help);
    free(err);
    if (p->flags < 2)
        die(STATUS_WRONG, "%s --help shows no flags", path);
}

static void forget(struct program *p)
{
    free(p->path);
    for (int i = 0; i < p->flags; i++) {
        free(p->flag[i].name);
        free(p->flag[i].words);
        free(p->flag[i].help);
    }
    for (int i = 0; i < p->texts; i++)
        free(p->text[i]);
}

/* --- random command lines --------------------------------------------------------------------------------------- */

static int below(struct random *r, int n)
{
    return (int)random_below(r, (uint32_t)n);
}

static char *noise(struct random *r, int length, bool is_text)
{
    char *word = memory_new((size_t)length + 1, 1);
    for (int i = 0; i < length; i++)
        word[i] = (char)(is_text ? 33 + below(r, 94) : 1 + below(r, 255));
    return word;
}

static char *long_word(struct random *r)
{
    char *word = memory_new(LONGEST - 200, 1);
    memset(word, "x1-= \xff"[below(r, 6)], LONGEST - 201);
    return word;
}

static char *odd_word(struct random *r, const struct program *p)
{
    static const char *const odd[] = {
        "",
        " ",
        "-",
        "--",
        "=",
        "-1",
        "-0",
        "0",
        "1",
        "2",
        "007",
        "+5",
        "1.5",
        ".5",
        "5.",
        "1e3",
        "1e400",
        "-1e400",
        "1e-400",
        "nan",
        "NaN",
        "-nan",
        "nan(7)",
        "inf",
        "-inf",
        "infinity",
        "0x10",
        "0b1",
        "1_000",
        "1,5",
        "5 ",
        " 5",
        "\t5",
        "5\n",
        "2147483647",
        "2147483648",
        "-2147483649",
        "4294967296",
        "9223372036854775808",
        "18446744073709551616",
        "1e18",
        "0.1e-1",
        "--5",
        "5=5",
        "=5",
        "\"5\"",
        "'5'",
        "5;ls",
        "$(id)",
        "`id`",
        "%s%n%d",
        "../..",
        "/",
        ".",
        "/dev/null",
        "/proc/self/mem",
        "\x1b[31mred\x1b[0m",
        "\x01",
        "\x7f",
        "\n",
        "a\nb",
        "\x1f",
        "\xff\xfe",
        "\xc3",
        "\xc3\xa4\xc3\xb6",
        "\xe2\x80\xae",
        "\xd9\xa3",
        "*",
        "?",
        "{}",
        "no such thing",
        "baseline",
        "baseline=5",
        "baseline=nan",
        "=5",
        "skew_ws4=50",
        "blog",
        "two_hosts",
        "slow_node",
        "gpu_node",
        "blog.xml",
    };
    int which = below(r, 100);
    if (which == 0)
        return long_word(r);
    if (which < 12)
        return noise(r, 1 + below(r, 20), which < 6);
    if (which < 24 && p->texts)
        return memory_text("%s", p->text[below(r, p->texts)]);
    return memory_text("%s", odd[below(r, sizeof odd / sizeof *odd)]);
}

/* Return a random whole number in the range; small ones are more likely. */
static double within(struct random *r, double low, double high)
{
    double most = high - low, scale = random_unit(r);
    return low + floor(expm1(scale * log1p(most)));
}

static char *value_for(struct random *r, const struct program *p, const struct flag *flag)
{
    bool is_number = flag->kind == INTEGER || flag->kind == NUMBER;
    int which = below(r, 10);
    if (is_number && which < 6)
        return memory_text("%.0f", within(r, flag->low, flag->high));
    if (flag->kind == NUMBER && which == 6)
        return memory_text("%.9g", flag->low + random_unit(r) * (flag->high - flag->low));
    if (is_number && which < 9) {
        double bound = below(r, 2) ? flag->low : flag->high;
        return memory_text("%.12g", bound + below(r, 3) - 1);
    }
    if (flag->kind == CHOICE && which < 8) {
        char *words = memory_text("%s", flag->words), *rest = words, *chosen = NULL;
        int count = 0;
        for (char *word; (word = strsep(&rest, " "));)
            chosen = below(r, ++count) == 0 ? word : chosen;
        chosen = memory_text("%s", chosen);
        free(words);
        return chosen;
    }
    if (flag->kind == TEXT && which < 4 && p->texts)
        return memory_text("%s", p->text[below(r, p->texts)]);
    return odd_word(r, p);
}

static void make(struct attempt *a, const struct options *o, const struct program *programs, int index)
{
    struct random random, *r = &random;
    random_seed(r, (uint64_t)o->seed * 1000003u + (uint64_t)index);
    const struct program *p = &programs[below(r, o->programs.count)];
    *a = (struct attempt){ .index = index, .program = p };
    int count = 0, flags = 1 + below(r, 6);
    a->argv[count++] = memory_text("%s", p->path);
    if (p->first)
        a->argv[count++] = memory_text("%s", p->first);
    for (int i = 0; i < flags && count + 2 < WORDS_MOST; i++) {
        const struct flag *flag = &p->flag[below(r, p->flags)];
        char *value = value_for(r, p, flag), *name = memory_text("%s", flag->name);
        int how = below(r, 40);
        if (how == 0) { /* an unknown flag, by changing a letter */
            name[2 + below(r, (int)strlen(name) - 2)] = (char)('a' + below(r, 26));
        }
        bool is_alone = (flag->kind == SWITCH && how != 1) || how == 2; /* how 2: maybe a missing value */
        if (how == 3) {
            a->argv[count++] = odd_word(r, p); /* a stray word */
        } else if (is_alone) {
            a->argv[count++] = memory_text("%s", name);
        } else if (how % 2) {
            a->argv[count++] = memory_text("%s=%s", name, value);
        } else {
            a->argv[count++] = memory_text("%s", name);
            a->argv[count++] = memory_text("%s", value);
        }
        free(name);
        free(value);
    }
    if (p->last)
        a->argv[count++] = memory_text("%s", p->last);
}

/* --- judging ---------------------------------------------------------------------------------------------------- */

struct totals {
    int tried, crashes, hangs, wrong_exits, silent, by_status[3]; /* status 0, 2 and 77 */
};

static const struct flag *find_flag(const struct program *p, const char *word, size_t length)
{
    for (int i = 0; i < p->flags; i++)
        if (strlen(p->flag[i].name) == length && strncmp(p->flag[i].name, word, length) == 0)
            return &p->flag[i];
    return NULL;
}

/* True if the message names the flag, or the beginning of its value. Characters other than plain ASCII may be shown
 * differently. */
static bool is_named(const char *said, const char *word)
{
    enum { ENOUGH = 30 };
    const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
    if (equals && is_named(said, equals + 1))
        return true;
    size_t length = equals ? (size_t)(equals - word) : strlen(word), plain = 0;
    while (plain < length && plain < ENOUGH && word[plain] >= ' ' && word[plain] < 0x7f)
        plain++;
    char *begin = memory_text("%s%.*s%s", plain ? "" : "'", (int)plain, word, plain || length ? "" : "'");
    bool is = strstr(said, begin);
    free(begin);
    return is;
}

/* Return what is wrong with an error message; NULL if it is right. */
static const char *judge_refusal(const struct attempt *a, const char *err)
{
    const char *end = strchr(err, '\n');
    bool names = !a->program->first; /* a tool may complain about a default, which was not typed */
    if (!end || end[1] != '\0')
        return "says not exactly one line";
    if (strlen(err) > 1100)
        return "says too much";
    for (char *const *word = a->argv + 1; *word; word++)
        names |= is_named(err, *word);
    if (!names)
        return "names nothing that was typed";
    if (!strchr(err, ';') && !strstr(err, " takes ") && !strstr(err, "(install "))
        return "offers no cure";
    return NULL;
}

/* True if the echoed command line has the flag with this value. */
static bool is_echoed(const char *line, const struct flag *flag, const char *value)
{
    char *flagged = memory_text(" %s%s", flag->name, flag->kind == SWITCH ? "" : " ");
    bool is = false;
    for (const char *at = line; !is && (at = strstr(at, flagged)); at++) {
        const char *echoed = at + strlen(flagged);
        if (flag->kind == INTEGER || flag->kind == NUMBER) {
            double given = strtod(value, NULL), shown = strtod(echoed, NULL);
            is = !(given < shown) && !(given > shown);
        } else {
            is = strncmp(echoed, value, strlen(value)) == 0;
        }
    }
    free(flagged);
    return is;
}

/* Return the first word that the program silently ignores; NULL if none. If a flag is given twice, the last value counts. */
static const char *find_silent(const struct attempt *a, const char *out)
{
    char *line = memory_text("%.*s", (int)strcspn(out, "\n"), out);
    const char *silent = NULL;
    for (int i = 2; !silent && a->argv[i]; i++) {
        const char *word = a->argv[i], *equals = strchr(word, '=');
        const struct flag *flag = find_flag(a->program, word, equals ? (size_t)(equals - word) : strlen(word));
        if (!flag) {
            silent = word;
            break;
        }
        bool has_value = flag->kind != SWITCH && !equals;
        const char *value = equals ? equals + 1 : has_value && a->argv[i + 1] ? a->argv[++i] : "";
        bool is_last = true;
        for (int later = i + 1; a->argv[later]; later++) {
            size_t length = strcspn(a->argv[later], "=");
            is_last &= find_flag(a->program, a->argv[later], length) != flag;
        }
        bool is_shown = flag->kind != TEXT && strcmp(flag->name, "--dry-run") != 0;
        if (is_last && is_shown && !is_echoed(line, flag, value))
            silent = word;
    }
    free(line);
    return silent;
}

/* Print the command line quoted for a shell, so that it can be repeated by hand. */
static void show_line(const struct attempt *a)
{
    for (char *const *word = a->argv; *word; word++) {
        printf("%s$'", word == a->argv ? "" : " ");
        int shown = 0;
        for (const char *c = *word; *c && shown < 300; c++, shown++)
            if (isprint((unsigned char)*c) && *c != '\'' && *c != '\\')
                putchar(*c);
            else
                printf("\\x%02x", (unsigned char)*c);
        printf("'%s", (*word)[shown] ? "..." : "");
    }
    putchar('\n');
}

static void complain(const struct attempt *a, const struct options *o, const char *what, const char *more,
                     const char *err)
{
    printf("%s%s%s (--seed %d --only %d, status %d, %.2f s of CPU, %.2f s)\n  ", what, *more ? ": " : "", more, o->seed,
           a->index, WIFEXITED(a->status) ? WEXITSTATUS(a->status) : -WTERMSIG(a->status), a->cpu, a->waited);
    show_line(a);
    printf("  %.300s\n", err);
}

static void judge(struct attempt *a, const struct options *o, struct totals *totals)
{
    char *out = read_all(a->out), *err = read_all(a->err);
    int code = WIFEXITED(a->status) ? WEXITSTATUS(a->status) : -1;
    bool asks_help = false;
    for (char *const *word = a->argv; *word; word++)
        asks_help |= strcmp(*word, "--help") == 0;
    totals->tried++;
    if (o->only >= 0)
        printf("%s%s", out, err);
    if (a->was_ended || a->cpu > CPU_MOST_S * patience()) {
        totals->hangs++;
        complain(a, o, "hang", "", err);
    } else if (code < 0) {
        totals->crashes++;
        complain(a, o, "crash", "", err);
    } else if (code != STATUS_RIGHT && code != STATUS_USAGE && code != STATUS_CANNOT) {
        totals->wrong_exits++;
        complain(a, o, "wrong exit", "not 0, 2 or 77", err);
    } else if (code == STATUS_RIGHT) {
        totals->by_status[0]++;
        const char *silent = a->program->first && !asks_help ? find_silent(a, out) : NULL;
        if (*err) {
            totals->wrong_exits++;
            complain(a, o, "wrong exit", "complains, and is content", err);
        } else if (silent) {
            totals->silent++;
            complain(a, o, "silent", silent, out);
        }
    } else {
        totals->by_status[code == STATUS_USAGE ? 1 : 2]++;
        const char *wrong = judge_refusal(a, err);
        if (wrong) {
            totals->wrong_exits++;
            complain(a, o, "wrong exit", wrong, err);
        }
    }
    for (char **word = a->argv; *word; word++)
        free(*word);
    free(out);
    free(err);
    fflush(stdout);
}

/* --- all -------------------------------------------------------------------------------------------------------- */

static void run(const struct options *o, const struct program *programs, struct totals *totals)
{
    struct attempt slots[JOBS_MOST] = { 0 };
    int next = o->only >= 0 ? o->only : 0, end = o->only >= 0 ? o->only + 1 : o->count, running = 0;
    while (next < end || running) {
        bool moved = false;
        for (int i = 0; i < o->jobs; i++) {
            if (slots[i].pid && has_ended(&slots[i])) {
                judge(&slots[i], o, totals);
                slots[i].pid = 0;
                running--;
                moved = true;
            }
            if (!slots[i].pid && next < end) {
                make(&slots[i], o, programs, next++);
                begin(&slots[i]);
                running++;
                moved = true;
            }
        }
        if (!moved)
            pause_briefly();
    }
}

int main(int argc, char **argv)
{
    struct options o = { .count = 1500, .seed = 1, .only = -1, .jobs = 2 };
    const struct option_row *const tables[] = { option_rows, NULL };
    options_parse(tables, &o, "fuzz_flags: random command lines", argc, argv);
    if (o.programs.count == 0)
        die(STATUS_USAGE, "--program names what to try; name one at least");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    struct program *programs = memory_new((size_t)o.programs.count, sizeof *programs);
    for (int i = 0; i < o.programs.count; i++)
        learn(&programs[i], programs, i, o.programs.text[i]);
    if (o.scratch && (mkdir(o.scratch, 0777), chdir(o.scratch)) != 0)
        die(STATUS_USAGE, "--scratch %s cannot be entered; name an empty folder", o.scratch);
    struct totals totals = { 0 };
    run(&o, programs, &totals);
    int left = o.scratch && programs[0].first ? rmdir(o.scratch) != 0 && access("results", F_OK) == 0 : 0;
    if (left)
        printf("a dry run made the folder %s/results\n", o.scratch);
    printf("tried %d, crashes %d, hangs %d, wrong_exits %d, silent %d (accepted %d, refused %d, cannot here %d)\n",
           totals.tried, totals.crashes, totals.hangs, totals.wrong_exits, totals.silent, totals.by_status[0],
           totals.by_status[1], totals.by_status[2]);
    for (int i = 0; i < o.programs.count; i++)
        forget(&programs[i]);
    free(programs);
    return totals.crashes || totals.hangs || totals.wrong_exits || totals.silent || left ? STATUS_WRONG : STATUS_RIGHT;
}
