/* SPDX-License-Identifier: BSD-3-Clause */
#include "part.h"
#include <stdlib.h>

enum { YOUNG, POISSON, DENSITY };
static const FemKey materialKeys[] = {
    {"E", 0, 1e-30, 1e30}, {"nu", 0, -0.99, 0.4999}, {"density", 0, 0, 1e30}, {0}};
static const FemKey supportKeys[] = {
    {"x", 0, -1e30, 1e30}, {"y", 0, -1e30, 1e30}, {"z", 0, -1e30, 1e30}, {0}};
static const FemKey planeSupportKeys[] = {{"x", 0, -1e30, 1e30}, {"y", 0, -1e30, 1e30}, {0}};
enum { TRACTION, PRESSURE, FORCE };
static const FemKey loadKeys[] = {
    {"traction", 1, -1e30, 1e30}, {"pressure", 0, -1e30, 1e30}, {"force", 1, -1e30, 1e30}, {0}};
enum { PER_VOLUME, GRAVITY };
static const FemKey bodyKeys[] = {{"force", 1, -1e30, 1e30}, {"gravity", 1, -1e30, 1e30}, {0}};

static const char *GroupName(const FemMesh *mesh, int dim, int number)
{
  for (int g = 0; g < mesh->groups; g++)
    if (mesh->group[g].dim == dim && mesh->group[g].number == number) return mesh->group[g].name;
  return "";
}

/* ---- reading --------------------------------------------------------------------------------- */

static int Any(const FemClause *clause)
{
  for (int k = 0; k < FEM_MAX_KEYS; k++)
    if (clause->given[k]) return 1;
  return 0;
}

static PoiseErr ReadTexts(const FemPartText *text, FemPart *part)
{
  const FemMesh *mesh = part->mesh;
  const int dim = mesh->dim;
  POISE_TRY(FemReadClauses(mesh, dim, "material", text->material, materialKeys, 1, &part->material));
  POISE_TRY(FemReadClauses(mesh, dim - 1, "support", text->support, dim == 3 ? supportKeys : planeSupportKeys,
                           0, &part->support));
  POISE_TRY(FemReadCases(mesh, dim - 1, "loads", text->loads, loadKeys, &part->loads));
  return FemReadClauses(mesh, dim, "body", text->body, bodyKeys, 0, &part->body);
}

static PoiseErr CheckTexts(FemPart *part)
{
  const FemMesh *mesh = part->mesh;
  for (int i = 0; i < part->material.count; i++) {
    const FemClause *c = &part->material.clause[i];
    if (!c->given[YOUNG] || !c->given[POISSON])
      POISE_FAIL(POISE_ERR_OPTION, "-material: '%s' needs both E and nu",
                 GroupName(mesh, mesh->dim, c->group[0]));
  }
  for (int i = 0; i < part->loads.count; i++) {
    if (!Any(&part->loads.clause[i]))
      POISE_FAIL(POISE_ERR_OPTION, "-loads: no load is given on '%s' (traction, pressure or force)",
                 GroupName(mesh, mesh->dim - 1, part->loads.clause[i].group[0]));
  }
  for (int i = 0; i < part->body.count; i++) {
    if (!Any(&part->body.clause[i]))
      POISE_FAIL(POISE_ERR_OPTION, "-body: nothing acts on '%s' (force or gravity)",
                 GroupName(mesh, mesh->dim, part->body.clause[i].group[0]));
  }
  for (int i = 0; i < part->support.count; i++) part->supports += part->support.clause[i].groups;
  return POISE_OK;
}

PoiseErr FemPartRead(const FemMesh *mesh, FemSolid kind, const FemPartText *text, const FemPartFunctions *at,
                     double young, double poisson, FemPart *part)
{
  *part = (FemPart){.mesh = mesh, .kind = kind, .at = *at, .young = young, .poisson = poisson};
  PoiseErr err = ReadTexts(text, part);
  if (err == POISE_OK) err = CheckTexts(part);
  if (err == POISE_OK) err = FemAlloc(mesh->cells, sizeof *part->density, &part->density);
  return PoiseAgree(mesh->ctx, err);
}

void FemPartFree(FemPart *part)
{
  FemClausesFree(&part->material);
  FemClausesFree(&part->support);
  FemClausesFree(&part->loads);
  FemClausesFree(&part->body);
  free(part->density);
  *part = (FemPart){0};
}

/* ---- material -------------------------------------------------------------------------------- */

/* The name of the first group of the clause that this cell or facet is in, or NULL. */
typedef int (*IsIn)(const FemMesh *mesh, PoiseInt element, int group);
static const char *InClause(const FemMesh *mesh, int dim, IsIn in, PoiseInt element, const FemClause *clause)
{
  for (int g = 0; g < clause->groups; g++)
    if (in(mesh, element, clause->group[g])) return GroupName(mesh, dim, clause->group[g]);
  return NULL;
}

static const char *CellInClause(const FemMesh *mesh, PoiseInt cell, const FemClause *clause)
{
  return InClause(mesh, mesh->dim, FemCellIn, cell, clause);
}

/* The name of the first group of the mesh that this cell is in, or "". */
static const char *GroupOfCell(const FemMesh *mesh, PoiseInt cell)
{
  for (int g = 0; g < mesh->groups; g++) {
    if (mesh->group[g].dim == mesh->dim && FemCellIn(mesh, cell, mesh->group[g].number))
      return mesh->group[g].name;
  }
  return "";
}

/* The clause of the material of a cell; -1 without any text. */
static PoiseErr MaterialOf(const FemPart *part, PoiseInt cell, int *clause)
{
  const FemMesh *mesh = part->mesh;
  *clause = -1;
  for (int i = 0; i < part->material.count; i++) {
    if (CellInClause(mesh, cell, &part->material.clause[i]) == NULL) continue;
    if (*clause >= 0)
      POISE_FAIL(POISE_ERR_OPTION, "-material: a cell of '%s' is also in '%s'",
                 GroupName(mesh, mesh->dim, part->material.clause[i].group[0]),
                 GroupName(mesh, mesh->dim, part->material.clause[*clause].group[0]));
    *clause = i;
  }
  if (*clause >= 0 || part->material.count == 0) return POISE_OK;
  POISE_FAIL(POISE_ERR_OPTION, "-material says nothing of cells in '%s'", GroupOfCell(mesh, cell));
}

/* Set law and density of a cell; *E and *nu too. */
static PoiseErr SetMaterial(FemPart *part, FemElastic *elastic, PoiseInt e, double *E, double *nu)
{
  const FemMesh *mesh = part->mesh;
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  const char *group;
  double x[3] = {0}, density = 0;
  int clause;
  for (int k = 0; k < info->corners; k++) {
    for (int c = 0; c < 3; c++) x[c] += mesh->x[3 * mesh->cellNodes[e * info->nodes + k] + c] / info->corners;
  }
  POISE_TRY(MaterialOf(part, e, &clause));
  if (clause >= 0) {
    const FemClause *c = &part->material.clause[clause];
    *E = c->value[YOUNG][0];
    *nu = c->value[POISSON][0];
    density = c->value[DENSITY][0];
    group = CellInClause(mesh, e, c);
  } else {
    *E = part->young;
    *nu = part->poisson;
    group = GroupOfCell(mesh, e);
  }
  part->at.material(group, x, part->at.arg, E, nu, &density);
  FemElasticLaw(elastic, e, *E, *nu);
  elastic->region[e] = clause >= 0 ? clause : 0;
  part->density[e] = density;
  return POISE_OK;
}

static PoiseErr SetMaterials(FemPart *part, FemElastic *elastic, double *young, double *poisson)
{
  const PoiseInt cells = part->mesh->cells;
  PoiseInt failed = cells;
  double most = -1, nu;
#pragma omp parallel for private(nu) reduction(max : most) reduction(min : failed)
  for (PoiseInt e = 0; e < cells; e++) {
    if (SetMaterial(part, elastic, e, &young[e], &nu) == POISE_OK) {
      most = fmax(most, nu);
    } else {
      PoiseErrorClear();
      if (e < failed) failed = e;
    }
  }
  *poisson = most;
  if (failed == cells) return POISE_OK;
  return SetMaterial(part, elastic, failed, &young[failed], &nu); /* this thread has the error */
}

PoiseErr FemPartMaterial(FemPart *part, FemElastic *elastic, double *young, double *poisson)
{
  if (part->material.count > 1) elastic->regions = part->material.count;
  POISE_TRY(PoiseAgree(part->mesh->ctx, SetMaterials(part, elastic, young, poisson)));
  POISE_TRY(PoiseMax(part->mesh->ctx, 1, poisson));
  return FemElasticPrepare(elastic);
}

static void Mass(const FemPoint *p, void *arg, double *mass)
{
  const FemPart *part = arg;
  *mass += p->dV * part->density[p->element];
}

PoiseErr FemPartMass(const FemPart *part, double *mass)
{
  return FemIntegrate(part->mesh, Mass, (void *)part, 1, mass);
}

/* ---- supports -------------------------------------------------------------------------------- */

typedef struct Support {
  const FemPart *part;
  const FemClause *clause;
  const char *group;
  int number; /* 0: give displacements; else give this number of the support */
} Support;

static void Held(const double x[3], void *arg, double *u)
{
  const Support *s = arg;
  const FemClause *c = s->clause;
  const int all = !Any(c);
  for (int i = 0; i < s->part->mesh->dim; i++) u[i] = all || c->given[i] ? c->value[i][0] : FEM_FREE;
  s->part->at.support(s->group, x, s->part->at.arg, u);
  for (int i = 0; i < 3; i++)
    if (s->number != 0 && !isnan(u[i])) u[i] = s->number;
}

/* arg: what to give the radial displacement on the axis */
static void Axis(const double x[3], void *arg, double *u)
{
  if (x[0] == 0) u[0] = *(const double *)arg;
}

/* Let x have the values, and the fixed rows be known. */
static PoiseErr FixAll(const FemPart *part, FemSystem *system, int numbers)
{
  double axis = numbers ? -1 : 0;
  int number = 0;
  for (int i = 0; i < part->support.count; i++) {
    const FemClause *c = &part->support.clause[i];
    for (int g = 0; g < c->groups; g++) {
      Support support = {part, c, GroupName(part->mesh, part->mesh->dim - 1, c->group[g]),
                         numbers ? ++number : 0};
      POISE_TRY(FemFix(system, c->group[g], Held, &support));
    }
  }
  return part->kind == FEM_AXISYMMETRIC ? FemFixNodes(system, Axis, &axis) : POISE_OK;
}

PoiseErr FemPartSupport(const FemPart *part, FemSystem *system, PoiseVec by)
{
  FemSystem numbers = {.mesh = system->mesh, .components = system->components, .x = by};
  POISE_TRY(FixAll(part, system, 0));
  POISE_TRY(PoiseVecSet(by, 0));
  PoiseErr err = FixAll(part, &numbers, 1);
  free(numbers.fixedRows);
  return err;
}

const char *FemPartSupportName(const FemPart *part, int support)
{
  for (int i = 0; i < part->support.count; support -= part->support.clause[i++].groups) {
    if (support < part->support.clause[i].groups)
      return GroupName(part->mesh, part->mesh->dim - 1, part->support.clause[i].group[support]);
  }
  return "";
}

/* ---- loads ----------------------------------------------------------------------------------- */

typedef struct Load {
  const FemPart *part;
  int clause;
  double area; /* of the facets of the clause; 0: find it, as the sum over all nodes of a traction along x */
} Load;

/* F_(a i) = (t_i, N_a), a force per area */
static void Traction(const FemPoint *p, void *arg, double *K, double *F)
{
  const Load *load = arg;
  const FemMesh *mesh = load->part->mesh;
  const FemClause *c = &load->part->loads.clause[load->clause];
  double t[3] = {load->area == 0, 0, 0};
  (void)K;
  if (load->area > 0) {
    for (int i = 0; i < p->dim; i++)
      t[i] = c->value[TRACTION][i] - c->value[PRESSURE][0] * p->normal[i] + c->value[FORCE][i] / load->area;
    load->part->at.load(InClause(mesh, mesh->dim - 1, FemFacetIn, p->element, c), p->x, p->normal,
                        load->part->at.arg, t);
  }
  for (int a = 0; a < p->nodes; a++) {
    for (int i = 0; i < p->dim; i++) F[p->dim * a + i] += p->dV * t[i] * p->N[a];
  }
}

static PoiseErr AddLoad(FemSystem *system, Load *load, PoiseVec work)
{
  const FemClause *c = &load->part->loads.clause[load->clause];
  FemSystem ones = {.mesh = system->mesh, .components = system->components, .b = work};
  double area;
  POISE_TRY(PoiseVecSet(work, 0));
  POISE_TRY(FemAssembleFacetsOf(&ones, c->groups, c->group, Traction, load));
  POISE_TRY(PoiseVecSumEntries(work, &area));
  if (!(area > 0))
    POISE_FAIL(POISE_ERR_ARG, "-loads: '%s' has no area",
               GroupName(system->mesh, system->mesh->dim - 1, c->group[0]));
  load->area = area;
  return FemAssembleFacetsOf(system, c->groups, c->group, Traction, load);
}

/* F_(a i) = (f_i, N_a), a force per volume */
static void BodyForce(const FemPoint *p, void *arg, double *K, double *F)
{
  const FemPart *part = arg;
  const double density = part->density[p->element];
  (void)K;
  for (int k = 0; k < part->body.count; k++) {
    const FemClause *c = &part->body.clause[k];
    const char *group = CellInClause(part->mesh, p->element, c);
    double f[3] = {0};
    if (group == NULL) continue;
    for (int i = 0; i < p->dim; i++) f[i] = c->value[PER_VOLUME][i] + density * c->value[GRAVITY][i];
    part->at.body(group, p->x, density, part->at.arg, f);
    for (int a = 0; a < p->nodes; a++) {
      for (int i = 0; i < p->dim; i++) F[p->dim * a + i] += p->dV * f[i] * p->N[a];
    }
  }
}

/* Gravity on a cell without density would be forgotten in silence. */
static PoiseErr CheckDensity(const FemPart *part)
{
  const FemMesh *mesh = part->mesh;
  for (int k = 0; k < part->body.count; k++) {
    const FemClause *c = &part->body.clause[k];
    for (PoiseInt e = 0; e < mesh->cells && c->given[GRAVITY]; e++) {
      if (CellInClause(mesh, e, c) != NULL && !(part->density[e] > 0))
        POISE_FAIL(POISE_ERR_OPTION,
                   "-body: gravity on '%s' needs its density: -material \"%s: E = ..., nu = "
                   "..., density = ...\"",
                   GroupName(mesh, mesh->dim, c->group[0]), GroupName(mesh, mesh->dim, c->group[0]));
    }
  }
  return POISE_OK;
}

int FemPartCases(const FemPart *part)
{
  return part->loads.cases;
}

PoiseErr FemPartLoad(FemPart *part, int number, FemSystem *system)
{
  PoiseVec work = NULL;
  POISE_TRY(PoiseAgree(part->mesh->ctx, CheckDensity(part)));
  PoiseErr err = PoiseVecDuplicate(system->b, &work);
  for (int i = 0; i < part->loads.count && err == POISE_OK; i++) {
    Load load = {part, i, 0};
    if (part->loads.clause[i].number == number) err = AddLoad(system, &load, work);
  }
  PoiseVecDestroy(&work);
  POISE_TRY(err);
  if (part->body.count == 0) return POISE_OK;
  return FemAssembleVector(part->mesh, part->mesh->dim, BodyForce, part, system->b);
}
