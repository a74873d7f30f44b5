/* SPDX-License-Identifier: BSD-3-Clause */
/* What is seen of a matrix before a method or a preconditioner is chosen for it. */
#ifndef POISE_PC_FACTS_H
#define POISE_PC_FACTS_H

#include "mat/object/mat.h"

typedef struct Facts { /* of A, on all ranks alike */
  double rows, entries;
  bool gpu;                        /* where incomplete factors take long, as their rows wait for others */
  bool stored;                     /* it has entries to look at, else it is a shell */
  bool symmetric;                  /* its products are, to rounding */
  double positive, negative, zero; /* entries of the diagonal, if it is stored */
  double small;    /* of the diagonal that are not 0, but far below the largest of their row, if looked for */
  double envelope; /* places of rows from their first to their last entry, on the host; INFINITY: unknown */
  double direct;   /* what sparse factors cost, in products; 0: not foreseen; INFINITY: none */
  double match;    /* what a matching and its copy cost, in products */
  bool singular;   /* for want of a matching */
} Facts;

/* Look at A: two products, and its diagonal. Collective; agrees. */
PoiseErr poiseLookAt(PoiseMat A, Facts *f);
/* The same for small entries of the diagonal of a stored A, by a pass over its entries on the host. */
PoiseErr poiseLookAtSmall(PoiseMat A, Facts *f);

/* A definite matrix has a diagonal of one sign. */
static inline bool poiseMayBeDefinite(const Facts *f)
{
  return f->stored && f->symmetric && (f->positive == f->rows || f->negative == f->rows);
}

/* Of fewer rows incomplete factors are good enough, and made sooner than levels. */
static inline bool poiseMayBeLargeDefinite(const Facts *f)
{
  return poiseMayBeDefinite(f) && f->rows > 20000;
}

/* An option and its value, as one choice among others gives them. */
typedef struct Word {
  const char *key, *value;
} Word;
enum { WORDS = 4 };

/* Set those that the application has not set (mine[k]), or clear these again. Local. */
PoiseErr poiseWordsSet(PoiseContext ctx, const char *prefix, const Word words[WORDS], bool mine[WORDS]);
PoiseErr poiseWordsClear(PoiseContext ctx, const char *prefix, const Word words[WORDS],
                         const bool mine[WORDS]);

#endif
