/* train: what a training step is made of. A lab includes this and lab.h, nothing else. */
#ifndef LOCKSTEP_TRAIN_H
#define LOCKSTEP_TRAIN_H

#include "buckets.h"
#include "collective.h"
#include "device.h"
#include "memory.h"
#include "peers.h"
#include "stall.h"
#include "sweep.h"
#include "sweep_table.h"
#include "text_trainer.h"
#include "token_table.h"
#include "trainer.h"

#endif
