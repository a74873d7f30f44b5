/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of HPCG's matrices, computed: 26 on the diagonal, and -1 for each neighbour of the 27 points. */
#ifndef BENCH_HPCG_ROWS_H
#define BENCH_HPCG_ROWS_H

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif

struct Box {                 /* along x, y, z */
  int64_t points[3], all[3]; /* of a rank, and of all */
  int64_t first[3];          /* of this rank */
  int64_t ranks[2];
};

struct Rows { /* CSR; of col and wide one is NULL */
  int64_t *ptr, *wide;
  int32_t *col;
  double *val;
};

/* Points from one before to one behind. */
inline BOTH int64_t Near(const Box &box, int axis, int64_t k)
{
  int64_t g = box.first[axis] + k;
  return 3 - (g == 0) - (g == box.all[axis] - 1);
}

/* The sum of Near of the first k points. */
inline BOTH int64_t Before(const Box &box, int axis, int64_t k)
{
  return k == 0 ? 0 : 3 * k - (box.first[axis] == 0) - (box.first[axis] + k == box.all[axis]);
}

/* Entries of the rows before (x, y, z). */
inline BOTH int64_t Start(const Box &box, int64_t x, int64_t y, int64_t z)
{
  int64_t line = Before(box, 0, box.points[0]), plane = line * Before(box, 1, box.points[1]);
  return Before(box, 2, z) * plane +
         Near(box, 2, z) * (Before(box, 1, y) * line + Near(box, 1, y) * Before(box, 0, x));
}

/* HPCG numbers points of the whole grid line by line, Poise rank by rank: rank r has a box, line by line. */
inline BOTH int64_t RowOf(const Box &box, const int64_t at[3])
{
  int64_t own[3], rank[3];
  for (int a = 0; a < 3; a++) rank[a] = at[a] / box.points[a], own[a] = at[a] % box.points[a];
  int64_t before = rank[0] + box.ranks[0] * (rank[1] + box.ranks[1] * rank[2]);
  return ((before * box.points[2] + own[2]) * box.points[1] + own[1]) * box.points[0] + own[0];
}

/* Row i of this rank, with its columns in order. */
template <typename Int> BOTH void MakeRow(const Box &box, int64_t i, int64_t *ptr, Int *col, double *val)
{
  int64_t x = i % box.points[0], y = i / box.points[0] % box.points[1], z = i / box.points[0] / box.points[1];
  int64_t start = Start(box, x, y, z), end = start, to[3];
  for (to[2] = box.first[2] + z - 1; to[2] <= box.first[2] + z + 1; to[2]++)
    for (to[1] = box.first[1] + y - 1; to[1] <= box.first[1] + y + 1; to[1]++)
      for (to[0] = box.first[0] + x - 1; to[0] <= box.first[0] + x + 1; to[0]++) {
        bool inside = true;
        for (int a = 0; a < 3; a++) inside = inside && to[a] >= 0 && to[a] < box.all[a];
        if (!inside) continue;
        bool own = to[0] == box.first[0] + x && to[1] == box.first[1] + y && to[2] == box.first[2] + z;
        Int column = static_cast<Int>(RowOf(box, to));
        int64_t k = end++;
        for (; k > start && col[k - 1] > column; k--) col[k] = col[k - 1], val[k] = val[k - 1];
        col[k] = column;
        val[k] = own ? 26 : -1;
      }
  ptr[i + 1] = end;
  if (i == 0) ptr[0] = 0;
}

/* Makes n rows in the memory of the GPU that the stream is of, which cudaFree frees, or tells in words. */
const char *MakeRowsOnGpu(void *stream, const Box &box, int64_t n, bool wide, Rows *rows);

#endif
