/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Convert decimal text to double and back, exactly.

  One 64 x 64 bit product settles nearly every number. Its factors are the digits and a power of five, both
  cut to 64 bits. So it gives an interval that holds the true value. If both ends round to the same double,
  that is the answer. strtod gets the rest: one number in several hundred, and exponents beyond the table.
*/
#include <stdio.h>

#include "mm.h"

__extension__ typedef unsigned __int128 Wide;

enum {
  DIGITS = 19,  /* number of digits that always fit 64 bits */
  LOWEST = -64, /* exponents of ten in the table */
  HIGHEST = 63,
  MAX_DIGITS = 770 /* digits beyond the 768th only decide whether the rest is zero */
};

/* The leading 64 bits of 5^q, truncated, for q = LOWEST ... HIGHEST. */
static const uint64_t power[] = {
    0xa87fea27a539e9a5, 0xd29fe4b18e88640e, 0x83a3eeeef9153e89, 0xa48ceaaab75a8e2b, 0xcdb02555653131b6,
    0x808e17555f3ebf11, 0xa0b19d2ab70e6ed6, 0xc8de047564d20a8b, 0xfb158592be068d2e, 0x9ced737bb6c4183d,
    0xc428d05aa4751e4c, 0xf53304714d9265df, 0x993fe2c6d07b7fab, 0xbf8fdb78849a5f96, 0xef73d256a5c0f77c,
    0x95a8637627989aad, 0xbb127c53b17ec159, 0xe9d71b689dde71af, 0x9226712162ab070d, 0xb6b00d69bb55c8d1,
    0xe45c10c42a2b3b05, 0x8eb98a7a9a5b04e3, 0xb267ed1940f1c61c, 0xdf01e85f912e37a3, 0x8b61313bbabce2c6,
    0xae397d8aa96c1b77, 0xd9c7dced53c72255, 0x881cea14545c7575, 0xaa242499697392d2, 0xd4ad2dbfc3d07787,
    0x84ec3c97da624ab4, 0xa6274bbdd0fadd61, 0xcfb11ead453994ba, 0x81ceb32c4b43fcf4, 0xa2425ff75e14fc31,
    0xcad2f7f5359a3b3e, 0xfd87b5f28300ca0d, 0x9e74d1b791e07e48, 0xc612062576589dda, 0xf79687aed3eec551,
    0x9abe14cd44753b52, 0xc16d9a0095928a27, 0xf1c90080baf72cb1, 0x971da05074da7bee, 0xbce5086492111aea,
    0xec1e4a7db69561a5, 0x9392ee8e921d5d07, 0xb877aa3236a4b449, 0xe69594bec44de15b, 0x901d7cf73ab0acd9,
    0xb424dc35095cd80f, 0xe12e13424bb40e13, 0x8cbccc096f5088cb, 0xafebff0bcb24aafe, 0xdbe6fecebdedd5be,
    0x89705f4136b4a597, 0xabcc77118461cefc, 0xd6bf94d5e57a42bc, 0x8637bd05af6c69b5, 0xa7c5ac471b478423,
    0xd1b71758e219652b, 0x83126e978d4fdf3b, 0xa3d70a3d70a3d70a, 0xcccccccccccccccc, 0x8000000000000000,
    0xa000000000000000, 0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000, 0xc350000000000000,
    0xf424000000000000, 0x9896800000000000, 0xbebc200000000000, 0xee6b280000000000, 0x9502f90000000000,
    0xba43b74000000000, 0xe8d4a51000000000, 0x9184e72a00000000, 0xb5e620f480000000, 0xe35fa931a0000000,
    0x8e1bc9bf04000000, 0xb1a2bc2ec5000000, 0xde0b6b3a76400000, 0x8ac7230489e80000, 0xad78ebc5ac620000,
    0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400, 0xd3c21bcecceda100, 0x84595161401484a0,
    0xa56fa5b99019a5c8, 0xcecb8f27f4200f3a, 0x813f3978f8940984, 0xa18f07d736b90be5, 0xc9f2c9cd04674ede,
    0xfc6f7c4045812296, 0x9dc5ada82b70b59d, 0xc5371912364ce305, 0xf684df56c3e01bc6, 0x9a130b963a6c115c,
    0xc097ce7bc90715b3, 0xf0bdc21abb48db20, 0x96769950b50d88f4, 0xbc143fa4e250eb31, 0xeb194f8e1ae525fd,
    0x92efd1b8d0cf37be, 0xb7abc627050305ad, 0xe596b7b0c643c719, 0x8f7e32ce7bea5c6f, 0xb35dbf821ae4f38b,
    0xe0352f62a19e306e, 0x8c213d9da502de45, 0xaf298d050e4395d6, 0xdaf3f04651d47b4c, 0x88d8762bf324cd0f,
    0xab0e93b6efee0053, 0xd5d238a4abe98068, 0x85a36366eb71f041, 0xa70c3c40a64e6c51, 0xd0cf4b50cfe20765,
    0x82818f1281ed449f, 0xa321f2d7226895c7, 0xcbea6f8ceb02bb39, 0xfee50b7025c36a08, 0x9f4f2726179a2245,
    0xc722f0ef9d80aad6, 0xf8ebad2b84e0d58b, 0x9b934c3b330c8577,
};

typedef struct Decimal { /* the digits in [first, end), times 10^exponent; one character may be the point */
  const char *first, *end;
  int64_t exponent;
} Decimal;

static bool IsDigit(char c)
{
  return c >= '0' && c <= '9';
}

/* The digits as an integer w, and its power of ten. *more: the digits did not fit into 64 bits, and w has
   only the first. */
static uint64_t Leading(const Decimal *d, int64_t *exponent, bool *more)
{
  uint64_t w = 0;
  int used = 0;
  int64_t dropped = 0;
  for (const char *p = d->first; p < d->end; p++) {
    if (*p == '.') continue;
    if (used < DIGITS)
      w = w * 10 + (uint64_t)(*p - '0'), used += w != 0;
    else
      dropped++;
  }
  *exponent = d->exponent + dropped;
  *more = dropped > 0;
  return w;
}

/* *v = w 10^q, or (w + t) 10^q with an unknown t in [0, 1) if `more`. False if the rounding cannot be
   decided here. */
static bool Round(uint64_t w, int64_t q, bool more, double *v)
{
  *v = 0;
  if (!w) return true;
  if (q < LOWEST || q > HIGHEST) return false;
  int shift = __builtin_clzll(w);
  uint64_t high = (uint64_t)((Wide)(w << shift) * power[q - LOWEST] >> 64);
  /* the true value lies in [low, low + 2 + tail), in units of the last bit of `low` */
  uint64_t tail = more ? UINT64_C(1) << shift : 0;
  int64_t low = (int64_t)(high >> 1), above = (int64_t)((high + 2 + tail) >> 1) + 1;
  *v = (double)low;
  if (*v != (double)above) return false;
  uint64_t scale = (uint64_t)(1023 + ((217706 * q) >> 16) + 2 - shift) << 52; /* 217706 / 2^16 = log2(10) */
  double factor;
  memcpy(&factor, &scale, sizeof factor);
  *v *= factor;
  return true;
}

/* strtod of the same number, written without a point, as only the point depends on the locale. */
static double Slow(const Decimal *d)
{
  char text[MAX_DIGITS + 40];
  int used = 0;
  int64_t exponent = d->exponent;
  bool rest = false;
  for (const char *p = d->first; p < d->end; p++) {
    if (*p == '.' || (!used && *p == '0')) continue;
    if (used < MAX_DIGITS)
      text[used++] = *p;
    else
      rest = rest || *p != '0', exponent++;
  }
  if (!used) return 0;
  if (rest) text[used++] = '1', exponent--;
  snprintf(text + used, sizeof text - (size_t)used, "e%lld", (long long)exponent);
  return strtod(text, NULL);
}

/* Parse [+-] digits; NULL if there are none. The value is clamped far beyond what any double needs. */
static const char *ParseExponent(const char *p, int64_t *exponent)
{
  bool negative = *p == '-';
  int64_t e = 0;
  if (*p == '-' || *p == '+') p++;
  if (!IsDigit(*p)) return NULL;
  for (; IsDigit(*p); p++)
    if (e < INT32_MAX) e = e * 10 + (*p - '0');
  *exponent += negative ? -e : e;
  return p;
}

const char *poiseParseReal(const char *p, double *v)
{
  bool negative = *p == '-', more = false;
  Decimal d = {0};
  uint64_t w = 0;
  if (*p == '-' || *p == '+') p++;
  d.first = p;
  for (; IsDigit(*p); p++) w = w * 10 + (uint64_t)(*p - '0');
  int64_t digits = p - d.first;
  if (*p == '.') {
    const char *fraction = ++p;
    for (; IsDigit(*p); p++) w = w * 10 + (uint64_t)(*p - '0');
    d.exponent = fraction - p;
    digits += p - fraction;
  }
  d.end = p;
  if (!digits) return NULL;
  if ((*p | 0x20) == 'e' || (*p | 0x20) == 'd') p = ParseExponent(p + 1, &d.exponent);
  if (!p) return NULL;
  int64_t q = d.exponent;
  if (digits > DIGITS) w = Leading(&d, &q, &more);
  if (!Round(w, q, more, v)) *v = Slow(&d);
  if (negative) *v = -*v;
  return p;
}

int poiseFormatReal(double v, char text[POISE_REAL_LENGTH])
{
  int length = 0;
  double back;
  for (int digits = 15; digits <= 17; digits++) {
    length = snprintf(text, POISE_REAL_LENGTH, "%.*g", digits, v);
    if (poiseParseReal(text, &back) && back == v) break;
  }
  return length;
}
