/* describe_platform: prints a platform file as SimGrid reads it, a line per host: NAME RANKS CORES SPEED DEVICE COSTS
 *
 * RANKS and DEVICE are properties of the host. Set on a <cluster>, they hold for all its hosts; set on the outermost <zone>,
 * for all hosts that do not override them. RANKS: number of ranks the host takes (default 1). DEVICE: "cpu" (real arithmetic,
 * the default) or "model" (the file gives the costs of the work: common/options/work.h). A host with 0 ranks may represent a
 * shared resource, which other hosts name in `memory_bus`. COSTS has a letter per model: y if the host gives the cost of any
 * pass, n if every pass would cost nothing. An unreadable file ends the program; the calling program reads SimGrid's message. */
#include "base/did_you_mean.h"
#include "base/number.h"
#include "options/work.h"
#include "world/property_sim.h"

#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    return strverscmp(sg_host_get_name(*(const sg_host_t *)a), sg_host_get_name(*(const sg_host_t *)b));
}

_Noreturn static void refuse(const char *owner, const char *name, const char *value, const char *cure)
{
    fprintf(stderr, "%s: %s = '%s'; %s\n", owner, name, value, cure);
    exit(EXIT_FAILURE);
}

static const char *const other_properties[] = { "about",  "device",     "ranks",   "sleep_stretch",
                                                "jitter", "memory_bus", "costs_of" };
enum {
    OTHER_PROPERTIES = sizeof other_properties / sizeof *other_properties,
    HOST_PROPERTIES = 4
}; /* the rest may be specific to a model */

/* True if a modelled machine may have this property. An unknown one must be refused, or its cost would silently be 0. */
static bool is_known(const char *name)
{
    for (int i = 0; i < OTHER_PROPERTIES; i++)
        if (strcmp(other_properties[i], i < HOST_PROPERTIES ? name : work_without_model(name)) == 0)
            return true;
    return work_is_cost(name) || work_is_own_cost(name);
}

_Noreturn static void refuse_unknown(const char *owner, const char *name, const char *value)
{
    const char *plain = work_without_model(name);
    char cost[WORK_NAME], cure[256];
    struct did_you_mean spelling = { 0 };
    work_nearest_cost(plain, cost);
    if (*cost)
        did_you_mean_try(&spelling, plain, strlen(plain), cost);
    for (int i = 0; i < OTHER_PROPERTIES; i++)
        did_you_mean_try(&spelling, plain, strlen(plain), other_properties[i]);
    if (spelling.nearest)
        snprintf(cure, sizeof cure, "unknown property; did you mean %.*s%s?", (int)(plain - name), name,
                 spelling.nearest);
    else
        snprintf(cure, sizeof cure,
                 "unknown property; costs have names such as mlp_forward_per_sample_s, and common/options/work.h lists "
                 "them");
    refuse(owner, name, value, cure);
}

/* Refuse a property with an unknown name or a meaningless value. */
static void check(const char *owner, const char *name, const char *value, bool is_modelled)
{
    const char *plain = work_without_model(name);
    size_t length = strlen(name);
    double number = 0;
    bool is_number = number_parse(value, &number);
    if (work_is_cost(name) && !(is_number && number >= 0 && number < 1e6))
        refuse(owner, name, value, "a cost is a number of seconds, 0 or more");
    if (work_is_own_cost(name) && !(is_number && number >= 0))
        refuse(owner, name, value, "a lab's own cost is a number, 0 or more");
    if (!is_known(name) && (is_modelled || (length > 2 && strcmp(name + length - 2, "_s") == 0)))
        refuse_unknown(owner, name, value);
    if (strcmp(plain, "jitter") == 0 && !(is_number && number >= 0 && number <= 1))
        refuse(owner, name, value, "jitter is a share of a step's time, 0 to 1");
    if (strcmp(plain, "costs_of") == 0 && strcmp(value, "published") != 0)
        refuse(owner, name, value, "the only model whose costs can be scaled is published");
    if (strcmp(name, "sleep_stretch") == 0 && !(is_number && number >= 1 && number < 100))
        refuse(owner, name, value, "it must be a factor of 1 or more");
}

static bool is_modelled(sg_host_t host)
{
    const char *device = property_of(host, "device");
    return device && strcmp(device, "model") == 0;
}

static void check_own(sg_host_t host, const char *name, const char *value)
{
    check(sg_host_get_name(host), name, value, is_modelled(host));
}

/* True if the property is where property_of() looks: on the outermost zone or on a host. */
static bool is_somewhere(const char *name, sg_host_t *hosts, size_t count)
{
    bool is_there = sg_zone_get_property_value(property_zone(), name) != NULL;
    for (size_t i = 0; i < count && !is_there; i++)
        is_there = sg_host_get_property_value(hosts[i], name) != NULL;
    return is_there;
}

/* Return the next property name in the file's text; NULL at the end. */
static const char *next_name(const char **text, char *name, size_t size)
{
    const char *tag = strstr(*text, "<prop ");
    const char *id = tag ? strstr(tag, " id=") : NULL;
    if (!id)
        return NULL;
    id += strlen(" id=");
    snprintf(name, size, "%.*s", (int)strcspn(id + 1, (char[]){ *id, '\0' }), id + 1);
    *text = id + 1;
    return name;
}

/* Check the properties of zones. SimGrid's C interface gives the values but not the names, so names come from the file. */
static void check_zones(const char *file, sg_host_t *hosts, size_t count)
{
    char *whole = NULL, name[128];
    size_t size = 0;
    FILE *in = fopen(file, "r");
    if (in && getdelim(&whole, &size, '\0', in) > 0)
        for (const char *at = whole; next_name(&at, name, sizeof name);) {
            const char *value = sg_zone_get_property_value(property_zone(), name);
            if (value)
                check(sg_zone_get_name(property_zone()), name, value, is_modelled(hosts[0]));
            else if (is_known(name) && !is_somewhere(name, hosts, count))
                refuse("a zone within another", name, "", "set it on the outermost zone, or on its hosts");
        }
    free(whole);
    if (in)
        fclose(in);
}

static double slots_of(sg_host_t host)
{
    const char *ranks = property_of(host, "ranks");
    double slots = 1;
    if (ranks && (!number_parse(ranks, &slots) || !(slots >= 0 && slots <= 1e6) || slots != (int)slots))
        refuse(sg_host_get_name(host), "ranks", ranks, "write a whole number");
    return slots;
}

/* Refuse a bus for a host with more ranks than cores: in the simulation, work on the bus occupies no core. */
static void check_bus(sg_host_t host, const char *name)
{
    const char *bus = property_of(host, name);
    if (!bus || slots_of(host) == 0)
        return;
    if (!sg_host_by_name(bus))
        refuse(sg_host_get_name(host), name, bus,
               "no host of this name; give one that takes no ranks and has the bus's speed");
    if (slots_of(sg_host_by_name(bus)) > 0)
        refuse(sg_host_get_name(host), name, bus, "that host takes ranks itself; give it `ranks` 0");
    if (slots_of(host) > sg_host_core_count(host))
        refuse(sg_host_get_name(host), name, bus,
               "a host with its own bus takes at most as many ranks as it has cores");
}

/* Check the buses of all hosts; refuse a bus shared by two hosts. */
static void check_buses(sg_host_t *hosts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        const char *bus = slots_of(hosts[i]) > 0 ? property_of(hosts[i], name) : NULL;
        check_bus(hosts[i], name);
        for (size_t before = 0; bus && before < i; before++) {
            const char *other = slots_of(hosts[before]) > 0 ? property_of(hosts[before], name) : NULL;
            if (other && strcmp(bus, other) == 0)
                refuse(sg_host_get_name(hosts[i]), name, bus, "another host has this bus; give each host its own");
        }
    }
}

static sg_host_t current_host; /* host whose properties property_of_current() returns */

static const char *property_of_current(const char *name)
{
    return property_of(current_host, name);
}

static bool has_costs(enum work_model model)
{
    bool has_any = false;
    for (int pass = 0; pass < WORK_PASSES; pass++) {
        struct cost cost = work_cost(model, (enum work_pass)pass, property_of_current);
        for (int term = 0; term < COST_TERMS; term++)
            has_any |= cost.term[term] > 0;
    }
    return has_any;
}

int main(int argc, char **argv)
{
    simgrid_init(&argc, argv);
    smpi_init_options(); /* a file may set SMPI's options */
    if (argc != 2)
        return EXIT_FAILURE;
    simgrid_load_platform(argv[1]);
    size_t count = sg_host_count();
    if (count == 0)
        return EXIT_SUCCESS;
    sg_host_t *hosts = sg_host_list();
    check_zones(argv[1], hosts, count);
    check_buses(hosts, count, "memory_bus");
    for (int model = 0; model < WORK_MODELS; model++) {
        char name[64];
        snprintf(name, sizeof name, "%s_memory_bus", work_models[model]);
        check_buses(hosts, count, name);
    }
    qsort(hosts, count, sizeof *hosts, compare_names);
    for (size_t i = 0; i < count; i++) {
        const char *name = sg_host_get_name(hosts[i]);
        const char *device = property_of(hosts[i], "device");
        if (device && strcmp(device, "cpu") != 0 && strcmp(device, "model") != 0)
            refuse(name, "device", device, "write cpu or model");
        property_each(hosts[i], check_own);
        if (!(sg_host_get_speed(hosts[i]) > 0))
            refuse(name, "speed", "0", "its ranks would never finish; give the host a speed");
        current_host = hosts[i];
        printf("%s %d %d %.17g %s ", name, (int)slots_of(hosts[i]), sg_host_core_count(hosts[i]),
               sg_host_get_speed(hosts[i]), device ? device : "cpu");
        for (int model = 0; model < WORK_MODELS; model++)
            putchar(has_costs((enum work_model)model) ? 'y' : 'n');
        putchar('\n');
    }
    free(hosts);
    return EXIT_SUCCESS;
}
