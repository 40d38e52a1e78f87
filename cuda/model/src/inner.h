// What the parts of the model ask of each other while a kernel runs.
#ifndef RIDGE_MODEL_INNER_H
#define RIDGE_MODEL_INNER_H

#include "memory.h"

namespace ridge_model {

// Ends the launch: the fibers are left as they are and started anew by the next block.
[[noreturn]] void fail(int code, const std::string &what);
// The thread of the block that runs, from 0.
unsigned running();
// Checks n bytes; align is what an instruction of this width demands.
void access(void *p, size_t n, Access kind, size_t align);
// An asynchronous copy of the running thread has come to rest there.
void landed(void *p, size_t n);
// Waits for all lanes of the warp; the last one calls f on what each brought. It orders no memory.
void warp_together(void *mine, void (*f)(void *const lanes[32]), const char *what, const char *file, int line);

// Of async.cc, at the beginning of a block and at the end of a thread.
void copies_reset(unsigned threads);
void copies_end();

} // namespace ridge_model
#endif
