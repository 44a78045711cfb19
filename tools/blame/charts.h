/* charts: gnuplot's pictures beside the tables. */
#ifndef LOCKSTEP_CHARTS_H
#define LOCKSTEP_CHARTS_H

#include "report/run_report.h"

/* Remove old charts: they would not match the new tables. */
void charts_remove(const char *folder);

/* Draw the charts. Return true on success; else the reason was printed. */
bool charts_draw(const struct report *report, const struct outcome *shown);

#endif
