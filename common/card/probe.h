/* STUB */
#ifndef LOCKSTEP_PROBE_H
#define LOCKSTEP_PROBE_H
#include "card/card.h"
struct world;
struct probe;
struct card card_drifted(const struct card *card, double local, double transfer);
#endif
