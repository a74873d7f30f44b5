/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether this process was forked from one that uses the library. The child is told as it begins, so that
   calls need not ask the system for their process. */
#include <pthread.h>

#include "error.h"
#include "fork.h"

atomic_bool poiseForked;

static void Forked(void)
{
  atomic_store(&poiseForked, true);
}

static void Watch(void)
{
  (void)pthread_atfork(NULL, NULL, Forked);
}

void poiseForkWatch(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, Watch);
}

PoiseErr poiseForkRefuse(const char *function)
{
  FAIL(POISE_ERR_STATE,
       "%s: this process was forked from one that uses Poise, whose threads it lacks. Fork before "
       "PoiseInitialize, or start a program (exec)",
       function);
}
