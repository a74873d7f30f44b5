/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC auto: the type that suits P, by what is seen of it. The solver has that type as if it had been named;
  values that have changed are looked at anew.
*/
#include "facts.h"
#include "pc.h"

typedef struct Choice {
  bool (*fits)(const Facts *);
  const char *pc;
  Word words[WORDS]; /* options besides */
  const char *why;
} Choice;

static bool IsShell(const Facts *f)
{
  return !f->stored;
}

static bool IsHollow(const Facts *f)
{
  return f->zero > 0;
}

static bool IsSymmetricHollow(const Facts *f)
{
  return f->symmetric && IsHollow(f);
}

static bool IsSymmetric(const Facts *f)
{
  return f->symmetric;
}

static bool IsAny(const Facts *f)
{
  (void)f;
  return true;
}

/* The first that fits. M is definite where the method may need that. */
static const Choice choices[] = {
    {IsShell, "none", {{NULL}}, "P offers its products alone"},
    {poiseMayBeLargeDefinite, "amg", {{NULL}}, "perhaps definite, and large: iterations do not grow"},
    {poiseMayBeDefinite, "icc", {{NULL}}, "perhaps definite: symmetric, with a diagonal of one sign"},
    {IsSymmetricHollow, "none", {{NULL}}, "symmetric, with zeros on the diagonal"},
    {IsSymmetric, "jacobi", {{NULL}}, "symmetric, with a diagonal of both signs"},
    {IsHollow, "ilut", {{"pc_factor_pivoting", "0.1"}}, "zeros on the diagonal: exchanges columns"},
    {IsAny, "ilu", {{NULL}}, "not symmetric, with a diagonal without zeros"},
};

static PoiseErr Become(PoisePC pc, const Choice *c)
{
  bool mine[WORDS];
  TRY(poiseWordsSet(pc->ctx, pc->prefix, c->words, mine));
  PoiseErr e = poisePCBecome(pc, c->pc, c->why);
  PoiseErr cleared = poiseWordsClear(pc->ctx, pc->prefix, c->words, mine);
  return e ? e : cleared;
}

static PoiseErr Choose_Auto(PoisePC pc)
{
  Facts f;
  const Choice *c = choices;
  TRY(poiseLookAt(pc->P, &f));
  while (!c->fits(&f)) c++;
  return strcmp(c->pc, pc->type->name) ? PoiseAgree(pc->ctx, Become(pc, c)) : POISE_OK;
}

const PCType poisePCType_auto = {.name = "auto", .choose = Choose_Auto};
