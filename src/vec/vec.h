/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors as the upper layers see them: layout, buffer, halo. */
#ifndef POISE_VEC_IMPL_H
#define POISE_VEC_IMPL_H

#include "../sys/sys.h"
#include "poise/vec.h"

/* ---- layout (layout.c): which rank owns which rows; shared by reference -------------------------------------------- */

typedef struct Layout {
  PoiseContext ctx;
  int refs;
  PoiseInt N, begin, n;
  PoiseInt *start; /* size + 1 */
} Layout;

/* n or N may be POISE_DECIDE. Collective; agrees. `what` names the object in messages. */
PoiseErr poiseLayoutCreate(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *what, Layout **layout);
Layout *poiseLayoutShare(Layout *layout);
void poiseLayoutDestroy(Layout **layout);
int poiseLayoutOwner(const Layout *layout, PoiseInt row);
bool poiseLayoutSame(const Layout *a, const Layout *b); /* on this rank and in total: equal on all when all say so */

/* ---- stash (stash.c): entries added for rows of any rank, sent to their owners -------------------------------------- */

typedef struct Entry {
  PoiseInt row, col;
  double value;
} Entry;

typedef struct Stash {
  Entry *entry;
  int64_t n, capacity;
} Stash;

PoiseErr poiseStashAdd(PoiseContext ctx, Stash *s, PoiseInt row, PoiseInt col, double value);
/* Replace the contents by the entries of rows that this rank owns, its own first, then in order of sending rank; those of one
   rank in the order of adding. So sums have the same order as when own entries are added in place. Collective; agrees. */
PoiseErr poiseStashExchange(PoiseContext ctx, Stash *s, const Layout *rows);
void poiseStashDestroy(PoiseContext ctx, Stash *s);

/* ---- values added or set and not yet assembled (pending.c) ------------------------------------------------------------ */

enum { ADDING = 1, SETTING = 2 };

typedef struct Pending {
  int mode;        /* ADDING or SETTING; 0: nothing */
  PoiseErr failed; /* the first call that failed, and its words */
  char words[256];
} Pending;

/* Adding and setting do not mix; `assemble` names what must come between. */
PoiseErr poisePendingMode(const Pending *p, int mode, const char *assemble);
/* Keep a failure of a call that adds or sets. Returns e. */
PoiseErr poisePendingKeep(Pending *p, PoiseErr e);
/* What all ranks did (*mode: one of the two; 0 and an error if both). A kept failure is reported, and forgotten. Collective. */
PoiseErr poisePendingAgree(PoiseContext ctx, Pending *p, const char *assemble, int *mode);

/* ---- local-to-global maps (map.c) ---------------------------------------------------------------------------------- */

typedef struct Map {
  PoiseInt n, *global; /* NULL: none was given */
} Map;

PoiseErr poiseMapSet(PoiseContext ctx, PoiseInt n, const PoiseInt *global, PoiseInt N, const char *what, Map *map);
void poiseMapDestroy(PoiseContext ctx, Map *map);

typedef struct Indices { /* rows or columns that a user gives: global, or numbers in a map */
  PoiseInt n;
  const PoiseInt *index;
  const Map *map; /* may be NULL */
} Indices;

PoiseErr poiseIndexBeyond(PoiseInt i, int64_t place, PoiseInt N, const char *what, const char *object); /* that error */
/* Are all below N, or in the map? `what` ("row") and `object` ("vector") are for the message. */
PoiseErr poiseValuesCheck(int64_t n, const double *v);
PoiseErr poiseIndicesCheck(const Indices *x, PoiseInt N, const char *what, const char *object);
/* The k-th global index, negative if it is to be ignored. */
static inline PoiseInt poiseIndex(const Indices *x, PoiseInt k)
{
  PoiseInt i = x->index[k];
  return i >= 0 && x->map ? x->map->global[i] : i;
}

/* ---- vector (vec.c) ------------------------------------------------------------------------------------------------- */

struct PoiseVec_s {
  PoiseContext ctx;
  Layout *layout;
  Buffer data;
  Stash stash;
  Pending pending;
  Map map;
};

PoiseErr poiseVecCreateLayout(Layout *layout, PoiseVec *x); /* shares the layout; agrees */
/* The same, but the caller agrees, and destroys after a failure. */
PoiseErr poiseVecCreateLocal(Layout *layout, PoiseVec *x);
/* A vector that lies in others, one after the other: pointed at a part of the device memory of one before each use. What is
   written to it on the host is in that memory after the next poiseVecRead. The caller agrees, and destroys after a failure. */
PoiseErr poiseVecCreateWindow(Layout *layout, PoiseVec *x);
void poiseVecPoint(PoiseVec x, const double *part);
/* Device pointers to the local entries, as Read, Write, Update of buffer.c. */
PoiseErr poiseVecRead(PoiseVec x, const double **p);
PoiseErr poiseVecWrite(PoiseVec x, double **p);
PoiseErr poiseVecUpdate(PoiseVec x, double **p);
PoiseErr poiseVecCheckSame(PoiseVec x, const char *xname, PoiseVec y, const char *yname);
/* The dots of y in a pass of their own, for whoever cannot take them while finishing rows. */
PoiseErr poiseVecFuse(PoiseVec y, const double *skip, const Fuse *fuse);
bool poiseSquaresHold(double sum); /* did they add up to this without under- or overflow? NaN did */
/* If not: two factors for entries of this size at most, as their product may overflow. A norm is taken back by the power
   of two that is the value. */
int poiseScaleSquares(double largest, double scale[2]);
/* Finish an eager reduction: k sums (maxima) of nblock partials each in the context's scratch, over all ranks. `mine` is this
   rank's error so far: whoever failed, all fail. */
PoiseErr poiseReduceFinish(PoiseContext ctx, PoiseErr mine, int k, int64_t nblock, bool max, double *result);

/* ---- files (load.c) -------------------------------------------------------------------------------------------------- */

typedef enum FileKind { FILE_MATRIX_MARKET, FILE_PETSC } FileKind;

/* What a file holds, by its first bytes, which rank 0 looks at; POISE_ERR_FORMAT shows them when it is something else.
   Collective; agrees. */
PoiseErr poiseFileKind(PoiseContext ctx, const char *path, FileKind *kind);

/* ---- halo (halo.c): remote entries of a vector ------------------------------------------------------------------------ */

typedef struct Halo {
  PoiseContext ctx;
  int64_t nghost, nsend;
  Exchange ex;        /* owned entries out, ghosts in; also used backwards */
  Exchange back;      /* ghosts out, owned entries in */
  Buffer index;       /* int32 [nsend]: the owned entries to send */
  Buffer send, ghost; /* device sides of the exchanged entries */
  PoiseErr pending;   /* this rank's failure between Begin and End */
} Halo;

/* One side of an exchange of doubles: ranks, offsets and buffer, from bytes per rank; *count is 0 on entry. */
PoiseErr poiseExchangeSide(PoiseContext ctx, const int64_t *bytes, int *count, int **rank, int64_t **start,
                           double **buffer);
void poiseExchangeDestroy(PoiseContext ctx, Exchange *ex, bool buffers);
/* ghost: ascending global indices that other ranks own. Collective; agrees. */
PoiseErr poiseHaloCreate(const Layout *layout, int64_t nghost, const PoiseInt *ghost, Halo **halo);
void poiseHaloDestroy(Halo **halo);
void poiseHaloBytes(const Halo *halo, PoiseBytes *sum); /* sum += what it holds; NULL: nothing */
void poiseHaloPredict(const Device *dev, int64_t nghost, int64_t nsend, PoisePrediction *p);
/* Start to fetch the ghosts of x (device pointer); End gives them (device pointer; valid until the next Begin). The exchange
   takes place even if this rank fails (mine: it has already, x is not read), so that nobody waits for it in vain; End says so. */
PoiseErr poiseHaloBegin(Halo *halo, PoiseErr mine, const double *x);
PoiseErr poiseHaloEnd(Halo *halo, const double **ghost);
/* y[owner's entry] += ghost entries of all ranks, in rank order. ghost: device pointer. */
PoiseErr poiseHaloReverse(Halo *halo, PoiseErr mine, double *y);
PoiseErr poiseHaloGhostWrite(Halo *halo, double **ghost); /* where to put what Reverse sends */
/* The same two for host arrays, at once. ghost and what poiseHaloHostGhosts gives: host pointers, valid until the next exchange.
   Collective; the exchange takes place whatever mine is. */
PoiseErr poiseHaloHost(Halo *halo, PoiseErr mine, const double *x, const double **ghost);
PoiseErr poiseHaloHostReverse(Halo *halo, PoiseErr mine, double *y);
double *poiseHaloHostGhosts(Halo *halo); /* where to put what HostReverse sends */

#endif
