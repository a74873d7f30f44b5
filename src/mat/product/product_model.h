/* SPDX-License-Identifier: BSD-3-Clause */
/* The constants of product_model.def by their names: enumerators, and doubles for the choice, which is C. */
#ifndef POISE_PRODUCT_MODEL_H
#define POISE_PRODUCT_MODEL_H

enum {
#define INT(name, value, unit, fitted, measured) name = value,
#define REAL(name, value, unit, fitted, measured)
#include "product_model.def"
#undef INT
#undef REAL
};

#ifndef __cplusplus
#define INT(name, value, unit, fitted, measured)
#define REAL(name, value, unit, fitted, measured) static const double name = value;
#include "product_model.def"
#undef INT
#undef REAL
#endif

#endif
