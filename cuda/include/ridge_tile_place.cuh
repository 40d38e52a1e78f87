// In which order the tiles of C are taken: those that run together share rows of A and columns of B in the second-level cache.
#ifndef RIDGE_TILE_PLACE_CUH
#define RIDGE_TILE_PLACE_CUH

#include "ridge_cuda.cuh"

struct TilePlace {
  int64_t row, column;
};

// Tile number `tile` of down × across, in groups of 8 rows of tiles.
__device__ __forceinline__ TilePlace tile_place(int64_t tile, int64_t down, int64_t across) {
  const int64_t group = tile / (8 * across), first = 8 * group, rows = min(down - first, (int64_t)8), within = tile - first * across;
  return {first + within % rows, within / rows};
}

#endif
