/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in texts, which do not depend on the locale: this thread's is changed for a while. */
#define _POSIX_C_SOURCE 200809L
#include <locale.h>

#include "numbers.h"

NumberLocale poiseScalarsBegin(void)
{
  NumberLocale numbers = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (numbers.plain) numbers.old = uselocale(numbers.plain);
  return numbers;
}

void poiseScalarsEnd(NumberLocale numbers)
{
  if (!numbers.plain) return;
  uselocale(numbers.old);
  freelocale(numbers.plain);
}
