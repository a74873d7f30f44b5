/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transport asks of a device besides kernels. */
#ifndef POISE_LINK_DEVICE_H
#define POISE_LINK_DEVICE_H

#include "device.h"
#include "sys/ranks/comm.h"

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

/* What rank 0 gives the others, so that all find each other. */
typedef struct LinkInvitation {
  char bytes[128];
} LinkInvitation;

/*
  A library by which devices exchange, of one host or of many, such as NCCL. gather and exchange are enqueued,
  and may be captured in what runs once a replay, not in a loop. All ranks make the same of these calls in the
  same order, whatever fails on one of them: a call ends when all ranks, or neighbours, have made it.
*/
typedef struct LinkLibrary {
  const char *name;
  int most; /* ranks that may share a device */
  /* Find the library, open it, and say which version it is. *library is what the other functions take. */
  PoiseErr (*load)(Device *, void **library);
  void (*unload)(Device *, void **library); /* *library may be NULL */
  void (*describe)(const void *library, char *text, size_t size);
  PoiseErr (*invite)(Device *, void *library, LinkInvitation *);                         /* rank 0 */
  PoiseErr (*join)(Device *, void *library, const LinkInvitation *, int rank, int size); /* collective */
  /* Ends what join began, calls that wait for other ranks too, if `at_once`, and graphs with such calls.
     Every rank that has joined must leave. May be called again. */
  void (*leave)(Device *, void *library, bool at_once);
  /* seconds that the host waits for the device, as long as that may wait for other ranks. Then this rank has
     left, and the wait is POISE_ERR_COMM. 0: any */
  void (*watch)(Device *, void *library, double seconds);
  /* all = n numbers of each rank, n > 0, in rank order */
  PoiseErr (*gather)(Device *, void *library, int n, const double *mine, double *all);
  /* memory from LinkDevice.alloc. What is enqueued after `arrive` sees what came, and may write to send[] */
  PoiseErr (*exchange)(Device *, void *library, const Exchange *ex, const double *send, double *recv);
  PoiseErr (*arrive)(Device *, void *library);
} LinkLibrary;

typedef struct LinkDevice {
  double patience;            /* seconds that a device waits for another one in the probe */
  int most;                   /* ranks that may share a device */
  int automatic;              /* the same where peer access is not asked for */
  bool concurrent;            /* what polls takes no place of what it awaits, where they share a device */
  PoiseErr (*load)(Device *); /* load kernels that poll, or that others may poll for; NULL: they are there */
  PoiseErr (*place)(Device *, LinkPlace *); /* device and eager */
  /* memory that other ranks' devices may reach, zeroed; nothing else of the device's is in it. May wait */
  PoiseErr (*alloc)(Device *, size_t bytes, const char *what, void **p);
  void (*free)(Device *, void *p);
  /* make memory of the device of another rank of this process, at `place`, accessible */
  PoiseErr (*reach)(Device *, const LinkPlace *place);
  const LinkProcesses *processes; /* NULL: other processes do not reach memory of the device */
  const LinkLibrary *library;
} LinkDevice;

#endif
