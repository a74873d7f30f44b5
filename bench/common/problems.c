/* SPDX-License-Identifier: BSD-3-Clause */
#include "problems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

const char *const problem_words[PROBLEMS] = {"5",     "7",    "27",    "elasticity", "rmat", "rmat_scrambled",
                                             "arrow", "tail", "halves"};

static uint64_t Mix(uint64_t z)
{
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

double RandomAt(int64_t i, int64_t j)
{
  uint64_t z = Mix(((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15)) +
               ((uint64_t)j + 1) * UINT64_C(0xd1342543de82ef95);
  return (double)(Mix(z) >> 11) * 0x1p-53;
}

PoiseErr ReserveRows(Rows *r)
{
  r->col = LargePages((size_t)r->ptr[r->n] * sizeof *r->col);
  r->val = LargePages((size_t)r->ptr[r->n] * sizeof *r->val);
  if (!r->col || !r->val) POISE_FAIL(POISE_ERR_MEMORY, "%d entries", r->ptr[r->n]);
  return POISE_OK;
}

PoiseErr CountRows(Rows *r)
{
  r->ptr = calloc((size_t)(r->n + 1), sizeof *r->ptr);
  if (!r->ptr) POISE_FAIL(POISE_ERR_MEMORY, "offsets of %lld rows", (long long)r->n);
  return POISE_OK;
}

PoiseErr OffsetRows(Rows *r)
{
  int64_t sum = 0;
  for (int64_t i = 1; i <= r->n; i++) {
    sum += r->ptr[i];
    if (sum > INT32_MAX) POISE_FAIL(POISE_ERR_SIZE, "more than 2^31 entries on a rank: ask for fewer bytes");
    r->ptr[i] = (int32_t)sum;
  }
  return POISE_OK;
}

void DestroyRows(Rows *r)
{
  free(r->ptr);
  free(r->col);
  free(r->val);
  *r = (Rows){0};
}

/* ---- meshes ---------------------------------------------------------------------------------- */

static double Shape(int corner, const double *at, int derivative)
{
  double value = 1;
  for (int d = 0; d < 3; d++) {
    int side = corner >> d & 1;
    value *= d == derivative ? (side ? 1 : -1) : side ? at[d] : 1 - at[d];
  }
  return value;
}

/* Stiffness of the unit cube with Gauss' 8 points, E = 1 and nu = 0.3 where there are 3 unknowns per node,
   and some mass. */
static void Element(Mesh *m)
{
  const double nu = 0.3, lambda = nu / ((1 + nu) * (1 - 2 * nu)), mu = 0.5 / (1 + nu);
  int f = m->dofs, size = CORNERS * f;
  memset(m->element, 0, sizeof m->element);
  for (int g = 0; g < CORNERS; g++) {
    double at[3], grad[CORNERS][3];
    for (int d = 0; d < 3; d++) at[d] = 0.5 + (g >> d & 1 ? 0.5 : -0.5) / sqrt(3);
    for (int c = 0; c < CORNERS; c++)
      for (int d = 0; d < 3; d++) grad[c][d] = Shape(c, at, d);
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++) {
        const double *gi = grad[i / f], *gj = grad[j / f];
        double dot = gi[0] * gj[0] + gi[1] * gj[1] + gi[2] * gj[2], same = i % f == j % f;
        double mass = 0.01 * same * Shape(i / f, at, -1) * Shape(j / f, at, -1);
        double v = f == 1 ? dot : lambda * gi[i % f] * gj[j % f] + mu * (gi[j % f] * gj[i % f] + same * dot);
        m->element[i * size + j] += 0.125 * (v + mass);
      }
  }
}

/* For k nodes in each direction. */
static double MatrixBytes(int problem, double k)
{
  switch (problem) {
  case FIVE:
    return 12 * (5 * k * k - 4 * k) + 4 * k * k;
  case SEVEN:
    return 12 * (7 * k * k * k - 6 * k * k) + 4 * k * k * k;
  case TWENTY_SEVEN:
    return 12 * pow(3 * k - 2, 3) + 4 * k * k * k;
  default:
    return 12 * 9 * pow(3 * k - 2, 3) + 12 * k * k * k;
  }
}

void CreateMesh(PoiseContext ctx, int problem, bool vary, double bytes, Mesh *m)
{
  *m = (Mesh){.dim = problem == FIVE ? 2 : 3,
              .dofs = problem == ELASTICITY ? 3 : 1,
              .elements = problem >= TWENTY_SEVEN,
              .vary = vary,
              .k = 2};
  while (MatrixBytes(problem, (double)m->k) < bytes) m->k++;
  int64_t plane = m->dim == 2 ? m->k : m->k * m->k;
  PoiseSplit(ctx, m->k, &m->begin, &m->n);
  m->begin *= plane, m->n *= plane;
  m->nodes = plane * m->k;
  Element(m);
}

/* Of the element with this lowest node, or of the edge between neighbours. */
static double Coefficient(const Mesh *m, int64_t i, int64_t j)
{
  return m->vary ? 0.5 + (i < j ? RandomAt(i, j) : RandomAt(j, i)) : 1;
}

/* Entry of nodes i and i + step (its components) for unknowns a, b: the sum over the elements that have
   both. */
static double Coupling(const Mesh *m, int64_t node, const int64_t *at, const int64_t *step, int a, int b)
{
  double sum = 0;
  for (int e = 0; e < CORNERS; e++) { /* the element in which the node is corner e */
    int other = 0;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      int64_t low = at[d] - (e >> d & 1), corner = (e >> d & 1) + step[d];
      inside = inside && low >= 0 && low + 1 < m->k && corner >= 0 && corner <= 1;
      other |= (int)(corner & 1) << d;
    }
    int64_t lowest = node - (e & 1) - m->k * ((e >> 1 & 1) + m->k * (e >> 2));
    if (inside)
      sum += Coefficient(m, lowest, lowest) *
             m->element[(e * m->dofs + a) * CORNERS * m->dofs + other * m->dofs + b];
  }
  return sum;
}

/* Sum of the coefficients of all edges of a node, those that leave the mesh among them, and a little more. */
static double Diagonal(const Mesh *m, int64_t node)
{
  int64_t stride = 1;
  double sum = 0;
  for (int d = 0; d < m->dim; d++, stride *= m->k) {
    int64_t at = node / stride % m->k;
    sum += at > 0 ? Coefficient(m, node, node - stride) : 1;
    sum += at + 1 < m->k ? Coefficient(m, node, node + stride) : 1;
  }
  return sum + 1e-3;
}

int NodeRow(const Mesh *m, int64_t node, int a, int32_t *col, double *val)
{
  int64_t k = m->k, at[3] = {node % k, node / k % k, m->dim == 2 ? 0 : node / k / k},
          reach = m->dim == 2 ? 0 : 1;
  int n = 0;
  for (int64_t z = -reach; z <= reach; z++)
    for (int64_t y = -1; y <= 1; y++)
      for (int64_t x = -1; x <= 1; x++) {
        int64_t step[3] = {x, y, z}, distance = x * x + y * y + z * z, other = node + x + k * (y + k * z);
        bool inside = m->elements || distance <= 1;
        for (int d = 0; d < m->dim; d++) inside = inside && at[d] + step[d] >= 0 && at[d] + step[d] < k;
        if (!inside) continue;
        for (int b = 0; b < m->dofs; b++, n++) {
          if (col) col[n] = (int32_t)(other * m->dofs + b);
          if (val)
            val[n] = m->elements ? Coupling(m, node, at, step, a, b)
                     : distance  ? -Coefficient(m, node, other)
                                 : Diagonal(m, node);
        }
      }
  return n;
}

PoiseErr CreateMeshRows(const Mesh *m, Rows *r)
{
  int f = m->dofs;
  *r = (Rows){.n = m->n * f, .N = m->nodes * f, .begin = m->begin * f, .block = f};
  POISE_TRY(CountRows(r));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < r->n; i++) r->ptr[i + 1] = NodeRow(m, m->begin + i / f, 0, NULL, NULL);
  POISE_TRY(OffsetRows(r));
  POISE_TRY(ReserveRows(r));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < r->n; i++)
    (void)NodeRow(m, m->begin + i / f, (int)(i % f), r->col + r->ptr[i], r->val + r->ptr[i]);
  return POISE_OK;
}

bool HasElement(const Mesh *m, int64_t node)
{
  return node % m->k + 1 < m->k && node / m->k % m->k + 1 < m->k && node / m->k / m->k + 1 < m->k;
}

void ElementRows(const Mesh *m, int64_t node, PoiseInt *rows)
{
  for (int c = 0; c < CORNERS; c++)
    for (int a = 0; a < m->dofs; a++)
      rows[c * m->dofs + a] = (node + (c & 1) + m->k * ((c >> 1 & 1) + m->k * (c >> 2))) * m->dofs + a;
}

/* ---- irregular patterns ---------------------------------------------------------------------- */

enum { DRAWS = 16, FULL = 4, REACH = 1000, LONGEST = 4700, FEW = 3, MANY = 30 };

typedef struct Irregular {
  int problem, levels, draws; /* levels: N = 2^levels, of recursive matrices; draws: for each row */
  int64_t N;
} Irregular;

/* A vertex by its new number: odd multiples and shifted exclusive ors are bijections of the numbers below
   2^levels. */
static int64_t Renumber(int64_t i, int levels)
{
  uint64_t mask = (UINT64_C(1) << levels) - 1, z = (uint64_t)i;
  for (int turn = 0; turn < 3; turn++) {
    z = z * UINT64_C(0x9e3779b97f4a7c15) & mask;
    z ^= z >> (levels / 2 + 1);
  }
  return (int64_t)z;
}

static void Draw(const Irregular *p, int64_t k, int64_t *row, int64_t *col)
{
  *row = *col = 0;
  for (int level = 0; level < p->levels; level++) {
    double u = RandomAt(k, level);
    int quarter = u < .57 ? 0 : u < .76 ? 1 : u < .95 ? 2 : 3;
    *row = 2 * *row + (quarter >> 1), *col = 2 * *col + (quarter & 1);
  }
  if (p->problem == RMAT_SCRAMBLED) *row = Renumber(*row, p->levels), *col = Renumber(*col, p->levels);
}

/* How many columns this rank's row asks for, and which; some may be equal. */
static int64_t Length(const Irregular *p, int64_t i)
{
  if (p->problem == TAIL)
    return (int64_t)fmin(fmin(LONGEST, (double)p->N), pow(1 - RandomAt(i, -1), -1 / 1.4));
  if (p->problem == HALVES) return p->N <= MANY ? 1 : i < p->N / 2 ? FEW : MANY;
  return i == 0 || i == p->N / 3 || i == 2 * p->N / 3 || i == p->N - 1 ? p->N : 5;
}

static int64_t Column(const Irregular *p, int64_t i, int64_t k, int64_t length)
{
  static const int64_t around[] = {0, 1, -1, REACH, -REACH};
  int64_t j = k;
  if (p->problem == ARROW && length == 5) j = i + around[k];
  if (p->problem == TAIL)
    j = k % 2 ? (int64_t)(RandomAt(i, k) * (double)p->N)
              : i + (int64_t)(RandomAt(i, k) * (2 * REACH + 1)) - REACH;
  if (p->problem == HALVES) j = i + (k ? (int64_t)(RandomAt(i, k) * (2 * REACH + 1)) - REACH : 0);
  return (j % p->N + p->N) % p->N;
}

static int CompareColumns(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Sorts each row's columns, leaves equal ones out, and gives values. ptr holds where rows begin, length[i]
   how many there are. */
static PoiseErr Finish(Rows *r)
{
  int32_t *length = malloc((size_t)r->n * sizeof *length), *start = r->ptr, *col = r->col;
  if (r->n && !length) POISE_FAIL(POISE_ERR_MEMORY, "lengths of %lld rows", (long long)r->n);
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < r->n; i++) {
    int32_t *row = col + start[i], n = start[i + 1] - start[i], kept = 0;
    qsort(row, (size_t)n, sizeof *row, CompareColumns);
    for (int32_t k = 0; k < n; k++)
      if (!kept || row[kept - 1] != row[k]) row[kept++] = row[k];
    length[i] = kept;
  }
  int32_t put = 0;
  for (int64_t i = 0; i < r->n; i++) {
    int32_t from = start[i];
    memmove(col + put, col + from, (size_t)length[i] * sizeof *col);
    start[i] = put;
    put += length[i];
  }
  start[r->n] = put;
  free(length);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < r->n; i++)
    for (int32_t k = start[i]; k < start[i + 1]; k++) r->val[k] = 2 * RandomAt(r->begin + i, col[k]) - 1;
  return POISE_OK;
}

/* Draws of this rank's rows go where next[row] says, which is then one more; or are counted there. */
static void Draws(const Irregular *p, const Rows *r, int32_t *next, int32_t *col)
{
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < p->draws * p->N; k++) {
    int64_t row, column;
    int32_t place;
    Draw(p, k, &row, &column);
    if (row < r->begin || row >= r->begin + r->n) continue;
#pragma omp atomic capture
    place = next[row - r->begin]++;
    if (col) col[place] = (int32_t)column;
  }
}

static PoiseErr RecursiveRows(const Irregular *p, Rows *r)
{
  Draws(p, r, r->ptr + 1, NULL);
  POISE_TRY(OffsetRows(r));
  POISE_TRY(ReserveRows(r));
  int32_t *next = malloc((size_t)(r->n + 1) * sizeof *next);
  if (!next) POISE_FAIL(POISE_ERR_MEMORY, "places of %lld rows", (long long)r->n);
  memcpy(next, r->ptr, (size_t)r->n * sizeof *next);
  Draws(p, r, next, r->col);
  free(next);
  return Finish(r);
}

static PoiseErr OtherRows(const Irregular *p, Rows *r)
{
  for (int64_t i = 0; i < r->n; i++) r->ptr[i + 1] = (int32_t)Length(p, r->begin + i);
  POISE_TRY(OffsetRows(r));
  POISE_TRY(ReserveRows(r));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < r->n; i++)
    for (int64_t k = 0, n = r->ptr[i + 1] - r->ptr[i]; k < n; k++)
      r->col[r->ptr[i] + k] = (int32_t)Column(p, r->begin + i, k, n);
  return Finish(r);
}

PoiseErr CreateRecursive(PoiseContext ctx, int levels, int draws, bool scrambled, Rows *r)
{
  Irregular p = {.problem = scrambled ? RMAT_SCRAMBLED : RMAT,
                 .levels = levels,
                 .draws = draws,
                 .N = INT64_C(1) << levels};
  *r = (Rows){.N = p.N, .block = 1};
  PoiseSplit(ctx, p.N, &r->begin, &r->n);
  POISE_TRY(CountRows(r));
  return RecursiveRows(&p, r);
}

static PoiseErr CreateIrregular(PoiseContext ctx, int problem, double bytes, Rows *r)
{
  static const double per_row[] = {[RMAT] = DRAWS,
                                   [RMAT_SCRAMBLED] = DRAWS,
                                   [ARROW] = 5 + FULL,
                                   [TAIL] = 3,
                                   [HALVES] = (FEW + MANY) / 2.0};
  Irregular p = {.problem = problem, .N = (int64_t)fmax(8, bytes / (12 * per_row[problem] + 4))};
  if (problem == RMAT || problem == RMAT_SCRAMBLED) {
    while (INT64_C(1) << (p.levels + 1) <= p.N && p.levels < 30) p.levels++;
    return CreateRecursive(ctx, p.levels, DRAWS, problem == RMAT_SCRAMBLED, r);
  }
  *r = (Rows){.N = p.N, .block = 1};
  PoiseSplit(ctx, p.N, &r->begin, &r->n);
  POISE_TRY(CountRows(r));
  return OtherRows(&p, r);
}

/* ---- any problem ----------------------------------------------------------------------------- */

PoiseErr CreateRows(PoiseContext ctx, int problem, bool vary, double bytes, Rows *r)
{
  Mesh m;
  if (problem > ELASTICITY) return CreateIrregular(ctx, problem, bytes, r);
  CreateMesh(ctx, problem, vary, bytes, &m);
  return CreateMeshRows(&m, r);
}

static PoiseErr CopyRows(PoiseMat A, const char *path, Rows *r)
{
  int64_t *ptr = NULL, *col = NULL;
  POISE_TRY(PoiseMatCopyCSR(A, &ptr, &col, &r->val));
  r->ptr = malloc((size_t)(r->n + 1) * sizeof *r->ptr);
  r->col = malloc((size_t)ptr[r->n] * sizeof *r->col);
  bool large = ptr[r->n] > INT32_MAX, full = !r->ptr || (ptr[r->n] && !r->col);
  for (int64_t i = 0; i <= r->n && !large && !full; i++) r->ptr[i] = (int32_t)ptr[i];
  for (int64_t k = 0; k < ptr[r->n] && !large && !full; k++) r->col[k] = (int32_t)col[k];
  free(ptr);
  free(col);
  if (large) POISE_FAIL(POISE_ERR_SIZE, "%s has more than 2^31 entries", path);
  if (full) POISE_FAIL(POISE_ERR_MEMORY, "the rows of %s", path);
  return POISE_OK;
}

PoiseErr LoadRows(PoiseContext ctx, const char *path, Rows *r)
{
  PoiseMat A = NULL;
  PoiseInt N;
  *r = (Rows){.block = 1};
  if (PoiseSize(ctx) > 1) POISE_FAIL(POISE_ERR_UNSUPPORTED, "matrices from files are measured on one rank");
  POISE_TRY(PoiseMatLoad(ctx, path, &A));
  PoiseMatSizes(A, &r->n, &N);
  r->N = N;
  PoiseErr e = r->n == N
                   ? CopyRows(A, path, r)
                   : PoiseErrorSet(POISE_ERR_SIZE, __func__, __FILE__, __LINE__,
                                   "%s is %lld x %lld, not square", path, (long long)r->n, (long long)N);
  PoiseMatDestroy(&A);
  return e;
}

/* ---- triplets -------------------------------------------------------------------------------- */

PoiseErr CreateCoo(const Mesh *m, bool shuffle, Coo *c)
{
  PoiseInt rows[MAX_DOFS];
  int size = CORNERS * m->dofs;
  uint64_t seed = 1;
  *c = (Coo){0};
  for (int64_t node = m->begin; node < m->begin + m->n; node++) c->n += HasElement(m, node) * size * size;
  c->rows = malloc((size_t)c->n * sizeof *c->rows);
  c->cols = malloc((size_t)c->n * sizeof *c->cols);
  c->v = malloc((size_t)c->n * sizeof *c->v);
  if (!c->rows || !c->cols || !c->v) POISE_FAIL(POISE_ERR_MEMORY, "%lld triplets", (long long)c->n);
  for (int64_t node = m->begin, k = 0; node < m->begin + m->n; node++) {
    if (!HasElement(m, node)) continue;
    ElementRows(m, node, rows);
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++, k++) c->rows[k] = rows[i], c->cols[k] = rows[j];
  }
  for (int64_t k = c->n - 1; shuffle && k > 0; k--) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    int64_t other = (int64_t)((seed >> 20) % (uint64_t)(k + 1));
    PoiseInt i = c->rows[k], j = c->cols[k];
    c->rows[k] = c->rows[other], c->cols[k] = c->cols[other];
    c->rows[other] = i, c->cols[other] = j;
  }
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < c->n; k++) c->v[k] = (double)(k % 17);
  return POISE_OK;
}

void DestroyCoo(Coo *c)
{
  free(c->rows);
  free(c->cols);
  free(c->v);
  *c = (Coo){0};
}
