/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Parse the text of a .msh file. It has sections "$Name ... $EndName" with lines of numbers. Sections that do
  not describe the mesh are skipped. A count is compared with the remaining bytes before memory is allocated.
*/
#include "gmsh.h"
#include "element.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const GmshKind kinds[] = {
    {1, "line", 1, 2, 2}, {2, "tri3", 2, 3, 3},    {3, "quad4", 2, 4, 4},
    {4, "tet4", 3, 4, 4}, {5, "hex8", 3, 8, 8},    {8, "line of 3 nodes", 1, 3, 2},
    {9, "tri6", 2, 6, 3}, {11, "tet10", 3, 10, 4}, {15, "point", 0, 1, 1}};
enum { KINDS = sizeof kinds / sizeof *kinds, POINT = KINDS - 1 };

const GmshKind *GmshKindOf(int kind)
{
  return &kinds[kind];
}

void GmshFree(GmshFile *file)
{
  free(file->x);
  free(file->element);
  free(file->name);
  *file = (GmshFile){0};
}

/* ---- words and numbers ----------------------------------------------------------------------- */

typedef struct Tag { /* an item with a number of the file's own, sorted by that */
  int64_t tag;
  int32_t index;
  int64_t line;
} Tag;

typedef struct Entity { /* version 4: a part of the geometry */
  int dim, tag;
  int32_t first, groups; /* where its groups begin, and how many it has */
} Entity;
enum { MOST_GROUPS = 32 }; /* of an entity, each of whose elements is kept once for each */

typedef struct Reader {
  GmshFile *file;
  const char *at, *end;
  int64_t line;
  int version; /* 2 or 4; 0: not known yet */
  int haveNodes, haveElements, haveEntities;
  Tag *tag; /* [nodes] */
  int32_t entities;
  Entity *entity;
  int32_t members, *member; /* groups of all entities */
  int64_t room;             /* for elements of version 4 */
} Reader;

static PoiseErr Wrong(const Reader *r, const char *format, ...)
{
  char words[256];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  POISE_FAIL(POISE_ERR_FORMAT, "%s, line %lld: %s", r->file->path, (long long)r->line, words);
}

/* The text at this place, for a message: up to 40 letters of a line. */
typedef struct Shown {
  char text[41];
} Shown;
static Shown Show(const Reader *r)
{
  Shown s;
  size_t n = 0;
  while (n < sizeof s.text - 1 && r->at + n < r->end && r->at[n] != '\n' && r->at[n] != '\r') {
    s.text[n] = '?';
    if (isprint((unsigned char)r->at[n])) s.text[n] = r->at[n];
    n++;
  }
  s.text[n] = '\0';
  return s;
}

static void SkipBlanks(Reader *r)
{
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

/* Check that the line ends here, and go to the next one that is not empty. */
static PoiseErr EndLine(Reader *r)
{
  SkipBlanks(r);
  if (r->at < r->end && *r->at != '\n') return Wrong(r, "'%s' is more than the line can hold", Show(r).text);
  while (r->at < r->end && *r->at == '\n') {
    r->at++;
    r->line++;
    SkipBlanks(r);
  }
  return POISE_OK;
}

static size_t WordLength(const Reader *r)
{
  size_t n = 0;
  while (r->at + n < r->end && r->at[n] != '\0' && !isspace((unsigned char)r->at[n])) n++;
  return n;
}

static int WordIs(const Reader *r, const char *word)
{
  const size_t n = WordLength(r);
  return n == strlen(word) && memcmp(r->at, word, n) == 0;
}

/* On to a word of this line. */
static PoiseErr FindWord(Reader *r, const char *what)
{
  SkipBlanks(r);
  if (r->at == r->end) return Wrong(r, "the file ends where %s should be; it has been cut off", what);
  if (*r->at == '\n') return Wrong(r, "the line ends where %s should be", what);
  return POISE_OK;
}

static PoiseErr Int(Reader *r, int64_t low, int64_t high, const char *what, int64_t *value)
{
  char *end;
  POISE_TRY(FindWord(r, what));
  errno = 0;
  const long long v = strtoll(r->at, &end, 10);
  if (end == r->at || end != r->at + WordLength(r))
    return Wrong(r, "'%s' where %s should be", Show(r).text, what);
  if (errno != 0 || v < low || v > high)
    return Wrong(r, "%.*s cannot be %s", (int)(end - r->at), r->at, what);
  r->at = end;
  *value = v;
  return POISE_OK;
}

static PoiseErr Real(Reader *r, const char *what, double *value)
{
  char *end;
  POISE_TRY(FindWord(r, what));
  *value = strtod(r->at, &end);
  if (end == r->at || end != r->at + WordLength(r))
    return Wrong(r, "'%s' where %s should be", Show(r).text, what);
  if (!isfinite(*value)) return Wrong(r, "%.*s cannot be %s", (int)(end - r->at), r->at, what);
  r->at = end;
  return POISE_OK;
}

/* Read a count of items, each of which takes at least so many bytes. */
static PoiseErr Count(Reader *r, int bytes, const char *what, int32_t *count)
{
  int64_t n;
  *count = 0;
  POISE_TRY(Int(r, 0, INT32_MAX - 1, what, &n));
  if (n > (r->end - r->at) / bytes) {
    return Wrong(
        r, "%s is %lld, for which the %lld bytes that are left cannot be enough; the file has been cut off",
        what, (long long)n, (long long)(r->end - r->at));
  }
  *count = (int32_t)n;
  return POISE_OK;
}

static PoiseErr Copy3(Reader *r, double x[3])
{
  for (int d = 0; d < 3; d++) POISE_TRY(Real(r, "a coordinate", x + d));
  return POISE_OK;
}

/* ---- sections that both versions have -------------------------------------------------------- */

#define SAVE "gmsh <file> -save_all -save -format msh41 -o <new file> (done here if gmsh is installed)"

static PoiseErr ReadFormat(Reader *r)
{
  double version;
  int64_t binary, size;
  POISE_TRY(Real(r, "the version", &version));
  POISE_TRY(Int(r, 0, 1, "0 for text or 1 for binary", &binary));
  POISE_TRY(Int(r, 4, 8, "the size of a number", &size));
  if (version >= 2 && version < 3) r->version = 2;
  if (version == 4.1) r->version = 4;
  r->file->foreign = binary || r->version == 0;
  if (binary) return Wrong(r, "the file is binary; save it as text: " SAVE);
  if (r->version == 0) return Wrong(r, "version %g is neither 2 nor 4.1; save it so: " SAVE, version);
  return EndLine(r);
}

static PoiseErr ReadName(Reader *r)
{
  FemGroup *group = &r->file->name[r->file->names];
  int64_t dim, number;
  POISE_TRY(Int(r, 0, 3, "the dimension of a group", &dim));
  POISE_TRY(Int(r, 1, INT32_MAX, "the number of a group", &number));
  POISE_TRY(FindWord(r, "a name in quotes"));
  const char *name = r->at + 1;
  size_t n = 0;
  while (name + n < r->end && name[n] != '"' && name[n] != '\n' && name[n] != '\0') n++;
  if (*r->at != '"' || name + n >= r->end || name[n] != '"')
    return Wrong(r, "'%s' is no name in quotes", Show(r).text);
  if (n == 0 || n >= sizeof group->name) {
    return Wrong(r, "a name has %zu letters; it can have 1 to %zu", n, sizeof group->name - 1);
  }
  *group = (FemGroup){.dim = (int)dim, .number = (int)number};
  memcpy(group->name, name, n);
  for (int g = 0; g < r->file->names; g++) {
    const FemGroup *other = &r->file->name[g];
    if (other->dim != group->dim) continue;
    if (other->number == group->number)
      return Wrong(r, "group %d has a name already, \"%s\"", other->number, other->name);
    if (strcmp(other->name, group->name) == 0)
      return Wrong(r, "group %d has this name already", other->number);
  }
  r->file->names++;
  r->at = name + n + 1;
  return EndLine(r);
}

static PoiseErr ReadNames(Reader *r)
{
  int32_t n;
  if (r->file->name != NULL) return Wrong(r, "a second $PhysicalNames");
  POISE_TRY(Count(r, 8, "the number of groups", &n));
  POISE_TRY(EndLine(r));
  POISE_TRY(FemAlloc(n, sizeof *r->file->name, &r->file->name));
  for (int32_t i = 0; i < n; i++) POISE_TRY(ReadName(r));
  return POISE_OK;
}

static int CompareTags(const void *a, const void *b)
{
  const Tag *s = a, *t = b;
  return s->tag < t->tag ? -1 : s->tag > t->tag;
}

/* All nodes have been read. */
static PoiseErr SortTags(Reader *r)
{
  const int32_t n = r->file->nodes;
  int sorted = 1;
  for (int32_t i = 1; i < n; i++) sorted = sorted && r->tag[i - 1].tag < r->tag[i].tag;
  if (sorted) return POISE_OK;
  qsort(r->tag, (size_t)n, sizeof *r->tag, CompareTags);
  for (int32_t i = 1; i < n; i++) {
    if (r->tag[i - 1].tag != r->tag[i].tag) continue;
    const int64_t first = r->tag[i - 1].line, second = r->tag[i].line;
    r->line = first > second ? first : second;
    return Wrong(r, "node %lld is given again, first in line %lld", (long long)r->tag[i].tag,
                 (long long)(first < second ? first : second));
  }
  return POISE_OK;
}

/* Read the next node of an element that has so many already. */
static PoiseErr NodeOfElement(Reader *r, GmshElement *e, int have)
{
  Tag key = {0, 0, 0};
  POISE_TRY(Int(r, 1, INT64_MAX, "the number of a node", &key.tag));
  const Tag *found = bsearch(&key, r->tag, (size_t)r->file->nodes, sizeof key, CompareTags);
  if (found == NULL) return Wrong(r, "there is no node %lld", (long long)key.tag);
  e->node[have] = found->index;
  for (int k = 0; k < have; k++) {
    if (e->node[k] == found->index) return Wrong(r, "node %lld is twice in the element", (long long)key.tag);
  }
  return POISE_OK;
}

/* Kinds of cells that are not read, and how to mesh without them. */
#define SECOND_ORDER ": mesh it in order 1 (Mesh.ElementOrder)"
#define CUBIC        ": mesh it in order 1 or 2 (Mesh.ElementOrder)"
#define SIMPLICES    ": mesh it without layers and recombination, and all cells are tetrahedra"
static const struct Other {
  int type;
  const char *name, *advice;
} others[] = {{10, " (quad9)", SECOND_ORDER}, {16, " (quad8)", SECOND_ORDER}, {12, " (hex27)", SECOND_ORDER},
              {17, " (hex20)", SECOND_ORDER}, {6, " (prisms)", SIMPLICES},    {13, " (prisms)", SIMPLICES},
              {18, " (prisms)", SIMPLICES},   {7, " (pyramids)", SIMPLICES},  {14, " (pyramids)", SIMPLICES},
              {19, " (pyramids)", SIMPLICES}, {21, " (order 3)", CUBIC},      {26, " (order 3)", CUBIC},
              {29, " (order 3)", CUBIC},      {36, " (order 3)", CUBIC},      {92, " (order 3)", CUBIC}};

static PoiseErr FindKind(Reader *r, int *kind)
{
  int64_t type;
  POISE_TRY(Int(r, 1, INT32_MAX, "the type of an element", &type));
  for (*kind = 0; *kind < KINDS; (*kind)++) {
    if (kinds[*kind].type == type) return POISE_OK;
  }
  const char *name = "", *advice = "";
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    if (others[k].type != type) continue;
    name = others[k].name;
    advice = others[k].advice;
  }
  return Wrong(r, "elements of type %lld%s are not read; tri3, tri6, quad4, tet4, tet10 and hex8 are%s",
               (long long)type, name, advice);
}

/* The rest of an element's line. */
static PoiseErr ReadElement(Reader *r, int kind, int64_t number, int group, int64_t line)
{
  GmshElement *e = &r->file->element[r->file->elements];
  *e = (GmshElement){.number = number, .line = line, .kind = kind, .group = group};
  for (int k = 0; k < kinds[kind].nodes; k++) POISE_TRY(NodeOfElement(r, e, k));
  if (kinds[kind].type == 11) { /* Gmsh has the middles of 23 and 13 the other way round */
    const int32_t middle = e->node[8];
    e->node[8] = e->node[9];
    e->node[9] = middle;
  }
  if (kind != POINT) r->file->elements++;
  return EndLine(r);
}

static PoiseErr AllocNodes(Reader *r, int32_t n)
{
  POISE_TRY(FemAlloc(3 * (PoiseInt)n, sizeof *r->file->x, &r->file->x));
  return FemAlloc(n, sizeof *r->tag, &r->tag);
}

/* ---- version 2 ------------------------------------------------------------------------------- */

static PoiseErr ReadNodes2(Reader *r)
{
  int32_t n;
  POISE_TRY(Count(r, 8, "the number of nodes", &n));
  POISE_TRY(EndLine(r));
  POISE_TRY(AllocNodes(r, n));
  for (int32_t i = 0; i < n; i++) {
    r->tag[i] = (Tag){0, i, r->line};
    POISE_TRY(Int(r, 1, INT64_MAX, "the number of a node", &r->tag[i].tag));
    POISE_TRY(Copy3(r, r->file->x + 3 * (size_t)i));
    POISE_TRY(EndLine(r));
  }
  r->file->nodes = n;
  return POISE_OK;
}

static PoiseErr ReadElements2(Reader *r)
{
  int32_t n;
  POISE_TRY(Count(r, 8, "the number of elements", &n));
  POISE_TRY(EndLine(r));
  POISE_TRY(FemAlloc(n, sizeof *r->file->element, &r->file->element));
  for (int32_t i = 0; i < n; i++) {
    const int64_t line = r->line;
    int64_t number, tags, tag, group = 0;
    int kind;
    POISE_TRY(Int(r, 1, INT64_MAX, "the number of an element", &number));
    POISE_TRY(FindKind(r, &kind));
    POISE_TRY(Int(r, 0, 1000000, "the number of tags", &tags));
    for (int64_t t = 0; t < tags; t++) {
      POISE_TRY(Int(r, -INT32_MAX, INT32_MAX, "a tag", &tag));
      if (t == 0) group = tag < 0 ? -tag : tag; /* negative: turned round */
    }
    POISE_TRY(ReadElement(r, kind, number, (int)group, line));
  }
  return POISE_OK;
}

/* ---- version 4.1 ----------------------------------------------------------------------------- */

static int CompareEntities(const void *a, const void *b)
{
  const Entity *s = a, *t = b;
  if (s->dim != t->dim) return s->dim < t->dim ? -1 : 1;
  return s->tag < t->tag ? -1 : s->tag > t->tag;
}

/* Read the groups of an entity. Those that it is in turned round are negative. */
static PoiseErr ReadMembers(Reader *r, Entity *entity)
{
  int64_t groups, group;
  POISE_TRY(Int(r, 0, MOST_GROUPS, "the number of groups", &groups));
  int32_t *more = realloc(r->member, (size_t)(r->members + groups + 1) * sizeof *more);
  if (more == NULL) POISE_FAIL(POISE_ERR_MEMORY, "no memory for the groups of %d entities", r->entities);
  r->member = more;
  for (int64_t i = 0; i < groups; i++) {
    POISE_TRY(Int(r, -INT32_MAX, INT32_MAX, "the number of a group", &group));
    for (int32_t k = entity->first; k < r->members; k++) {
      if (more[k] == abs((int)group)) return Wrong(r, "the entity is in group %d twice", more[k]);
    }
    more[r->members++] = abs((int)group);
    entity->groups++;
  }
  return POISE_OK;
}

/* Read an entity. Its position, or its end points, are skipped; its groups are read; its boundary is
   skipped. */
static PoiseErr ReadEntity(Reader *r, int dim, Entity *entity)
{
  double x[3];
  int64_t tag;
  int32_t bounds;
  POISE_TRY(Int(r, -INT32_MAX, INT32_MAX, "the tag of an entity", &tag));
  *entity = (Entity){dim, (int)tag, r->members, 0};
  POISE_TRY(Copy3(r, x));
  if (dim > 0) POISE_TRY(Copy3(r, x));
  POISE_TRY(ReadMembers(r, entity));
  if (dim == 0) return EndLine(r);
  POISE_TRY(Count(r, 2, "the number of what bounds it", &bounds));
  for (int32_t i = 0; i < bounds; i++) POISE_TRY(Int(r, -INT32_MAX, INT32_MAX, "a tag", &tag));
  return EndLine(r);
}

static PoiseErr ReadEntities(Reader *r)
{
  int32_t n[4];
  PoiseInt all = 0;
  if (r->haveEntities++) return Wrong(r, "a second $Entities");
  for (int dim = 0; dim < 4; dim++) {
    POISE_TRY(Count(r, 10, "the number of entities", &n[dim]));
    all += n[dim];
  }
  POISE_TRY(EndLine(r));
  POISE_TRY(FemAlloc(all, sizeof *r->entity, &r->entity));
  for (int dim = 0; dim < 4; dim++) {
    for (int32_t i = 0; i < n[dim]; i++) POISE_TRY(ReadEntity(r, dim, &r->entity[r->entities++]));
  }
  qsort(r->entity, (size_t)r->entities, sizeof *r->entity, CompareEntities);
  return POISE_OK;
}

static PoiseErr FindEntity(Reader *r, int dim, int tag, Entity *entity)
{
  *entity = (Entity){.dim = dim, .tag = tag};
  if (!r->haveEntities) return POISE_OK;
  const Entity *found = bsearch(entity, r->entity, (size_t)r->entities, sizeof *found, CompareEntities);
  if (found == NULL) {
    return Wrong(r,
                 "$Entities has no %d of dimension %d (has Gmsh partitioned the mesh? Save it in one part)",
                 tag, dim);
  }
  *entity = *found;
  return POISE_OK;
}

/* "blocks all smallest largest", of which the last two are of no use. */
static PoiseErr ReadTotals(Reader *r, int bytes, const char *what, int32_t *blocks, int32_t *all)
{
  int64_t tag;
  POISE_TRY(Count(r, 8, "the number of blocks", blocks));
  POISE_TRY(Count(r, bytes, what, all));
  for (int i = 0; i < 2; i++) POISE_TRY(Int(r, 0, INT64_MAX, "a tag", &tag));
  return EndLine(r);
}

/* A block's number of entries, no more than are still to come. */
static PoiseErr BlockCount(Reader *r, int32_t left, const char *what, int32_t *n)
{
  int64_t count;
  *n = 0;
  POISE_TRY(Int(r, 0, INT32_MAX, what, &count));
  if (count > left)
    return Wrong(r, "%s is %lld, but %d are left of those announced", what, (long long)count, (int)left);
  *n = (int32_t)count;
  return EndLine(r);
}

static PoiseErr ReadNodes4(Reader *r)
{
  int32_t blocks, all, n;
  POISE_TRY(ReadTotals(r, 8, "the number of nodes", &blocks, &all));
  POISE_TRY(AllocNodes(r, all));
  for (int32_t b = 0; b < blocks; b++) {
    int64_t dim, tag, parametric;
    double parameter;
    const int32_t first = r->file->nodes;
    POISE_TRY(Int(r, 0, 3, "the dimension of an entity", &dim));
    POISE_TRY(Int(r, -INT32_MAX, INT32_MAX, "the tag of an entity", &tag));
    POISE_TRY(Int(r, 0, 1, "0 or 1 for parametric coordinates", &parametric));
    POISE_TRY(BlockCount(r, all - first, "the number of nodes", &n));
    for (int32_t i = first; i < first + n; i++) {
      r->tag[i] = (Tag){0, i, r->line};
      POISE_TRY(Int(r, 1, INT64_MAX, "the number of a node", &r->tag[i].tag));
      POISE_TRY(EndLine(r));
    }
    for (int32_t i = first; i < first + n; i++) {
      POISE_TRY(Copy3(r, r->file->x + 3 * (size_t)i));
      for (int64_t d = 0; parametric && d < dim; d++) POISE_TRY(Real(r, "a parameter", &parameter));
      POISE_TRY(EndLine(r));
    }
    r->file->nodes += n;
  }
  if (r->file->nodes < all) return Wrong(r, "%d nodes, but %d were announced", (int)r->file->nodes, (int)all);
  return POISE_OK;
}

/* Make room for so many more elements, each of so many groups, than those before this block. */
static PoiseErr MakeRoom(Reader *r, int32_t n, int32_t groups, int32_t left)
{
  const int64_t room = r->file->elements + (int64_t)n * (groups > 1 ? groups : 1) + left;
  if (room <= r->room && r->file->element != NULL) return POISE_OK;
  if (room > INT32_MAX) return Wrong(r, "more than %d elements, each counted for every group", INT32_MAX);
  GmshElement *more = realloc(r->file->element, ((size_t)room + 1) * sizeof *more);
  if (more == NULL) POISE_FAIL(POISE_ERR_MEMORY, "no memory for %lld elements", (long long)room);
  r->file->element = more;
  r->room = room;
  return POISE_OK;
}

/* The elements of a block, which are in all groups of its entity. */
static PoiseErr ReadBlock(Reader *r, int kind, const Entity *entity, int32_t n)
{
  for (int32_t i = 0; i < n; i++) {
    const int64_t line = r->line;
    const int32_t at = r->file->elements;
    int64_t number;
    POISE_TRY(Int(r, 1, INT64_MAX, "the number of an element", &number));
    POISE_TRY(ReadElement(r, kind, number, entity->groups > 0 ? r->member[entity->first] : 0, line));
    for (int32_t g = 1; g < entity->groups && kind != POINT; g++) {
      GmshElement *copy = &r->file->element[r->file->elements++];
      *copy = r->file->element[at];
      copy->group = r->member[entity->first + g];
    }
  }
  return POISE_OK;
}

static PoiseErr ReadElements4(Reader *r)
{
  int32_t blocks, all, n, read = 0;
  POISE_TRY(ReadTotals(r, 4, "the number of elements", &blocks, &all));
  for (int32_t b = 0; b < blocks; b++) {
    int64_t dim, tag;
    int kind;
    Entity entity;
    POISE_TRY(Int(r, 0, 3, "the dimension of an entity", &dim));
    POISE_TRY(Int(r, -INT32_MAX, INT32_MAX, "the tag of an entity", &tag));
    POISE_TRY(FindEntity(r, (int)dim, (int)tag, &entity));
    POISE_TRY(FindKind(r, &kind));
    if (kinds[kind].dim != dim) {
      return Wrong(r, "a %s on an entity of dimension %d", kinds[kind].name, (int)dim);
    }
    POISE_TRY(BlockCount(r, all - read, "the number of elements", &n));
    read += n;
    POISE_TRY(MakeRoom(r, n, entity.groups, all - read));
    POISE_TRY(ReadBlock(r, kind, &entity, n));
  }
  if (read < all) return Wrong(r, "%d elements, but %d were announced", (int)read, (int)all);
  return POISE_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static PoiseErr ReadNodes(Reader *r)
{
  if (r->haveNodes++) return Wrong(r, "a second $Nodes");
  POISE_TRY(r->version == 2 ? ReadNodes2(r) : ReadNodes4(r));
  return SortTags(r);
}

static PoiseErr ReadElements(Reader *r)
{
  if (r->haveElements++) return Wrong(r, "a second $Elements");
  if (!r->haveNodes) return Wrong(r, "$Elements before $Nodes");
  return r->version == 2 ? ReadElements2(r) : ReadElements4(r);
}

/* On to the line that is this one. */
static PoiseErr PassOver(Reader *r, const char *last)
{
  const Reader begin = *r;
  while (r->at < r->end) {
    SkipBlanks(r);
    if (WordIs(r, last)) return POISE_OK;
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->at = newline != NULL ? newline + 1 : r->end;
    r->line++;
  }
  return Wrong(&begin, "the file ends without the %s of this section; it has been cut off", last);
}

static PoiseErr ReadSection(Reader *r)
{
  static const struct Section {
    const char *name;
    PoiseErr (*read)(Reader *);
    int version; /* 0: both */
  } sections[] = {{"$MeshFormat", ReadFormat, 0},
                  {"$PhysicalNames", ReadNames, 0},
                  {"$Entities", ReadEntities, 4},
                  {"$Nodes", ReadNodes, 0},
                  {"$Elements", ReadElements, 0}};
  char name[64], last[sizeof name + 3];
  const size_t n = WordLength(r);
  PoiseErr (*read)(Reader *) = NULL;
  if (*r->at != '$' || n >= sizeof name) return Wrong(r, "'%s' where a section should begin", Show(r).text);
  memcpy(name, r->at, n);
  name[n] = '\0';
  snprintf(last, sizeof last, "$End%s", name + 1);
  for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
    if (strcmp(name, sections[s].name) != 0) continue;
    if (sections[s].version == 0 || sections[s].version == r->version) read = sections[s].read;
  }
  if (r->version == 0 && strcmp(name, "$NOD") == 0) {
    r->file->foreign = 1;
    return Wrong(r, "the version is 1, neither 2 nor 4.1; save it so: " SAVE);
  }
  if (strcmp(name, "$ParametricNodes") == 0) {
    return Wrong(r, "nodes with parameters are not read in version 2; save it with Mesh.SaveParametric = 0, "
                    "or in version 4.1");
  }
  if (strcmp(name, "$MeshFormat") == 0 ? r->version != 0 : r->version == 0 && read != NULL) {
    return Wrong(r, r->version != 0 ? "a second $MeshFormat" : "%s before $MeshFormat", name);
  }
  r->at += n;
  POISE_TRY(EndLine(r));
  POISE_TRY(read != NULL ? read(r) : PassOver(r, last));
  if (r->at == r->end) return Wrong(r, "the file ends before %s; it has been cut off", last);
  if (!WordIs(r, last)) return Wrong(r, "'%s' where %s should be", Show(r).text, last);
  r->at += strlen(last);
  return EndLine(r);
}

static PoiseErr ReadSections(Reader *r)
{
  if (*r->at == '\n') POISE_TRY(EndLine(r));
  SkipBlanks(r);
  if (r->at == r->end || *r->at != '$') {
    POISE_FAIL(POISE_ERR_FORMAT, "%s is no mesh of Gmsh, which begins with $MeshFormat: it begins with '%s'",
               r->file->path, Show(r).text);
  }
  while (r->at < r->end) POISE_TRY(ReadSection(r));
  if (!r->haveNodes || !r->haveElements)
    return Wrong(r, "the file ends without $%s", r->haveNodes ? "Elements" : "Nodes");
  return POISE_OK;
}

PoiseErr GmshParse(const char *path, const char *text, size_t size, GmshFile *file)
{
  Reader r = {.file = file, .at = text, .end = text + size, .line = 1};
  *file = (GmshFile){.path = path};
  PoiseErr err = ReadSections(&r);
  free(r.tag);
  free(r.entity);
  free(r.member);
  return err;
}
