/* describe_platform: what SimGrid makes of a platform file, a line per host: NAME RANKS CORES SPEED DEVICE.
 *
 * RANKS and DEVICE are properties of the host (of a <cluster>: of all its hosts): how many ranks it takes (1 unless
 * said), and "cpu" (real arithmetic, the default) or "model" (the file says what the work costs: common/work.h). A host
 * that takes none may stand for what others share: `memory_bus` names it. What SimGrid cannot read ends it; what it says then is read by whoever started it. */
#include "number.h"
#include "work.h"

#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xbt/dict.h>

static int compare_names(const void *a, const void *b)
{
    return strverscmp(sg_host_get_name(*(const sg_host_t *)a), sg_host_get_name(*(const sg_host_t *)b));
}

_Noreturn static void refuse(const char *host, const char *name, const char *value, const char *cure)
{
    fprintf(stderr, "host %s: property %s = '%s'; %s\n", host, name, value, cure);
    exit(EXIT_FAILURE);
}

/* Whether a host that models may have it: what is overlooked would silently be nothing. */
static bool is_known(const char *name)
{
    static const char *const known[] = { "about", "device", "ranks", "sleep_stretch", "jitter", "memory_bus" };
    enum { OF_THE_HOST = 4 }; /* the others may be one model's own */
    for (int i = 0; i < (int)(sizeof known / sizeof *known); i++)
        if (strcmp(known[i], i < OF_THE_HOST ? name : work_without_model(name)) == 0)
            return true;
    return work_is_cost(name);
}

/* What we read must be well spelt and make sense. */
static void check_properties(sg_host_t host)
{
    const char *device = sg_host_get_property_value(host, "device");
    bool is_modelled = device && strcmp(device, "model") == 0;
    xbt_dict_cursor_t cursor = NULL;
    const char *name = NULL;
    void *value = NULL;
    xbt_dict_foreach(sg_host_get_properties(host), cursor, name, value)
    {
        const char *on = sg_host_get_name(host), *plain = work_without_model(name);
        size_t length = strlen(name);
        double number = 0;
        bool is_number = number_parse(value, &number);
        if (work_is_cost(name) && !(is_number && number >= 0 && number < 1e6))
            refuse(on, name, value, "a cost is a number of seconds, 0 or more");
        if (!is_known(name) && (is_modelled || (length > 2 && strcmp(name + length - 2, "_s") == 0)))
            refuse(on, name, value, "there is none of this name; common/work.h lists the costs");
        if (strcmp(plain, "jitter") == 0 && !(is_number && number >= 0 && number <= 1))
            refuse(on, name, value, "jitter is a share of a step's time, 0 to 1");
        if (strcmp(name, "sleep_stretch") == 0 && !(is_number && number >= 1 && number < 100))
            refuse(on, name, value, "a sleep lasts so many times what was asked, 1 or more");
        if (strcmp(plain, "memory_bus") == 0 && !sg_host_by_name(value))
            refuse(on, name, value, "no host of this name; give one that takes no ranks and has the bus's speed");
    }
}

int main(int argc, char **argv)
{
    simgrid_init(&argc, argv);
    smpi_init_options(); /* a file may set SMPI's */
    if (argc != 2)
        return EXIT_FAILURE;
    simgrid_load_platform(argv[1]);
    size_t count = sg_host_count();
    if (count == 0)
        return EXIT_SUCCESS;
    sg_host_t *hosts = sg_host_list();
    qsort(hosts, count, sizeof *hosts, compare_names);
    for (size_t i = 0; i < count; i++) {
        const char *name = sg_host_get_name(hosts[i]);
        const char *ranks = sg_host_get_property_value(hosts[i], "ranks");
        const char *device = sg_host_get_property_value(hosts[i], "device");
        double slots = 1;
        if (ranks && (!number_parse(ranks, &slots) || !(slots >= 0 && slots <= 1e6) || slots != (int)slots))
            refuse(name, "ranks", ranks, "a whole number, please");
        if (device && strcmp(device, "cpu") != 0 && strcmp(device, "model") != 0)
            refuse(name, "device", device, "cpu or model");
        check_properties(hosts[i]);
        printf("%s %d %d %.17g %s\n", name, (int)slots, sg_host_core_count(hosts[i]), sg_host_get_speed(hosts[i]),
               device ? device : "cpu");
    }
    return EXIT_SUCCESS;
}
