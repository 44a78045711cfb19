/* train: what a training step is made of. A lab includes this and lab.h, nothing else. */
#ifndef LOCKSTEP_TRAIN_H
#define LOCKSTEP_TRAIN_H

#include "adamw.h"
#include "collective.h"
#include "device.h"
#include "loader.h"
#include "memory.h"
#include "mlp.h"
#include "stall.h"

#endif
