/* SPDX-License-Identifier: BSD-3-Clause */
/*
  One context of Poise for each communicator of PETSc, from its first solver until PetscFinalize. So solvers
  share a device and a log, and none is finalised while others live.

  Options "-<prefix>poise_<key>" of PETSc's database become Poise's. The database changes while a program
  runs, and Poise's list only grows. So each different text of options gets a prefix of Poise's own: the first
  one "<prefix>poise_", as the user writes it, later ones with a number behind it.
*/
#include "plugin.h"

typedef struct Texts { /* a text of options, and the prefix that stands for it */
  struct Texts *next;
  char *text, prefix[NAME];
  char *unused; /* " key key " that Poise has not asked for by the end of a solve; NULL: not looked at */
} Texts;

typedef struct Shared {
  struct Shared *next;
  MPI_Comm comm; /* PETSc's inner one, with a reference, so that no other can have its handle */
  PoiseContext ctx;
  Texts *texts;
} Shared;

static Shared *shared; /* PETSc is one per process too */

/* Options of the context. They take no prefix of a solver. */
static const char *const of_context[] = {
    "options_left", "log_view",      "poise_view",      "device",
    "device_id",    "host_threads",  "log_device_time", "device_forbid_copies",
    "comm_check",   "comm_exchange", "comm_patience",   NULL};
/* What options of objects begin with. */
static const char *const of_objects[] = {"ksp_", "pc_", "mat_", "sub_", NULL};

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

PetscErrorCode EachOption(const char *prefix, OnOption f, void *arg)
{
  char *all, **words;
  int count;
  const size_t length = prefix ? strlen(prefix) : 0;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetAll(NULL, &all));
  PetscCall(PetscStrToArray(all, ' ', &count, &words));
  for (int i = 0; i < count; i++) {
    const char *value = i + 1 < count && !IsKey(words[i + 1]) ? words[i + 1] : NULL;
    if (!IsKey(words[i]) || (length && strncmp(words[i] + 1, prefix, length))) continue;
    PetscCall(f(arg, words[i] + 1 + length, value));
  }
  PetscCall(PetscStrToArrayDestroy(count, words));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(0);
}

static PetscErrorCode MarkUsed(const char *prefix, const char *key)
{
  char name[3 * NAME];
  PetscBool has;
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof name, "-%s%s", prefix, key));
  PetscCall(PetscOptionsHasName(NULL, NULL, name, &has));
  PetscFunctionReturn(0);
}

/* ---- contexts -------------------------------------------------------------------------------- */

typedef struct Words { /* a command line for PoiseInitialize */
  int n;
  char *word[64];
} Words;

static PetscErrorCode AddOfContext(void *arg, const char *key, const char *value)
{
  Words *w = arg;
  char name[NAME];
  PetscFunctionBegin;
  if (!IsOfContext(key) || w->n > 60) PetscFunctionReturn(0);
  PetscCall(PetscSNPrintf(name, sizeof name, "-%s", key));
  PetscCall(PetscStrallocpy(name, &w->word[w->n++]));
  if (value) PetscCall(PetscStrallocpy(value, &w->word[w->n++]));
  PetscCall(MarkUsed("poise_", key));
  PetscFunctionReturn(0);
}

static PetscErrorCode FinalizeContexts(void)
{
  PetscFunctionBegin;
  while (shared) {
    Shared *s = shared;
    shared = s->next;
    PoiseErr e = PoiseFinalize(&s->ctx);
    for (Texts *t = s->texts, *next; t; t = next) {
      next = t->next;
      PetscCall(PetscFree(t->text));
      PetscCall(PetscFree(t->unused));
      PetscCall(PetscFree(t));
    }
    PetscCall(PetscCommDestroy(&s->comm));
    PetscCall(PetscFree(s));
    if (e) PetscCall(PetscInfo(NULL, "%s", PoiseErrorText())); /* a KSP that the program has not destroyed */
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateShared(MPI_Comm inner, Shared *s)
{
  /* PETSc names what is left over; a key that Poise does not know stays unused there */
  char program[] = "poise", left[] = "-options_left", no[] = "no";
  Words w = {.n = 3, .word = {program, left, no}};
  PoiseInit init = {.mpi_comm = &inner, .keep_running = 1};
  char **argv = w.word;
  PetscFunctionBegin;
  PetscCall(EachOption("poise_", AddOfContext, &w));
  POISE_CALL(PoiseInitialize(&w.n, &argv, &init, &s->ctx));
  for (int i = 3; i < w.n; i++) PetscCall(PetscFree(w.word[i]));
  if (!shared) PetscCall(PetscRegisterFinalize(FinalizeContexts));
  s->comm = inner;
  s->next = shared;
  shared = s;
  PetscFunctionReturn(0);
}

PetscErrorCode ContextOf(MPI_Comm comm, PoiseContext *ctx)
{
  MPI_Comm inner;
  Shared *s = shared;
  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(comm, &inner, NULL));
  while (s && s->comm != inner) s = s->next;
  if (s) {
    PetscCall(PetscCommDestroy(&inner));
  } else {
    PetscCall(PetscNew(&s));
    PetscCall(CreateShared(inner, s));
  }
  *ctx = s->ctx;
  PetscFunctionReturn(0);
}

/* ---- options of objects ---------------------------------------------------------------------- */

typedef struct Text { /* lines "-key value" */
  char *text;
  size_t length, room;
} Text;

static PetscErrorCode Append(Text *t, const char *words)
{
  const size_t n = strlen(words);
  PetscFunctionBegin;
  if (t->length + n + 1 > t->room) {
    t->room = 2 * (t->length + n + 1);
    char *more;
    PetscCall(PetscMalloc1(t->room, &more));
    if (t->text) PetscCall(PetscArraycpy(more, t->text, t->length));
    PetscCall(PetscFree(t->text));
    t->text = more;
  }
  PetscCall(PetscArraycpy(t->text + t->length, words, n + 1));
  t->length += n;
  PetscFunctionReturn(0);
}

static PetscErrorCode AddOfObjects(void *arg, const char *key, const char *value)
{
  Text *t = arg;
  PetscFunctionBegin;
  if (!IsOfObjects(key)) PetscFunctionReturn(0);
  const size_t n = strlen(key);
  if (n >= 8 && !strcmp(key + n - 8, "ksp_type") && MethodOf(value)) value = MethodOf(value);
  PetscCall(Append(t, "-"));
  PetscCall(Append(t, key));
  if (value) {
    PetscCall(Append(t, " "));
    PetscCall(Append(t, value));
  }
  PetscCall(Append(t, "\n"));
  PetscFunctionReturn(0);
}

/* Set the options of a text behind a prefix. */
static PetscErrorCode SetText(PoiseContext ctx, const char *prefix, char *text)
{
  PetscFunctionBegin;
  for (char *line = text, *end; *line; line = end) {
    char name[3 * NAME], *value = strchr(line, ' ');
    end = strchr(line, '\n');
    if (value > end) value = NULL;
    *end = 0;
    if (value) *value = 0;
    PetscCall(PetscSNPrintf(name, sizeof name, "%s%s", prefix, line + 1));
    POISE_CALL(PoiseOptionsSet(ctx, name, value ? value + 1 : NULL));
    if (value) *value = ' ';
    *end++ = '\n';
  }
  PetscFunctionReturn(0);
}

PetscErrorCode TakeOptions(PoiseContext ctx, const char *prefix, const char *first, char poise[NAME])
{
  char petsc[NAME];
  int variants = 0;
  Shared *s = shared;
  Text t = {0};
  PetscFunctionBegin;
  while (s->ctx != ctx) s = s->next;
  PetscCall(PetscSNPrintf(petsc, sizeof petsc, "%spoise_", prefix ? prefix : ""));
  PetscCall(Append(&t, first ? first : ""));
  PetscCall(EachOption(petsc, AddOfObjects, &t));
  const size_t length = strlen(petsc);
  Texts *known = NULL;
  for (Texts *k = s->texts; k; k = k->next) {
    if (strncmp(k->prefix, petsc, length)) continue;
    variants++;
    if (!strcmp(k->text, t.text)) known = k;
  }
  if (!known) {
    PetscCall(PetscNew(&known));
    if (variants)
      PetscCall(PetscSNPrintf(known->prefix, NAME, "%s%d_", petsc, variants + 1));
    else
      PetscCall(PetscStrncpy(known->prefix, petsc, NAME));
    known->next = s->texts;
    s->texts = known;
    PetscCall(SetText(ctx, known->prefix, t.text));
    known->text = t.text;
    t.text = NULL;
  }
  PetscCall(PetscFree(t.text));
  PetscCall(PetscStrncpy(poise, known->prefix, NAME));
  PetscFunctionReturn(0);
}

/* ---- options that nobody asked for ----------------------------------------------------------- */

/* Has Poise asked for it? Asking for it here makes one unused option less if it has not. */
static PetscErrorCode WasUsed(PoiseContext ctx, const char *prefix, const char *key, PetscBool *was)
{
  int before, after;
  PetscFunctionBegin;
  POISE_CALL(PoiseOptionsUnused(ctx, NULL, &before));
  (void)PoiseOptionsHas(ctx, prefix, key, NULL);
  POISE_CALL(PoiseOptionsUnused(ctx, NULL, &after));
  *was = before == after ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode NoteUsed(PoiseContext ctx, const char *prefix, const char *poise)
{
  char petsc[NAME], word[2 * NAME];
  Shared *s = shared;
  PetscFunctionBegin;
  while (s->ctx != ctx) s = s->next;
  Texts *t = s->texts;
  while (t && strcmp(t->prefix, poise)) t = t->next;
  if (!t) PetscFunctionReturn(0);
  PetscCall(PetscSNPrintf(petsc, sizeof petsc, "%spoise_", prefix ? prefix : ""));
  const PetscBool first = t->unused ? PETSC_FALSE : PETSC_TRUE;
  Text unused = {0};
  if (first) PetscCall(Append(&unused, " "));
  for (char *line = t->text, *end; *line; line = end + 1) {
    char key[NAME];
    PetscBool was;
    end = strchr(line, '\n');
    const size_t n = PetscMin(strcspn(line, " \n") - 1, NAME - 1);
    memcpy(key, line + 1, n);
    key[n] = 0;
    PetscCall(PetscSNPrintf(word, sizeof word, " %s ", key));
    if (first) {
      PetscCall(WasUsed(ctx, poise, key, &was));
      if (!was) PetscCall(Append(&unused, word + 1));
    } else {
      was = strstr(t->unused, word) ? PETSC_FALSE : PETSC_TRUE;
    }
    if (was) PetscCall(MarkUsed(petsc, key));
  }
  if (first) t->unused = unused.text;
  PetscFunctionReturn(0);
}
