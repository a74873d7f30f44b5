/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The table of objects that live: a pointer is asked for there, and not followed. It belongs to the process, as
  an object of another context is to be told from no object.

  Open addressing. A word is an address and, in the bits that alignment leaves 0, the kind of the object. Readers
  take no lock: a word never moves inside a table, and a larger table is published when it is whole. Tables
  that have been replaced stay, as a reader may still be in one: together they are smaller than the present one.
*/
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "sys.h"

enum { EMPTY = 0, REMOVED = 7, KIND_BITS = 7, LEAST_BITS = 8 };

typedef atomic_uintptr_t Word;

typedef struct Table {
  struct Table *before;
  int bits;
  size_t used; /* words that are not empty: of objects, and removed ones */
  Word word[];
} Table;

static _Atomic(Table *) table;
static size_t live;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t Size(const Table *t)
{
  return (size_t)1 << t->bits;
}

/* Fibonacci hashing: the upper bits of a product with 2^64 over the golden ratio. */
static size_t Home(const Table *t, uintptr_t address)
{
  return (size_t)(((uint64_t)address * 0x9e3779b97f4a7c15u) >> (64 - t->bits));
}

static uintptr_t AddressOf(uintptr_t word)
{
  return word & ~(uintptr_t)KIND_BITS;
}

/* The word of this address, or NULL. */
static Word *Find(Table *t, uintptr_t address)
{
  if (!t || !address || address != AddressOf(address)) return NULL;
  for (size_t i = Home(t, address);; i = (i + 1) & (Size(t) - 1)) {
    uintptr_t word = atomic_load_explicit(&t->word[i], memory_order_acquire);
    if (word == EMPTY) return NULL;
    if (AddressOf(word) == address) return &t->word[i];
  }
}

static uintptr_t At(const Table *t, size_t i)
{
  return atomic_load_explicit(&t->word[i & (Size(t) - 1)], memory_order_relaxed);
}

static void Put(Table *t, uintptr_t word)
{
  size_t i = Home(t, AddressOf(word));
  while (AddressOf(At(t, i))) i++;
  t->used += At(t, i) == EMPTY;
  atomic_store_explicit(&t->word[i & (Size(t) - 1)], word, memory_order_release);
}

/* What was removed at the end of a run of words is empty again: no search goes on behind it. */
static void Take(Table *t, size_t i)
{
  atomic_store_explicit(&t->word[i], REMOVED, memory_order_release);
  for (; At(t, i + 1) == EMPTY && At(t, i) == REMOVED; i--, t->used--)
    atomic_store_explicit(&t->word[i & (Size(t) - 1)], EMPTY, memory_order_release);
}

/* A table with room for one more at a load of a half. */
static Table *WithRoom(Table *old)
{
  int bits = LEAST_BITS;
  if (old && 2 * (old->used + 1) <= Size(old)) return old;
  while (((size_t)1 << bits) < 4 * (live + 1)) bits++;
  if (old && bits <= old->bits) bits = old->bits + 1;
  Table *t = calloc(1, sizeof *t + ((size_t)1 << bits) * sizeof *t->word);
  if (!t) return NULL;
  t->bits = bits;
  t->before = old;
  for (size_t i = 0; old && i < Size(old); i++) {
    uintptr_t word = atomic_load_explicit(&old->word[i], memory_order_relaxed);
    if (AddressOf(word)) Put(t, word);
  }
  return t;
}

PoiseErr poiseObjectAdd(const void *object, ObjectKind kind)
{
  pthread_mutex_lock(&lock);
  Table *t = WithRoom(atomic_load(&table));
  if (t) {
    Put(t, (uintptr_t)object | (uintptr_t)kind);
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
  Word *word = Find(t, (uintptr_t)object);
  if (word) {
    Take(t, (size_t)(word - t->word));
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

/* ---- arguments ----------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"nothing", "context", "vector", "matrix", "preconditioner", "solver"};

static PoiseErr Refuse(const char *function, const Parameter *a, uintptr_t kind)
{
  if (!a->p) FAIL(POISE_ERR_ARG, "%s: %s is NULL", function, a->name);
  if (kind) FAIL(POISE_ERR_ARG, "%s: %s is not a %s but a %s (%p)", function, a->name, kinds[a->kind], kinds[kind], a->p);
  FAIL(POISE_ERR_ARG, "%s: %s is no %s: one that has been destroyed, or a pointer to something else (%p)", function,
       a->name, kinds[a->kind], a->p);
}

/* Objects begin with their context. *first: that of the first of them, or NULL. */
static PoiseErr CheckObject(const char *function, const Parameter *a, const Parameter *parameter, PoiseContext *first)
{
  const Word *word = Find(atomic_load_explicit(&table, memory_order_acquire), (uintptr_t)a->p);
  uintptr_t kind = word ? atomic_load_explicit(word, memory_order_acquire) & KIND_BITS : 0;
  if (kind != (uintptr_t)a->kind) return Refuse(function, a, kind == REMOVED ? 0 : kind);
  PoiseContext ctx = kind == KIND_CONTEXT ? (PoiseContext)(uintptr_t)a->p : *(const PoiseContext *)a->p;
  if (!*first) *first = ctx;
  if (ctx != *first) FAIL(POISE_ERR_ARG, "%s: %s and %s belong to different contexts", function, parameter->name, a->name);
  return POISE_OK;
}

static PoiseErr CheckOther(const char *function, const Parameter *a)
{
  if (a->kind == KIND_WORD) {
    if (a->n < 0 || a->n >= a->most)
      FAIL(POISE_ERR_ARG, "%s: %s is %lld, which is none of its %lld values", function, a->name, (long long)a->n,
           (long long)a->most);
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
  PoiseErr e = Check(function, parameter, n, &ctx);
  if (!e && ctx) ctx->call = function;
  return e;
}
