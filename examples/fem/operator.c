/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator.h"
#include "device.h"
#include <stdlib.h>
#include <string.h>

/* ---- the host -------------------------------------------------------------------------------- */

static const char *HostAlloc(size_t bytes, void *array)
{
  void *memory = malloc(bytes + 1);
  memcpy(array, &memory, sizeof memory);
  return memory == NULL ? "out of memory" : NULL;
}

static const char *HostCopy(void *to, const void *from, size_t bytes, int back, void *stream)
{
  (void)back;
  (void)stream;
  if (bytes > 0) memcpy(to, from, bytes);
  return NULL;
}

static const char *HostTriplets(const FemWork *w, void *stream)
{
  const PoiseInt n = FemTripletsOfCell(w);
  (void)stream;
#pragma omp parallel for
  for (PoiseInt cell = 0; cell < w->cells; cell++)
    for (PoiseInt k = 0; k < n; k++) FemTriplet(w, cell, (int)k);
  return NULL;
}

/* Returns 0 if the cell is inverted or flat. */
static int HostCell(const FemWork *w, PoiseInt cell)
{
  double corner[3 * FEM_MAX_NODES], points[FEM_MAX_POINTS * (2 + 3 * FEM_MAX_NODES)], *point = points;
  for (int k = 0; k < w->nodes; k++)
    memcpy(corner + 3 * k, w->x + 3 * w->node[cell * w->nodes + k], 3 * sizeof *corner);
  for (int q = 0; q < w->points; q++, point += FemPointSize(w)) {
    double det = FemGradients(w->dim, w->nodes, corner, w->reference->dN[q][0], point + 1);
    if (!(det > 0)) return 0;
    FemFinishPoint(w, q, det, point);
  }
  for (int a = 0; a < w->nodes; a++) {
    for (int b = 0; b < w->nodes; b++) FemPair(w, points, cell, a, b);
  }
  return 1;
}

static const char *HostValues(const FemWork *w, void *stream)
{
  PoiseInt inverted = w->cells;
  (void)stream;
#pragma omp parallel for reduction(min : inverted)
  for (PoiseInt cell = 0; cell < w->cells; cell++) {
    if (!HostCell(w, cell) && cell < inverted) inverted = cell;
  }
  *w->inverted = inverted;
  return NULL;
}

const FemPlace femHost = {HostAlloc, free, HostCopy, HostTriplets, HostValues};

/* ---- assembly -------------------------------------------------------------------------------- */

typedef struct Assembly {
  const FemMesh *mesh;
  const FemPlace *place;
  void *stream;
  PoiseInt triplets;
  int cuda;
  FemReference reference;
  FemWork work;
} Assembly;

static PoiseErr Check(const char *words)
{
  if (words != NULL) POISE_FAIL(POISE_ERR_DEVICE, "matrices of cells: %s", words);
  return POISE_OK;
}

/* Allocate *array, a pointer of any type, at the place of the work, and copy `from` to it, if there is
   one. */
static PoiseErr Put(const Assembly *s, const void *from, PoiseInt count, size_t size, void *array)
{
  const size_t bytes = (size_t)count * size;
  void *there;
  POISE_TRY(Check(s->place->alloc(bytes, &there)));
  memcpy(array, &there, sizeof there);
  return from != NULL ? Check(s->place->copy(there, from, bytes, 0, s->stream)) : POISE_OK;
}

/* Free the memory of such an array, if it has any. *array becomes NULL. */
static void Drop(const Assembly *s, void *array)
{
  void *there, *none = NULL;
  memcpy(&there, array, sizeof there);
  memcpy(array, &none, sizeof none);
  if (there != NULL) s->place->release(there);
}

static PoiseErr Begin(Assembly *s)
{
  const FemMesh *mesh = s->mesh;
  FemWork *w = &s->work;
  POISE_TRY(Put(s, &s->reference, 1, sizeof s->reference, &w->reference));
  return Put(s, mesh->cellNodes, mesh->cells * w->nodes, sizeof *w->node, &w->node);
}

static PoiseErr MakeTriplets(Assembly *s)
{
  const FemMesh *mesh = s->mesh;
  FemWork *w = &s->work;
  POISE_TRY(Put(s, mesh->global, mesh->nodes, sizeof *w->global, &w->global));
  POISE_TRY(Put(s, NULL, s->triplets, sizeof *w->row, &w->row));
  POISE_TRY(Put(s, NULL, s->triplets, sizeof *w->col, &w->col));
  return Check(s->place->triplets(w, s->stream));
}

static PoiseErr SetPattern(Assembly *s, PoiseMat A)
{
  const FemWork *w = &s->work;
  POISE_TRY(PoiseAgree(s->mesh->ctx, MakeTriplets(s)));
  if (s->cuda && w->blocks) return PoiseMatSetBlockPatternDeviceCOO(A, s->triplets, w->row, w->col);
  if (s->cuda) return PoiseMatSetPatternDeviceCOO(A, s->triplets, w->row, w->col);
  if (w->blocks) return PoiseMatSetBlockPatternCOO(A, s->triplets, w->row, w->col);
  return PoiseMatSetPatternCOO(A, s->triplets, w->row, w->col);
}

static PoiseErr Compute(Assembly *s, const double *law)
{
  const FemMesh *mesh = s->mesh;
  FemWork *w = &s->work;
  PoiseInt inverted = mesh->cells;
  POISE_TRY(Put(s, mesh->x, 3 * mesh->nodes, sizeof *w->x, &w->x));
  if (law != NULL) POISE_TRY(Put(s, law, 3 * mesh->cells, sizeof *w->law, &w->law));
  POISE_TRY(Put(s, &inverted, 1, sizeof *w->inverted, &w->inverted));
  POISE_TRY(Put(s, NULL, s->triplets * (w->blocks ? w->components * w->components : 1), sizeof *w->v, &w->v));
  POISE_TRY(Check(s->place->values(w, s->stream)));
  POISE_TRY(Check(s->place->copy(&inverted, w->inverted, sizeof inverted, 1, s->stream)));
  return inverted < mesh->cells ? FemInverted(mesh, &s->reference, inverted) : POISE_OK;
}

/* Assemble. Memory that is not needed any more is freed before more is allocated. */
static PoiseErr Assemble(Assembly *s, const double *law, int patterned, PoiseMat A)
{
  PoiseContext ctx = s->mesh->ctx;
  POISE_TRY(PoiseAgree(ctx, Begin(s)));
  if (!patterned) POISE_TRY(SetPattern(s, A));
  Drop(s, &s->work.row);
  Drop(s, &s->work.col);
  POISE_TRY(PoiseAgree(ctx, Compute(s, law)));
  return s->cuda ? PoiseMatSetValuesDeviceCOO(A, s->work.v) : PoiseMatSetValuesCOO(A, s->work.v);
}

int FemOperatorOnGpu(PoiseContext ctx)
{
#ifdef FEM_HAVE_CUDA
  return PoiseStream(ctx) != NULL;
#else
  (void)ctx;
  return 0;
#endif
}

PoiseErr FemAssembleOperator(const FemMesh *mesh, int components, const FemOperator *op, int blocks,
                             int patterned, PoiseMat A)
{
  Assembly s = {.mesh = mesh, .place = &femHost, .stream = PoiseStream(mesh->ctx)};
  s.cuda = FemOperatorOnGpu(mesh->ctx);
#ifdef FEM_HAVE_CUDA
  if (s.cuda) s.place = &femCuda;
#endif
  FemReferenceCell(mesh->cell, 0, &s.reference);
  s.work = (FemWork){.mass = op->mass,
                     .stiffness = op->stiffness,
                     .stream = {op->stream[0], op->stream[1], op->stream[2]},
                     .streams = op->stream[0] != 0 || op->stream[1] != 0 || op->stream[2] != 0,
                     .upwind = op->upwind,
                     .cells = mesh->cells,
                     .dim = mesh->dim,
                     .nodes = s.reference.nodes,
                     .points = s.reference.points,
                     .components = components,
                     .blocks = blocks};
  s.triplets = mesh->cells * FemTripletsOfCell(&s.work);
  PoiseErr err = Assemble(&s, op->law, patterned, A);
  FemWork *w = &s.work;
  void *const arrays[] = {&w->reference, &w->node, &w->global, &w->x,       &w->law,
                          &w->row,       &w->col,  &w->v,      &w->inverted};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) Drop(&s, arrays[k]);
  return err;
}
