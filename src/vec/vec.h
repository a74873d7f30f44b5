/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors as the upper layers see them: layout, buffer, halo. */
#ifndef POISE_VEC_IMPL_H
#define POISE_VEC_IMPL_H

#include "sys/sys.h"
#include "poise/vec.h"

/* ---- layout (layout.c): which rank owns which rows; shared by reference ---------------------- */

typedef struct Layout {
  PoiseContext ctx;
  int refs;
  PoiseInt N, begin, n;
  PoiseInt *start; /* size + 1 */
  int columns;     /* of a wide vector; else 1 */
} Layout;

/* n or N may be POISE_DECIDE. `what` names the object in messages. Collective; agrees. */
PoiseErr poiseLayoutCreate(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *what, Layout **layout);
/* The same rows, of k columns. Local. */
PoiseErr poiseLayoutColumns(const Layout *layout, int k, Layout **wide);
Layout *poiseLayoutShare(Layout *layout);
void poiseLayoutDestroy(Layout **layout);
int poiseLayoutOwner(const Layout *layout, PoiseInt row);
/* equal on this rank and in total, and in columns; so equal everywhere if all ranks say so */
bool poiseLayoutSame(const Layout *a, const Layout *b);

/* ---- stash (stash.c): entries added for rows of any rank, sent to their owners --------------- */

typedef struct Entry {
  PoiseInt row, col;
  double value;
} Entry;

typedef struct Stash {
  Entry *entry;
  int64_t n, capacity;
} Stash;

PoiseErr poiseStashAdd(PoiseContext ctx, Stash *s, PoiseInt row, PoiseInt col, double value);
/* Replace the contents by all entries of this rank's rows: its own first, then in order of the sending
   rank. Those of one rank keep their order of adding. So sums have the same order as if own entries were
   added in place. Collective; agrees. */
PoiseErr poiseStashExchange(PoiseContext ctx, Stash *s, const Layout *rows);
void poiseStashDestroy(PoiseContext ctx, Stash *s);

/* ---- values added or set and not yet assembled (pending.c) ----------------------------------- */

enum { ADDING = 1, SETTING = 2 };

typedef struct Pending {
  int mode;        /* ADDING or SETTING; 0: nothing */
  PoiseErr failed; /* the first call that failed, and its words */
  char words[256];
} Pending;

/* Refuse to mix adding and setting; `assemble` names the call that must come between them. */
PoiseErr poisePendingMode(const Pending *p, int mode, const char *assemble);
/* Keep a failure of a call that adds or sets. Returns e. */
PoiseErr poisePendingKeep(Pending *p, PoiseErr e);
/* *mode = what all ranks did: added or set; 0 and an error if both. A kept failure is reported, and
   forgotten. Collective. */
PoiseErr poisePendingAgree(PoiseContext ctx, Pending *p, const char *assemble, int *mode);

/* ---- local-to-global maps (map.c) ------------------------------------------------------------ */

typedef struct Map {
  PoiseInt n, *global; /* NULL: none was given */
} Map;

PoiseErr poiseMapSet(PoiseContext ctx, PoiseInt n, const PoiseInt *global, PoiseInt N, const char *what,
                     Map *map);
void poiseMapDestroy(PoiseContext ctx, Map *map);

typedef struct Indices { /* rows or columns that a user gives: global, or local numbers of a map */
  PoiseInt n;
  const PoiseInt *index;
  const Map *map; /* may be NULL */
} Indices;

/* that error */
PoiseErr poiseIndexBeyond(PoiseInt i, int64_t place, PoiseInt N, const char *what, const char *object);
/* Are all indices below N, or in the map? `what` ("row") and `object` ("vector") are for the message. */
PoiseErr poiseValuesCheck(int64_t n, const double *v);
PoiseErr poiseIndicesCheck(Device *dev, const Indices *x, PoiseInt N, const char *what, const char *object);
/* The k-th global index, negative if to be ignored. */
static inline PoiseInt poiseIndex(const Indices *x, PoiseInt k)
{
  PoiseInt i = x->index[k];
  return i >= 0 && x->map ? x->map->global[i] : i;
}

typedef struct Span { /* of this rank's rows, those that a stretch of indices lies in: low .. high - 1 */
  int64_t low, high;  /* none: low >= high */
} Span;

static inline void poiseSpanAdd(Span *s, int64_t row)
{
  if (row < s->low) s->low = row;
  if (row >= s->high) s->high = row + 1;
}

static inline void poiseSpanJoin(Span *s, Span other)
{
  if (other.low < s->low) s->low = other.low;
  if (other.high > s->high) s->high = other.high;
}

/* Can there be any of rows low .. high - 1? */
static inline bool poiseSpanHas(Span s, int64_t low, int64_t high)
{
  return s.low < high && s.high > low;
}

/* ---- vector (vec.c) -------------------------------------------------------------------------- */

struct PoiseVec_s {
  PoiseContext ctx;
  Layout *layout;
  Buffer data;
  Stash stash;
  Pending pending;
  Map map;
};

static inline int poiseVecColumns(PoiseVec x)
{
  return x->layout->columns;
}
/* The numbers that it holds on this rank. */
static inline int64_t poiseVecLength(PoiseVec x)
{
  return x->layout->n * x->layout->columns;
}
/* POISE_ERR_ARG if x is wide. `what`: the call that wants an ordinary vector. */
PoiseErr poiseVecCheckOrdinary(PoiseVec x, const char *what);
PoiseErr poiseVecCreateLayout(Layout *layout, PoiseVec *x); /* shares the layout; agrees */
/* The same, but the caller agrees on errors, and destroys after a failure. */
PoiseErr poiseVecCreateLocal(Layout *layout, PoiseVec *x);
/* A vector that is a view of others, one after the other. It is pointed at a part of the device memory of
   one before each use. What is written to it on the host is in that memory after the next poiseVecRead.
   The caller agrees on errors, and destroys after a failure. */
PoiseErr poiseVecCreateSlice(Layout *layout, PoiseVec *x);
void poiseVecPoint(PoiseVec x, const double *part);
/* x has another layout from now on, for whose numbers there is room in its array. */
void poiseVecReshape(PoiseVec x, Layout *layout);
/* Device pointers to the local entries, like Read, Write and Update of buffer.c. */
PoiseErr poiseVecRead(PoiseVec x, const double **p);
PoiseErr poiseVecWrite(PoiseVec x, double **p);
PoiseErr poiseVecUpdate(PoiseVec x, double **p);
PoiseErr poiseVecCheckSame(PoiseVec x, const char *xname, PoiseVec y, const char *yname);
/* x, a diagonal, becomes |x|^-1/2, or 1 where it is 0 or not finite. count: how many were positive, negative
   and 0. Collective; agrees. */
PoiseErr poiseVecDiagonalScale(PoiseVec x, double count[3]);
/* The dots of y in a pass of their own, for callers that cannot take them while finishing rows. */
PoiseErr poiseVecFuse(PoiseVec y, const double *skip, const Fuse *fuse);
bool poiseSquaresHold(double sum); /* did the squares add up to this without under- or overflow? True for
                                      NaN */
/* Otherwise: two scale factors for entries of at most this size; two, as their product may overflow.
   Returns the power of two by which the norm is scaled back. */
int poiseScaleSquares(double largest, double scale[2]);
/* Columns of a wide vector to and from ordinary ones: to = column j of wide; column j of wide = from.
   Local; enqueued (columns.c). */
PoiseErr poiseVecTakeColumn(PoiseVec wide, int j, PoiseVec to);
PoiseErr poiseVecPutColumn(PoiseVec from, int j, PoiseVec wide);
/* The same for a wide vector that is used as one of k columns. */
PoiseErr poiseVecPutColumnOf(PoiseVec from, int j, int k, PoiseVec wide);
/* Columns list[0 .. n) of `from`, in this order, are those of `to`, which has n. */
PoiseErr poiseVecPickColumns(PoiseVec from, const int *list, PoiseVec to);
/* Finish an eager reduction: k sums (maxima) over all ranks, from nblock partials each in the context's
   scratch. `mine` is this rank's error so far. If one rank has failed, all fail. */
PoiseErr poiseReduceFinish(PoiseContext ctx, PoiseErr mine, int k, int64_t nblock, bool max, double *result);

/* ---- halo (halo.c): remote entries of a vector ----------------------------------------------- */

typedef struct Halo {
  PoiseContext ctx;
  int64_t nghost, nsend;
  Exchange ex;                 /* owned entries out, ghosts in; also used backwards */
  Exchange back;               /* ghosts out, owned entries in */
  Buffer index;                /* int32 [nsend]: the owned entries to send */
  Buffer send, ghost;          /* device sides of the exchanged entries */
  struct HaloLink *link;       /* by peer access; NULL: this context has no such transport */
  struct HaloLibrary *library; /* the same by a library */
  const double *sent; /* by peer access: a phase has sent the entries of this vector, and the ghosts */
  int64_t session;    /* have come, if the transport is still in this session */
  bool there;         /* between Begin and End: so it was */
  bool single;        /* the same: entries travel in fp32 */
  bool apart;         /* no two ranks want the same entry: each wants some of a stretch of its own */
  PoiseErr pending;   /* this rank's failure between Begin and End */
  int columns, room; /* an entry is so many numbers, which nghost, nsend and both exchanges count; room for */
  struct Halo *wide; /* the same entries of vectors with columns; NULL: not yet */
  struct Halo *of;   /* what this one is the wide of */
} Halo;

typedef struct HaloEntries { /* a vector in fp64, or in fp32 if that is not NULL */
  const double *f64;
  const float *f32;
} HaloEntries;

/* ghost: ascending global indices that other ranks own. Collective; agrees. */
PoiseErr poiseHaloCreate(const Layout *layout, int64_t nghost, const PoiseInt *ghost, Halo **halo);
void poiseHaloDestroy(Halo **halo);
void poiseHaloBytes(const Halo *halo, PoiseBytes *sum); /* sum += bytes that it holds; halo may be NULL */
void poiseHaloPredict(const Device *dev, int64_t nghost, int64_t nsend, PoisePrediction *p);
/* Bring all that an exchange needs to the device, so that it allocates nothing. */
PoiseErr poiseHaloReady(Halo *halo);
/* Vectors with k columns (halo_columns.c): exchanges of poiseHaloOf(halo, k), like any. Ready makes what
   these need, so that they allocate nothing. It holds until it is called for another k, and moves buffers
   only if there is no room for k. The same k on all ranks, which use no transport meanwhile; halo may be
   NULL. Collective; agrees. */
PoiseErr poiseHaloReadyColumns(Halo *halo, int k);
Halo *poiseHaloOf(Halo *halo, int k); /* k <= 1: the halo itself */
/* For halo_columns.c. Local: buffers for so many bytes from and for each rank. Collective, and agree: what
   exchanges need between ranks; that of hosts. */
PoiseErr poiseHaloAllocate(Halo *halo, const int64_t *want, const int64_t *wanted);
PoiseErr poiseHaloConnect(Halo *halo);
PoiseErr poiseHaloSetUp(Halo *halo);
PoiseErr poiseHaloIndex(Halo *halo, const int32_t **index);         /* on the device */
static inline int64_t poiseHaloRoom(const Halo *h, int64_t numbers) /* that there is for these */
{
  return numbers / h->columns * h->room;
}
/* By peer access, for halo.c (halo_link.c). Create is collective and agrees. */
PoiseErr poiseHaloLinkCreate(Halo *halo);
void poiseHaloLinkDestroy(Halo *halo);
/* of the device, by either transport */
int64_t poiseHaloLinkBytes(const Device *dev, int64_t nghost, int64_t nsend);
PoiseErr poiseHaloPush(Halo *halo, PoiseErr mine, HaloEntries x);
PoiseErr poiseHaloWait(Halo *halo, const void **ghost);
PoiseErr poiseHaloPushBack(Halo *halo, PoiseErr mine, HaloEntries ghosts);
PoiseErr poiseHaloWaitBack(Halo *halo, const void **in);
/* send = the entries of x that other ranks want, both on the device. */
PoiseErr poiseHaloPack(Halo *halo, HaloEntries x, void *send);
/* The same by a library (halo_library.c). */
PoiseErr poiseHaloLibraryCreate(Halo *halo);
void poiseHaloLibraryDestroy(Halo *halo);
PoiseErr poiseHaloSend(Halo *halo, PoiseErr mine, HaloEntries x);
PoiseErr poiseHaloReceive(Halo *halo, const void **ghost);
PoiseErr poiseHaloSendBack(Halo *halo, PoiseErr mine, HaloEntries ghosts);
PoiseErr poiseHaloReceiveBack(Halo *halo, const void **in);
/* Where x is, by its place. An empty x has none: it gets one of its own, at which nothing is. So all ranks
   tell alike whether what was sent is x. */
static inline double *poiseVecPlace(PoiseVec x, const double *place)
{
  return place ? (double *)(uintptr_t)place : (double *)(void *)&x->data;
}
/* Entries that phases send by themselves, by row blocks of POISE_BLOCK rows; zero-initialise it. */
typedef struct HaloSends {
  int64_t number; /* of the halo; 0: none */
  Buffer table;
  LinkSend send;
} HaloSends;
/* For vectors of n rows, of this rank; 0: it sends none. Local. */
PoiseErr poiseHaloSendsCreate(Halo *halo, int64_t n, HaloSends *sends);
void poiseHaloSendsDestroy(HaloSends *sends);
bool poiseHaloSendsFit(const Halo *halo, const HaloSends *sends); /* were they made for this one? */
int64_t poiseHaloSendsBytes(int64_t nsend, int64_t n);
/* A phase will send the entries of x, which it writes, and wait for the ghosts. The next Begin of this halo
   finds them, if it is for x and in this session of the transport. All ranks, in front of the phase. *send:
   what to do, which is nothing on a rank without neighbours. */
PoiseErr poiseHaloSendInside(Halo *halo, const HaloSends *sends, const double *x, LinkSend *send);
bool poiseHaloWasSent(const Halo *halo); /* will Begin find something? halo may be NULL */
/* After Begin: have the ghosts come, so that End enqueues nothing? */
bool poiseHaloIsThere(const Halo *halo);
/* Start to fetch the ghosts of x (device pointer). End gives them (device pointer; valid until the next
   Begin). mine: an earlier failure of this rank, which then does not read x. The exchange takes place even
   if this rank fails, so that no rank waits for one that does not come. End returns the failure. */
PoiseErr poiseHaloBegin(Halo *halo, PoiseErr mine, const double *x);
PoiseErr poiseHaloEnd(Halo *halo, const double **ghost);
/* The same of a vector in fp32. */
PoiseErr poiseHaloBeginSingle(Halo *halo, PoiseErr mine, const float *x);
PoiseErr poiseHaloEndSingle(Halo *halo, const float **ghost);
/* Both at once, outside of loops: as poiseAlltoall, where devices reach each other. The caller agrees. */
PoiseErr poiseHaloAlltoall(Halo *halo, PoiseErr mine, const double *x, const double **ghost);
/* Start to send ghost entries (device pointer; to stay until End) to their owners. End: y[owner's entry] +=
   what came from all ranks, in rank order; y = NULL: nothing. Failures are as in Begin and End. */
PoiseErr poiseHaloReverseBegin(Halo *halo, PoiseErr mine, const double *ghosts);
PoiseErr poiseHaloReverseEnd(Halo *halo, double *y);
PoiseErr poiseHaloReverseBeginSingle(Halo *halo, PoiseErr mine, const float *ghosts);
PoiseErr poiseHaloReverseEndSingle(Halo *halo, float *y);
/* Both, of what was put where GhostWrite says. */
PoiseErr poiseHaloReverse(Halo *halo, PoiseErr mine, double *y);
PoiseErr poiseHaloGhostWrite(Halo *halo, double **ghost);
/* Both for host arrays, in one call, without columns. The ghost pointers, here and from poiseHaloHostGhosts,
   are host pointers, valid until the next exchange. The exchange takes place whatever mine is. Collective. */
PoiseErr poiseHaloHost(Halo *halo, PoiseErr mine, const double *x, const double **ghost);
PoiseErr poiseHaloHostReverse(Halo *halo, PoiseErr mine, double *y);
double *poiseHaloHostGhosts(Halo *halo); /* where the caller puts the entries that HostReverse sends */

#endif
