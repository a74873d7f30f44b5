/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Devices: what one offers, and the calls through which all work reaches it. A device is a table of functions
  and of kernels; it knows no object.
*/
#ifndef POISE_DEVICE_H
#define POISE_DEVICE_H

#include "device_model.h"
#include "kernels.h"
#include "sys/base/error.h"

typedef struct Device Device;
typedef struct Graph Graph;
typedef struct Staging Staging;
struct Arena;
enum { POISE_BUS = 32 };
typedef PoiseErr (*KernelFn)(Device *, const void *args);
typedef enum { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE } CopyKind;

typedef struct LibraryPlan { /* a library's preparation for one matrix; zero-initialise it */
  void *device;              /* data of the device; NULL: no plan */
  int64_t bytes;             /* bytes of device memory that it holds */
} LibraryPlan;

enum { POISE_FETCH = 256 }; /* bytes that a device fetches at once */

typedef struct DeviceOps {
  const char *name;
  bool is_host;           /* device memory is host memory: a Buffer keeps one copy */
  const KernelFn *kernel; /* by KERNEL_...; NULL entries are missing */
  /* What layers above ask of a device besides kernels, and declare; NULL: it has nothing of the kind */
  const struct MatDevice *mat;   /* mat/mat_device.h */
  const struct PCDevice *pc;     /* pc/pc_device.h */
  const struct LinkDevice *link; /* sys/device/link_device.h */
  PoiseErr (*create)(Device *);
  void (*destroy)(Device *);
  PoiseErr (*alloc)(Device *, size_t bytes, const char *what, void **p); /* not zeroed */
  /* work enqueued before may still use it */
  void (*free)(Device *, void *p);
  void (*free_adopted)(Device *, void *p); /* free an array of the application's; NULL: with free() */
  PoiseErr (*alloc_pinned)(Device *, size_t bytes, const char *what, void **p); /* seen by host and device */
  void (*free_pinned)(Device *, void *p);
  /* Pin memory of the host, so that copies of it run at full speed; it stays pageable if that fails. NULL: it
     makes no difference */
  void (*pin)(Device *, void *p, size_t bytes);
  void (*unpin)(Device *, void *p);
  PoiseErr (*copy)(Device *, void *dst, const void *src, size_t bytes, CopyKind); /* enqueued */
  PoiseErr (*launch)(Device *, int kernel, const void *args, size_t bytes);       /* enqueued */
  /* wait for all enqueued work */
  PoiseErr (*sync)(Device *);
  /* wait, and *to = n items of `width` bytes at from[k], in words of 4 bytes; POISE_FETCH bytes at most.
     NULL: copies do it as fast */
  PoiseErr (*fetch)(Device *, int n, size_t width, const void *const *from, void *to);
  /* run what is enqueued, as this rank is going to wait for others; NULL: it runs by itself */
  void (*run)(Device *);
  PoiseErr (*poison)(Device *, void *p, size_t bytes); /* enqueue: fill with NaN; NULL: nothing is checked */
  /* events and graphs; NULL where work runs at once */
  PoiseErr (*record)(Device *, int64_t *event);
  PoiseErr (*wait)(Device *, int64_t event);
  /* begins the capture of a loop with what runs once a replay; that of the loop follows */
  PoiseErr (*capture_first)(Device *, const double *done);
  /* done: NULL, or of the loop of a solver, which changes no matrix. A device with `loops` repeats what is
     captured, as long as *done, on the device, is 0 */
  PoiseErr (*capture_begin)(Device *, const double *done);
  /* in such a loop: what follows is left out of a turn in which *done is set by then */
  PoiseErr (*capture_step)(Device *);
  /* *graph is NULL on failure; the capture ends either way */
  PoiseErr (*capture_end)(Device *, Graph **graph);
  PoiseErr (*replay)(Device *, Graph *graph, int turns); /* turns: at most so many, of a loop */
  void (*graph_free)(Device *, Graph **graph);
  /* are these bytes memory of the device? NULL: all memory is */
  bool (*owns)(Device *, const void *p, size_t bytes);
  /* can the host not read there? NULL: it can read all */
  bool (*hides)(Device *, const void *p);
  /* can the device read this memory of the host at full speed? NULL: none */
  bool (*pinned)(Device *, const void *p);
  PoiseErr (*memory)(Device *, int64_t *left, int64_t *total); /* NULL: it is the host's */
  void (*range)(const char *name); /* tells a profiler that an event begins; name = NULL: the innermost one
                                      ends. May be NULL */
  /* For GPUs; else NULL. They are called before a device is made, and create no context. */
  bool automatic;                                    /* taken if no device is asked for and there is one */
  PoiseErr (*count)(int *count);                     /* POISE_ERR_DEVICE if there is none, saying why */
  PoiseErr (*bus)(int id, char text[POISE_BUS]);     /* "0000:17:00.0"; NULL: not known */
  void (*describe)(int id, char *text, size_t size); /* "NVIDIA H200"; may be NULL */
} DeviceOps;

struct Device { /* one stream of work, of one rank */
  const DeviceOps *ops;
  PoiseContext ctx;
  DeviceModel model; /* a host's, unless the device's create says otherwise */
  int id;            /* which GPU */
  void *stream;      /* for PoiseStream; may be NULL */
  int threads;       /* of host kernels */
  int64_t few;       /* bytes that they are not woken up for: HOST_FEW_BYTES; tests lower it */
  void *data;
  bool loops;                  /* its graphs may be loops */
  bool pools;                  /* its memory comes from a pool, and goes back in the order of the stream */
  PoiseErr failed;             /* first failure of queued work, reported by the next sync */
  bool busy;                   /* something was enqueued since the last sync */
  bool forbid_copies, forbids; /* the option is given; inside a solve: copies and waits are errors */
  int64_t bytes, limit;        /* bytes held by buffers; more than limit is refused (0: as much as there
                                  is) */
  int64_t most;                /* the most bytes held since somebody set this to `bytes` */
  struct Arena *arena; /* memory that another process opens (arena.h); NULL: it comes from ops->alloc */
  Staging *staging;    /* pinned buffers of large copies; NULL: none yet, after so many bytes without */
  size_t unstaged;
  int64_t launches, copies, waits;
  int64_t copied[COPY_ON_DEVICE]; /* bytes, by CopyKind */
};

/* The device of this name. For "auto" the GPU if all ranks see one, else the host. Collective; agrees. */
PoiseErr poiseDeviceFind(PoiseContext ctx, const char *name, const DeviceOps **ops);
PoiseErr poiseDeviceOpen(PoiseContext ctx, const DeviceOps *ops, int id, Device **dev);
/* device number 0; for tests. Collective */
PoiseErr poiseDeviceCreate(PoiseContext ctx, const char *name, Device **dev);
void poiseDeviceDestroy(Device **dev);
PoiseErr poiseDeviceAlloc(Device *dev, size_t bytes, const char *what, void **p);
void poiseDeviceFree(Device *dev, size_t bytes, void **p);
/* Free an adopted array that is not counted. */
void poiseDeviceFreeAdopted(Device *dev, void *p);
/* POISE_ERR_ARG unless a user's argument points to so many bytes of the device. */
PoiseErr poiseDeviceCheckPointer(Device *dev, const void *p, size_t bytes, const char *argument);
/* POISE_ERR_ARG if a user's argument, which may be NULL, points to where the host cannot read. */
PoiseErr poiseDeviceCheckHost(Device *dev, const void *p, const char *argument);
/* Launch a kernel, with the address of its arguments, whose type the compiler checks:
     LAUNCH(dev, gather, &a) or LAUNCH(dev, gather, &(GatherArgs){.n = n, ...}) */
#define LAUNCH(dev, name, ...) poiseLaunch_##name(dev, __VA_ARGS__, sizeof *(__VA_ARGS__))
/* The same for a kernel that is chosen at run time. Nothing checks that the arguments are its own. */
PoiseErr poiseLaunch(Device *dev, int kernel, const void *args, size_t bytes);
PoiseErr poiseDeviceSync(Device *dev);
PoiseErr poiseDeviceWait(Device *dev, int64_t event);
/* Set whether copies between host and device, and waits, are errors, if -device_forbid_copies is given.
   Returns the old setting. */
bool poiseDeviceForbid(Device *dev, bool on);
/* *library = 0 for "own", else k with `name` = libraries[k - 1]. libraries is the device's list for that
   purpose; NULL: none. POISE_ERR_UNSUPPORTED names all. */
PoiseErr poiseDeviceLibrary(const Device *dev, const char *const *libraries, const char *name,
                            const char *purpose, int *library);
/* enqueued, counted */
PoiseErr poiseDeviceCopy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind);
/* The same, where the host's array is the user's or a buffer's: in pageable memory. The user's may change
   after the next wait. */
PoiseErr poiseDeviceCopyArray(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind);
/* Copy to the host's memory, whatever kind that is, and wait. */
PoiseErr poiseDeviceFetch(Device *dev, const void *from, size_t bytes, void *to);
/* The same of n items of `width` bytes each, at from[k]. It waits once, unless they are very many. */
PoiseErr poiseDeviceFetchEach(Device *dev, int64_t n, size_t width, const void *const *from, void *to);
const char *poiseKernelName(int kernel);

/* The argument structs are of the layers above: here they are names, and their sizes come with the launch. */
#define KERNEL(name, Args)                                                               \
  typedef struct Args Args;                                                              \
  PoiseErr poiseHost_##name(Device *, const void *args);                                 \
  static inline PoiseErr poiseLaunch_##name(Device *dev, const Args *args, size_t bytes) \
  {                                                                                      \
    return poiseLaunch(dev, KERNEL_##name, args, bytes);                                 \
  }
#include "kernels.def"
#undef KERNEL

/* Scratch for eager reductions. It is made with the device, and grown for longer vectors. */
PoiseErr poiseReduceCreate(PoiseContext ctx);
PoiseErr poiseReduceReserve(PoiseContext ctx, int64_t partials);
void poiseReduceDestroy(PoiseContext ctx);

#endif
