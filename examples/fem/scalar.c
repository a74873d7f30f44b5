/* SPDX-License-Identifier: BSD-3-Clause */
#include "scalar.h"
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONDUCTIVITY, SOURCE, THIRD };          /* keys of -material */
enum { VALUE, FLUX, TRANSFER, OUTSIDE, NONE }; /* keys of -boundary */

static const double huge = 1e300;

static const char *Name(const FemMesh *mesh, int dim, int number)
{
  for (int g = 0; g < mesh->groups; g++) {
    if (mesh->group[g].dim == dim && mesh->group[g].number == number) return mesh->group[g].name;
  }
  return "rest";
}

/* ---- reading --------------------------------------------------------------------------------- */

PoiseErr FemScalarAsked(PoiseContext ctx, FemAssembly how, const char *const *known, int *asked)
{
  *asked = PoiseOptionsHas(ctx, NULL, "material", NULL) || PoiseOptionsHas(ctx, NULL, "boundary", NULL);
  for (; *known != NULL && *asked; known++) {
    if (PoiseOptionsHas(ctx, NULL, *known, NULL))
      POISE_FAIL(POISE_ERR_OPTION,
                 "-%s is for the problem with a known solution, not beside -material or -boundary", *known);
  }
  if (*asked && how == FEM_DEVICE)
    POISE_FAIL(POISE_ERR_OPTION,
               "-assembly device has one material for all cells: with -material or -boundary take elements "
               "or coo");
  return POISE_OK;
}

static PoiseErr CheckMaterial(const FemScalar *s)
{
  for (int c = 0; c < s->material.count; c++) {
    const FemClause *clause = &s->material.clause[c];
    const char *group = Name(s->mesh, s->mesh->dim, clause->group[0]);
    if (!clause->given[CONDUCTIVITY])
      POISE_FAIL(POISE_ERR_OPTION, "-material: '%s' has no conductivity", group);
    if (s->terms == FEM_IN_TIME && !clause->given[THIRD])
      POISE_FAIL(POISE_ERR_OPTION, "-material: '%s' has no capacity", group);
  }
  return POISE_OK;
}

static PoiseErr CheckBoundary(FemScalar *s)
{
  int unique = s->terms == FEM_IN_TIME;
  for (int c = 0; c < s->boundary.count; c++) {
    const FemClause *clause = &s->boundary.clause[c];
    const int *given = clause->given;
    const char *group = Name(s->mesh, s->mesh->dim - 1, clause->group[0]);
    if (given[VALUE] + given[FLUX] + given[TRANSFER] + given[OUTSIDE] == 0)
      POISE_FAIL(POISE_ERR_OPTION, "-boundary: '%s' has neither value, flux nor transfer", group);
    if (given[VALUE] && given[FLUX] + given[TRANSFER] + given[OUTSIDE] > 0)
      POISE_FAIL(POISE_ERR_OPTION, "-boundary: '%s' has a value, and so nothing else", group);
    if (given[TRANSFER] != given[OUTSIDE])
      POISE_FAIL(POISE_ERR_OPTION, "-boundary: '%s' has one of transfer and outside, must have both", group);
    s->fixes |= given[VALUE];
    unique |= given[VALUE] || (given[TRANSFER] && clause->value[TRANSFER][0] > 0);
  }
  if (!unique)
    POISE_FAIL(POISE_ERR_OPTION, "-boundary: no group has a value or a transfer, so u is not unique");
  return POISE_OK;
}

/* Find the group by which each cell has its data. */
static PoiseErr Sort(FemScalar *s)
{
  const FemMesh *mesh = s->mesh;
  POISE_TRY(FemAlloc(mesh->cells, sizeof *s->group, &s->group));
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    int found = 0;
    s->group[e] = mesh->cellGroup[e];
    for (int c = 0; c < s->material.count; c++) {
      const FemClause *clause = &s->material.clause[c];
      for (int g = 0; g < clause->groups; g++) {
        if (!FemCellIn(mesh, e, clause->group[g])) continue;
        if (found++ > 0)
          POISE_FAIL(POISE_ERR_OPTION, "-material: a cell is in '%s' and in '%s', and so has data twice",
                     Name(mesh, mesh->dim, s->group[e]), Name(mesh, mesh->dim, clause->group[g]));
        s->group[e] = clause->group[g];
      }
    }
    if (found == 0 && s->material.count > 0)
      POISE_FAIL(POISE_ERR_OPTION, "-material: cells of '%s' have no data",
                 Name(mesh, mesh->dim, s->group[e]));
  }
  return POISE_OK;
}

PoiseErr FemScalarRead(const FemMesh *mesh, FemTerms terms, const char *material, const char *boundary,
                       FemScalar *s)
{
  const FemKey third[] = {[FEM_STEADY] = {0},
                          [FEM_IN_TIME] = {"capacity", 0, 1 / huge, huge},
                          [FEM_IN_STREAM] = {"velocity", 1, -huge, huge}};
  const FemKey materials[] = {[CONDUCTIVITY] = {"conductivity", 0, 1 / huge, huge},
                              [SOURCE] = {"source", 0, -huge, huge},
                              [THIRD] = third[terms],
                              {0}};
  static const FemKey boundaries[] = {[VALUE] = {"value", 0, -1e300, 1e300},
                                      [FLUX] = {"flux", 0, -1e300, 1e300},
                                      [TRANSFER] = {"transfer", 0, 0, 1e300},
                                      [OUTSIDE] = {"outside", 0, -1e300, 1e300},
                                      [NONE] = {0}};
  s->mesh = mesh;
  s->terms = terms;
  POISE_TRY(FemReadClauses(mesh, mesh->dim, "material", material, materials, 1, &s->material));
  POISE_TRY(FemReadClauses(mesh, mesh->dim - 1, "boundary", boundary, boundaries, 1, &s->boundary));
  POISE_TRY(CheckMaterial(s));
  POISE_TRY(CheckBoundary(s));
  POISE_TRY(PoiseAgree(mesh->ctx, Sort(s)));
  /* one for each clause, the source, and the stream or what is stored */
  return PoiseAgree(mesh->ctx, FemAlloc(s->boundary.count + 2, sizeof *s->flow, &s->flow));
}

void FemScalarFree(FemScalar *s)
{
  for (int k = 0; k < s->flows; k++) {
    PoiseVecDestroy(&s->flow[k].weight);
    PoiseVecDestroy(&s->flow[k].change);
  }
  free(s->flow);
  free(s->group);
  PoiseVecDestroy(&s->by);
  FemClausesFree(&s->material);
  FemClausesFree(&s->boundary);
  *s = (FemScalar){0};
}

/* ---- data at points -------------------------------------------------------------------------- */

FemMaterial FemMaterialAt(const FemScalar *s, const FemPoint *p)
{
  const int group = s->group[p->element];
  const FemClause *clause = FemClauseOf(&s->material, group);
  FemMaterial m = {.conductivity = 1, .capacity = 1};
  if (clause != NULL) {
    m.conductivity = clause->value[CONDUCTIVITY][0];
    m.source = clause->value[SOURCE][0];
    if (s->terms == FEM_IN_TIME) m.capacity = clause->value[THIRD][0];
    if (s->terms == FEM_IN_STREAM) memcpy(m.velocity, clause->value[THIRD], sizeof m.velocity);
  }
  FemMaterialOf(Name(s->mesh, p->dim, group), p->x, &m);
  return m;
}

/* Group g of a clause of -boundary. */
typedef struct Part {
  const FemMesh *mesh;
  const FemClause *clause;
  int g;
  const char *name;
  double number; /* of the clause */
} Part;

static Part PartOf(const FemScalar *s, int c, int g)
{
  const FemClause *clause = &s->boundary.clause[c];
  return (Part){s->mesh, clause, g, Name(s->mesh, s->mesh->dim - 1, clause->group[g]), c + 1};
}

/* A facet in several groups of a clause has the clause's data once. */
static int Had(const Part *part, PoiseInt facet)
{
  for (int g = 0; g < part->g; g++) {
    if (FemFacetIn(part->mesh, facet, part->clause->group[g])) return 1;
  }
  return 0;
}

static FemBoundary BoundaryAt(const Part *part, const double x[3])
{
  const FemClause *clause = part->clause;
  FemBoundary b = {clause->value[VALUE][0], clause->value[FLUX][0], clause->value[TRANSFER][0],
                   clause->value[OUTSIDE][0]};
  FemBoundaryOf(part->name, x, &b);
  return b;
}

/* K_ab = (transfer N_a, N_b),  F_a = (flux + transfer outside, N_a) on the boundary */
static void Exchange(const FemPoint *p, void *arg, double *K, double *F)
{
  const FemBoundary b = BoundaryAt(arg, p->x);
  if (Had(arg, p->element)) return;
  for (int i = 0; i < p->nodes; i++) {
    for (int j = 0; j < p->nodes; j++) K[i * p->nodes + j] += p->dV * b.transfer * p->N[i] * p->N[j];
    F[i] += p->dV * (b.flux + b.transfer * b.outside) * p->N[i];
  }
}

/* F_a = -(transfer, N_a): what leaves by transfer is its product with u. */
static void Leaves(const FemPoint *p, void *arg, double *K, double *F)
{
  const FemBoundary b = BoundaryAt(arg, p->x);
  (void)K;
  if (Had(arg, p->element)) return;
  for (int i = 0; i < p->nodes; i++) F[i] -= p->dV * b.transfer * p->N[i];
}

static void Value(const double x[3], void *arg, double *value)
{
  *value = BoundaryAt(arg, x).value;
}

static void Number(const double x[3], void *arg, double *value)
{
  (void)x;
  *value = ((const Part *)arg)->number;
}

/* ---- the boundary, and what flows through it ------------------------------------------------- */

static FemFlow *AddFlow(FemScalar *s, const char *name)
{
  FemFlow *flow = &s->flow[s->flows++];
  snprintf(flow->name, sizeof flow->name, "%s", name);
  flow->clause = -1;
  return flow;
}

static FemFlow *AddFlowOf(FemScalar *s, int c)
{
  const FemClause *clause = &s->boundary.clause[c];
  char name[128] = "";
  for (int g = 0; g < clause->groups; g++) {
    const size_t used = strlen(name);
    snprintf(name + used, sizeof name - used, "%s%s", g > 0 ? ", " : "",
             Name(s->mesh, s->mesh->dim - 1, clause->group[g]));
  }
  return AddFlow(s, name);
}

/* Flux and transfer of a clause. weight: what leaves, of a system that has only a b. */
static PoiseErr AddExchange(FemScalar *s, int c, FemSystem *system)
{
  const FemClause *clause = &s->boundary.clause[c];
  FemFlow *flow = AddFlowOf(s, c);
  double before, after;
  POISE_TRY(PoiseVecDuplicate(system->b, &flow->weight));
  FemSystem leaves = {.mesh = s->mesh, .components = 1, .b = flow->weight};
  POISE_TRY(PoiseVecSumEntries(system->b, &before));
  for (int g = 0; g < clause->groups; g++) {
    Part part = PartOf(s, c, g);
    POISE_TRY(FemAssembleFacetMatrices(system, clause->group[g], Exchange, &part));
    POISE_TRY(FemAssembleFacets(&leaves, clause->group[g], Leaves, &part));
  }
  POISE_TRY(PoiseVecSumEntries(system->b, &after));
  flow->constant = after - before;
  return POISE_OK;
}

/* Set x where values are given, and by at the same nodes. */
static PoiseErr FixValues(const FemScalar *s, FemSystem *system, FemSystem *by)
{
  for (int c = 0; c < s->boundary.count; c++) {
    const FemClause *clause = &s->boundary.clause[c];
    for (int g = 0; g < clause->groups && clause->given[VALUE]; g++) {
      Part part = PartOf(s, c, g);
      POISE_TRY(FemFix(system, clause->group[g], Value, &part));
      POISE_TRY(FemFix(by, clause->group[g], Number, &part));
    }
  }
  return POISE_OK;
}

/* y = 1 where x has this number, else 0. */
static PoiseErr Indicator(PoiseVec x, double number, PoiseVec y)
{
  const double *from;
  double *to;
  POISE_TRY(PoiseVecGetRead(x, &from));
  POISE_TRY(PoiseVecGetWrite(y, &to));
  for (PoiseInt i = 0; i < PoiseVecLocalSize(x); i++) to[i] = from[i] == number;
  POISE_TRY(PoiseVecRestore(y, &to));
  return PoiseVecRestore(x, &from);
}

/* y = A^T x. Without a stream A is symmetric. */
static PoiseErr MultTransposed(const FemScalar *s, PoiseMat A, PoiseVec x, PoiseVec y)
{
  return s->terms == FEM_IN_STREAM ? PoiseMatMultTranspose(A, x, y) : PoiseMatMult(A, x, y);
}

/*
  Where values are given, what flows in is the residual A u - b of these nodes' rows, before they leave A.
  Summed over the nodes of a clause it is (A^T e) . u - e . b, where e is 1 at these nodes.
*/
static PoiseErr AddReactions(FemScalar *s, const FemSystem *system, PoiseVec e)
{
  for (int c = 0; c < s->boundary.count; c++) {
    if (!s->boundary.clause[c].given[VALUE]) continue;
    FemFlow *flow = AddFlowOf(s, c);
    flow->clause = c;
    POISE_TRY(Indicator(s->by, c + 1, e));
    POISE_TRY(PoiseVecDuplicate(e, &flow->weight));
    POISE_TRY(MultTransposed(s, system->A, e, flow->weight));
    POISE_TRY(PoiseVecDot(e, system->b, &flow->constant));
    flow->constant = -flow->constant;
  }
  return POISE_OK;
}

/* What cells give: their source; and what a stream carries, -(velocity, grad u), by the sums of A's columns,
   in which all other terms cancel. */
static PoiseErr AddCells(FemScalar *s, const FemSystem *system, PoiseVec e)
{
  FemFlow *flow = AddFlow(s, "source");
  POISE_TRY(PoiseVecSumEntries(system->b, &flow->constant));
  if (s->terms != FEM_IN_STREAM) return POISE_OK;
  flow = AddFlow(s, "carried by the stream");
  POISE_TRY(PoiseVecDuplicate(e, &flow->weight));
  POISE_TRY(PoiseVecSet(e, -1));
  return MultTransposed(s, system->A, e, flow->weight);
}

/* ---- the maximum principle ------------------------------------------------------------------- */

/* What comes in, what goes out. */
static void Signs(const FemPoint *p, void *arg, double *sums)
{
  const double source = FemMaterialAt(arg, p).source;
  sums[0] += p->dV * fmax(source, 0);
  sums[1] += p->dV * fmax(-source, 0);
}

/* most = {-least, most, comes in, goes out} over the facets of a part. */
static void MostOf(const Part *part, double most[4])
{
  const FemMesh *mesh = part->mesh;
  FemReference reference;
  FemPoint p;
  FemReferenceFacet(mesh->cell, &reference);
  for (PoiseInt f = 0; f < mesh->facets; f++) {
    if (!FemFacetIn(mesh, f, part->clause->group[part->g])) continue;
    FemFacetBegin(mesh, &reference, f, &p);
    for (int q = 0; q < reference.points; q++) {
      FemFacetPoint(&reference, q, &p);
      const FemBoundary b = BoundaryAt(part, p.x);
      most[2] = fmax(most[2], b.flux);
      most[3] = fmax(most[3], -b.flux);
      if (!(b.transfer > 0)) continue;
      most[0] = fmax(most[0], -b.outside);
      most[1] = fmax(most[1], b.outside);
    }
    for (int k = 0; k < p.nodes && part->clause->given[VALUE]; k++) {
      const double value = BoundaryAt(part, p.corner[k]).value;
      most[0] = fmax(most[0], -value);
      most[1] = fmax(most[1], value);
    }
  }
}

/* u lies between the given values and those outside. Sources only lift its upper end, sinks its lower. */
static PoiseErr SetRange(FemScalar *s)
{
  double most[4] = {-INFINITY, -INFINITY, 0, 0}, sums[2];
  for (int c = 0; c < s->boundary.count; c++) {
    for (int g = 0; g < s->boundary.clause[c].groups; g++) {
      const Part part = PartOf(s, c, g);
      MostOf(&part, most);
    }
  }
  POISE_TRY(PoiseMax(s->mesh->ctx, 4, most));
  POISE_TRY(FemIntegrate(s->mesh, Signs, s, 2, sums));
  s->range[0] = sums[1] > 0 || most[3] > 0 ? -INFINITY : -most[0];
  s->range[1] = sums[0] > 0 || most[2] > 0 ? INFINITY : most[1];
  return POISE_OK;
}

PoiseErr FemRange(PoiseVec u, double range[2])
{
  const double *values;
  const PoiseInt n = PoiseVecLocalSize(u);
  double low = INFINITY, high = -INFINITY;
  POISE_TRY(PoiseVecGetRead(u, &values));
#pragma omp parallel for reduction(min : low) reduction(max : high)
  for (PoiseInt i = 0; i < n; i++) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  POISE_TRY(PoiseVecRestore(u, &values));
  double most[2] = {-low, high};
  POISE_TRY(PoiseMax(PoiseVecContext(u), 2, most));
  range[0] = -most[0];
  range[1] = most[1];
  return POISE_OK;
}

PoiseErr FemPrintRange(PoiseContext ctx, const double u[2], const double must[2], const char *why)
{
  const int bounded = isfinite(must[0]) && isfinite(must[1]) && must[1] > must[0];
  const double width = bounded ? must[1] - must[0] : u[1] - u[0], left = fmax(must[0] - u[0], u[1] - must[1]);
  POISE_TRY(PoisePrintf(ctx, "u is in [%.6g, %.6g], by the maximum principle in [%.6g, %.6g]\n", u[0], u[1],
                        must[0], must[1]));
  /* the solver leaves some of it */
  if (!(left > 1e-6 * width + 1e-8 * fmax(fabs(u[0]), fabs(u[1])))) return POISE_OK;
  return PoisePrintf(ctx, "Warning: u leaves this range by %.2g, %.2g %% of %s width.\n%s\n", left,
                     100 * left / width, bounded ? "its" : "u's", why);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static PoiseErr Boundary(FemScalar *s, FemSystem *system, FemSystem *by, PoiseVec e)
{
  POISE_TRY(AddCells(s, system, e));
  for (int c = 0; c < s->boundary.count; c++) {
    if (!s->boundary.clause[c].given[VALUE]) POISE_TRY(AddExchange(s, c, system));
  }
  POISE_TRY(FixValues(s, system, by));
  POISE_TRY(AddReactions(s, system, e));
  return SetRange(s);
}

PoiseErr FemScalarBoundary(FemScalar *s, FemSystem *system)
{
  PoiseVec e = NULL;
  POISE_TRY(PoiseVecDuplicate(system->b, &s->by));
  FemSystem by = {.mesh = s->mesh, .components = 1, .x = s->by};
  PoiseErr err = PoiseVecDuplicate(system->b, &e);
  if (err == POISE_OK) err = Boundary(s, system, &by, e);
  PoiseVecDestroy(&e);
  free(by.fixedRows);
  return err;
}

/* change of each flow: M's part of the same sums. */
static PoiseErr AddChanges(FemScalar *s, PoiseMat M, PoiseVec e)
{
  for (int k = 0; k < s->flows; k++) {
    FemFlow *flow = &s->flow[k];
    if (flow->clause < 0) continue;
    POISE_TRY(Indicator(s->by, flow->clause + 1, e));
    POISE_TRY(PoiseVecDuplicate(e, &flow->change));
    POISE_TRY(MultTransposed(s, M, e, flow->change));
  }
  FemFlow *stored = AddFlow(s, "stored (taken away)");
  POISE_TRY(PoiseVecDuplicate(e, &stored->change));
  POISE_TRY(PoiseVecSet(e, -1));
  return MultTransposed(s, M, e, stored->change);
}

PoiseErr FemScalarStored(FemScalar *s, PoiseMat M)
{
  PoiseVec e = NULL;
  PoiseErr err = PoiseVecDuplicate(s->by, &e);
  if (err == POISE_OK) err = AddChanges(s, M, e);
  PoiseVecDestroy(&e);
  return err;
}

/* *rate += weight . u, and the bound of its rounding */
static PoiseErr AddDot(PoiseVec weight, PoiseVec u, FemFlow *flow)
{
  double dot, norm[2];
  if (weight == NULL || u == NULL) return POISE_OK;
  POISE_TRY(PoiseVecDot(weight, u, &dot));
  POISE_TRY(PoiseVecNorm(weight, POISE_NORM_2, &norm[0]));
  POISE_TRY(PoiseVecNorm(u, POISE_NORM_2, &norm[1]));
  flow->rate += dot;
  flow->rounding += 1e-13 * norm[0] * norm[1];
  return POISE_OK;
}

PoiseErr FemScalarFlows(FemScalar *s, PoiseVec u, PoiseVec change, double dt)
{
  for (int k = 0; k < s->flows; k++) {
    FemFlow *flow = &s->flow[k];
    flow->rate = flow->constant;
    flow->rounding = 1e-13 * fabs(flow->constant);
    POISE_TRY(AddDot(flow->weight, u, flow));
    POISE_TRY(AddDot(flow->change, change, flow));
    flow->amount += dt * flow->rate;
  }
  return POISE_OK;
}

/* Of all flows: the sum of rates and amounts, the largest rate, the bound of rounding. A transfer counts as
   what comes in by it, though as much may go out. */
static FemFlow Sum(const FemScalar *s, double *largest)
{
  FemFlow sum = {.name = "sum"};
  *largest = 0;
  for (int k = 0; k < s->flows; k++) {
    sum.rate += s->flow[k].rate;
    sum.amount += s->flow[k].amount;
    sum.rounding += s->flow[k].rounding;
    *largest = fmax(*largest, fmax(fabs(s->flow[k].rate), fabs(s->flow[k].constant)));
  }
  return sum;
}

static PoiseErr PrintFlow(const FemScalar *s, const FemFlow *flow)
{
  PoiseContext ctx = s->mesh->ctx;
  if (s->terms != FEM_IN_TIME) return PoisePrintf(ctx, "%-32s %14.6g\n", flow->name, flow->rate);
  return PoisePrintf(ctx, "%-32s %14.6g %14.6g\n", flow->name, flow->rate, flow->amount);
}

PoiseErr FemScalarPrint(const FemScalar *s)
{
  double largest;
  const FemFlow sum = Sum(s, &largest);
  POISE_TRY(PoisePrintf(s->mesh->ctx, s->terms == FEM_IN_TIME ? "\n%-32s %14s %14s\n" : "\n%-32s %14s\n",
                        "flow into the body", "rate", "since time 0"));
  for (int k = 0; k < s->flows; k++) POISE_TRY(PrintFlow(s, &s->flow[k]));
  POISE_TRY(PrintFlow(s, &sum));
  if (!(fabs(sum.rate) > 1e-6 * largest + sum.rounding)) return POISE_OK;
  return PoisePrintf(s->mesh->ctx,
                     "Warning: the balance is open by %.1e of its largest flow. Lower -ksp_rtol.\n",
                     fabs(sum.rate) / largest);
}

/* The sum of rates is that of the residual's entries, over `step`. */
static PoiseErr CheckBalance(const FemScalar *s, const FemSystem *system, double step, PoiseVec r)
{
  double largest, norm;
  const FemFlow sum = Sum(s, &largest);
  POISE_TRY(PoiseMatMult(system->A, system->x, r));
  POISE_TRY(PoiseVecAYPX(r, -1, system->b));
  POISE_TRY(PoiseVecNorm(r, POISE_NORM_2, &norm));
  const double bound = sqrt((double)PoiseVecSize(r)) * norm / step + sum.rounding;
  if (fabs(sum.rate) <= bound) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "flows sum up to %g, where the residual of A x = b explains %g", sum.rate,
             bound);
}

PoiseErr FemScalarBalance(const FemScalar *s, const FemSystem *system, double step)
{
  PoiseVec r = NULL;
  PoiseErr err = PoiseVecDuplicate(system->b, &r);
  if (err == POISE_OK) err = CheckBalance(s, system, step, r);
  PoiseVecDestroy(&r);
  return err;
}
