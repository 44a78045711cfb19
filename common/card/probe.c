#include "card/probe.h"
struct card card_drifted(const struct card *card, double local, double transfer) { (void)local; (void)transfer; return *card; }
