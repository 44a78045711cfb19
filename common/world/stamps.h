/* stamps: moments of one rank, for less than world_now() takes.
 *
 * A stamp is the processor's time-stamp counter, if Linux keeps its own time by it: then it is steady, and equal on all cores. It is
 * compared with world_now() before and after each block, outside all timed sections. After the block stamps become seconds: between
 * the two comparisons time is interpolated linearly, as for clocks of hosts (clocks.h). A comparison reads the counter between two readings
 * of the clock, several times, and keeps the narrowest try; its error is half the time between the two readings.
 *
 * The counter is read without a fence, so the processor may read it while earlier instructions are still under way, some tens of
 * nanoseconds early. (PyTorch's profiler reads it in the same way: c10/util/ApproximateClock.h.)
 *
 * Without such a counter, and in a simulated world, a stamp is world_now(). */
#ifndef LOCKSTEP_STAMPS_H
#define LOCKSTEP_STAMPS_H

/* Choose what a stamp is. world_open() of real ranks calls it; without it, a stamp is world_now(). */
void stamps_open(void);

double stamp_now(void);

/* Compare the counter with world_now(), before and after a block. The program ends with STATUS_CANNOT if the two disagree by more than
 * 1 % of the block, as when a machine slept in it. */
void stamps_begin(void);
void stamps_end(void);

/* Return a stamp's time on world_now()'s clock, in seconds; after stamps_end() within stamps_error() of it. */
double stamp_seconds(double stamp);
double stamps_error(void);

#endif
