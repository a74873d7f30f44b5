/* SPDX-License-Identifier: BSD-3-Clause */
/* What a link asks of a device beside kernels. */
#ifndef POISE_LINK_DEVICE_H
#define POISE_LINK_DEVICE_H

#include "device.h"

typedef struct LinkPlace { /* where a rank's device is */
  uint64_t machine;
  int64_t process;
  int device; /* its number on the machine */
  bool eager; /* all kernels are loaded: none must wait for a device that polls */
} LinkPlace;

typedef struct LinkDevice {
  double patience; /* seconds that a device waits for another one in the probe */
  int most;        /* ranks that may share a device */
  int automatic;   /* the same where a link is not asked for; 0: then there is none */
  PoiseErr (*place)(Device *, LinkPlace *); /* all but machine and process */
  /* memory that other ranks' devices may reach, zeroed; nothing else of the device's is in it. May wait */
  PoiseErr (*alloc)(Device *, size_t bytes, const char *what, void **p);
  void (*free)(Device *, void *p);
  /* make memory of the device of another rank of this process, at `place`, accessible */
  PoiseErr (*reach)(Device *, const LinkPlace *place);
} LinkDevice;

#endif
