/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A Mat of PETSc as a matrix of Poise.

    seqaij, seqbaij  PETSc's arrays in place, if the columns of each row ascend; else a copy
    mpiaij, mpibaij  PETSc keeps a rank's own columns and those of others apart. They are merged once; new
                     values follow in one parallel pass, row by row: columns on the left, own, right
    aijcusparse      the same on the GPU, if Poise works there: in place, or by triplets that stay there
    all others       a shell that calls MatMult

  Other types that begin with "seqaij" or "mpiaij" keep these arrays on the host too.

  What has changed is seen from PETSc's object states, those of the two parts too. Some functions (MatAXPY)
  replace the arrays without a new nonzero state. So addresses and a sum over the pattern are compared too,
  when the state is new.
*/
#include "plugin.h"

typedef struct Part { /* a sequential matrix inside a Mat */
  Mat mat;
  PetscInt rows, bs;
  const PetscInt *ptr, *col;        /* on the host */
  const int32_t *gpu_ptr, *gpu_col; /* on the GPU, if val is there */
  const PetscScalar *val;
} Part;

typedef struct Parts {
  int n;
  Part part[2];
  PetscBool gpu;
  const PetscInt *global; /* columns of part[1] */
  PetscInt first;         /* first column of part[0] */
} Parts;

static PetscBool Begins(const char *type, const char *with)
{
  return !strncmp(type, with, strlen(with)) ? PETSC_TRUE : PETSC_FALSE;
}

static Form FormOf(Mat mat, PetscBool *parallel)
{
  const char *type = ((PetscObject)mat)->type_name;
  *parallel = Begins(type, MATMPIAIJ) || !strcmp(type, MATMPIBAIJ) ? PETSC_TRUE : PETSC_FALSE;
  if (Begins(type, MATSEQAIJ) || Begins(type, MATMPIAIJ)) return FORM_CSR;
  if ((!strcmp(type, MATSEQBAIJ) || !strcmp(type, MATMPIBAIJ)) && mat->rmap->bs <= 32) return FORM_BCSR;
  return FORM_SHELL;
}

PetscErrorCode HasEntries(Mat mat, PetscBool *has)
{
  PetscBool parallel;
  PetscFunctionBegin;
  *has = FormOf(mat, &parallel) == FORM_SHELL ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

const char *OperatorWords(const Operator *o)
{
  if (o->form == FORM_SHELL) return o->transposed ? "through MatMultTranspose" : "through MatMult";
  if (o->gpu && !o->in_place) return "one merged copy on the GPU, which new values follow";
  if (o->in_place) return o->gpu ? "PETSc's arrays in place, on the GPU" : "PETSc's arrays in place";
  if (!o->sorted) return "copied, as the columns of its rows do not ascend";
  return "one merged copy, which new values follow";
}

/* ---- PETSc's arrays -------------------------------------------------------------------------- */

static PetscErrorCode OpenPart(Mat mat, Form form, PetscBool gpu, Part *p)
{
  PetscBool done;
  PetscScalar *values;
  PetscFunctionBegin;
  *p = (Part){.mat = mat, .bs = form == FORM_BCSR ? mat->rmap->bs : 1};
  PetscCall(MatGetRowIJ(mat, 0, PETSC_FALSE, form == FORM_BCSR ? PETSC_TRUE : PETSC_FALSE, &p->rows, &p->ptr,
                        &p->col, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "this matrix does not give its rows");
  if (form == FORM_BCSR) {
    PetscCall(MatSeqBAIJGetArray(mat, &values));
    p->val = values;
  } else if (gpu) {
    PetscCall(ArraysOnGpu(mat, &p->gpu_ptr, &p->gpu_col, &p->val));
  } else {
    PetscCall(MatSeqAIJGetArrayRead(mat, &p->val));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ClosePart(Form form, PetscBool gpu, Part *p)
{
  PetscBool done;
  PetscFunctionBegin;
  if (form == FORM_BCSR)
    PetscCall(MatSeqBAIJRestoreArray(p->mat, (PetscScalar **)&p->val));
  else if (!gpu)
    PetscCall(MatSeqAIJRestoreArrayRead(p->mat, &p->val));
  PetscCall(MatRestoreRowIJ(p->mat, 0, PETSC_FALSE, form == FORM_BCSR ? PETSC_TRUE : PETSC_FALSE, &p->rows,
                            &p->ptr, &p->col, &done));
  PetscFunctionReturn(0);
}

static PetscErrorCode Open(Mat mat, Form form, PetscBool parallel, PetscBool gpu, Parts *p)
{
  Mat part[2] = {mat, NULL};
  PetscInt begin;
  PetscFunctionBegin;
  *p = (Parts){.n = 1, .gpu = gpu};
  if (parallel) {
    if (form == FORM_BCSR)
      PetscCall(MatMPIBAIJGetSeqBAIJ(mat, &part[0], &part[1], &p->global));
    else
      PetscCall(MatMPIAIJGetSeqAIJ(mat, &part[0], &part[1], &p->global));
    PetscCall(MatGetOwnershipRangeColumn(mat, &begin, NULL));
    p->first = form == FORM_BCSR ? begin / mat->rmap->bs : begin;
    p->n = 2;
  }
  for (int k = 0; k < p->n; k++) PetscCall(OpenPart(part[k], form, gpu, &p->part[k]));
  if (gpu) PetscCall(WaitForPetsc());
  PetscFunctionReturn(0);
}

static PetscErrorCode Close(Form form, Parts *p)
{
  PetscFunctionBegin;
  for (int k = 0; k < p->n; k++) PetscCall(ClosePart(form, p->gpu, &p->part[k]));
  PetscFunctionReturn(0);
}

/* ---- has the pattern changed? ---------------------------------------------------------------- */

static uint64_t Sum(PetscInt n, const PetscInt *a)
{
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (PetscInt k = 0; k < n; k++) {
    const uint64_t word = ((uint64_t)(uint32_t)a[k] + 1) * (((uint64_t)k * 2 + 1) * 0x9E3779B97F4A7C15u);
    sum += word ^ (word >> 29);
  }
  return sum;
}

static uint64_t PatternOf(const Parts *p)
{
  uint64_t sum = 0;
  for (int k = 0; k < p->n; k++) {
    const Part *part = &p->part[k];
    sum = sum * 0x100000001B3u + Sum(part->rows + 1, part->ptr);
    sum = sum * 0x100000001B3u + Sum(part->ptr[part->rows], part->col);
  }
  return sum;
}

static PetscBool IsSorted(const Part *p)
{
  PetscInt bad = 0;
#pragma omp parallel for reduction(+ : bad)
  for (PetscInt i = 0; i < p->rows; i++)
    for (PetscInt k = p->ptr[i] + 1; k < p->ptr[i + 1]; k++) bad += p->col[k] <= p->col[k - 1];
  return bad ? PETSC_FALSE : PETSC_TRUE;
}

/* ---- the merged copy ------------------------------------------------------------------------- */

static void MergeValues(const Operator *o, const Parts *p)
{
  const Part *own = &p->part[0], *other = &p->part[1];
  const size_t unit = (size_t)own->bs * (size_t)own->bs, bytes = unit * sizeof(double);
#pragma omp parallel for
  for (PetscInt i = 0; i < own->rows; i++) {
    const size_t n = (size_t)(own->ptr[i + 1] - own->ptr[i]), left = (size_t)o->left[i],
                 right = (size_t)(other->ptr[i + 1] - other->ptr[i]) - left;
    const double *mine = own->val + (size_t)own->ptr[i] * unit,
                 *ghosts = other->val + (size_t)other->ptr[i] * unit;
    double *to = o->val + (size_t)o->ptr[i] * unit;
    if (left) memcpy(to, ghosts, left * bytes);
    if (n) memcpy(to + left * unit, mine, n * bytes);
    if (right) memcpy(to + (left + n) * unit, ghosts + left * unit, right * bytes);
  }
}

static void MergeColumns(const Operator *o, const Parts *p)
{
  const Part *own = &p->part[0], *other = &p->part[1];
#pragma omp parallel for
  for (PetscInt i = 0; i < own->rows; i++) {
    int32_t *to = o->col + o->ptr[i];
    PetscInt k = other->ptr[i];
    const PetscInt end = other->ptr[i + 1];
    for (; k < end && p->global[other->col[k]] < p->first; k++) *to++ = p->global[other->col[k]];
    o->left[i] = k - other->ptr[i];
    for (PetscInt j = own->ptr[i]; j < own->ptr[i + 1]; j++) *to++ = own->col[j] + p->first;
    for (; k < end; k++) *to++ = p->global[other->col[k]];
  }
}

static PetscErrorCode Merge(Operator *o, const Parts *p)
{
  const Part *own = &p->part[0], *other = &p->part[1];
  const int64_t n = (int64_t)own->ptr[own->rows] + other->ptr[other->rows];
  PetscFunctionBegin;
  PetscCheck(n < INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "a rank has %lld entries, which 32 bits cannot count", (long long)n);
  PetscCall(
      PetscMalloc4(own->rows + 1, &o->ptr, n, &o->col, own->rows, &o->left, n * own->bs * own->bs, &o->val));
  for (PetscInt i = 0; i <= own->rows; i++) o->ptr[i] = own->ptr[i] + other->ptr[i];
  MergeColumns(o, p);
  MergeValues(o, p);
  PetscFunctionReturn(0);
}

/* ---- matrices of Poise ----------------------------------------------------------------------- */

static PetscErrorCode SizesOf(Mat mat, PetscInt *m, PetscInt *n, PetscInt *M, PetscInt *N)
{
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(mat, m, n));
  PetscCall(MatGetSize(mat, M, N));
  PetscFunctionReturn(0);
}

static PetscErrorCode Create(PoiseContext ctx, Operator *o, const Parts *p)
{
  PetscInt m, n, M, N;
  const Part *own = &p->part[0];
  const PoiseOwn lend = o->sorted ? POISE_BORROW : POISE_COPY;
  PetscFunctionBegin;
  PetscCall(SizesOf(o->mat, &m, &n, &M, &N));
  if (p->n == 2) PetscCall(Merge(o, p));
  const int32_t *ptr = o->ptr ? o->ptr : own->ptr, *col = o->ptr ? o->col : own->col;
  const double *val = o->ptr ? o->val : own->val;
  if (o->form == FORM_CSR) {
    const PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = val};
    POISE_CALL(PoiseMatCreateCSR(ctx, m, n, M, N, &csr, lend, &o->A));
  } else {
    const PoiseBCSR bcsr = {.ptr32 = ptr, .col32 = col, .val = val};
    POISE_CALL(PoiseMatCreateBCSR(ctx, own->bs, m, n, M, N, &bcsr, lend, &o->A));
  }
  o->in_place = o->sorted && !o->ptr ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* ---- the same on the GPU ---------------------------------------------------------------------- */

static void ListTriplets(const Part *p, const PetscInt *global, PetscInt first_row, PetscInt first_column,
                         PoiseInt *rows, PoiseInt *cols)
{
#pragma omp parallel for
  for (PetscInt i = 0; i < p->rows; i++)
    for (PetscInt k = p->ptr[i]; k < p->ptr[i + 1]; k++) {
      rows[k] = first_row + i;
      cols[k] = global ? global[p->col[k]] : first_column + p->col[k];
    }
}

static PetscErrorCode FollowTriplets(Operator *o, const Parts *p)
{
  PetscInt entries[2];
  const double *values[2];
  const PetscScalar *joined;
  PetscMemType place;
  PetscFunctionBegin;
  for (int k = 0; k < p->n; k++) {
    entries[k] = p->part[k].ptr[p->part[k].rows];
    values[k] = p->part[k].val;
  }
  PetscCall(JoinOnGpu(p->n, entries, values, &o->joined));
  PetscCall(VecGetArrayReadAndMemType(o->joined, &joined, &place));
  POISE_CALL(PoiseMatSetValuesDeviceCOO(o->A, joined));
  POISE_CALL(PoiseWait(PoiseMatContext(o->A)));
  PetscCall(VecRestoreArrayReadAndMemType(o->joined, &joined));
  PetscFunctionReturn(0);
}

/* PETSc's two parts, or a part whose columns do not ascend, as triplets. Their places travel once. */
static PetscErrorCode CreateOfTriplets(PoiseContext ctx, Operator *o, const Parts *p)
{
  PetscInt m, n, M, N, first, before = 0, all = 0;
  PoiseInt *rows, *cols;
  PetscFunctionBegin;
  PetscCall(SizesOf(o->mat, &m, &n, &M, &N));
  PetscCall(MatGetOwnershipRange(o->mat, &first, NULL));
  for (int k = 0; k < p->n; k++) all += p->part[k].ptr[p->part[k].rows];
  PetscCall(PetscMalloc2(all, &rows, all, &cols));
  for (int k = 0; k < p->n; before += p->part[k].ptr[p->part[k].rows], k++)
    ListTriplets(&p->part[k], k ? p->global : NULL, first, p->first, rows + before, cols + before);
  POISE_CALL(PoiseMatCreate(ctx, m, n, M, N, &o->A));
  POISE_CALL(PoiseMatSetPatternCOO(o->A, all, rows, cols));
  PetscCall(PetscFree2(rows, cols));
  PetscCall(FollowTriplets(o, p));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateOnGpu(PoiseContext ctx, Operator *o, const Parts *p)
{
  PetscInt m, n, M, N;
  const Part *own = &p->part[0];
  const PoiseCSR csr = {.ptr32 = own->gpu_ptr, .col32 = own->gpu_col, .val = own->val};
  PetscFunctionBegin;
  PetscCall(SizesOf(o->mat, &m, &n, &M, &N));
  o->in_place = p->n == 1 && o->sorted ? PETSC_TRUE : PETSC_FALSE;
  if (o->in_place)
    POISE_CALL(PoiseMatCreateDeviceCSR(ctx, m, n, M, N, &csr, POISE_BORROW, &o->A));
  else
    PetscCall(CreateOfTriplets(ctx, o, p));
  PetscFunctionReturn(0);
}

static PetscErrorCode CallMult(void *arg, Vec x, Vec y)
{
  Operator *o = arg;
  return o->transposed ? MatMultTranspose(o->mat, x, y) : MatMult(o->mat, x, y);
}

static PoiseErr ShellMult(void *arg, PoiseVec x, PoiseVec y)
{
  Operator *o = arg;
  return OnPetscVecs(x, y, o->x, o->y, CallMult, o, &o->failed);
}

static PetscErrorCode CallMultTranspose(void *arg, Vec x, Vec y)
{
  Operator *o = arg;
  return o->transposed ? MatMult(o->mat, x, y) : MatMultTranspose(o->mat, x, y);
}

static PoiseErr ShellMultTranspose(void *arg, PoiseVec x, PoiseVec y)
{
  Operator *o = arg;
  return OnPetscVecs(x, y, o->y, o->x, CallMultTranspose, o, &o->failed);
}

static PetscErrorCode CreateShell(PoiseContext ctx, Operator *o)
{
  const PoiseShell f = {.mult = ShellMult, .mult_transpose = ShellMultTranspose};
  PetscInt m, n, M, N;
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(o->mat, &m, &n));
  PetscCall(MatGetSize(o->mat, &M, &N));
  if (o->transposed)
    PetscCall(MatCreateVecs(o->mat, &o->y, &o->x));
  else
    PetscCall(MatCreateVecs(o->mat, &o->x, &o->y));
  POISE_CALL(PoiseMatCreateShell(ctx, o->transposed ? n : m, o->transposed ? m : n, o->transposed ? N : M,
                                 o->transposed ? M : N, &f, o, &o->A));
  PetscFunctionReturn(0);
}

/* ---- null spaces ----------------------------------------------------------------------------- */

typedef PoiseErr (*SetSpace)(PoiseMat A, int constant, int n, const PoiseVec *v);

static PetscErrorCode SetNull(PoiseContext ctx, PoiseMat A, MatNullSpace space, SetSpace set)
{
  Lent lent[31];
  PoiseVec v[31];
  PetscBool constant = PETSC_FALSE;
  PetscInt n = 0;
  const Vec *vecs = NULL;
  PetscFunctionBegin;
  if (space) PetscCall(MatNullSpaceGetVecs(space, &constant, &n, &vecs));
  PetscCheck(n <= 31, PETSC_COMM_SELF, PETSC_ERR_SUP, "a null space of %d vectors; Poise takes 31", (int)n);
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(LendVec(ctx, vecs[i], PETSC_FALSE, &lent[i]));
    v[i] = lent[i].poise;
  }
  const PoiseErr e = set(A, constant, (int)n, v);
  for (PetscInt i = 0; i < n; i++) PetscCall(EndLend(&lent[i]));
  POISE_CALL(e);
  PetscFunctionReturn(0);
}

/* Has another space been set than the one known? */
static PetscBool IsOther(MatNullSpace space, PetscObjectId *known)
{
  const PetscObjectId now = space ? ((PetscObject)space)->id : 0;
  const PetscBool other = now != *known ? PETSC_TRUE : PETSC_FALSE;
  *known = now;
  return other;
}

static PetscErrorCode FollowNullSpaces(PoiseContext ctx, Operator *o)
{
  MatNullSpace space;
  PetscFunctionBegin;
  if (o->transposed)
    PetscCall(MatGetTransposeNullSpace(o->mat, &space));
  else
    PetscCall(MatGetNullSpace(o->mat, &space));
  if (space && space->remove) space = NULL; /* a function removes it: see ksp.c */
  if (IsOther(space, &o->null)) PetscCall(SetNull(ctx, o->A, space, PoiseMatSetNullSpace));
  PetscCall(MatGetNearNullSpace(o->mat, &space));
  if (space && space->remove) space = NULL;
  if (!o->transposed && IsOther(space, &o->near_null))
    PetscCall(SetNull(ctx, o->A, space, PoiseMatSetNearNullSpace));
  PetscFunctionReturn(0);
}

/* ---- following a Mat ------------------------------------------------------------------------- */

/* What the ranks of the matrix say, on all of them. */
static PetscErrorCode Together(Mat mat, MPI_Op op, PetscBool *value)
{
  int says = *value ? 1 : 0;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &says, 1, MPI_INT, op, PetscObjectComm((PetscObject)mat)));
  *value = says ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* New values of the same pattern. */
static PetscErrorCode FollowValues(Operator *o, const Parts *p)
{
  PetscFunctionBegin;
  if (o->ptr) MergeValues(o, p);
  const double *val = o->ptr ? o->val : p->part[0].val;
  if (o->gpu && !o->in_place)
    PetscCall(FollowTriplets(o, p));
  else if (o->form == FORM_CSR)
    POISE_CALL(PoiseMatSetValuesCSR(o->A, val));
  else
    POISE_CALL(PoiseMatSetValuesBCSR(o->A, 0, val));
  PetscFunctionReturn(0);
}

/* The matrix anew. */
static PetscErrorCode Renew(PoiseContext ctx, Operator *o, const Parts *p)
{
  Mat mat = o->mat;
  const Form form = o->form;
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)mat));
  PetscCall(DropOperator(o));
  o->mat = mat;
  o->form = form;
  o->gpu = p->gpu;
  o->sorted = IsSorted(&p->part[0]) && (p->n == 1 || IsSorted(&p->part[1])) ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(Together(mat, MPI_LAND, &o->sorted));
  PetscCall((p->gpu ? CreateOnGpu : Create)(ctx, o, p));
  if (form == FORM_CSR && mat->rmap->bs > 1 && mat->rmap->bs <= 32)
    POISE_CALL(PoiseMatSetBlockSize(o->A, mat->rmap->bs));
  PetscFunctionReturn(0);
}

/* The present values and pattern, in a new matrix or in that which there is. */
static PetscErrorCode FollowEntries(PoiseContext ctx, Operator *o, PetscBool parallel, PetscBool *fresh)
{
  Parts p;
  PetscFunctionBegin;
  PetscCall(Open(o->mat, o->form, parallel, PoiseStream(ctx) ? IsOnGpu(o->mat) : PETSC_FALSE, &p));
  const uint64_t pattern = PatternOf(&p);
  const PetscInt *columns = p.gpu ? p.part[0].gpu_col : p.part[0].col;
  PetscBool same =
      o->A && (o->sorted || o->gpu) && o->gpu == p.gpu && pattern == o->pattern ? PETSC_TRUE : PETSC_FALSE;
  if (same && o->in_place) same = p.part[0].val == o->values && columns == o->columns;
  PetscCall(Together(o->mat, MPI_LAND, &same));
  if (same)
    PetscCall(FollowValues(o, &p));
  else
    PetscCall(Renew(ctx, o, &p));
  *fresh = same ? PETSC_FALSE : PETSC_TRUE;
  o->pattern = pattern;
  o->values = p.part[0].val;
  o->columns = columns;
  PetscCall(Close(o->form, &p));
  PetscFunctionReturn(0);
}

/* The object states of a matrix and of its parts, which a program may change by MatGetDiagonalBlock. */
static PetscErrorCode StatesOf(Mat mat, Form form, PetscBool parallel, PetscObjectState states[3])
{
  Mat part[2] = {NULL, NULL};
  const PetscInt *global;
  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)mat, &states[0]));
  if (parallel && form == FORM_CSR) PetscCall(MatMPIAIJGetSeqAIJ(mat, &part[0], &part[1], &global));
  if (parallel && form == FORM_BCSR) PetscCall(MatMPIBAIJGetSeqBAIJ(mat, &part[0], &part[1], &global));
  for (int k = 0; k < 2; k++) {
    states[k + 1] = 0;
    if (part[k]) PetscCall(PetscObjectStateGet((PetscObject)part[k], &states[k + 1]));
  }
  PetscFunctionReturn(0);
}

/* Are there other entries than those that o has? If they changed on one rank, all follow. */
static PetscErrorCode HasChanged(const Operator *o, PetscBool parallel, PetscBool *changed)
{
  PetscObjectState states[3];
  PetscFunctionBegin;
  PetscCall(StatesOf(o->mat, o->form, parallel, states));
  *changed = !o->A || memcmp(states, o->states, sizeof states) ? PETSC_TRUE : PETSC_FALSE;
  if (parallel) PetscCall(Together(o->mat, MPI_LOR, changed));
  PetscFunctionReturn(0);
}

PetscErrorCode FollowMat(PoiseContext ctx, Mat mat, PetscBool shell, PetscBool transposed, Operator *o,
                         PetscBool *fresh)
{
  PetscBool parallel = PETSC_FALSE, changed;
  const Form form = shell ? FORM_SHELL : FormOf(mat, &parallel);
  PetscFunctionBegin;
  *fresh = PETSC_FALSE;
  if (o->mat != mat || o->form != form || o->transposed != transposed) {
    PetscCall(PetscObjectReference((PetscObject)mat));
    PetscCall(DropOperator(o));
    o->mat = mat;
    o->form = form;
    o->transposed = transposed;
  }
  if (form != FORM_SHELL) {
    PetscCall(HasChanged(o, parallel, &changed));
    if (changed) PetscCall(FollowEntries(ctx, o, parallel, fresh));
    if (changed) PetscCall(StatesOf(mat, form, parallel, o->states));
  } else if (!o->A) {
    PetscCall(CreateShell(ctx, o));
    *fresh = PETSC_TRUE;
  }
  PetscCall(FollowNullSpaces(ctx, o));
  PetscFunctionReturn(0);
}

PetscErrorCode DropOperator(Operator *o)
{
  PetscFunctionBegin;
  POISE_CALL(PoiseMatDestroy(&o->A));
  PetscCall(PetscFree4(o->ptr, o->col, o->left, o->val));
  PetscCall(VecDestroy(&o->x));
  PetscCall(VecDestroy(&o->y));
  PetscCall(VecDestroy(&o->joined));
  PetscCall(MatDestroy(&o->mat));
  *o = (Operator){.form = FORM_NONE};
  PetscFunctionReturn(0);
}
