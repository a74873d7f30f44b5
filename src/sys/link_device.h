/* SPDX-License-Identifier: BSD-3-Clause */
/* What a link asks of a device beside kernels. */
#ifndef POISE_LINK_DEVICE_H
#define POISE_LINK_DEVICE_H

#include "device.h"

typedef struct LinkPlace { /* where a rank's device is */
  uint64_t machine;
  uint64_t gpu; /* which one of the machine, however a process numbers them */
  int64_t process;
  int device; /* its number in the process */
  bool eager; /* all kernels are loaded: none must wait for a device that polls */
} LinkPlace;

typedef struct LinkHandle { /* of a block of memory, for other processes */
  char bytes[64];
} LinkHandle;

/* Memory that devices of other processes reach. */
typedef struct LinkProcesses {
  double patience; /* as that of LinkDevice */
  size_t unit;     /* a block has a multiple of so many bytes; then a handle gives away nothing else */
  /* zeroed. May wait */
  PoiseErr (*alloc)(Device *, size_t bytes, const char *what, LinkHandle *handle, void **p);
  void (*free)(Device *, size_t bytes, void *p); /* all others have closed it */
  PoiseErr (*open)(Device *, const LinkHandle *handle, size_t bytes, void **p);
  void (*close)(Device *, size_t bytes, void *p); /* the device uses it no more */
} LinkProcesses;

typedef struct LinkDevice {
  double patience; /* seconds that a device waits for another one in the probe */
  int most;        /* ranks that may share a device */
  int automatic;   /* the same where a link is not asked for; 0: then there is none */
  PoiseErr (*place)(Device *, LinkPlace *); /* device and eager */
  /* memory that other ranks' devices may reach, zeroed; nothing else of the device's is in it. May wait */
  PoiseErr (*alloc)(Device *, size_t bytes, const char *what, void **p);
  void (*free)(Device *, void *p);
  /* make memory of the device of another rank of this process, at `place`, accessible */
  PoiseErr (*reach)(Device *, const LinkPlace *place);
  const LinkProcesses *processes; /* NULL: other processes do not reach memory of the device */
} LinkDevice;

#endif
