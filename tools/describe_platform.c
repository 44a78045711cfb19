/* describe_platform: what SimGrid makes of a platform file, a line per host: NAME RANKS CORES SPEED DEVICE.
 *
 * RANKS and DEVICE are properties of the host (of a <cluster>: of all its hosts; of the outermost <zone>: of all hosts
 * that do not say otherwise): how many ranks it takes (1 unless said), and "cpu" (real arithmetic, the default) or "model"
 * (the file says what the work costs: common/work.h).
 * What SimGrid cannot read ends it; what it says then is read by whoever started it. */
#include "number.h"
#include "work.h"

#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/zone.h>
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

_Noreturn static void refuse(const char *owner, const char *name, const char *value, const char *cure)
{
    fprintf(stderr, "%s: property %s = '%s'; %s\n", owner, name, value, cure);
    exit(EXIT_FAILURE);
}

/* As world_property() has it (world_sim.c). */
static const char *property(sg_host_t host, const char *name)
{
    const char *own = sg_host_get_property_value(host, name);
    return own ? own : sg_zone_get_property_value(sg_zone_get_root(), name);
}

/* A property that we read must be one of ours, well spelt: a cost that is overlooked would silently be none. */
static void check_cost(const char *owner, const char *name, const char *value)
{
    size_t length = strlen(name);
    double seconds = 0;
    if (length < 2 || strcmp(name + length - 2, "_s") != 0)
        return;
    if (!work_is_property(name))
        refuse(owner, name, value, "no such cost; common/work.h lists them");
    if (!number_parse(value, &seconds) || !(seconds >= 0 && seconds < 1e6))
        refuse(owner, name, value, "a cost is a number of seconds, 0 or more");
}

static void check_host(sg_host_t host)
{
    xbt_dict_cursor_t cursor = NULL;
    const char *name = NULL;
    void *value = NULL;
    xbt_dict_foreach(sg_host_get_properties(host), cursor, name, value)
    {
        check_cost(sg_host_get_name(host), name, value);
    }
}

/* SimGrid tells the value of a zone's property in C, but not which there are; so the names come from the file, which has
 * a <prop> per line. */
static void check_zone(const char *file)
{
    FILE *in = fopen(file, "r");
    char line[1024], name[128];
    while (in && fgets(line, sizeof line, in)) {
        const char *prop = strstr(line, "<prop ");
        if (!prop || sscanf(prop, "<prop id=%*1[\"']%127[^\"']", name) != 1)
            continue;
        const char *value = sg_zone_get_property_value(sg_zone_get_root(), name);
        if (value)
            check_cost(sg_zone_get_name(sg_zone_get_root()), name, value);
    }
    if (in)
        fclose(in);
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
    check_zone(argv[1]);
    qsort(hosts, count, sizeof *hosts, compare_names);
    for (size_t i = 0; i < count; i++) {
        const char *name = sg_host_get_name(hosts[i]);
        const char *ranks = property(hosts[i], "ranks");
        const char *device = property(hosts[i], "device");
        double slots = 1;
        if (ranks && (!number_parse(ranks, &slots) || !(slots >= 0 && slots <= 1e6) || slots != (int)slots))
            refuse(name, "ranks", ranks, "a whole number, please");
        if (device && strcmp(device, "cpu") != 0 && strcmp(device, "model") != 0)
            refuse(name, "device", device, "cpu or model");
        check_host(hosts[i]);
        printf("%s %d %d %.17g %s\n", name, (int)slots, sg_host_core_count(hosts[i]), sg_host_get_speed(hosts[i]),
               device ? device : "cpu");
    }
    return EXIT_SUCCESS;
}
