// What interruptions take, by the time that goes missing from a loop around the clock.
#ifndef RIDGE_COUNT_H
#define RIDGE_COUNT_H

#include <stdint.h>

enum { COUNT_NOTHING, COUNT_TWO_TIMERS, COUNT_ONE_TIMER, COUNT_BARE_TIMER, COUNT_OFF_PHASE };

// Loops for half a second with hz interruptions a second of a kind. Returns the time in ns that turns of the loop took beyond
// the usual, per second of loop times its length, and how often it was interrupted by the timers; negative where none could be made.
double ridge_count(int way, int hz, int64_t *ticks);
double ridge_count_signal(void); // ns of a signal that a thread sends itself
double ridge_count_clock(void);  // ns of reading the clock

#endif
