/* SPDX-License-Identifier: BSD-3-Clause */
/*
  How a phase is written and called: one pass over vectors with a scalar prologue. Host and GPU compile the
  same text, which stands in <stem>_phases.h and has a line in phases.def:

    PROLOGUE(name) { ... }     what is done once, with scalars. It sees
        in[SLOT], out[SLOT]    the slots to read and to set (none outside solvers). It never reads a slot that
                               it sets, as other blocks may be reading.
        a                      the arguments (PhaseArgs): a->parity, a->flags, a->k, ...
        c[0], c[1], ...        coefficients, which it sets for the rows
      and returns 0 to skip the rows. It is run more than once: blocks of rows want its coefficients and its
      result only, and have no a->array.
    ELEMENTWISE(name) { ... }  what is done for each row i. It sees c, a and i, and returns what the row adds
                               to the dots.
        READ(X)                entry i of operand X; not after an assignment to it
        OUT(X)                 entry i of operand X, to be assigned or changed in place
        a->in[X], a->out[X]    NULL: operand X is absent
        a->out_f32[i]          entry i of a vector in fp32, to be assigned

  A phase marked F32 is compiled for vectors in fp32 too. READ and OUT then convert entries. c, sums and dots
  are fp64.

  A phase of scalars alone has no ELEMENTWISE: SCALARS(name) in phases.def.

  Operands are constants of an enum next to the phase, below POISE_MAX_VECS. A call gives vectors for them:
    (PhaseArgs){READS(CG_D, d), UPDATES(CG_X, x), WRITES(CG_P, p)}

  A phase marked EXCHANGES can add its sums over ranks, and exchange a vector that it writes, by itself. In a
  call, SENDS(p) says that a product reads p next.
*/
#ifndef POISE_PHASE_H
#define POISE_PHASE_H

#include "kernels.h"

#define POISE_UNUSED __attribute__((unused))

#define PROLOGUE(name)                                                                   \
  POISE_INLINE int name##_begin(POISE_UNUSED const double *in, POISE_UNUSED double *out, \
                                POISE_UNUSED const PhaseArgs *a, POISE_UNUSED double *c)

#define ELEMENTWISE(name)                                                                         \
  POISE_INLINE Dots name##_element(POISE_UNUSED const double *c, POISE_UNUSED const PhaseArgs *a, \
                                   POISE_UNUSED int64_t i)

#define READ(operand) poiseRead(a, operand, i)
#ifdef __CUDACC__
#define OUT(operand) poiseOut(a, operand, i)
#else
#define OUT(operand) a->out[operand][i]
#endif

/* Operands in a list of PhaseArgs. UPDATES: read and written. */
#define READS(operand, v)   .in[operand] = (v)
#define WRITES(operand, v)  .out[operand] = (v)
#define UPDATES(operand, v) .in[operand] = (v), .out[operand] = (v)
#define SENDS(v)            .send.push.x = (v)

/* F32(read, written) in phases.def, as bits of a phase's kind: which operands are then in fp32. */
enum {
  PHASE_F32 = 1 << 4,
  PHASE_READ_AT = 8,
  PHASE_WRITTEN_AT = 16,
  PHASE_OPERANDS = (1 << POISE_MAX_VECS) - 1
};
#define F32(read, written)                                   \
  (PHASE_F32 | (PHASE_OPERANDS & ~(read)) << PHASE_READ_AT | \
   (PHASE_OPERANDS & ~(written)) << PHASE_WRITTEN_AT)

#ifdef __CUDACC__
struct PhaseRow : PhaseArgs { /* with entries of in, which a GPU prefetches */
  double read[POISE_MAX_VECS];
  int written; /* bits of the operands in out that are in fp32, a constant where this is inlined */
};

struct PhaseEntry { /* of out, in either type */
  double *f64;
  float *f32; /* NULL: it is the other */
  __host__ __device__ __forceinline__ operator double() const
  {
    return f32 ? (double)*f32 : *f64;
  }
  __host__ __device__ __forceinline__ double operator=(double v) const
  {
    if (f32) return *f32 = (float)v;
    return *f64 = v;
  }
  __host__ __device__ __forceinline__ double operator=(const PhaseEntry &v) const
  {
    return *this = (double)v;
  }
  __host__ __device__ __forceinline__ double operator+=(double v) const
  {
    return *this = (double)*this + v;
  }
};

POISE_INLINE PhaseEntry poiseOut(const PhaseArgs *a, int k, int64_t i)
{
  bool single = ((const PhaseRow *)a)->written >> k & 1;
  return {a->out[k] + i, single ? (float *)a->out[k] + i : NULL};
}
#endif

/* Entry i of in[k], for the element i that a was given to. */
POISE_INLINE double poiseRead(const PhaseArgs *a, int k, int64_t i)
{
#ifdef __CUDACC__
  (void)i;
  return ((const PhaseRow *)a)->read[k];
#else
  return a->in[k][i];
#endif
}

POISE_INLINE Dots poiseDots(double d0, double d1, double d2)
{
  Dots t;
  t.d[0] = d0, t.d[1] = d1, t.d[2] = d2, t.d[3] = t.d[4] = 0;
  return t;
}

/* ---- wide vectors ---------------------------------------------------------------------------- */

/* The scalars and partials of column j in place of those of all columns. */
POISE_INLINE void poisePhaseOfColumn(PhaseArgs *a, int j)
{
  int64_t to = poiseScalarsOf(&a->systems, j);
  if (a->slots) a->slots += to;
  if (a->skip) a->skip += to;
  if (a->array) a->array += poiseArrayOf(&a->systems, j);
  if (a->conv.history) a->conv.history += to;
  if (a->conv.unclaimed) a->conv.unclaimed += to;
  for (int k = 0; k < POISE_MAX_COEFS; k++)
    if (a->c[k].slot) a->c[k].slot += to;
  for (int k = 0; k < POISE_MAX_SUMS; k++) {
    if (k >= a->nsum) break;
    a->sum[k].dst += to;
    a->sum[k].partial += j * a->sum[k].column;
  }
}

/* What all columns together look like, in the slots in front of theirs: as one system that is done when few
   enough go on, with the largest norm, and the least reason of those that do not. */
POISE_INLINE void poiseJoinSystems(const PhaseArgs *a)
{
  double *all = a->slots;
  double its[2] = {0, 0}, norm = 0, norm0 = 0, last = 0, reason = 1e9;
  int running = 0;
  for (int j = 0; j < a->systems.n; j++) {
    const double *s = a->slots + poiseScalarsOf(&a->systems, j);
    running += s[SLOT_DONE] == 0;
    for (int p = 0; p < 2; p++) its[p] = s[SLOT_ITS + p] > its[p] ? s[SLOT_ITS + p] : its[p];
    if (s[SLOT_DONE] != 0) {
      last = s[SLOT_ITS_FINAL] > last ? s[SLOT_ITS_FINAL] : last;
      reason = s[SLOT_REASON] < reason ? s[SLOT_REASON] : reason;
    }
    norm = poiseLarger(norm, s[SLOT_NORM]);
    norm0 = poiseLarger(norm0, s[SLOT_NORM0]);
  }
  double most = its[0] > its[1] ? its[0] : its[1];
  if (running) last = most;
  all[SLOT_ITS] = its[0], all[SLOT_ITS_ODD] = its[1], all[SLOT_ITS_FINAL] = last;
  all[SLOT_NORM] = norm, all[SLOT_NORM0] = norm0;
  all[SLOT_REASON] = reason;
  all[SLOT_DONE] = running <= a->systems.enough;
  all[SLOT_SEEN] = !running;
  a->conv.history[(int64_t)most & a->conv.mask] = norm;
}

/* The prologue of a phase without slots: its scalars are the coefficients. */
POISE_INLINE int poiseTakeScalars(const PhaseArgs *a, double *c)
{
  for (int k = 0; k < POISE_MAX_COEFS; k++) c[k] = poiseScalar(a->c[k]);
  return 1;
}

#endif
