/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "output.h"
#include "element.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PATH = 512 };

/* ---- a file that appears whole or not at all ------------------------------------------------- */

typedef struct File {
  FILE *stream;
  int complete; /* all is written, and only the name is missing */
  char path[MAX_PATH], unfinished[MAX_PATH + 8];
} File;

static PoiseErr FileBegin(const char *path, File *file)
{
  *file = (File){.stream = NULL};
  if (strlen(path) >= MAX_PATH) POISE_FAIL(POISE_ERR_FILE, "the file name '%.40s...' is too long", path);
  snprintf(file->path, sizeof file->path, "%s", path);
  snprintf(file->unfinished, sizeof file->unfinished, "%s.part", path);
  file->stream = fopen(file->unfinished, "wb");
  if (file->stream == NULL) POISE_FAIL(POISE_ERR_FILE, "%s cannot be written: %s", path, strerror(errno));
  return POISE_OK;
}

/* Close what was written; after an error, here or before, nothing remains. */
static PoiseErr FileClose(File *file, PoiseErr err)
{
  if (file->stream == NULL) return err;
  int bad = ferror(file->stream);
  if (fclose(file->stream) != 0) bad = 1;
  if (bad && err == POISE_OK) {
    err = PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "%s cannot be written: %s", file->path,
                        strerror(errno));
  }
  if (err != POISE_OK) remove(file->unfinished);
  file->complete = err == POISE_OK;
  return err;
}

static void FileDrop(const File *file)
{
  if (file->complete) remove(file->unfinished);
}

/* A file that was never begun has no name to be given. */
static PoiseErr FileCommit(const File *file)
{
  if (!file->complete || rename(file->unfinished, file->path) == 0) return POISE_OK;
  PoiseErr err = PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "%s cannot be written: %s",
                               file->path, strerror(errno));
  FileDrop(file);
  return err;
}

/* ---- VTK's XML ------------------------------------------------------------------------------- */

static const int vtkTypes[FEM_CELLS] = {
    [FEM_TRI3] = 5, [FEM_TRI6] = 22, [FEM_QUAD4] = 9, [FEM_TET4] = 10, [FEM_TET10] = 24, [FEM_HEX8] = 12};

static void Base64(FILE *out, const void *data, size_t size)
{
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *in = data;
  char text[4096];
  size_t n = 0;
  for (size_t i = 0; i < size; i += 3) {
    unsigned b = (unsigned)in[i] << 16 | (i + 1 < size ? (unsigned)in[i + 1] << 8 : 0) |
                 (i + 2 < size ? in[i + 2] : 0u);
    text[n++] = digit[b >> 18];
    text[n++] = digit[b >> 12 & 63];
    text[n++] = i + 1 < size ? digit[b >> 6 & 63] : '=';
    text[n++] = i + 2 < size ? digit[b & 63] : '=';
    if (n == sizeof text) fwrite(text, 1, n, out), n = 0;
  }
  fwrite(text, 1, n, out);
}

/* In an attribute of XML. VTK takes a plain > for the end of the tag. */
static void Escaped(FILE *out, const char *text)
{
  for (; *text != '\0'; text++) {
    if (strchr("&<>\"", *text) != NULL)
      fprintf(out, "&#%d;", *text);
    else
      fputc(*text, out);
  }
}

/* Data of an array: its length in bytes as UInt64, and the bytes, each in base64. */
static void Data(FILE *out, const void *data, PoiseInt bytes)
{
  const uint64_t length = (uint64_t)bytes;
  Base64(out, &length, sizeof length);
  Base64(out, data, (size_t)bytes);
  fprintf(out, "\n</DataArray>\n");
}

static void Array(FILE *out, const char *type, const char *name, int components, const void *data,
                  PoiseInt bytes)
{
  fprintf(out, "<DataArray type=\"%s\" Name=\"", type);
  Escaped(out, name);
  fprintf(out, "\" NumberOfComponents=\"%d\" format=\"binary\">\n", components);
  Data(out, data, bytes);
}

static void Head(FILE *out, const char *type)
{
  const union {
    uint16_t word;
    unsigned char bytes[2];
  } one = {1};
  fprintf(out,
          "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"1.0\" byte_order=\"%s\" "
          "header_type=\"UInt64\">\n",
          type, one.bytes[0] == 1 ? "LittleEndian" : "BigEndian");
}

static void Fields(FILE *out, const FemMesh *mesh, int ofCells, int count, const FemField *fields)
{
  for (int f = 0; f < count; f++) {
    if (fields[f].ofCells != ofCells) continue;
    PoiseInt n = ofCells ? mesh->cells : mesh->nodes;
    Array(out, "Float64", fields[f].name, fields[f].components, fields[f].data, n * fields[f].components * 8);
  }
}

/* What the numbers of "group" mean: a number "group <name>" for each group of cells. Programs show these
   beside the fields. They are no array of strings, as meshio reads no file that has one. */
static void GroupNames(FILE *out, const FemMesh *mesh)
{
  fprintf(out, "<FieldData>\n");
  for (int g = 0; g < mesh->groups; g++) {
    const int32_t number = mesh->group[g].number;
    if (mesh->group[g].dim != mesh->dim) continue;
    fprintf(out, "<DataArray type=\"Int32\" Name=\"group ");
    Escaped(out, mesh->group[g].name);
    fprintf(out, "\" NumberOfTuples=\"1\" format=\"binary\">\n");
    Data(out, &number, sizeof number);
  }
  fprintf(out, "</FieldData>\n");
}

/* Is a cell of any rank in several groups? Then "group" does not tell all. */
static PoiseErr CheckSeveral(const FemMesh *mesh, int *several)
{
  double most = 0;
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    int count = 0;
    for (int g = 0; g < mesh->groups; g++)
      count += mesh->group[g].dim == mesh->dim && FemCellIn(mesh, e, mesh->group[g].number);
    most = fmax(most, count);
  }
  POISE_TRY(PoiseMax(mesh->ctx, 1, &most));
  *several = most > 1;
  return POISE_OK;
}

/* The number of the first group that has the cell; several: also one array for each group, 1 in its cells. */
static void Groups(FILE *out, const FemMesh *mesh, int several, int32_t *number, unsigned char *in)
{
  for (PoiseInt e = 0; e < mesh->cells; e++) number[e] = 0;
  for (int g = mesh->groups - 1; g >= 0; g--) {
    const FemGroup *group = &mesh->group[g];
    if (group->dim != mesh->dim) continue;
    for (PoiseInt e = 0; e < mesh->cells; e++) {
      in[e] = FemCellIn(mesh, e, group->number) != 0;
      if (in[e]) number[e] = group->number;
    }
    if (!several) continue;
    char name[sizeof group->name + 8];
    snprintf(name, sizeof name, "in %s", group->name);
    Array(out, "UInt8", name, 1, in, mesh->cells);
  }
  Array(out, "Int32", "group", 1, number, mesh->cells * 4);
}

/* ends, types, groups, ranks: [cells], work */
static void Cells(FILE *out, const FemMesh *mesh, int several, int64_t *ends, int32_t *work,
                  unsigned char *types)
{
  const int nodes = FemCellInfoOf(mesh->cell)->nodes;
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    ends[e] = (e + 1) * nodes;
    types[e] = (unsigned char)vtkTypes[mesh->cell];
    work[e] = PoiseRank(mesh->ctx);
  }
  fprintf(out, "<Cells>\n");
  Array(out, "Int64", "connectivity", 1, mesh->cellNodes, mesh->cells * nodes * 8);
  Array(out, "Int64", "offsets", 1, ends, mesh->cells * 8);
  Array(out, "UInt8", "types", 1, types, mesh->cells);
  fprintf(out, "</Cells>\n<CellData>\n");
  Array(out, "Int32", "rank", 1, work, mesh->cells * 4);
  Groups(out, mesh, several, work, types);
}

static PoiseErr WritePiece(FILE *out, const FemMesh *mesh, int several, int count, const FemField *fields)
{
  int64_t *ends = NULL;
  int32_t *work = NULL;
  unsigned char *types = NULL;
  PoiseErr err = FemAlloc(mesh->cells, sizeof *ends, &ends);
  if (err == POISE_OK) err = FemAlloc(mesh->cells, sizeof *work, &work);
  if (err == POISE_OK) err = FemAlloc(mesh->cells, sizeof *types, &types);
  if (err == POISE_OK) {
    Head(out, "UnstructuredGrid");
    fprintf(out, "<UnstructuredGrid>\n");
    GroupNames(out, mesh);
    fprintf(out, "<Piece NumberOfPoints=\"%" PRId64 "\" NumberOfCells=\"%" PRId64 "\">\n<Points>\n",
            mesh->nodes, mesh->cells);
    Array(out, "Float64", "points", 3, mesh->x, mesh->nodes * 3 * 8);
    fprintf(out, "</Points>\n<PointData>\n");
    Fields(out, mesh, 0, count, fields);
    fprintf(out, "</PointData>\n");
    Cells(out, mesh, several, ends, work, types);
    Fields(out, mesh, 1, count, fields);
    fprintf(out, "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
  }
  free(ends);
  free(work);
  free(types);
  return err;
}

/* The name of a file in its folder. */
static const char *Base(const char *name)
{
  const char *slash = strrchr(name, '/');
  return slash != NULL ? slash + 1 : name;
}

/* What the pieces hold, and where they are: beside this file. */
static void WriteIndex(FILE *out, const FemMesh *mesh, int several, const char *name, int count,
                       const FemField *fields)
{
  const char *base = Base(name);
  Head(out, "PUnstructuredGrid");
  fprintf(out, "<PUnstructuredGrid GhostLevel=\"0\">\n<PPoints>\n");
  fprintf(out, "<PDataArray type=\"Float64\" Name=\"points\" NumberOfComponents=\"3\"/>\n</PPoints>\n");
  for (int ofCells = 0; ofCells < 2; ofCells++) {
    fprintf(out, ofCells ? "<PCellData>\n" : "<PPointData>\n");
    if (ofCells) {
      fprintf(out, "<PDataArray type=\"Int32\" Name=\"rank\" NumberOfComponents=\"1\"/>\n");
      for (int g = mesh->groups - 1; g >= 0 && several; g--) {
        if (mesh->group[g].dim != mesh->dim) continue;
        fprintf(out, "<PDataArray type=\"UInt8\" Name=\"in ");
        Escaped(out, mesh->group[g].name);
        fprintf(out, "\" NumberOfComponents=\"1\"/>\n");
      }
      fprintf(out, "<PDataArray type=\"Int32\" Name=\"group\" NumberOfComponents=\"1\"/>\n");
    }
    for (int f = 0; f < count; f++) {
      if (fields[f].ofCells != ofCells) continue;
      fprintf(out, "<PDataArray type=\"Float64\" Name=\"");
      Escaped(out, fields[f].name);
      fprintf(out, "\" NumberOfComponents=\"%d\"/>\n", fields[f].components);
    }
    fprintf(out, ofCells ? "</PCellData>\n" : "</PPointData>\n");
  }
  for (int rank = 0; rank < PoiseSize(mesh->ctx); rank++) {
    fprintf(out, "<Piece Source=\"");
    Escaped(out, base);
    fprintf(out, "_%d.vtu\"/>\n", rank);
  }
  fprintf(out, "</PUnstructuredGrid>\n</VTKFile>\n");
}

/* Of this rank's piece. */
static void PiecePath(PoiseContext ctx, const char *name, char path[2 * MAX_PATH])
{
  char number[16] = "";
  if (PoiseSize(ctx) > 1) snprintf(number, sizeof number, "_%d", PoiseRank(ctx));
  snprintf(path, 2 * MAX_PATH, "%s%s.vtu", name, number);
}

PoiseErr FemTryOutput(PoiseContext ctx, const char *name)
{
  char path[2 * MAX_PATH];
  File file;
  if (name[0] == '\0') return POISE_OK;
  PiecePath(ctx, name, path);
  PoiseErr err = FileBegin(path, &file);
  err = FileClose(&file, err);
  FileDrop(&file);
  return PoiseAgree(ctx, err);
}

PoiseErr FemWriteMesh(const FemMesh *mesh, const char *name, int count, const FemField *fields)
{
  const int rank = PoiseRank(mesh->ctx), pieces = PoiseSize(mesh->ctx) > 1;
  char path[2 * MAX_PATH];
  File piece = {.stream = NULL}, index = {.stream = NULL};
  int several = 0;
  POISE_TRY(CheckSeveral(mesh, &several));
  PiecePath(mesh->ctx, name, path);
  PoiseErr err = FileBegin(path, &piece);
  if (err == POISE_OK) err = WritePiece(piece.stream, mesh, several, count, fields);
  err = FileClose(&piece, err);
  if (pieces && rank == 0 && err == POISE_OK) {
    snprintf(path, sizeof path, "%s.pvtu", name);
    err = FileBegin(path, &index);
    if (err == POISE_OK) WriteIndex(index.stream, mesh, several, name, count, fields);
    err = FileClose(&index, err);
  }
  /* All of them are complete now, or none gets its name. */
  err = PoiseAgree(mesh->ctx, err);
  if (err != POISE_OK) FileDrop(&piece);
  if (err == POISE_OK) err = PoiseAgree(mesh->ctx, FileCommit(&piece));
  if (err != POISE_OK) FileDrop(&index);
  POISE_TRY(err);
  return PoiseAgree(mesh->ctx, FileCommit(&index)); /* the last name: it speaks of files that are there */
}

/* ---- solutions in time ----------------------------------------------------------------------- */

struct FemMoment {
  double time;
  char file[MAX_PATH];
};

static PoiseErr AddMoment(FemSeries *series, double time, const char *file)
{
  FemMoment *all = realloc(series->moment, (size_t)(series->count + 1) * sizeof *all);
  if (all == NULL) POISE_FAIL(POISE_ERR_MEMORY, "no memory for %" PRId64 " moments", series->count + 1);
  series->moment = all;
  all[series->count] = (FemMoment){.time = time};
  snprintf(all[series->count++].file, MAX_PATH, "%s", Base(file));
  return POISE_OK;
}

static PoiseErr Series(const FemSeries *series, const char *name, const char *ending)
{
  char path[2 * MAX_PATH];
  File file;
  snprintf(path, sizeof path, "%s.pvd", name);
  PoiseErr err = FileBegin(path, &file);
  if (err == POISE_OK) {
    Head(file.stream, "Collection");
    fprintf(file.stream, "<Collection>\n");
    for (PoiseInt i = 0; i < series->count; i++) {
      fprintf(file.stream, "<DataSet timestep=\"%.17g\" file=\"", series->moment[i].time);
      Escaped(file.stream, series->moment[i].file);
      fprintf(file.stream, "%s\"/>\n", ending);
    }
    fprintf(file.stream, "</Collection>\n</VTKFile>\n");
  }
  POISE_TRY(FileClose(&file, err));
  return FileCommit(&file);
}

PoiseErr FemWriteSeries(PoiseContext ctx, FemSeries *series, const char *name, double time, const char *file)
{
  PoiseErr err = POISE_OK;
  if (PoiseRank(ctx) == 0) {
    err = AddMoment(series, time, file);
    if (err == POISE_OK) err = Series(series, name, PoiseSize(ctx) > 1 ? ".pvtu" : ".vtu");
  }
  return PoiseAgree(ctx, err);
}

void FemSeriesFree(FemSeries *series)
{
  free(series->moment);
  *series = (FemSeries){.count = 0};
}

/* ---- the history of a solve ------------------------------------------------------------------ */

/* A solve that goes on begins with the residual with which the one before ended. */
static PoiseErr Append(PoiseInt count, const double *norms, FemHistory *history)
{
  const int again = history->count > 0;
  if (count <= again) return POISE_OK;
  const PoiseInt more = count - again;
  double *longer = realloc(history->norms, (size_t)(history->count + more) * sizeof *longer);
  if (longer == NULL) POISE_FAIL(POISE_ERR_MEMORY, "no memory for %" PRId64 " norms", history->count + more);
  memcpy(longer + history->count, norms + again, (size_t)more * sizeof *longer);
  *history = (FemHistory){history->count + more, longer};
  return POISE_OK;
}

PoiseErr FemKeepHistory(PoiseKSP ksp, FemHistory *history)
{
  PoiseInt count;
  const double *norms;
  POISE_TRY(PoiseKSPHistory(ksp, &count, &norms));
  return PoiseAgree(PoiseKSPContext(ksp), Append(count, norms, history));
}

PoiseErr FemKeepColumnHistory(PoiseKSP ksp, int j, FemHistory *history)
{
  PoiseInt count;
  const double *norms;
  POISE_TRY(PoiseKSPColumnHistory(ksp, j, &count, &norms));
  return PoiseAgree(PoiseKSPContext(ksp), Append(count, norms, history));
}

static PoiseErr WriteHistory(PoiseKSP ksp, const FemHistory *history, const char *name)
{
  char path[2 * MAX_PATH];
  PoiseInt count;
  const double *norms;
  File file;
  POISE_TRY(PoiseKSPHistory(ksp, &count, &norms));
  if (history != NULL) count = history->count, norms = history->norms;
  snprintf(path, sizeof path, "%s.csv", name);
  PoiseErr err = FileBegin(path, &file);
  if (err == POISE_OK) {
    fprintf(file.stream, "iteration,%s residual norm\n", PoiseKSPNormString(PoiseKSPNormUsed(ksp)));
    for (PoiseInt i = 0; i < count; i++) fprintf(file.stream, "%" PRId64 ",%.17g\n", i, norms[i]);
  }
  POISE_TRY(FileClose(&file, err));
  return FileCommit(&file);
}

PoiseErr FemWriteHistory(PoiseKSP ksp, const FemHistory *history, const char *name)
{
  PoiseContext ctx = PoiseKSPContext(ksp);
  return PoiseAgree(ctx, PoiseRank(ctx) == 0 ? WriteHistory(ksp, history, name) : POISE_OK);
}

/* ---- a linear system ------------------------------------------------------------------------- */

enum { SYSTEM_FILES = 3 };
static const char systemFile[SYSTEM_FILES] = {'A', 'b', 'x'};

/* "sys" and "sys.mtx" give sys_A.mtx, "sys.petsc.gz" gives sys_A.petsc.gz. */
static void SystemPath(const char *name, char which, char path[2 * MAX_PATH])
{
  static const char *const endings[] = {".mtx", ".mtx.gz", ".petsc", ".petsc.gz", ".bin", ".bin.gz"};
  const char *ending = NULL;
  size_t length = strlen(name);
  for (size_t k = 0; k < sizeof endings / sizeof *endings && ending == NULL; k++) {
    const size_t size = strlen(endings[k]);
    if (length > size && strcmp(name + length - size, endings[k]) == 0) ending = endings[k];
  }
  if (ending != NULL) length -= strlen(ending);
  snprintf(path, 2 * MAX_PATH, "%.*s_%c%s", (int)length, name, which, ending != NULL ? ending : ".mtx");
}

/* Also what PETSc keeps beside a matrix: its block size, in x.info for x and for x.gz. */
static void RemoveSystem(const char *name)
{
  char path[2 * MAX_PATH], info[2 * MAX_PATH + 8];
  for (int k = SYSTEM_FILES - 1; k >= 0; k--) {
    SystemPath(name, systemFile[k], path);
    unlink(path);
  }
  const size_t length = strlen(path), gz = length > 3 && strcmp(path + length - 3, ".gz") == 0 ? 3 : 0;
  snprintf(info, sizeof info, "%.*s.info", (int)(length - gz), path);
  unlink(info);
}

PoiseErr FemTrySystem(PoiseContext ctx, const char *name)
{
  char path[2 * MAX_PATH];
  File file;
  PoiseErr err = POISE_OK;
  for (int k = 0; k < SYSTEM_FILES && PoiseRank(ctx) == 0 && err == POISE_OK; k++) {
    SystemPath(name, systemFile[k], path);
    err = FileBegin(path, &file);
    err = FileClose(&file, err);
    FileDrop(&file);
  }
  return PoiseAgree(ctx, err);
}

PoiseErr FemWriteSystem(PoiseMat A, PoiseVec b, PoiseVec x, const char *name)
{
  char path[SYSTEM_FILES][2 * MAX_PATH];
  const int root = PoiseRank(PoiseMatContext(A)) == 0;
  for (int k = 0; k < SYSTEM_FILES; k++) SystemPath(name, systemFile[k], path[k]);
  if (root) RemoveSystem(name); /* never the matrix of one run beside vectors of another */
  PoiseErr err = PoiseMatSave(A, path[0]);
  if (err == POISE_OK) err = PoiseVecSave(b, path[1]);
  if (err == POISE_OK) err = PoiseVecSave(x, path[2]);
  if (err != POISE_OK && root) RemoveSystem(name);
  return err;
}
