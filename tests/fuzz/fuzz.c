/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by fuzz targets. */
#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"

#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 8, PATH = 256 };

static PoiseContext context;
static int64_t live; /* blocks of memory */
static char folder[PATH], paths[FILES][2 * PATH];
static int used;

void FuzzBroken(const char *promise, const char *file, int line)
{
  fprintf(stderr, "%s:%d: %s does not hold; the latest error:\n%s\n", file, line, promise, PoiseErrorText());
  abort();
}

PoiseContext FuzzContext(void)
{
  if (context) return context;
  DEMAND(!unsetenv("POISE_OPTIONS"));
  DEMAND(!PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &context));
  FILE *nowhere = fopen("/dev/null", "w");
  DEMAND(nowhere);
  PoiseSetOutput(context, nowhere);
  return context;
}

void FuzzBegin(void)
{
  live = FuzzContext()->memory.live;
}

void FuzzNothingLeft(void)
{
  DEMAND(context->objects == 0);
  DEMAND(context->memory.live == live);
}

static void RemoveFiles(void)
{
  for (int i = 0; i < used; i++) unlink(paths[i]);
  rmdir(folder);
}

static void MakeFolder(void)
{
  const char *root = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.200s/poise_fuzz_%ld", root && *root ? root : "/tmp", (long)getpid());
  DEMAND(!mkdir(folder, 0700));
  atexit(RemoveFiles);
}

const char *FuzzFile(const char *name)
{
  if (!*folder) MakeFolder();
  char path[2 * PATH];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int i = 0;
  while (i < used && strcmp(paths[i], path)) i++;
  DEMAND(i < FILES);
  if (i == used) strcpy(paths[used++], path);
  return paths[i];
}

void FuzzWrite(const char *path, const void *data, size_t size)
{
  FILE *f = fopen(path, "wb");
  DEMAND(f);
  DEMAND(fwrite(data, 1, size, f) == size);
  DEMAND(!fclose(f));
}

static bool Same(const void *a, const void *b, int64_t n, size_t item)
{
  return !n || !memcmp(a, b, (size_t)n * item);
}

void FuzzMatrixStays(PoiseMat *A, const char *path)
{
  PoiseMat B;
  PoiseInt M, N, P, Q;
  int64_t *ptr[2], *col[2];
  double *val[2];
  DEMAND(!PoiseMatSave(*A, path));
  DEMAND(!PoiseMatLoad(context, path, &B));
  PoiseMatSizes(*A, &M, &N);
  PoiseMatSizes(B, &P, &Q);
  DEMAND(M == P && N == Q);
  DEMAND(!PoiseMatCopyCSR(*A, &ptr[0], &col[0], &val[0]));
  DEMAND(!PoiseMatCopyCSR(B, &ptr[1], &col[1], &val[1]));
  DEMAND(Same(ptr[0], ptr[1], M + 1, sizeof(int64_t)));
  DEMAND(Same(col[0], col[1], ptr[0][M], sizeof(int64_t)));
  DEMAND(Same(val[0], val[1], ptr[0][M], sizeof(double)));
  for (int k = 0; k < 2; k++) free(ptr[k]), free(col[k]), free(val[k]);
  PoiseMatDestroy(A);
  PoiseMatDestroy(&B);
}

void FuzzVectorStays(PoiseVec *x, const char *path)
{
  PoiseVec y;
  const double *p, *q;
  DEMAND(!PoiseVecSave(*x, path));
  DEMAND(!PoiseVecLoad(context, POISE_DECIDE, POISE_DECIDE, path, &y));
  DEMAND(PoiseVecSize(*x) == PoiseVecSize(y));
  DEMAND(!PoiseVecGetRead(*x, &p) && !PoiseVecGetRead(y, &q));
  DEMAND(Same(p, q, PoiseVecSize(y), sizeof(double)));
  DEMAND(!PoiseVecRestore(*x, &p) && !PoiseVecRestore(y, &q));
  PoiseVecDestroy(x);
  PoiseVecDestroy(&y);
}
