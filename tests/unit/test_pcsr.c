/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type pcsr: parts of equal nonzeros, whatever the rows. Products are compared with sums over a function of
  (i, j), in long double. Parts are as equal as they can be, rows are cut only where they must, and where none
  is the local type works alone. Also the shares of ranks by weights.
*/
#include "formula.h"
#include "ksp/ksp.h"
#include "mat/product/pcsr.h"
#include "wide.h"

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Shape {
  const char *name;
  PoiseInt M, N;
  double (*value)(const struct Shape *, PoiseInt i, PoiseInt j); /* 0: the entry is not stored */
} Shape;

static double Random(PoiseInt i, PoiseInt j)
{
  return 0.1 + fabs(TestRandom(7, (uint64_t)(i * 5000 + j)));
}
static double All(const Shape *s, PoiseInt i, PoiseInt j)
{
  return s->M ? Random(i, j) : 0;
}
static double None(const Shape *s, PoiseInt i, PoiseInt j)
{
  return 0.0 * (double)(s->M + i + j);
}
static double Three(const Shape *s, PoiseInt i, PoiseInt j) /* fewer than there are parts */
{
  return (i == 0 && j == 0) || (i == s->M / 2 && (j == 1 || j == s->N - 1)) ? Random(i, j) : 0;
}
static double Scattered(const Shape *s, PoiseInt i, PoiseInt j) /* with empty rows and columns */
{
  return i % 5 != 2 && j % 7 != 3 && TestRandom(9, (uint64_t)(i * s->N + j)) > 0.6 ? Random(i, j) : 0;
}
static double FullRow(const Shape *s, PoiseInt i, PoiseInt j)
{
  return i == s->M / 2 || (i + 2 * j) % 13 == 0 ? Random(i, j) : 0;
}
static double OnlyRow(const Shape *s, PoiseInt i, PoiseInt j)
{
  return i == s->M / 3 ? Random(i, j) : 0;
}
static double OneColumn(const Shape *s, PoiseInt i, PoiseInt j)
{
  return j == s->N - 1 ? Random(i, j) : 0;
}
static double Ends(const Shape *s, PoiseInt i, PoiseInt j) /* the first and the last row are long */
{
  return i == 0 || i == s->M - 1 || i == j ? Random(i, j) : 0;
}
static double Tridiagonal(const Shape *s, PoiseInt i, PoiseInt j)
{
  return s->M && i - j <= 1 && j - i <= 1 ? Random(i, j) : 0;
}
static double Arrow(const Shape *s, PoiseInt i, PoiseInt j) /* symmetric and dominant; row and column M / 2 */
{
  PoiseInt h = s->M / 2;
  if (i == j) return i == h ? (double)s->N + 4 : 5;
  return i == h || j == h || i - j == 1 || j - i == 1 ? -1 : 0;
}

static double Laplace(const Shape *s, PoiseInt i, PoiseInt j)
{
  return i == j ? 2.5 : s->M && (i - j == 1 || j - i == 1) ? -1 : 0;
}

static bool IsNarrow(const Shape *s) /* there is nothing but for |i - j| <= 1 */
{
  return s->value == Tridiagonal || s->value == Laplace;
}
static PoiseInt First(const Shape *s, PoiseInt i) /* column of a row, */
{
  return IsNarrow(s) && i > 1 ? i - 1 : 0;
}
static PoiseInt End(const Shape *s, PoiseInt i) /* and behind the last */
{
  return IsNarrow(s) && i + 2 < s->N ? i + 2 : s->N;
}

static const Shape shapes[] = {{"1 x 1", 1, 1, All},
                               {"nothing", 0, 0, All},
                               {"no columns", 5, 0, All},
                               {"no entries", 6, 4, None},
                               {"three entries", 20, 20, Three},
                               {"empty rows and columns", 40, 33, Scattered},
                               {"full row", 30, 30, FullRow},
                               {"one row over all parts", 12, 90, OnlyRow},
                               {"one row", 1, 77, All},
                               {"all in one column", 25, 25, OneColumn},
                               {"few columns", 12, 2, All},
                               {"ends", 31, 31, Ends},
                               {"tridiagonal", 60, 60, Tridiagonal}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const Shape arrow = {"arrow", 200, 200, Arrow}, wide_arrow = {"wide arrow", 1200, 1200, Arrow},
                   band = {"band", 3000, 3000, Tridiagonal};

typedef struct Rows { /* of this rank */
  PoiseInt m, n, nz;
  int64_t *ptr, *col;
  double *val;
} Rows;

static void MakeRows(PoiseContext ctx, const Shape *s, int layout, double scale, Rows *r)
{
  PoiseInt range[2], room = 16;
  SampleRange(ctx, layout, s->M, range);
  *r = (Rows){.m = SampleLocal(ctx, layout, s->M), .n = SampleLocal(ctx, layout, s->N)};
  r->ptr = calloc((size_t)(range[1] - range[0] + 1), sizeof *r->ptr);
  r->col = malloc((size_t)room * sizeof *r->col);
  r->val = malloc((size_t)room * sizeof *r->val);
  for (PoiseInt i = range[0]; i < range[1]; i++) {
    for (PoiseInt j = First(s, i); j < End(s, i); j++) {
      double v = s->value(s, i, j);
      if (v == 0) continue;
      if (r->nz == room) r->col = realloc(r->col, (size_t)(room *= 2) * sizeof *r->col);
      r->val = realloc(r->val, (size_t)room * sizeof *r->val);
      r->col[r->nz] = j, r->val[r->nz++] = scale * v;
    }
    r->ptr[i - range[0] + 1] = r->nz;
  }
}

static void FreeRows(Rows *r)
{
  free(r->ptr), free(r->col), free(r->val);
}

static PoiseErr CreateOf(PoiseContext ctx, const Shape *s, const Rows *r, const char *local, PoiseMat *A)
{
  const PoiseCSR csr = {.ptr64 = r->ptr, .col64 = r->col, .val = r->val};
  PoiseErr e = PoiseMatCreateCSR(ctx, r->m, r->n, s->M, s->N, &csr, POISE_COPY, A);
  if (!e) e = PoiseMatSetLocalType(*A, local);
  return e ? e : PoiseMatSetType(*A, "pcsr");
}

/* A matrix of type pcsr; NULL: it could not be made. */
static PoiseMat Create(PoiseContext ctx, const Shape *s, int layout, const char *local)
{
  PoiseMat A = NULL;
  Rows r;
  MakeRows(ctx, s, layout, 1, &r);
  CHECK_OK(CreateOf(ctx, s, &r, local, &A));
  FreeRows(&r);
  return A;
}

/* ---- judgement ------------------------------------------------------------------------------- */

static double ValueOf(const void *shape, PoiseInt i, PoiseInt j)
{
  const Shape *s = shape;
  return s->value(s, i, j);
}

static bool IsProduct(const Shape *s, bool transposed, double scale, PoiseVec x, PoiseVec y, double shift)
{
  const Formula f = {ValueOf, s, IsNarrow(s) ? 1 : -1, 1};
  return FormulaIsProduct(&f, transposed, scale, x, y, shift);
}

static bool DiagonalIs(PoiseMat A, const Shape *s, double scale)
{
  PoiseVec d;
  const double *p;
  PoiseInt begin, end;
  if (!CHECK_OK(PoiseMatCreateVecs(A, NULL, &d))) return false;
  SampleConstant(d, NAN);
  bool good = CHECK_OK(PoiseMatGetDiagonal(A, d)) && CHECK_OK(PoiseVecGetRead(d, &p));
  PoiseVecRange(d, &begin, &end);
  for (PoiseInt i = begin; good && i < end; i++)
    good = CHECK_NEAR(p[i - begin], scale * s->value(s, i, i), 1e-14 * scale * s->value(s, i, i));
  if (good) PoiseVecRestore(d, &p);
  PoiseVecDestroy(&d);
  return good;
}

/* A x over NaN; a A x + b y; b - A x; with a dot; A^T x. */
static bool IsMatrix(PoiseMat A, const Shape *s, double scale)
{
  PoiseVec x, y, z;
  double dot, other;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(PoiseVecDuplicate(y, &z))) return false;
  SampleFill(x, 3);
  SampleConstant(y, NAN);
  bool good = CHECK_OK(PoiseMatMult(A, x, y)) && CHECK(IsProduct(s, false, scale, x, y, 0));
  SampleConstant(y, 0.25);
  good = good && CHECK_OK(PoiseMatMultAdd(A, 0.5, x, 2, y)) &&
         CHECK(IsProduct(s, false, 0.5 * scale, x, y, 0.5));
  SampleConstant(z, 0.75);
  good = good && CHECK_OK(PoiseMatResidual(A, z, x, y)) && CHECK(IsProduct(s, false, -scale, x, y, 0.75));
  SampleFill(z, 5);
  good = good && CHECK_OK(PoiseMatMultDot(A, x, y, z, &dot)) && CHECK_OK(PoiseVecDot(y, z, &other)) &&
         CHECK_NEAR(dot, other, 1e-13 * (double)(1 + s->M * s->N) * scale);
  SampleFill(y, 4);
  SampleConstant(x, NAN);
  good = good && CHECK_OK(PoiseMatMultTranspose(A, y, x)) && CHECK(IsProduct(s, true, scale, y, x, 0));
  if (good && s->M == s->N) good = DiagonalIs(A, s, scale);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  return good;
}

/* Nonzeros of this rank's part. */
static int64_t PartOf(PoiseMat A)
{
  const Parts *t = A->parts;
  if (!t || !t->split) return poiseCsrScalars(&A->csr);
  return poiseCsrScalars(&t->kept->csr) + poiseCsrScalars(&t->taken->csr);
}

/* The part is the rank's share, to within one per cent of the smallest, and two entries for rounding and
   alignment. weights NULL: shares are equal. */
static bool IsBalanced(PoiseMat A, const double *weights, int64_t entry)
{
  PoiseContext ctx = PoiseMatContext(A);
  int size = PoiseSize(ctx);
  double total = (double)PartOf(A), all = (double)poiseCsrScalars(&A->csr), sum = 0, least = HUGE_VAL;
  if (!CHECK_OK(PoiseSum(ctx, 1, &total)) || !CHECK_OK(PoiseSum(ctx, 1, &all))) return false;
  for (int q = 0; q < size; q++) sum += weights ? weights[q] : 1;
  for (int q = 0; q < size; q++) least = fmin(least, (weights ? weights[q] : 1) / sum * total);
  double share = (weights ? weights[PoiseRank(ctx)] : 1) / sum * total, part = (double)PartOf(A);
  bool good = total == all && part <= 1.01 * share + (double)entry;
  if (A->parts->split) good = good && part >= share - 0.01 * least - (double)entry;
  if (!good) printf("part %.0f of share %.1f\n", part, share);
  return good;
}

/* ---- products -------------------------------------------------------------------------------- */

static bool NewValues(PoiseContext ctx, PoiseMat A, const Shape *s, int layout)
{
  Rows r;
  MakeRows(ctx, s, layout, 4, &r);
  bool good = CHECK_OK(PoiseMatSetValuesCSR(A, r.val)) && IsMatrix(A, s, 4);
  FreeRows(&r);
  return good && CHECK_OK(PoiseMatScale(A, 0.5)) && IsMatrix(A, s, 2);
}

static void CheckShape(PoiseContext ctx, const Shape *s, int layout, const char *local)
{
  PoiseMat A = Create(ctx, s, layout, local), B = NULL;
  bool good = A && CHECK(!strcmp(PoiseMatType(A), "pcsr")) && IsMatrix(A, s, 1);
  if (good) WideProducts(A, 1e-12);
  if (good && PoiseSize(ctx) > 1) good = CHECK(IsBalanced(A, NULL, 2));
  if (good && PoiseSize(ctx) == 1) good = CHECK(!A->parts);
  good = good && NewValues(ctx, A, s, layout);
  if (good && CHECK_OK(PoiseMatDuplicate(A, 1, &B))) {
    CHECK(!strcmp(PoiseMatType(B), "pcsr"));
    CHECK(B->asked.type == A->asked.type);
    good = IsMatrix(B, s, 2) && CHECK(PoiseSize(ctx) == 1 || B->parts->split == A->parts->split);
  }
  PoiseMatDestroy(&B);
  if (good && CHECK_OK(PoiseMatSetType(A, "csr"))) { /* and back */
    CHECK(!strcmp(PoiseMatType(A), "csr"));
    good = IsMatrix(A, s, 2) && CHECK(!A->parts) && CHECK_OK(PoiseMatSetType(A, "pcsr")) && IsMatrix(A, s, 2);
  }
  if (!good) printf("    in %s, layout %d, local type %s\n", s->name, layout, local);
  PoiseMatDestroy(&A);
}

static const char *const locals[] = {"auto", "csr", "csri", "seg"};

static void TestProducts(PoiseContext ctx)
{
  for (int k = 0; k < SHAPES; k++)
    for (int layout = 0; layout < NLAYOUTS; layout++)
      CheckShape(ctx, &shapes[k], layout, locals[(k + layout) % 4]);
  CheckShape(ctx, &arrow, UNEVEN, "csri");
}

/* Blocks of 3 x 3, as many scalars as the shape has entries. */
static double Blocked(const Shape *s, PoiseInt i, PoiseInt j)
{
  PoiseInt I = i / 3, J = j / 3;
  return I == s->M / 6 || J == I || (I + 2 * J) % 7 == 0 ? Random(i, j) : 0;
}

static void TestBlocks(PoiseContext ctx)
{
  static const Shape s = {"blocks", 60, 60, Blocked};
  PoiseMat A;
  PoiseInt begin, blocks = s.M / 3;
  PoiseSplit(ctx, blocks, &begin, &blocks);
  for (int found = 0; found < 2; found++) { /* by name, or by auto, which takes blocks of what comes so */
    if (!CHECK_OK(PoiseMatCreate(ctx, 3 * blocks, 3 * blocks, s.M, s.N, &A))) return;
    CHECK_OK(PoiseMatSetBlockSize(A, 3));
    CHECK_OK(PoiseMatSetLocalType(A, found ? "auto" : "bcsr"));
    CHECK_OK(PoiseMatSetType(A, "pcsr"));
    for (PoiseInt i = 3 * begin; i < 3 * (begin + blocks); i++)
      for (PoiseInt j = 0; j < s.N; j++)
        if (s.value(&s, i, j) != 0) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, (double[]){s.value(&s, i, j)}));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK(A->type->blocked);
    CHECK(IsMatrix(A, &s, 1));
    WideProducts(A, 1e-12);
    if (PoiseSize(ctx) > 1) {
      CHECK(IsBalanced(A, NULL, 18));
      CHECK(A->parts->kept->type->blocked && A->parts->taken->type->blocked);
    }
    CHECK_OK(PoiseMatScale(A, 2));
    CHECK(IsMatrix(A, &s, 2));
    PoiseMatDestroy(&A);
  }
}

/* ---- which rows are cut ---------------------------------------------------------------------- */

/* Does a boundary of the shares lie in the long row of an arrow, so far from its ends that a rank would
   exceed its share? Rows before it have four entries, but
   for the first and the last of them, which have three. weights NULL: shares are equal. */
static bool IsLongCut(PoiseContext ctx, const Shape *s, const double *weights)
{
  int size = PoiseSize(ctx);
  double n = (double)s->N, far = n / 40, total = 5 * n - 8, before = 2 * n - 2, sum = 0, at = 0;
  bool cut = false;
  for (int q = 0; q < size; q++) sum += weights ? weights[q] : 1;
  for (int q = 0; q < size - 1; q++) {
    at += (weights ? weights[q] : 1) / sum * total;
    cut = cut || (at > before + far && at < before + n - far);
  }
  return cut;
}

/* Of the wide arrow only the long row may be cut, as the others have less than one per cent of a share. */
static void CheckCut(PoiseContext ctx, int layout)
{
  PoiseMat A = Create(ctx, &wide_arrow, layout, "csr");
  PoiseVec x, y;
  PoiseInt nz;
  if (!A || !CHECK_OK(PoiseMatNonzeros(A, &nz)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CHECK_INT(nz, 5 * wide_arrow.N - 8);
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseMatMult(A, x, y));
  double cut = (double)A->parts->rows;
  CHECK_OK(PoiseSum(ctx, 1, &cut));
  CHECK_NEAR(cut, IsLongCut(ctx, &wide_arrow, NULL), 0);
  CHECK(IsBalanced(A, NULL, 2));
  CHECK(IsProduct(&wide_arrow, false, 1, x, y, 0));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
}

/* A row is counted once, however often it is cut. */
static void CheckOnlyRow(PoiseContext ctx)
{
  const Shape s = {"only row", 12, 90, OnlyRow};
  PoiseMat A = Create(ctx, &s, EVEN, "csr");
  if (!A || !CHECK(IsMatrix(A, &s, 1))) return;
  double cut = (double)A->parts->rows;
  CHECK_OK(PoiseSum(ctx, 1, &cut));
  CHECK_NEAR(cut, 1, 0);
  PoiseMatDestroy(&A);
}

/* Where the part of each rank begins in the nonzeros of all; behind them their number. */
static bool Begins(PoiseMat A, double *begin)
{
  PoiseContext ctx = PoiseMatContext(A);
  for (int q = 0; q <= PoiseSize(ctx); q++) begin[q] = q > PoiseRank(ctx) ? (double)PartOf(A) : 0;
  return CHECK_OK(PoiseSum(ctx, PoiseSize(ctx) + 1, begin));
}

/* Of a band no row is cut, and no node of b rows. */
static void CheckNodes(PoiseContext ctx, int b)
{
  PoiseMat A = Create(ctx, &band, LAST, "csr");
  PoiseVec x, y;
  double begin[64];
  if (!A || !CHECK_OK(PoiseMatSetBlockSize(A, b)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK(A->parts->split);
  CHECK_INT(A->parts->rows, 0);
  CHECK(IsBalanced(A, NULL, 0));
  CHECK(IsProduct(&band, false, 1, x, y, 0));
  if (Begins(A, begin))
    for (int q = 1; q < PoiseSize(ctx); q++)
      CHECK(fmod(begin[q] + 1, 3 * b) == 0); /* the first row has two */
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
}

static void TestCuts(PoiseContext ctx)
{
  if (PoiseSize(ctx) == 1) TEST_SKIP("one rank has one part");
  CheckOnlyRow(ctx);
  for (int layout = 0; layout < NLAYOUTS; layout++) CheckCut(ctx, layout);
  CheckNodes(ctx, 1);
  CheckNodes(ctx, 3);
}

/* Where rows are balanced, the local type multiplies, with its dots, and nothing is copied. */
static void TestWhole(PoiseContext ctx)
{
  PoiseMat A = Create(ctx, &band, EVEN, "csri"), B = NULL;
  PoiseBytes with, without;
  if (!A || !CHECK_OK(PoiseMatDuplicate(A, 1, &B)) || !CHECK_OK(PoiseMatSetType(B, "csri"))) return;
  SampleSameProducts(A, B, true, 0);
  CHECK(PoiseSize(ctx) == 1 ? !A->parts : !A->parts->split);
  CHECK_INT(poiseMatPartials(A), poiseMatPartials(B));
  CHECK(!A->product.work);
  CHECK_OK(PoiseMatBytes(A, &with, NULL));
  CHECK_OK(PoiseMatBytes(B, &without, NULL));
  CHECK_INT(with.device, without.device);
  if (!SampleIsAway(ctx)) CHECK_INT(with.host, without.host);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* ---- machines -------------------------------------------------------------------------------- */

static uint64_t Pairs(int rank)
{
  return (uint64_t)(rank / 2);
}
static uint64_t Fours(int rank)
{
  return (uint64_t)(rank / 4) + 100;
}
static uint64_t Turns(int rank) /* neighbours are on different machines */
{
  return (uint64_t)(rank % 2);
}

enum { SEVEN = 7 };
static double Sevens(const Shape *s, PoiseInt i, PoiseInt j) /* all rows have seven entries */
{
  return (i + j) % s->N < SEVEN ? Random(i, j) : 0;
}

/* Rows have more than one per cent of a rank's share. They are cut between ranks of a machine, and between
   machines where they have more than one per cent of a machine's share. */
static void CheckMachines(PoiseContext ctx, uint64_t (*machine)(int rank), PoiseInt n)
{
  int size = PoiseSize(ctx), first = 0;
  const Shape s = {"sevens", n, n, Sevens};
  double cut[64] = {0}, total = SEVEN * (double)s.N, least = total;
  PoiseMat A = Create(ctx, &s, LAST, "csr");
  ctx->hooks.machine = machine;
  bool good = A && CHECK(IsMatrix(A, &s, 1)) && CHECK(A->parts->split) && CHECK(IsBalanced(A, NULL, SEVEN));
  good = good && Begins(A, cut) && CHECK_NEAR(cut[size], total, 0);
  for (int q = 1; q <= size; q++) {
    if (q < size && machine(q) == machine(q - 1)) continue;
    least = fmin(least, (q - first) * total / size);
    first = q;
  }
  if (good && size == 4 && machine == Pairs && n == 299) CHECK(fmod(cut[1], SEVEN) != 0);
  first = 0;
  for (int q = 1; good && q <= size; q++) {
    if (q < size && machine(q) == machine(q - 1)) continue;
    bool whole = 100 * SEVEN <= least || q == size;
    good = CHECK(whole ? fmod(cut[q], SEVEN) == 0 : fabs(cut[q] - q * total / size) <= 2);
    for (int r = first + 1; good && r < q; r++) /* equal shares of what the machine has */
      good = CHECK_NEAR(cut[r], cut[first] + (cut[q] - cut[first]) * (r - first) / (q - first), 2);
    first = q;
  }
  if (!good) printf("rank %d of %d\n", PoiseRank(ctx), size);
  ctx->hooks.machine = NULL;
  PoiseMatDestroy(&A);
}

static double Heads(const Shape *s, PoiseInt i, PoiseInt j) /* the first two rows are full */
{
  return i < 2 || (i + j) % s->N < SEVEN ? Random(i, j) : 0;
}

/* In a solver's layout nothing travels but pieces of rows that are cut: both follow the same machines. */
static void CheckTravel(PoiseContext ctx, uint64_t (*machine)(int rank))
{
  const Shape s = {"heads", 763, 763, Heads};
  double begin[64], taken, pieces = 0, n = (double)s.N;
  PoiseMat A = Create(ctx, &s, LAST, "csr"), B = NULL;
  ctx->hooks.machine = machine;
  if (A && CHECK_OK(PoiseMatRearrange(A, &B, NULL)) && CHECK_OK(poisePartsFollow(B)) && B->parts->split &&
      Begins(B, begin)) {
    taken = (double)B->parts->taken->csr.m;
    for (int q = 1; q < PoiseSize(ctx); q++)
      pieces += begin[q] < 2 * n ? fmod(begin[q], n) != 0 : fmod(begin[q] - 2 * n, SEVEN) != 0;
    CHECK_OK(PoiseSum(ctx, 1, &taken));
    CHECK_NEAR(taken, pieces, 0);
  }
  CHECK(PoiseSize(ctx) != 7 || B->parts->split);
  ctx->hooks.machine = NULL;
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestMachines(PoiseContext ctx)
{
  if (PoiseSize(ctx) == 1) TEST_SKIP("one rank has one part");
  uint64_t (*const machines[])(int rank) = {Pairs, Fours, Turns};
  for (int k = 0; k < 3; k++) {
    CheckMachines(ctx, machines[k], 75 * PoiseSize(ctx) - 1);
    CheckMachines(ctx, machines[k], 40 * PoiseSize(ctx) + 1);
    CheckTravel(ctx, machines[k]);
  }
}

/* ---- order of sums, and bits ----------------------------------------------------------------- */

/* Values of one row such that each part is a sum without rounding, and their sum depends on its order. */
static double Rounding(const Shape *s, PoiseInt i, PoiseInt j)
{
  static const double parts[] = {1, 1e16, 3, -1e16, 1, 7, -1};
  (void)i;
  return j % 10 == 0 ? parts[j / 10 % 7] : 1e-300 * (double)s->M;
}

static void TestOrder(PoiseContext ctx)
{
  int size = PoiseSize(ctx), last = size - 1;
  const Shape s = {"rounding", 1, 10 * size, Rounding};
  PoiseMat A = Create(ctx, &s, LAST, "csr");
  PoiseVec x, y;
  const double *p;
  if (!A || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CHECK_OK(PoiseVecSet(x, 1));
  double sum = Rounding(&s, 0, 10 * last); /* the owner's own, then those of the others in their order */
  for (int q = 0; q < last; q++) sum += Rounding(&s, 0, 10 * q);
  for (int k = 0; k < 3; k++) {
    SampleConstant(y, NAN);
    CHECK_OK(PoiseMatMult(A, x, y));
    if (!CHECK_OK(PoiseVecGetRead(y, &p))) break;
    if (PoiseRank(ctx) == last) CHECK(p[0] == sum || size == 1);
    PoiseVecRestore(y, &p);
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
}

static PoiseErr Bits(PoiseContext ctx, void *arg)
{
  PoiseKSP ksp;
  PoiseVec x, y;
  PoiseMat A = Create(ctx, &arrow, UNEVEN, "csri");
  if (!A) return POISE_ERR_INTERNAL;
  POISE_TRY(PoiseMatCreateVecs(A, &x, &y));
  SampleFill(x, 2);
  POISE_TRY(PoiseMatMult(A, x, y));
  SampleKeep(ctx, arg, SampleDigest(y));
  POISE_TRY(PoiseMatMultTranspose(A, x, y));
  SampleKeep(ctx, arg, SampleDigest(y));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPSolve(ksp, x, y));
  SampleKeep(ctx, arg, SampleDigest(y));
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return PoiseMatDestroy(&A);
}

static void TestBits(PoiseContext ctx)
{
  SampleRun one, other;
  (void)ctx;
  SampleSameBits(Bits);
  SampleRunOn("host", 5, 1, Bits, &one);
  for (int k = 0; k < 3; k++) {
    SampleRunOn(k % 2 ? "host" : "mock", 5, 2, Bits, &other);
    CHECK(SampleSame(&one, &other));
  }
}

/* ---- new values ------------------------------------------------------------------------------ */

/* They move only the values that other ranks multiply, and nothing is allocated. */
static void TestRefresh(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, y;
  const int64_t *copied = ctx->device->copied;
  if (PoiseSize(ctx) == 1) TEST_SKIP("one rank has one part");
  A = Create(ctx, &arrow, EVEN, "csri");
  if (!A || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  SampleFill(x, 3);
  CHECK_OK(PoiseMatMult(A, x, y));
  const Parts *t = A->parts;
  CHECK(t->split);
  CHECK_OK(PoiseMatScale(A, 2)); /* on the device */
  int64_t there = copied[COPY_TO_DEVICE], here = copied[COPY_TO_HOST], calls = ctx->memory.calls, given = 0;
  for (int q = 0; q < PoiseSize(ctx); q++) given += t->give[q];
  CHECK_OK(poisePartsFollow(A));
  CHECK(A->parts == t);
  CHECK_INT(ctx->memory.calls, calls);
  if (SampleIsAway(ctx)) {
    CHECK_INT(copied[COPY_TO_DEVICE] - there, 8 * poiseCsrScalars(&t->taken->csr));
    CHECK_INT(copied[COPY_TO_HOST] - here, given);
  }
  there = copied[COPY_TO_DEVICE];
  CHECK_OK(poisePartsFollow(A)); /* nothing new */
  CHECK_INT(copied[COPY_TO_DEVICE], there);
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK(IsProduct(&arrow, false, 2, x, y, 0));
  CHECK_OK(PoiseMatZeroEntries(A));
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK(IsProduct(&arrow, false, 0, x, y, 0));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
}

/* A new pattern has new parts. */
static void TestNewPattern(PoiseContext ctx)
{
  PoiseMat A = Create(ctx, &arrow, EVEN, "csr"), B = NULL;
  PoiseVec x, y;
  PoiseInt begin, end;
  if (!A || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  SampleFill(x, 3);
  CHECK_OK(PoiseMatMult(A, x, y));
  PoiseVecRange(x, &begin, &end);
  for (PoiseInt i = begin; i < end; i++)
    for (PoiseInt j = 0; j < arrow.N && i < 40; j++)
      CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &(double){0.5}));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatMult(A, x, y));
  if (PoiseSize(ctx) > 1) CHECK(IsBalanced(A, NULL, 2));
  if (CHECK_OK(PoiseMatDuplicate(A, 1, &B)) && CHECK_OK(PoiseMatSetType(B, "csr")))
    SampleSameProducts(A, B, true, 1e-14);
  CHECK_OK(PoiseMatSetLocalType(A, "seg"));
  if (PoiseSize(ctx) > 1) CHECK(!poiseMatSplits(A));
  SampleSameProducts(A, B, true, 1e-14);
  CHECK(PoiseSize(ctx) == 1 || !strcmp(A->parts->kept->type->name, "seg"));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* b = scale A 1, by the function of (i, j). */
static void FillSums(const Shape *s, double scale, PoiseVec b)
{
  double *p;
  PoiseInt begin, end;
  PoiseVecRange(b, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(b, &p))) return;
  for (PoiseInt i = begin; i < end; i++) {
    p[i - begin] = 0;
    for (PoiseInt j = First(s, i); j < End(s, i); j++) p[i - begin] += scale * s->value(s, i, j);
  }
  PoiseVecRestore(b, &p);
}

/* The solution is 1. `splits`: does the solver's matrix have parts of rows? */
static void CheckSolve(PoiseKSP ksp, PoiseMat A, const char *method, const char *type, PoiseVec b, PoiseVec x,
                       bool splits)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoisePC pc;
  PoiseVec one;
  double norm = NAN;
  CHECK_OK(PoiseKSPSetType(ksp, method));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, type));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  bool replays = SampleReplays(ctx) && ksp->A == A && strcmp(type, "bjacobi");
  ctx->device->forbid_copies = replays; /* once all is there */
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  ctx->device->forbid_copies = false;
  if (replays) CHECK(!ksp->loop.eager);
  CHECK(PoiseKSPConvergedReason(ksp) > 0);
  CHECK(poiseMatSplits(ksp->A) == splits);
  if (!CHECK_OK(PoiseVecDuplicate(x, &one))) return;
  CHECK_OK(PoiseVecSet(one, 1));
  CHECK_OK(PoiseVecAXPY(one, -1, x));
  CHECK_OK(PoiseVecNorm(one, POISE_NORM_INF, &norm));
  PoiseVecDestroy(&one);
  if (!CHECK(norm <= 1e-6)) printf("%s with %s: off by %g\n", method, type, norm);
}

/* With values that change. rows: the application's layout is kept. */
static void CheckSolves(PoiseContext ctx, const Shape *s, int layout, bool rows, bool splits)
{
  static const char *const methods[] = {"cg", "bicgstab", "gmres"}, *const pcs[] = {"none", "jacobi",
                                                                                    "bjacobi"};
  PoiseMat A = Create(ctx, s, layout, "auto");
  PoiseVec x, b;
  PoiseKSP ksp;
  if (!A || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
  if (rows) CHECK_OK(PoiseMatSetPartition(A, POISE_PARTITION_ROWS));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, 2000));
  for (int k = 0; k < 3; k++) {
    double scale = k % 2 ? 8 : 1;
    Rows r;
    MakeRows(ctx, s, layout, scale, &r);
    CHECK_OK(PoiseMatSetValuesCSR(A, r.val));
    FreeRows(&r);
    FillSums(s, scale, b);
    for (int l = 0; l < 3; l++) CheckSolve(ksp, A, methods[k], pcs[l], b, x, splits && PoiseSize(ctx) > 1);
    if (rows || s != &arrow) CHECK(ksp->A == A); /* also where rows are balanced as they are */
  }
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
}

static void TestSolves(PoiseContext ctx)
{
  /* even rows are balanced, though not as well as can be */
  static const Shape plain = {"plain", 2001, 2001, Laplace};
  CheckSolves(ctx, &arrow, UNEVEN, false, IsLongCut(ctx, &arrow, NULL));
  CheckSolves(ctx, &arrow, EVEN, true, true);
  CheckSolves(ctx, &plain, EVEN, false, false);
}

/* In the solver's layout only the long row travels. */
static void CheckArranged(PoiseKSP ksp, PoiseMat A, const double *weights, PoiseVec b, PoiseVec x)
{
  PoiseContext ctx = PoiseMatContext(A);
  bool splits = IsLongCut(ctx, &wide_arrow, weights);
  CheckSolve(ksp, A, "cg", "jacobi", b, x, splits);
  const Parts *t = ksp->A->parts;
  if (!splits) return;
  double cut[] = {(double)t->rows, (double)t->taken->csr.m};
  CHECK(IsBalanced(ksp->A, weights, 2));
  CHECK_OK(PoiseSum(ctx, 2, cut));
  CHECK_NEAR(cut[0], 1, 0);
  CHECK(t->taken->csr.m <= 1 && cut[1] >= 1);
  CHECK(t->first % 2 == 0); /* two values at once can be loaded */
}

static void Weigh(PoiseContext ctx, double *weights) /* 3, 1, 2, 3, ... */
{
  for (int q = 0; q < PoiseSize(ctx); q++) weights[q] = 1 + (q + 2) % 3;
}

/* The solver follows changes of shares and type. */
static void TestArranged(PoiseContext ctx)
{
  PoiseMat A = Create(ctx, &wide_arrow, LAST, "csr");
  PoiseVec x, b;
  PoiseKSP ksp;
  double weights[64];
  Weigh(ctx, weights);
  if (!A || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
  FillSums(&wide_arrow, 1, b);
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, 2000));
  CheckArranged(ksp, A, NULL, b, x);
  CHECK_OK(PoiseMatSetPartitionWeights(A, PoiseSize(ctx), weights));
  CheckArranged(ksp, A, weights, b, x);
  CHECK_OK(PoiseMatSetPartition(A, POISE_PARTITION_NONZEROS));
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CheckSolve(ksp, A, "cg", "jacobi", b, x, false);
  CHECK_OK(PoiseMatSetType(A, "pcsr"));
  CheckArranged(ksp, A, weights, b, x);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void CheckShares(PoiseContext ctx, PoisePartition partition, const double *weights)
{
  bool rows = partition == POISE_PARTITION_ROWS; /* whatever their lengths */
  PoiseMat A = Create(ctx, rows ? &wide_arrow : &band, EVEN, "csr"), B = NULL;
  double sum = 0, mine;
  PoiseInt m;
  if (!A) return;
  CHECK_OK(PoiseMatSetType(A, "csr"));
  PoiseErr e = PoiseMatSetPartition(A, partition);
  bool without = e == POISE_ERR_UNSUPPORTED; /* METIS */
  if (without) PoiseErrorClear();
  if (!without && CHECK_OK(e) && CHECK_OK(PoiseMatSetPartitionWeights(A, PoiseSize(ctx), weights)) &&
      CHECK_OK(PoiseMatRearrange(A, &B, NULL))) {
    for (int q = 0; q < PoiseSize(ctx); q++) sum += weights[q];
    PoiseMatLocalSizes(B, &m, NULL);
    mine = rows ? (double)m : (double)B->csr.nz;
    double share = weights[PoiseRank(ctx)] / sum * (double)(rows ? wide_arrow.N : 3 * band.N - 2);
    CHECK_NEAR(mine, share, partition == POISE_PARTITION_GRAPH ? 0.1 * share : 5);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestShares(PoiseContext ctx)
{
  int size = PoiseSize(ctx);
  double weights[64] = {0}, far[64] = {0};
  Weigh(ctx, weights);
  for (int k = 0; k < 4; k++) CheckShares(ctx, (PoisePartition)k, weights);
  for (int layout = 0; layout < NLAYOUTS; layout++) {
    PoiseMat A = Create(ctx, &arrow, layout, "csri");
    if (!A) return;
    CHECK_OK(PoiseMatSetPartitionWeights(A, size, weights));
    CHECK(IsMatrix(A, &arrow, 1));
    if (size > 1) CHECK(IsBalanced(A, weights, 2));
    for (int q = 0; q < size; q++) far[q] = q == size / 2 ? 1e6 : 1e-3; /* nearly all for one rank */
    CHECK_OK(PoiseMatSetPartitionWeights(A, size, far));
    CHECK(IsMatrix(A, &arrow, 1));
    if (size > 1) CHECK(IsBalanced(A, far, 2));
    CHECK_OK(PoiseMatSetPartitionWeights(A, size, NULL));
    CHECK(IsMatrix(A, &arrow, 1));
    if (size > 1) CHECK(IsBalanced(A, NULL, 2));
    PoiseMatDestroy(&A);
  }
}

/* ---- options, errors, view ------------------------------------------------------------------- */

static void TestOptions(PoiseContext ctx)
{
  int size = PoiseSize(ctx);
  char words[300] = "-o_mat_type pcsr -o_mat_local_type seg -o_mat_partition_weights 3";
  double weights[64];
  PoiseMat A = Create(ctx, &arrow, EVEN, "auto");
  if (!A) return;
  for (int q = 0; q < size; q++) weights[q] = q ? 1.5 : 3;
  for (int q = 1; q < size; q++) strcat(words, ",1.5");
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "o_"));
  SetOptions(ctx, words);
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK(!strcmp(PoiseMatType(A), "pcsr") && !strcmp(A->type->name, "seg"));
  CHECK(IsMatrix(A, &arrow, 1));
  if (size > 1) CHECK(IsBalanced(A, weights, 2));
  CHECK(!A->asked.partition_given);
  SetOptions(ctx, "-o_mat_local_type csri -o_mat_partition bytes");
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK(!strcmp(PoiseMatType(A), "pcsr") && !strcmp(A->type->name, "csri"));
  CHECK(A->asked.partition_given);
  CHECK(IsMatrix(A, &arrow, 1));
  PoiseMatDestroy(&A);
}

static void TestErrors(PoiseContext ctx)
{
  int size = PoiseSize(ctx);
  double weights[64] = {0}, nan[64];
  char words[100];
  PoiseMat A = Create(ctx, &arrow, EVEN, "auto"), S = NULL;
  if (!A) return;
  snprintf(words, sizeof words, "%d weights of the shares of %d ranks", size + 1, size);
  CHECK_ERR(PoiseMatSetPartitionWeights(A, size + 1, weights), POISE_ERR_ARG, words);
  CHECK_ERR(PoiseMatSetPartitionWeights(A, 0, weights), POISE_ERR_ARG, "0 weights of the shares");
  CHECK_ERR(PoiseMatSetPartitionWeights(A, size, weights), POISE_ERR_ARG,
            "rank 0 has weight 0, which is not");
  for (int q = 0; q < size; q++) weights[q] = nan[q] = 1;
  weights[size - 1] = -2.5, nan[0] = NAN;
  snprintf(words, sizeof words, "rank %d has weight -2.5, which is not positive", size - 1);
  CHECK_ERR(PoiseMatSetPartitionWeights(A, size, weights), POISE_ERR_ARG, words);
  CHECK_ERR(PoiseMatSetPartitionWeights(A, size, nan), POISE_ERR_ARG, "rank 0 has weight nan, which is not");
  weights[size - 1] = INFINITY;
  CHECK_ERR(PoiseMatSetPartitionWeights(A, size, weights), POISE_ERR_ARG, "has weight inf, which is not");
  CHECK(!A->asked.bound);
  CHECK_ERR(PoiseMatSetLocalType(A, "shell"), POISE_ERR_OPTION, "there is no type of parts 'shell'");
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "e_"));
  static const char *const wrong[] = {"1,x", "1,", ",1", "one", "1;1"};
  for (int k = 0; k < 5; k++) {
    snprintf(words, sizeof words, "-e_mat_partition_weights %s", wrong[k]);
    SetOptions(ctx, words);
    snprintf(words, sizeof words, "'%s' is not a list of weights", wrong[k]);
    CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_ARG, words);
  }
  SetOptions(ctx, "-e_mat_partition_weights 1,1,1,1,1,1,1,1,1,1,1,1");
  CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_ARG, "12 weights of the shares");
  CHECK(IsMatrix(A, &arrow, 1));
  if (CHECK_OK(PoiseMatCreateShell(ctx, 3, 3, POISE_DECIDE, POISE_DECIDE, &(PoiseShell){.mult = SampleTwice},
                                   NULL, &S)))
    CHECK_ERR(PoiseMatSetType(S, "pcsr"), POISE_ERR_UNSUPPORTED, "a matrix of type shell cannot become pcsr");
  PoiseMatDestroy(&S);
  PoiseMatDestroy(&A);
}

/* A rank that fails takes part in the exchanges of the others. */
static void TestFailure(PoiseContext ctx)
{
  PoiseMat A = Create(ctx, &arrow, EVEN, "csri");
  PoiseVec x, y;
  bool fails = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  if (!A || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  SampleFill(x, 3);
  for (int k = 0; k < 2; k++) { /* before and after parts are made */
    CHECK_ERR_OF(PoiseMatMult(A, x, fails ? x : y), fails, POISE_ERR_ARG,
                 "x and y of a product are the same");
    CHECK_OK(PoiseMatMult(A, x, y));
    CHECK(IsProduct(&arrow, false, 1, x, y, 0));
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
}

static void CheckWords(PoiseContext ctx, PoiseMat A, const char *words)
{
  char text[4096];
  TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
  if (PoiseRank(ctx) == 0 && !CHECK(strstr(text, words) != NULL)) printf("%s in\n%s", words, text);
}

/* Bytes of a product by this CSR. */
static double BytesOf(PoiseMat A)
{
  const Csr *c = &A->csr;
  return 12.0 * (double)c->nz + (c->wide ? 8.0 : 4.0) * (double)(c->m + 1) +
         8.0 * (double)(c->m + c->nloc + c->nghost);
}

static void TestView(PoiseContext ctx)
{
  int size = PoiseSize(ctx);
  PoiseVec x, y;
  char words[100];
  PoiseMat A = Create(ctx, &wide_arrow, EVEN, "csr");
  if (!A || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CheckWords(ctx, A,
             size == 1 ? "pcsr: one part, of type csr" : "pcsr: parts are made for the first product");
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseMatMult(A, x, y));
  if (size > 1) {
    double sum[] = {(double)A->parts->rows, (double)A->parts->taken->csr.m, (double)A->parts->taken->csr.nz};
    CHECK_OK(PoiseSum(ctx, 3, sum));
    CheckWords(ctx, A, "pcsr: parts of rows, of type csr; nonzeros of a part at most 1.00");
    snprintf(words, sizeof words, "    nonzeros of parts: %lld ", (long long)PartOf(A)); /* of rank 0 */
    CheckWords(ctx, A, words);
    snprintf(words, sizeof words, "%.0f rows are cut; %.0f results of %.0f nonzeros travel", sum[0], sum[1],
             sum[2]);
    CheckWords(ctx, A, words);
    double bytes_here = BytesOf(A->parts->kept) + BytesOf(A->parts->taken), most = bytes_here;
    CHECK_OK(PoiseMax(ctx, 1, &most));
    CHECK_OK(PoiseSum(ctx, 1, &bytes_here));
    snprintf(words, sizeof words, "    time of a part, predicted from its bytes, at most %.3f times the mean",
             most / (bytes_here / size));
    CheckWords(ctx, A, words);
    PoiseBytes held = {0};
    char held_words[24];
    poisePartsBytes(A, &held);
    double bytes = (double)(SampleIsAway(ctx) ? held.device : held.host);
    CHECK_OK(PoiseSum(ctx, 1, &bytes));
    snprintf(words, sizeof words, "parts hold %s on the", poiseBytesText(bytes, held_words));
    CheckWords(ctx, A, words);
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
}

/* Bytes are as counted. */
static void TestBytes(PoiseContext ctx)
{
  PoiseVec x, y;
  PoiseBytes held;
  PoiseMat A;
  if (!CHECK_OK(SampleVec(ctx, EVEN, arrow.N, &x)) || !CHECK_OK(PoiseVecDuplicate(x, &y))) return;
  CHECK_OK(PoiseVecSet(x, 1)); /* on the device, too */
  CHECK_OK(PoiseVecSet(y, 1));
  TestFreeIdle(ctx);
  int64_t device = ctx->device->bytes;
  A = Create(ctx, &arrow, EVEN, "csri");
  if (!A) return;
  for (int k = 0; k < 4; k++) { /* once all is there, a product allocates nothing */
    int64_t calls = ctx->memory.calls;
    CHECK_OK(PoiseMatMult(A, x, y));
    if (k > 1) CHECK_INT(ctx->memory.calls, calls);
  }
  CHECK_OK(PoiseMatBytes(A, &held, NULL));
  TestFreeIdle(ctx);
  if (SampleIsAway(ctx)) CHECK_INT(held.device, ctx->device->bytes - device);
  PoiseMatDestroy(&A);
  TestFreeIdle(ctx);
  CHECK_INT(ctx->device->bytes, device);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

typedef struct Case {
  const Shape *shape;
  const char *local;
  bool solve;
} Case;

static PoiseErr Use(PoiseContext ctx, void *arg)
{
  const Case *c = arg;
  PoiseMat A = NULL;
  PoiseVec x = NULL, y = NULL;
  PoiseKSP ksp = NULL;
  double weights[64];
  Rows r;
  MakeRows(ctx, c->shape, EVEN, 1, &r);
  Weigh(ctx, weights);
  PoiseErr e = CreateOf(ctx, c->shape, &r, c->local, &A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &y);
  if (!e && !c->solve) e = PoiseMatMult(A, x, y);
  if (!e && !c->solve) e = PoiseMatSetValuesCSR(A, r.val);
  if (!e) e = PoiseMatSetPartitionWeights(A, PoiseSize(ctx), weights);
  if (!e && !c->solve) e = PoiseMatMult(A, x, y);
  if (!e && c->solve) e = PoiseKSPCreate(ctx, &ksp);
  if (!e && c->solve) e = PoiseKSPSetOperators(ksp, A, NULL);
  if (!e && c->solve) e = PoiseKSPSetUp(ksp);
  FreeRows(&r);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  return e;
}

static void TestAllocations(PoiseContext ctx)
{
  int size = PoiseSize(ctx);
  if (size > 3) TEST_SKIP("takes long, and fewer ranks have the same");
  TestAllocationFailures(ctx, Use, &(Case){&shapes[6], "csri", false});
  if (size > 1) TestAllocationFailures(ctx, Use, &(Case){&shapes[6], "csr", true});
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"products", TestProducts, 0},
                               {"blocks", TestBlocks, 0},
                               {"cuts", TestCuts, 0},
                               {"whole", TestWhole, 0},
                               {"machines", TestMachines, 0},
                               {"order", TestOrder, 0},
                               {"bits", TestBits, TEST_SERIAL},
                               {"refresh", TestRefresh, 0},
                               {"new_pattern", TestNewPattern, 0},
                               {"solves", TestSolves, 0},
                               {"arranged", TestArranged, 0},
                               {"shares", TestShares, 0},
                               {"options", TestOptions, 0},
                               {"errors", TestErrors, 0},
                               {"failure", TestFailure, 0},
                               {"view", TestView, 0},
                               {"bytes", TestBytes, 0},
                               {"allocations", TestAllocations, 0},
                               {NULL, NULL, 0}};
  return TestMain(argc, argv, "pcsr", tests);
}
