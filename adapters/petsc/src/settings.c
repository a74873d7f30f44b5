/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The settings of a PC of PETSc as options of Poise's of the same type. They are read from the PC itself, so
  that it does not matter whether an option or the program has made them. What Poise has not is told.
*/
#include "plugin.h"

/* What is read, and where it goes. */
typedef struct Reader {
  PC pc;
  const Note *note;
  const char *inside; /* "sub_" in the blocks of bjacobi */
  char *lines;
  size_t room;
  const char *because; /* why PETSc's must work */
} Reader;

/* A line. The functions after it leave out what is usual, which is what Poise's PC has without an option. */
static PetscErrorCode Add(Reader *r, const char *option, const char *value)
{
  char line[2 * NAME];
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(line, sizeof line, "-%s%s %s\n", r->inside, option, value));
  PetscCall(PetscStrlcat(r->lines, line, r->room));
  PetscFunctionReturn(0);
}

static PetscErrorCode AddWord(Reader *r, const char *option, const char *value, const char *usual)
{
  PetscFunctionBegin;
  if (strcmp(value, usual)) PetscCall(Add(r, option, value));
  PetscFunctionReturn(0);
}

static PetscErrorCode AddReal(Reader *r, const char *option, PetscReal value, PetscReal usual)
{
  char text[NAME];
  PetscFunctionBegin;
  if (value == usual) PetscFunctionReturn(0);
  PetscCall(PetscSNPrintf(text, sizeof text, "%.17g", (double)value));
  PetscCall(Add(r, option, text));
  PetscFunctionReturn(0);
}

static PetscErrorCode AddInt(Reader *r, const char *option, PetscInt value, PetscInt usual)
{
  char text[NAME];
  PetscFunctionBegin;
  if (value == usual) PetscFunctionReturn(0);
  PetscCall(PetscSNPrintf(text, sizeof text, "%" PetscInt_FMT, value));
  PetscCall(Add(r, option, text));
  PetscFunctionReturn(0);
}

/* ---- by type --------------------------------------------------------------------------------- */

static PetscErrorCode ReadNone(Reader *r)
{
  (void)r;
  return 0;
}

static PetscErrorCode ReadJacobi(Reader *r)
{
  PCJacobiType type;
  PetscBool absolute, fix;
  PetscFunctionBegin;
  PetscCall(PCJacobiGetType(r->pc, &type));
  PetscCall(PCJacobiGetUseAbs(r->pc, &absolute));
  PetscCall(PCJacobiGetFixDiagonal(r->pc, &fix));
  if (type != PC_JACOBI_DIAGONAL || absolute) r->because = "Poise's jacobi takes the diagonal as it is";
  PetscCall(AddWord(r, "pc_jacobi_fixdiagonal", fix ? "yes" : "no", "no"));
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadSOR(Reader *r)
{
  static const char *const sweeps[] = {NULL, "pc_sor_forward", "pc_sor_backward", "pc_sor_symmetric"};
  MatSORType sweep;
  PetscReal omega;
  PetscInt its, local;
  const char *prefix;
  PetscBool shifted;
  PetscFunctionBegin;
  PetscCall(PCSORGetSymmetric(r->pc, &sweep));
  PetscCall(PCSORGetOmega(r->pc, &omega));
  PetscCall(PCSORGetIterations(r->pc, &its, &local));
  PetscCall(PCGetOptionsPrefix(r->pc, &prefix)); /* this has neither getter nor setter */
  PetscCall(PetscOptionsHasName(NULL, prefix, "-pc_sor_diagonal_shift", &shifted));
  const int on_ranks = SOR_LOCAL_FORWARD_SWEEP / SOR_FORWARD_SWEEP;
  const char *option = sweeps[(sweep | sweep / on_ranks) & SOR_SYMMETRIC_SWEEP];
  if (!option || sweep > SOR_LOCAL_SYMMETRIC_SWEEP || its < 1 || local < 1 || shifted)
    r->because = "Poise's sor has no such sweep";
  if (r->because) PetscFunctionReturn(0);
  if (strcmp(option, "pc_sor_symmetric")) PetscCall(Add(r, option, "yes"));
  PetscCall(AddReal(r, "pc_sor_omega", omega, 1));
  PetscCall(AddInt(r, "pc_sor_its", its, 1));
  PetscCall(AddInt(r, "pc_sor_lits", local, 1));
  PetscFunctionReturn(0);
}

static const PetscReal usual_zero = 100 * PETSC_MACHINE_EPSILON; /* of pivots and shifts */

/* Of all factors. */
static PetscErrorCode ReadLibrary(Reader *r)
{
  MatSolverType solver;
  PetscBool in_place;
  PetscFunctionBegin;
  PetscCall(PCFactorGetMatSolverType(r->pc, &solver));
  PetscCall(PCFactorGetUseInPlace(r->pc, &in_place));
  if (solver && strcmp(solver, MATSOLVERPETSC)) r->because = "another library factors";
  if (in_place) r->because = "the matrix is overwritten by its factors";
  PetscFunctionReturn(0);
}

static PetscBool IsOfBlocks(Mat mat)
{
  const char *type = mat ? ((PetscObject)mat)->type_name : NULL;
  if (!type || mat->rmap->bs == 1) return PETSC_FALSE;
  return !strcmp(type, MATSEQBAIJ) || !strcmp(type, MATMPIBAIJ) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode ReadIncomplete(Reader *r)
{
  static const char *const shifts[] = {"none", "nonzero", "positive_definite", "inblocks"};
  MatFactorShiftType shift;
  PetscReal amount, zero;
  PetscInt levels;
  PetscBool fill;
  const PetscBool cholesky = strcmp(((PetscObject)r->pc)->type_name, PCICC) ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionBegin;
  PetscCall(PCFactorGetShiftType(r->pc, &shift));
  PetscCall(PCFactorGetShiftAmount(r->pc, &amount));
  PetscCall(PCFactorGetZeroPivot(r->pc, &zero));
  PetscCall(PCFactorGetLevels(r->pc, &levels));
  PetscCall(PCFactorGetAllowDiagonalFill(r->pc, &fill));
  PetscCall(ReadLibrary(r));
  if (fill || r->note->drops) r->because = "Poise's factors have no such fill";
  if (r->note->ordered) r->because = "Poise's factors have the matrix's own order";
  if (r->note->pivots || r->note->unpivoted) r->because = "Poise's factors have no such pivoting";
  if (cholesky && IsOfBlocks(r->pc->pmat)) r->because = "Poise's icc of a matrix of blocks is one of blocks";
  if (amount < 0 || zero < 0) r->because = "Poise takes no negative shifts";
  PetscCall(AddInt(r, "pc_factor_levels", levels, 0));
  PetscCall(AddWord(r, "pc_factor_shift_type", shifts[shift], cholesky ? "positive_definite" : "none"));
  PetscCall(AddReal(r, "pc_factor_shift_amount", amount, usual_zero));
  PetscCall(AddReal(r, "pc_factor_zeropivot", zero, usual_zero));
  PetscFunctionReturn(0);
}

/* Poise's is dense, and lu pivots, so the order does not matter. */
static PetscErrorCode ReadLU(Reader *r)
{
  MatFactorShiftType shift;
  PetscReal zero;
  PetscFunctionBegin;
  PetscCall(PCFactorGetShiftType(r->pc, &shift));
  PetscCall(PCFactorGetZeroPivot(r->pc, &zero));
  PetscCall(ReadLibrary(r));
  if (shift != MAT_SHIFT_NONE || zero < 0) r->because = "Poise's factors of this type shift no pivots";
  PetscCall(AddReal(r, "pc_factor_zeropivot", zero, usual_zero));
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadBlocks(Reader *r)
{
  PetscInt all, local;
  const PetscInt *sizes, *local_sizes;
  PetscFunctionBegin;
  PetscCall(PCBJacobiGetTotalBlocks(r->pc, &all, &sizes));
  PetscCall(PCBJacobiGetLocalBlocks(r->pc, &local, &local_sizes));
  if (sizes || local_sizes) r->because = "the sizes of the blocks are given";
  if (r->pc->modifysubmatrices) r->because = "the program changes the blocks";
  PetscCall(AddInt(r, "pc_bjacobi_blocks", PetscMax(all, 0), 0));
  PetscCall(AddInt(r, "pc_bjacobi_local_blocks", PetscMax(local, 0), 0));
  PetscFunctionReturn(0);
}

static const struct {
  const char *type;
  PetscErrorCode (*read)(Reader *r);
} readers[] = {
    {PCNONE, ReadNone},      {PCJACOBI, ReadJacobi},  {PCPBJACOBI, ReadNone},
    {PCILU, ReadIncomplete}, {PCICC, ReadIncomplete}, {PCSOR, ReadSOR},
    {PCLU, ReadLU},          {PCCHOLESKY, ReadLU},    {PCBJACOBI, ReadBlocks},
};

PetscErrorCode ReadSettings(PC pc, const char *inside, char *lines, size_t room, const char **because)
{
  const char *type = ((PetscObject)pc)->type_name;
  Note *note;
  size_t i = 0;
  PetscFunctionBegin;
  *lines = 0;
  PetscCall(NoteOf(pc, &note));
  while (i < sizeof readers / sizeof *readers && (!type || strcmp(type, readers[i].type))) i++;
  if (i == sizeof readers / sizeof *readers) {
    *because = "Poise has none of this type";
  } else if (!note) {
    *because = "it was made before the plug-in was loaded";
  } else if (note->inside) {
    *because = "the program asks for its inside";
  } else {
    Reader r = {.pc = pc, .note = note, .inside = inside, .lines = lines, .room = room};
    PetscCall(readers[i].read(&r));
    *because = r.because;
  }
  PetscFunctionReturn(0);
}

/* ---- the solvers in the blocks of bjacobi ---------------------------------------------------- */

/* Does this solver of PETSc only apply its preconditioner, and print nothing? */
static PetscBool IsPlain(KSP ksp)
{
  const PetscBool views[] = {ksp->view,      ksp->viewPre,      ksp->viewRate,   ksp->viewMat, ksp->viewPMat,
                             ksp->viewRhs,   ksp->viewSol,      ksp->viewMatExp, ksp->viewEV,  ksp->viewSV,
                             ksp->viewEVExp, ksp->viewFinalRes, ksp->viewPOpExp};
  for (size_t i = 0; i < sizeof views / sizeof *views; i++)
    if (views[i]) return PETSC_FALSE;
  if (strcmp(((PetscObject)ksp)->type_name, KSPPREONLY)) return PETSC_FALSE;
  return !ksp->numbermonitors && !ksp->numberreasonviews && !IsScaled(ksp) && ksp->guess_zero ? PETSC_TRUE
                                                                                              : PETSC_FALSE;
}

/* PETSc's default depends on the matrix, and on whether it is known as symmetric. */
static PetscErrorCode SetBlock(PC pc, KSP ksp)
{
  Mat block;
  PetscBool entries = PETSC_FALSE;
  PetscFunctionBegin;
  if (pc->pmat && pc->pmat->assembled) PetscCall(HasEntries(pc->pmat, &entries));
  if (!entries) PetscFunctionReturn(0);
  PetscCall(MatGetDiagonalBlock(pc->pmat, &block));
  PetscCall(KSPSetOperators(ksp, block, block));
  PetscFunctionReturn(0);
}

PetscErrorCode ReadInside(PC pc, char *lines, size_t room, const char **because)
{
  const char *prefix;
  KSP ksp;
  PC sub;
  Reader r = {.inside = "sub_", .lines = lines, .room = room};
  char more[1024];
  PetscFunctionBegin;
  /* a solver like those that PETSc makes in its set-up, which reads its options */
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPAppendOptionsPrefix(ksp, "sub_"));
  PetscCall(SetBlock(pc, ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetPC(ksp, &sub));
  PetscCall(ReadSettings(sub, "sub_", more, sizeof more, because));
  const char *type = ((PetscObject)sub)->type_name;
  if (!IsPlain(ksp)) *because = "its blocks have solvers that are more than a preconditioner";
  if (!strcmp(type, PCBJACOBI) || !strcmp(type, PCLU) || !strcmp(type, PCCHOLESKY))
    *because = "Poise has no such PC in the blocks";
  *lines = 0;
  PetscCall(AddWord(&r, "pc_type", type, PCILU));
  PetscCall(PetscStrlcat(lines, more, room));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}
