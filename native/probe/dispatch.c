// dispatch_portable: nothing, and one number written by the first thread to prove it ran.
//
// No FLOP, 8 bytes. Limit: the team's hand-over and its barrier, which is what is measured.
// Version 1: as described.
#include "../include/ridge_probe.h"

int ridge_dispatch_portable(const void *args, const ridge_ctx *ctx) {
  const ridge_dispatch_args *p = args;
  if (ctx->tid == 0) *p->result = 1;
  return RIDGE_OK;
}
