/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of triplets, and what is known of them while it is made (triplets.c, triplet_*.c). */
#ifndef POISE_MAT_TRIPLET_PLAN_H
#define POISE_MAT_TRIPLET_PLAN_H

#include "coo.h"
#include "mat/csr/row_arrays.h"
#include "mat/object/mat.h"
#include "sys/link/alltoall.h"

typedef struct Triplets {
  int64_t ngiven;                /* how many values the user gives, */
  int numbers;                   /* scalars of each value */
  int64_t built;                 /* of the CSR that this was made for */
  int64_t block, nblock;         /* entries of each block but the last, which may have fewer */
  uint16_t *to;                  /* for each value the place of its entry in the window of the run */
  struct Run *run;               /* as the values are given */
  int64_t *first_to, *first_run; /* of every block */
  TripletMap map;                /* on a device, instead of these four */
  bool permutes, wide;           /* each entry is one value, and all stay here; from is int64, else uint32 */
  void *from;                    /* then, on the host, instead of all these: the value of each entry */
  int64_t *send;                 /* places of the scalars for other ranks, in rank order; NULL: the map's */
  Exchange ex;                   /* of values */
} Triplets;

/* A pattern in the making. */
typedef struct TripletPattern {
  struct SharedRows *shared;                   /* instead of indices; or NULL */
  Indices rows, cols;                          /* as given */
  int given;                                   /* b: each triplet stands for b x b scalar triplets, column
                                                  by column; else 1 */
  int unit;                                    /* b: triplets and entries are blocks of b x b scalars; else
                                                  1 */
  int side;                                    /* b: triplets are scalars, and entries are blocks; else 1 */
  int64_t n;                                   /* triplets */
  Side where;                                  /* the indices are */
  PoiseInt *fetched[2];                        /* copies of them on the host */
  Stash stash;                                 /* triplets of other ranks' rows; then those received */
  int64_t *bytes, *received, *gathered, *next; /* bytes of values per rank to send and receive; those of
                                                  all ranks; cursors */
  Term *term;                                  /* by row: column and place of the value */
  Span *span;                                  /* rows of entries of each block of values */
  uint32_t *inrow;                             /* for each value the place of its entry in the row */
  struct Open *open;                           /* of every block */
  int64_t *seen;                               /* for every STEP entries; both of triplet_runs.c */
  RowArrays arrays;
  Keys keys;            /* of triplets that stay on the device, */
  Buffer foreign, came; /* but for those of other ranks' rows; those of this rank's rows, from others */
  int64_t nforeign, ncame;
} TripletPattern;

/* Row and column of triplet k, which may be negative. */
static inline PoiseInt poiseTripletRow(const TripletPattern *p, int64_t k)
{
  int64_t b = p->given;
  if (b == 1) return p->rows.index[k];
  PoiseInt row = p->rows.index[k / (b * b)];
  return row < 0 ? row : row * b + k % b;
}

static inline PoiseInt poiseTripletColumn(const TripletPattern *p, int64_t k)
{
  int64_t b = p->given;
  if (b == 1) return p->cols.index[k];
  PoiseInt col = p->cols.index[k / (b * b)];
  return col < 0 ? col : col * b + k % (b * b) / b;
}

/* This rank's row of entries for a row of triplets. */
static inline int64_t poiseTripletEntryRow(PoiseMat A, const TripletPattern *p, PoiseInt row)
{
  int64_t local = row - A->rows->begin / p->unit;
  return p->side == 1 ? local : local / p->side;
}

/* The row of entries for value k, of those given and received; -1: it is ignored, or another rank's. */
static inline int64_t poiseTripletHere(PoiseMat A, const TripletPattern *p, int64_t k)
{
  if (k >= p->n) return poiseTripletEntryRow(A, p, p->stash.entry[k - p->n].row);
  const Layout *l = A->rows;
  PoiseInt row = poiseTripletRow(p, k);
  if (row < 0 || poiseTripletColumn(p, k) < 0) return -1; /* any number below 0, so it is not multiplied */
  PoiseInt at = row * p->unit;
  return at >= l->begin && at < l->begin + l->n ? poiseTripletEntryRow(A, p, row) : -1;
}

static inline PoiseInt poiseTripletColumnOf(const TripletPattern *p, int64_t k)
{
  return k < p->n ? poiseTripletColumn(p, k) : p->stash.entry[k - p->n].col;
}

/* The entry of value k; -1: none on this rank. */
static inline int64_t poiseTripletEntry(PoiseMat A, const TripletPattern *p, int64_t k)
{
  int64_t b = p->side, row = poiseTripletHere(A, p, k);
  if (row < 0) return -1;
  int64_t entry = p->arrays.ptr[row] + p->inrow[k];
  if (b == 1) return entry;
  PoiseInt scalar = k < p->n ? poiseTripletRow(p, k) : p->stash.entry[k - p->n].row;
  return (entry * b + poiseTripletColumnOf(p, k) % b) * b + scalar % b;
}

/* Threads have shares of the rows. Each looks at the blocks of values, of POISE_BLOCK, that have some of its
   rows. */
static inline int64_t poiseTripletBlocks(const TripletPattern *p)
{
  return POISE_NBLOCKS(p->n + p->stash.n);
}

/* The end of a block of values. */
static inline int64_t poiseTripletBlockEnd(const TripletPattern *p, int64_t block)
{
  int64_t end = (block + 1) * POISE_BLOCK, n = p->n + p->stash.n;
  return end < n ? end : n;
}

/* The number of entries of the plan. If triplets are scalars, these are the scalars of the blocks. */
static inline int64_t poiseTripletEntries(PoiseMat A, const TripletPattern *p)
{
  return p->arrays.ptr[A->rows->n / (p->unit * p->side)] * p->side * p->side;
}

/* triplet_owners.c */
/* Does the device make the pattern? Then only what goes to other ranks comes to the host. */
bool poiseTripletsStay(PoiseMat A, const TripletPattern *p);
/* Check the indices, and note what goes to other ranks. Local. */
PoiseErr poiseTripletsFindOwners(PoiseMat A, Triplets *t, TripletPattern *p);
/* Send triplets to their owners, in the order in which values will travel: by rank, and those of one rank
   in their order. p->gathered: bytes of all ranks. Collective; where triplets stay the caller agrees. */
PoiseErr poiseTripletsRoute(PoiseMat A, Triplets *t, TripletPattern *p);
/* Those that this rank has received join the keys of its own. Local. */
PoiseErr poiseTripletsJoin(PoiseMat A, Triplets *t, TripletPattern *p);

/* triplet_rows.c: rows of entries, p->arrays, from the triplets of this rank's rows; p->inrow. Local. */
PoiseErr poiseTripletsMakeRows(PoiseMat A, TripletPattern *p);

/* triplet_runs.c: make the plan for the host. Local. */
PoiseErr poiseTripletsMakeRuns(PoiseMat A, Triplets *t, TripletPattern *p);
/* val = or += the sums of the values v and of those received; n: scalars of val. */
void poiseTripletsSumRuns(PoiseContext ctx, const Triplets *t, int64_t n, const double *v, bool add,
                          double *val);

/* triplet_permuted.c: val = or += the values v in their new places. */
void poiseTripletsGather(PoiseContext ctx, const Triplets *t, const double *v, bool add, double *val);

#endif
