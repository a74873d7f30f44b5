/* SPDX-License-Identifier: BSD-3-Clause */
/* "Did you mean": which word is near another one. */
#include <string.h>

#include "error.h"
#include "words.h"

enum { LONGEST = 64, SHOWN = 80 }; /* letters of words that are compared; of one that a message shows */

static int Min(int a, int b)
{
  return a < b ? a : b;
}

int poiseDistance(const char *a, size_t na, const char *b, size_t nb)
{
  int row[3][LONGEST + 1];
  if (na > LONGEST || nb > LONGEST) return INT32_MAX;
  for (size_t j = 0; j <= nb; j++) row[0][j] = (int)j;
  for (size_t i = 1; i <= na; i++) {
    int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      now[j] = Min(Min(now[j - 1], last[j]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = Min(now[j], before[j - 2] + 1);
    }
  }
  return row[na % 3][nb];
}

bool poiseNear(int distance, size_t n)
{
  return distance < (int)n && distance <= (n < 6 ? 1 : (int)n / 3);
}

const char *poiseClosest(const char *s, int count, const char *const *words)
{
  const char *closest = NULL;
  int least = INT32_MAX;
  for (int i = 0; i < count; i++) {
    int distance = poiseDistance(s, strlen(s), words[i], strlen(words[i]));
    if (distance >= least || !poiseNear(distance, strlen(s))) continue;
    least = distance;
    closest = words[i];
  }
  return closest;
}

PoiseErr poiseUnknownWord(const char *what, const char *word, int count, const char *const *words)
{
  char all[512] = "", meant[SHOWN + 32] = "";
  const char *closest = poiseClosest(word, count, words);
  if (closest) snprintf(meant, sizeof meant, "did you mean '%s'? ", closest);
  for (int k = 0, n = 0; k < count && n < (int)sizeof all; k++)
    n += snprintf(all + n, sizeof all - (size_t)n, "%s%s", k ? ", " : "", words[k]);
  FAIL(POISE_ERR_OPTION, "there is no %s '%.*s'; %sthere are %s", what, SHOWN, word, meant, all);
}
