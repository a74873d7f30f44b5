/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Live objects, and the check of arguments in the first line of a public function:
    CALLED(OBJECT(A), OBJECT(x), OBJECT(y), GIVEN(dot));

  A pointer is looked up before it is followed. A wild pointer, a destroyed object, one of another kind, and
  objects of several contexts are errors with a message.
*/
#ifndef POISE_OBJECTS_H
#define POISE_OBJECTS_H

#include <stdbool.h>

#include "poise/sys.h"

struct PoiseVec_s;
struct PoiseMat_s;
struct PoisePC_s;
struct PoiseKSP_s;

/* The kind of object that a pointer must be. */
typedef enum ObjectKind {
  KIND_CONTEXT = 1,
  KIND_VEC,
  KIND_MAT,
  KIND_PC,
  KIND_KSP,
  KIND_POINTER, /* to anything */
  KIND_ARRAY,   /* an array of n entries, n >= 0; NULL only if n is 0 */
  KIND_WORD     /* n of `most` values of an enum */
} ObjectKind;

typedef struct Parameter {
  const void *p;
  const char *name;
  ObjectKind kind;
  bool optional; /* may be NULL */
  int64_t n, most;
} Parameter;

/* clang-format off */
#define KIND_OF(x)                   \
  _Generic((x),                      \
    PoiseContext: KIND_CONTEXT,      \
    struct PoiseVec_s *: KIND_VEC,   \
    struct PoiseMat_s *: KIND_MAT,   \
    struct PoisePC_s *: KIND_PC,     \
    struct PoiseKSP_s *: KIND_KSP)
/* clang-format on */

#define PARAMETER(x, ...)  ((Parameter){.p = (x), .name = #x, __VA_ARGS__})
#define OBJECT(x)          PARAMETER(x, .kind = KIND_OF(x))
#define OBJECT_OR_NO(x)    PARAMETER(x, .kind = KIND_OF(x), .optional = true)
#define GIVEN(x)           PARAMETER(x, .kind = KIND_POINTER)
#define ARRAY_OF(count, x) PARAMETER(x, .kind = KIND_ARRAY, .n = (count))
#define WORD(x, count)     ((Parameter){.name = #x, .kind = KIND_WORD, .n = (int64_t)(x), .most = (count)})

#define PARAMETERS(...) \
  (const Parameter[]){__VA_ARGS__}, (int)(sizeof((const Parameter[]){__VA_ARGS__}) / sizeof(Parameter))

/* The first line of a public function; the first parameter is an object. */
#define CALLED(...) POISE_TRY(poiseCalled(__func__, PARAMETERS(__VA_ARGS__)))
/* The same in a function that returns `value` after an error. */
#define CALLED_OR(value, ...)                                            \
  do {                                                                   \
    if (poiseCheckCall(__func__, PARAMETERS(__VA_ARGS__))) return value; \
  } while (0)
/* The same in a function that destroys *x, where NULL is legal. */
#define DESTROYS(x)                                 \
  do {                                              \
    CALLED(GIVEN(x));                               \
    if (!*(x)) return POISE_OK;                     \
    CALLED(PARAMETER(*(x), .kind = KIND_OF(*(x)))); \
  } while (0)

PoiseErr poiseCheckCall(const char *function, const Parameter *parameter, int n);
/* The same check, and that this process was not forked (fork.h). The context of the first object also notes
   the function as the call that this rank is in, see comm.c. */
PoiseErr poiseCalled(const char *function, const Parameter *parameter, int n);

/* Add a context, whose memory belongs to its owner, as an object, until it is removed. */
PoiseErr poiseObjectAdd(const void *object, ObjectKind kind);
void poiseObjectRemove(const void *object);
/* *object = `bytes` zeroed bytes of ctx, which begin with ctx; NULL after a failure. object is the address
   of the pointer. `what`, with a value, goes into messages. */
PoiseErr poiseObjectCreate(PoiseContext ctx, size_t bytes, ObjectKind kind, const char *what, void *object);
void poiseObjectFree(PoiseContext ctx, void *object);
/* How many words the table has. For tests. */
size_t poiseObjectRoom(void);

#endif
