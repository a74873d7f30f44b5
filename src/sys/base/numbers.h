/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in texts, which do not depend on the locale. */
#ifndef POISE_NUMBERS_H
#define POISE_NUMBERS_H

typedef struct NumberLocale {
  void *old, *plain;
} NumberLocale;

/* Between the two calls this thread reads and writes numbers with a decimal point, whatever the
   application's locale. */
NumberLocale poiseScalarsBegin(void);
void poiseScalarsEnd(NumberLocale numbers);

#endif
