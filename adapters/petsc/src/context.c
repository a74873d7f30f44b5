/* SPDX-License-Identifier: BSD-3-Clause */
/*
  One context of Poise for each communicator of PETSc that has solvers. It is an attribute of PETSc's inner
  communicator, to which each solver has a reference. So it lives as long as any of them. Those of
  PETSC_COMM_WORLD and PETSC_COMM_SELF live until PetscFinalize, as their solvers share a device and a log.

  Options "-<prefix>poise_<key>" of PETSc's database become Poise's when a solver reads them, and leave
  Poise's list with the solver. The database changes while a program runs. So each solver has a prefix of its
  own in Poise: "<prefix>poise_" as the user writes it, or with a number if a living solver has that one.
*/
#include "plugin.h"

typedef struct Shared {
  struct Shared *next;
  MPI_Comm comm;  /* PETSc's inner one */
  PetscBool kept; /* with a reference to comm, until PetscFinalize */
  PoiseContext ctx;
} Shared;

static Shared *shared; /* PETSc is one per process too */
static PetscMPIInt keyval = MPI_KEYVAL_INVALID;
static MPI_Comm of_process[2]; /* PETSc's inner ones of PETSC_COMM_WORLD and PETSC_COMM_SELF */

typedef struct Key { /* an option of Poise */
  struct Key *next;
  char *word;            /* "-ksp_rtol" */
  PetscBool of_database; /* else of the caller's lines alone */
} Key;

struct Taken {
  PoiseContext ctx;
  char *petsc, *prefix; /* in PETSc's database, "<prefix>poise_", and in Poise */
  char *lines;          /* of the caller */
  Key *keys;
};

/* Options of the context. They take no prefix of a solver. */
static const char *const of_context[] = {"options_left", "log_view",        "poise_view",
                                         "device",       "device_id",       "gpus",
                                         "host_threads", "log_device_time", "device_forbid_copies",
                                         "comm_check",   "comm_exchange",   "comm_fuse",
                                         "comm_gather",  "comm_patience",   NULL};
/* What options of objects begin with. */
static const char *const of_objects[] = {"ksp_", "pc_", "mat_", "sub_", "mg_", NULL};

static PetscBool IsOfContext(const char *key)
{
  for (int i = 0; of_context[i]; i++)
    if (!strcmp(key, of_context[i])) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscBool IsOfObjects(const char *key)
{
  for (int i = 0; of_objects[i]; i++)
    if (!strncmp(key, of_objects[i], strlen(of_objects[i]))) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* ---- PETSc's database ------------------------------------------------------------------------ */

static PetscBool IsKey(const char *word)
{
  return word[0] == '-' && word[1] && !strchr("0123456789.-", word[1]) ? PETSC_TRUE : PETSC_FALSE;
}

/* PETSc names all options in one text, where a blank may be part of a value. It names those that nobody has
   asked for in arrays, in the same order; to look up one of these would mark it. */
PetscErrorCode EachOption(const char *prefix, OnOption f, void *arg)
{
  char *all, **names, **values, *end;
  PetscInt left, next = 0;
  const size_t length = prefix ? strlen(prefix) : 0;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetAll(NULL, &all));
  PetscCall(PetscOptionsLeftGet(NULL, &left, &names, &values));
  for (char *word = all; *word; word = end) {
    const char *value = NULL;
    PetscBool given = PETSC_TRUE;
    end = word + strcspn(word, " ");
    if (*end) *end++ = 0;
    if (!IsKey(word)) continue;
    const PetscBool unused = next < left && !strcmp(names[next], word + 1) ? PETSC_TRUE : PETSC_FALSE;
    if (unused) value = values[next++];
    if (length && strncmp(word + 1, prefix, length)) continue;
    if (!unused) PetscCall(PetscOptionsFindPair(NULL, NULL, word, &value, &given));
    if (given) PetscCall(f(arg, word + 1 + length, value && *value ? value : NULL));
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &left, &names, &values));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(0);
}

static PetscErrorCode Join(const char *a, const char *b, char **joined)
{
  const size_t room = strlen(a) + strlen(b) + 1;
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(room, joined));
  PetscCall(PetscSNPrintf(*joined, room, "%s%s", a, b));
  PetscFunctionReturn(0);
}

/* ---- contexts -------------------------------------------------------------------------------- */

typedef struct Words { /* a command line for PoiseInitialize */
  int n;
  char *word[5 + 2 * sizeof of_context / sizeof *of_context];
} Words;

/* If PETSc computes on a GPU, Poise does so on the same, as it uses PETSc's arrays there. */
static PetscErrorCode AddGpu(Words *w)
{
  char number[16];
  PetscInt id;
  PetscFunctionBegin;
  PetscCall(GpuOfPetsc(&id));
  if (id < 0) PetscFunctionReturn(0);
  PetscCall(PetscSNPrintf(number, sizeof number, "%d", (int)id));
  PetscCall(PetscStrallocpy("-device_id", &w->word[w->n++]));
  PetscCall(PetscStrallocpy(number, &w->word[w->n++]));
  PetscFunctionReturn(0);
}

static PetscErrorCode AddOfContext(void *arg, const char *key, const char *value)
{
  Words *w = arg;
  PetscBool has;
  PetscFunctionBegin;
  if (!IsOfContext(key)) PetscFunctionReturn(0);
  PetscCall(Join("-", key, &w->word[w->n]));
  PetscCall(PetscOptionsHasName(NULL, "poise_", w->word[w->n++], &has)); /* which marks it as used */
  if (value) PetscCall(PetscStrallocpy(value, &w->word[w->n++]));
  PetscFunctionReturn(0);
}

/* PETSc drops the communicator, or the attribute. */
static PetscMPIInt MPIAPI DropShared(MPI_Comm comm, PetscMPIInt key, void *value, void *extra)
{
  Shared *s = value, **at = &shared;
  PetscFunctionBegin;
  (void)comm;
  (void)key;
  (void)extra;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  if (PoiseFinalize(&s->ctx)) /* a KSP that the program has not destroyed */
    PetscCallMPI(PetscInfo(NULL, "%s", PoiseErrorText()) ? MPI_ERR_OTHER : MPI_SUCCESS);
  PetscCallMPI(PetscFree(s) ? MPI_ERR_OTHER : MPI_SUCCESS);
  PetscFunctionReturn(MPI_SUCCESS);
}

static PetscErrorCode FinalizeContexts(void)
{
  PetscFunctionBegin;
  while (shared) {
    MPI_Comm comm = shared->comm;
    const PetscBool kept = shared->kept;
    PetscCallMPI(MPI_Comm_delete_attr(comm, keyval));
    if (kept) PetscCall(PetscCommDestroy(&comm));
  }
  PetscCallMPI(MPI_Comm_free_keyval(&keyval));
  PetscFunctionReturn(0);
}

static PetscErrorCode ForgetProcess(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscCommDestroy(&of_process[k]));
  PetscFunctionReturn(0);
}

PetscErrorCode KnowProcess(void)
{
  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &of_process[0], NULL));
  PetscCall(PetscCommDuplicate(PETSC_COMM_SELF, &of_process[1], NULL));
  PetscCall(PetscRegisterFinalize(ForgetProcess));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateShared(MPI_Comm inner, Shared **made)
{
  /* PETSc names what is left over; a key that Poise does not know stays unused there */
  char program[] = "poise", left[] = "-options_left", no[] = "no";
  Words w = {.n = 3, .word = {program, left, no}};
  PoiseInit init = {.mpi_comm = &inner, .keep_running = 1};
  char **argv = w.word;
  Shared *s;
  PetscFunctionBegin;
  if (keyval == MPI_KEYVAL_INVALID) {
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, DropShared, &keyval, NULL));
    PetscCall(PetscRegisterFinalize(FinalizeContexts));
  }
  PetscCall(PetscNew(&s));
  PetscCall(AddGpu(&w)); /* options of the database override */
  PetscCall(EachOption("poise_", AddOfContext, &w));
  POISE_CALL(PoiseInitialize(&w.n, &argv, &init, &s->ctx));
  for (int i = 3; i < w.n; i++) PetscCall(PetscFree(w.word[i]));
  s->comm = inner;
  s->next = shared;
  shared = s;
  PetscCallMPI(MPI_Comm_set_attr(inner, keyval, s));
  s->kept = inner == of_process[0] || inner == of_process[1] ? PETSC_TRUE : PETSC_FALSE;
  if (s->kept) PetscCall(PetscCommDuplicate(inner, &inner, NULL));
  *made = s;
  PetscFunctionReturn(0);
}

PetscErrorCode ContextOf(MPI_Comm comm, PoiseContext *ctx)
{
  MPI_Comm inner;
  Shared *s;
  PetscMPIInt has = 0;
  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(comm, &inner, NULL));
  if (keyval != MPI_KEYVAL_INVALID) PetscCallMPI(MPI_Comm_get_attr(inner, keyval, &s, &has));
  if (!has) PetscCall(CreateShared(inner, &s));
  *ctx = s->ctx;
  PetscCall(PetscCommDestroy(&inner)); /* the solver has a reference too */
  PetscFunctionReturn(0);
}

/* ---- options of objects ---------------------------------------------------------------------- */

/* Give Poise an option; `word` is "-key". */
static PetscErrorCode Give(Taken *t, const char *word, const char *value, PetscBool of_database)
{
  char *name;
  Key *k = t->keys;
  PetscFunctionBegin;
  PetscCall(Join(t->prefix, word + 1, &name));
  POISE_CALL(PoiseOptionsSet(t->ctx, name, value));
  PetscCall(PetscFree(name));
  while (k && strcmp(k->word, word)) k = k->next;
  if (!k) {
    PetscCall(PetscNew(&k));
    PetscCall(PetscStrallocpy(word, &k->word));
    k->next = t->keys;
    t->keys = k;
  }
  k->of_database = k->of_database || of_database ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode GiveOfObjects(void *arg, const char *key, const char *value)
{
  char *word;
  PetscFunctionBegin;
  const PetscBool read = !strcmp(key, "pc_gamg") || !strcmp(key, "pc_mg") ? PETSC_TRUE : PETSC_FALSE;
  if (read || !IsOfObjects(key)) PetscFunctionReturn(0); /* chosen.c reads those */
  const size_t n = strlen(key);
  if (n >= 8 && !strcmp(key + n - 8, "ksp_type") && MethodOf(value)) value = MethodOf(value);
  PetscCall(Join("-", key, &word));
  PetscCall(Give(arg, word, value, PETSC_TRUE));
  PetscCall(PetscFree(word));
  PetscFunctionReturn(0);
}

/* Are these characters a line of the text? */
static PetscBool HasLine(const char *text, const char *line, size_t length)
{
  for (; text && *text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
    if (strcspn(text, "\n") == length && !strncmp(text, line, length)) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* The lines but for those that were given before, where the database may have another value. */
static PetscErrorCode GiveLines(Taken *t, const char *lines)
{
  char *before = t->lines, *text;
  PetscFunctionBegin;
  PetscCall(PetscStrallocpy(lines ? lines : "", &text));
  for (char *line = text, *end; *line; line = end) {
    const size_t length = strcspn(line, "\n");
    const PetscBool known = HasLine(before, line, length);
    end = line + length;
    if (*end) *end++ = 0;
    char *value = strchr(line, ' ');
    if (value) *value++ = 0;
    if (!known) PetscCall(Give(t, line, value, PETSC_FALSE));
  }
  PetscCall(PetscFree(text));
  PetscCall(PetscStrallocpy(lines ? lines : "", &t->lines));
  PetscCall(PetscFree(before));
  PetscFunctionReturn(0);
}

/* The key "<prefix>poise_", which is no option, says in Poise's list that a solver has this prefix. */
static PetscErrorCode ChoosePrefix(Taken *t, const char *prefix)
{
  static int number = 1;
  char word[32];
  PetscFunctionBegin;
  PetscCall(Join(prefix, "poise_", &t->petsc));
  if (PoiseOptionsHas(t->ctx, NULL, t->petsc, NULL)) {
    PetscCall(PetscSNPrintf(word, sizeof word, "poise%d_", ++number));
    PetscCall(Join(prefix, word, &t->prefix));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscStrallocpy(t->petsc, &t->prefix));
  POISE_CALL(PoiseOptionsSet(t->ctx, t->petsc, NULL));
  (void)PoiseOptionsHas(t->ctx, NULL, t->petsc, NULL); /* so that Poise knows it */
  PetscFunctionReturn(0);
}

/* PETSc reads "-mg_levels_x" for the prefix "mg_levels_1_" too: a number between two '_' may be left out. A
   name with the number overrides. */
static PetscErrorCode GiveMatching(Taken *t, const char *petsc)
{
  char *without;
  PetscFunctionBegin;
  for (size_t end = strlen(petsc) - 1; end > 1; end--) {
    size_t begin = end;
    while (begin > 1 && strchr("0123456789", petsc[begin - 1])) begin--;
    if (petsc[end] != '_' || begin == end || petsc[begin - 1] != '_') continue;
    PetscCall(PetscStrallocpy(petsc, &without));
    memcpy(without + begin, petsc + end + 1, strlen(petsc + end));
    PetscCall(GiveMatching(t, without));
    PetscCall(PetscFree(without));
  }
  PetscCall(EachOption(petsc, GiveOfObjects, t));
  PetscFunctionReturn(0);
}

PetscErrorCode TakeOptions(PoiseContext ctx, const char *prefix, const char *first, Taken **taken)
{
  Taken *t;
  PetscFunctionBegin;
  PetscCall(DropOptions(taken));
  PetscCall(PetscNew(&t));
  *taken = t;
  t->ctx = ctx;
  PetscCall(ChoosePrefix(t, prefix ? prefix : ""));
  PetscCall(GiveLines(t, first));
  PetscCall(GiveMatching(t, t->petsc));
  PetscFunctionReturn(0);
}

const char *PrefixOf(const Taken *taken)
{
  return taken ? taken->prefix : "poise_";
}

PetscErrorCode NoteUsed(const Taken *taken)
{
  char *name;
  PetscBool has;
  PetscFunctionBegin;
  for (const Key *k = taken->keys; k; k = k->next) {
    PetscCall(Join(taken->prefix, k->word + 1, &name));
    if (PoiseOptionsUsed(taken->ctx, name)) PetscCall(PetscOptionsHasName(NULL, taken->petsc, k->word, &has));
    PetscCall(PetscFree(name));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode DropKey(Taken *t, Key *k)
{
  char *name;
  PetscFunctionBegin;
  PetscCall(Join(t->prefix, k->word + 1, &name));
  POISE_CALL(PoiseOptionsClear(t->ctx, name));
  PetscCall(PetscFree(name));
  PetscCall(PetscFree(k->word));
  PetscCall(PetscFree(k));
  PetscFunctionReturn(0);
}

/* Is this the key of a line? */
static PetscBool HasKey(const char *lines, const char *word)
{
  const size_t length = strlen(word);
  for (const char *line = lines; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    if (strcspn(line, " \n") == length && !strncmp(line, word, length)) return PETSC_TRUE;
  return PETSC_FALSE;
}

PetscErrorCode RenewOptions(Taken *t, const char *lines)
{
  PetscFunctionBegin;
  for (Key **at = &t->keys, *k; (k = *at);) {
    if (k->of_database || HasKey(lines, k->word)) {
      at = &k->next;
    } else {
      *at = k->next;
      PetscCall(DropKey(t, k));
    }
  }
  PetscCall(GiveLines(t, lines));
  PetscFunctionReturn(0);
}

PetscErrorCode DropOptions(Taken **taken)
{
  Taken *t = *taken;
  PetscFunctionBegin;
  if (!t) PetscFunctionReturn(0);
  for (Key *k = t->keys, *next; k; k = next) {
    next = k->next;
    PetscCall(DropKey(t, k));
  }
  POISE_CALL(PoiseOptionsClear(t->ctx, t->prefix));
  PetscCall(PetscFree(t->petsc));
  PetscCall(PetscFree(t->prefix));
  PetscCall(PetscFree(t->lines));
  PetscCall(PetscFree(*taken));
  PetscFunctionReturn(0);
}
