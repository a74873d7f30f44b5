/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The table of live objects. A pointer is looked up here before it is followed. The table belongs to the
  process, so that an object of another context can be told from an invalid pointer.

  It uses open addressing. A word is an address and, in the bits that alignment leaves 0, the kind of the
  object. A lookup that finds the object takes no lock. A lookup that fails is repeated under the lock, as
  words move when others are removed. Tables that became too small are kept, as another thread may be reading
  them. Together they are smaller than the present table.
*/
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fork.h"
#include "sys/sys.h"

enum { EMPTY = 0, KIND_BITS = 7, LEAST_BITS = 8 };

typedef atomic_uintptr_t Word;

typedef struct Table {
  struct Table *before;
  int bits;
  Word word[];
} Table;

static _Atomic(Table *) table;
static size_t live;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t Size(const Table *t)
{
  return (size_t)1 << t->bits;
}

static uintptr_t AddressOf(uintptr_t word)
{
  return word & ~(uintptr_t)KIND_BITS;
}

/* Fibonacci hashing: the upper bits of a product with 2^64 over the golden ratio. */
static size_t Hash(const Table *t, uintptr_t word)
{
  return (size_t)(((uint64_t)AddressOf(word) * 0x9e3779b97f4a7c15u) >> (64 - t->bits));
}

static uintptr_t At(const Table *t, size_t i)
{
  return atomic_load_explicit(&t->word[i & (Size(t) - 1)], memory_order_acquire);
}

static void Store(Table *t, size_t i, uintptr_t word)
{
  atomic_store_explicit(&t->word[i & (Size(t) - 1)], word, memory_order_release);
}

/* The place of this address, or of the empty word at which its search ends. */
static size_t FindPlace(const Table *t, uintptr_t address)
{
  size_t i = Hash(t, address);
  while (At(t, i) != EMPTY && AddressOf(At(t, i)) != address) i++;
  return i;
}

/* The kind of the object there; 0: there is none. */
static int KindAt(uintptr_t address)
{
  const Table *t = atomic_load_explicit(&table, memory_order_acquire);
  uintptr_t word = t ? At(t, FindPlace(t, address)) : EMPTY;
  return AddressOf(word) == address ? (int)(word & KIND_BITS) : 0;
}

static int KindOf(const void *object)
{
  uintptr_t address = (uintptr_t)object;
  if (!address || address != AddressOf(address)) return 0;
  int kind = KindAt(address);
  if (kind) return kind;
  pthread_mutex_lock(&lock);
  kind = KindAt(address);
  pthread_mutex_unlock(&lock);
  return kind;
}

/* Remove a word. The words after it move up, so that every search still ends correctly. */
static void Take(Table *t, size_t hole)
{
  const size_t most = Size(t) - 1;
  for (size_t i = hole + 1; At(t, i) != EMPTY; i++) {
    /* the move would put it before its home */
    if (((i - Hash(t, At(t, i))) & most) < ((i - hole) & most)) continue;
    Store(t, hole, At(t, i));
    hole = i;
  }
  Store(t, hole, EMPTY);
}

/* A table that can hold one more word at a load of a half. */
static Table *WithRoom(Table *old)
{
  if (old && 2 * (live + 1) <= Size(old)) return old;
  int bits = old ? old->bits + 1 : LEAST_BITS;
  Table *t = calloc(1, sizeof *t + ((size_t)1 << bits) * sizeof *t->word);
  if (!t) return NULL;
  t->bits = bits;
  t->before = old;
  for (size_t i = 0; old && i < Size(old); i++)
    if (At(old, i) != EMPTY) Store(t, FindPlace(t, AddressOf(At(old, i))), At(old, i));
  return t;
}

PoiseErr poiseObjectAdd(const void *object, ObjectKind kind)
{
  pthread_mutex_lock(&lock);
  Table *t = WithRoom(atomic_load(&table));
  if (t) {
    Store(t, FindPlace(t, (uintptr_t)object), (uintptr_t)object | (uintptr_t)kind);
    live++;
    atomic_store(&table, t);
  }
  pthread_mutex_unlock(&lock);
  if (!t) FAIL(POISE_ERR_MEMORY, "no memory for the table of objects");
  return POISE_OK;
}

void poiseObjectRemove(const void *object)
{
  pthread_mutex_lock(&lock);
  Table *t = atomic_load(&table);
  size_t i = t ? FindPlace(t, (uintptr_t)object) : 0;
  if (t && At(t, i) != EMPTY) {
    Take(t, i);
    live--;
  }
  pthread_mutex_unlock(&lock);
}

size_t poiseObjectRoom(void)
{
  const Table *t = atomic_load(&table);
  return t ? Size(t) : 0;
}

PoiseErr poiseObjectCreate(PoiseContext ctx, size_t bytes, ObjectKind kind, const char *what, void *object)
{
  void *p;
  TRY(poiseAlloc(ctx, bytes, what, &p));
  PoiseErr e = poiseObjectAdd(p, kind);
  if (e) poiseFree(ctx, &p);
  memcpy(object, &p, sizeof p);
  TRY(e);
  *(PoiseContext *)p = ctx;
  ctx->objects++;
  return POISE_OK;
}

void poiseObjectFree(PoiseContext ctx, void *object)
{
  void *p;
  memcpy(&p, object, sizeof p);
  poiseObjectRemove(p);
  poiseFree(ctx, object);
  ctx->objects--;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const char *const kinds[] = {"nothing", "context", "vector", "matrix", "preconditioner", "solver"};

static PoiseErr Refuse(const char *function, const Parameter *a, int kind)
{
  if (!a->p) FAIL(POISE_ERR_ARG, "%s: %s is NULL", function, a->name);
  if (kind)
    FAIL(POISE_ERR_ARG, "%s: %s is not a %s but a %s (%p)", function, a->name, kinds[a->kind], kinds[kind],
         a->p);
  FAIL(POISE_ERR_ARG, "%s: %s is no %s: one that has been destroyed, or a pointer to something else (%p)",
       function, a->name, kinds[a->kind], a->p);
}

/* Check an object. Objects begin with their context. *first: the context of the first object, or NULL. */
static PoiseErr CheckObject(const char *function, const Parameter *a, const Parameter *parameter,
                            PoiseContext *first)
{
  int kind = KindOf(a->p);
  if (kind != (int)a->kind) return Refuse(function, a, kind);
  PoiseContext ctx = kind == KIND_CONTEXT ? (PoiseContext)(uintptr_t)a->p : *(const PoiseContext *)a->p;
  if (!*first) *first = ctx;
  if (ctx != *first)
    FAIL(POISE_ERR_ARG, "%s: %s and %s belong to different contexts", function, parameter->name, a->name);
  return POISE_OK;
}

static PoiseErr CheckOther(const char *function, const Parameter *a)
{
  if (a->kind == KIND_WORD) {
    if (a->n < 0 || a->n >= a->most)
      FAIL(POISE_ERR_ARG, "%s: %s is %lld, which is none of its %lld values", function, a->name,
           (long long)a->n, (long long)a->most);
    return POISE_OK;
  }
  if (a->n < 0) FAIL(POISE_ERR_ARG, "%s: %s has %lld entries", function, a->name, (long long)a->n);
  if (!a->p && (a->kind == KIND_POINTER || a->n > 0)) return Refuse(function, a, 0);
  return POISE_OK;
}

static PoiseErr Check(const char *function, const Parameter *parameter, int n, PoiseContext *ctx)
{
  *ctx = NULL;
  for (const Parameter *a = parameter; a < parameter + n; a++) {
    if (a->optional && !a->p) continue;
    PoiseErr e = a->kind <= KIND_KSP ? CheckObject(function, a, parameter, ctx) : CheckOther(function, a);
    if (e) return e;
  }
  return POISE_OK;
}

PoiseErr poiseCheckCall(const char *function, const Parameter *parameter, int n)
{
  PoiseContext ctx;
  return Check(function, parameter, n, &ctx);
}

PoiseErr poiseCalled(const char *function, const Parameter *parameter, int n)
{
  PoiseContext ctx;
  PoiseErr e = poiseForkCheck(function);
  if (!e) e = Check(function, parameter, n, &ctx);
  if (!e && ctx) ctx->call = function;
  return e;
}
