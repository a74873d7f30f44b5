/* SPDX-License-Identifier: BSD-3-Clause */
#include "clauses.h"
#include "element.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 }; /* of a file */

typedef struct Reader {
  const FemMesh *mesh;
  int dim;
  const char *option, *text; /* the clause, for messages */
  const FemKey *keys;
} Reader;

/* Cut the part before the next `end` off *rest, which becomes NULL behind the last one. No blanks are left
   around it. */
static char *Part(char **rest, char end)
{
  char *part = *rest, *stop = strchr(part, end);
  *rest = stop != NULL ? stop + 1 : NULL;
  if (stop != NULL) *stop = '\0';
  while (isspace((unsigned char)*part)) part++;
  for (size_t n = strlen(part); n > 0 && isspace((unsigned char)part[n - 1]); n--) part[n - 1] = '\0';
  return part;
}

static int Count(const char *text, char mark)
{
  int count = 1;
  for (; *text != '\0'; text++) count += *text == mark;
  return count;
}

static PoiseErr ReadGroups(const Reader *r, char *names, FemClause *clause)
{
  POISE_TRY(FemAlloc(Count(names, ','), sizeof *clause->group, &clause->group));
  for (char *rest = names; rest != NULL;) {
    const char *name = Part(&rest, ',');
    if (name[0] == '\0')
      POISE_FAIL(POISE_ERR_OPTION, "-%s: a name of a group is missing in '%s'", r->option, r->text);
    POISE_TRY(FemMeshGroup(r->mesh, r->dim, name, &clause->group[clause->groups]));
    clause->groups++;
  }
  return POISE_OK;
}

static PoiseErr FindKey(const Reader *r, const char *name, int *key)
{
  char known[512] = "";
  for (*key = 0; r->keys[*key].name != NULL; ++*key) {
    if (strcmp(r->keys[*key].name, name) == 0) return POISE_OK;
    const size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", r->keys[*key].name);
  }
  POISE_FAIL(POISE_ERR_OPTION, "-%s: there is no '%s' in '%s'; there is: %s", r->option, name, r->text,
             known[0] != '\0' ? known : "nothing after a ':'");
}

/* key = number number ... */
static PoiseErr ReadKey(const Reader *r, char *text, FemClause *clause)
{
  char *numbers = text, *end;
  const char *name = Part(&numbers, '=');
  while (numbers != NULL && isspace((unsigned char)*numbers)) numbers++;
  int k, count = 0;
  POISE_TRY(FindKey(r, name, &k));
  const FemKey *key = &r->keys[k];
  const int must = key->vector ? r->mesh->dim : 1;
  if (clause->given[k]) POISE_FAIL(POISE_ERR_OPTION, "-%s: %s is twice in '%s'", r->option, name, r->text);
  for (; numbers != NULL && *numbers != '\0'; numbers = end, count++) {
    const double x = strtod(numbers, &end);
    if (end == numbers || (*end != '\0' && !isspace((unsigned char)*end)) || !isfinite(x))
      POISE_FAIL(POISE_ERR_OPTION, "-%s: '%s' of %s in '%s' is no number", r->option, numbers, name, r->text);
    if (x < key->least || x > key->most)
      POISE_FAIL(POISE_ERR_OPTION, "-%s: %s = %g in '%s' is not between %g and %g", r->option, name, x,
                 r->text, key->least, key->most);
    if (count < must) clause->value[k][count] = x;
    while (isspace((unsigned char)*end)) end++;
  }
  if (count != must)
    POISE_FAIL(POISE_ERR_OPTION, "-%s: %s in '%s' has %d numbers, must have %d", r->option, name, r->text,
               count, must);
  clause->given[k] = 1;
  return POISE_OK;
}

static PoiseErr ReadClause(const Reader *r, char *text, FemClause *clause)
{
  char *keys = text;
  POISE_TRY(ReadGroups(r, Part(&keys, ':'), clause));
  while (keys != NULL) POISE_TRY(ReadKey(r, Part(&keys, ','), clause));
  return POISE_OK;
}

static PoiseErr CheckOnce(const char *option, const char *text, const FemClauses *clauses)
{
  for (int i = 0; i < clauses->count; i++) {
    const FemClause *clause = &clauses->clause[i];
    for (int g = 0; g < clause->groups; g++) {
      for (int j = 0; j < clause->groups; j++) {
        if ((j != g && clause->group[j] == clause->group[g]) ||
            FemClauseOf(clauses, clause->group[g]) != clause)
          POISE_FAIL(POISE_ERR_OPTION, "-%s: group %d is twice in '%s'", option, clause->group[g], text);
      }
    }
  }
  return POISE_OK;
}

/* Read a file, and blank out its comments. *text is allocated. */
static PoiseErr ReadFile(const char *option, const char *name, char **text)
{
  FILE *file = fopen(name, "rb");
  if (file == NULL) POISE_FAIL(POISE_ERR_FILE, "-%s: %s cannot be read: %s", option, name, strerror(errno));
  PoiseErr err = FemAlloc(MOST_BYTES + 1, 1, text);
  const size_t n = err == POISE_OK ? fread(*text, 1, MOST_BYTES, file) : 0;
  const int bad = ferror(file);
  fclose(file);
  POISE_TRY(err);
  if (bad || n == MOST_BYTES || memchr(*text, '\0', n) != NULL)
    POISE_FAIL(POISE_ERR_FILE, "-%s: %s is no text of less than %d bytes", option, name, MOST_BYTES);
  for (char *at = *text; (at = strchr(at, '#')) != NULL;)
    while (*at != '\0' && *at != '\n') *at++ = ' ';
  return POISE_OK;
}

static int IsBlank(const char *text)
{
  return text[strspn(text, " \t\r\n")] == '\0';
}

/* The clauses of the case whose number is `cases`. */
static PoiseErr ReadCase(const Reader *of, char *text, FemClauses *clauses)
{
  char part[POISE_OPTION_LENGTH];
  for (char *rest = IsBlank(text) ? NULL : text; rest != NULL;) {
    char *clause = Part(&rest, ';');
    snprintf(part, sizeof part, "%s", clause);
    const Reader r = {of->mesh, of->dim, of->option, part, of->keys};
    clauses->clause[clauses->count].number = clauses->cases;
    POISE_TRY(ReadClause(&r, clause, &clauses->clause[clauses->count++]));
  }
  clauses->cases++;
  return POISE_OK;
}

/* separator: of cases; '\0': there is one. */
static PoiseErr ReadText(const Reader *of, char separator, char *text, FemClauses *clauses)
{
  char *rest = text;
  POISE_TRY(FemAlloc(Count(text, ';') + Count(text, '|'), sizeof *clauses->clause, &clauses->clause));
  clauses->cases = 0;
  if (separator == '\0') return ReadCase(of, text, clauses);
  while (rest != NULL) POISE_TRY(ReadCase(of, Part(&rest, separator), clauses));
  return POISE_OK;
}

static PoiseErr Read(const Reader *of, char separator, const char *text, FemClauses *clauses)
{
  char *copy = NULL;
  PoiseErr err = POISE_OK;
  clauses->cases = 1;
  if (text[0] == '@') {
    err = ReadFile(of->option, text + 1, &copy);
  } else {
    err = FemAlloc((PoiseInt)strlen(text) + 1, 1, &copy);
    if (err == POISE_OK) strcpy(copy, text);
  }
  if (err == POISE_OK && !IsBlank(copy)) err = ReadText(of, separator, copy, clauses);
  free(copy);
  return err;
}

PoiseErr FemReadClauses(const FemMesh *mesh, int dim, const char *option, const char *text,
                        const FemKey *keys, int once, FemClauses *clauses)
{
  const Reader r = {mesh, dim, option, text, keys};
  POISE_TRY(Read(&r, '\0', text, clauses));
  return once ? CheckOnce(option, text, clauses) : POISE_OK;
}

PoiseErr FemReadCases(const FemMesh *mesh, int dim, const char *option, const char *text, const FemKey *keys,
                      FemClauses *clauses)
{
  const Reader r = {mesh, dim, option, text, keys};
  return Read(&r, '|', text, clauses);
}

void FemClausesFree(FemClauses *clauses)
{
  for (int i = 0; i < clauses->count; i++) free(clauses->clause[i].group);
  free(clauses->clause);
  clauses->clause = NULL;
  clauses->count = clauses->cases = 0;
}

const FemClause *FemClauseOf(const FemClauses *clauses, int group)
{
  for (int i = 0; i < clauses->count; i++) {
    for (int g = 0; g < clauses->clause[i].groups; g++) {
      if (clauses->clause[i].group[g] == group) return &clauses->clause[i];
    }
  }
  return NULL;
}
