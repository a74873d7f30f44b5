/* SPDX-License-Identifier: BSD-3-Clause */
/* python/wheel.sh includes this file before all else, so that wheels work with glibc 2.28. Linkers take the
   newest version of a function that there is; those of 2.29 of these functions differ in errno alone. */
#if defined(__x86_64__)
#define POISE_OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
#elif defined(__aarch64__)
#define POISE_OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.17")
#endif
#ifdef POISE_OLD
POISE_OLD(exp);
POISE_OLD(exp2);
POISE_OLD(log);
POISE_OLD(log2);
POISE_OLD(pow);
#endif
