/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers: arrays with a copy on the host and one on the device. */
#ifndef POISE_BUFFER_H
#define POISE_BUFFER_H

#include "device.h"

typedef enum { HOST, DEVICE } Side;

typedef struct Buffer {
  Device *dev;
  const char *what; /* static text, for messages */
  size_t bytes;
  void *host, *device; /* equal on a host device; device is allocated on first need */
  bool host_valid, device_valid;
  bool quiet;               /* no queued work uses the host's side, nor was the device's asked for since: the
                               host's is read and written without a wait */
  PoiseOwn own, own_device; /* owners of host and device; POISE_COPY means the library's own block */
  bool slice;               /* device is a part of another buffer's */
  bool forgotten;           /* there is no content: to be written before it is read */
} Buffer;

/* A buffer of zeroed bytes. Both sides are valid if there is one copy, else the host side is. */
PoiseErr poiseBufferCreate(Device *dev, size_t bytes, const char *what, Buffer *b);
/* A flag on the device, which is 0. Kernels raise it (poiseRaise). */
PoiseErr poiseFlagCreate(Device *dev, Buffer *b, int32_t **flag);
/* Over the user's host array; or with a copy of it, which is on the device alone. */
PoiseErr poiseBufferWrap(Device *dev, size_t bytes, const char *what, void *array, PoiseOwn own, Buffer *b);
/* A buffer over the user's array, which is in the memory of the device (poiseDeviceCheckPointer). */
PoiseErr poiseBufferWrapDevice(Device *dev, size_t bytes, const char *what, void *array, PoiseOwn own,
                               Buffer *b);
/* Return an adopted array to the user, after a call that was to adopt it has failed. */
void poiseBufferDisown(Buffer *b);
/* A view of device memory that another object holds. A host copy is made when asked for. Point the view at
   current memory before any other use. What was written on the host is in that memory after a
   poiseBufferRead of DEVICE. */
void poiseBufferSlice(Device *dev, size_t bytes, const char *what, Buffer *b);
void poiseBufferPoint(Buffer *b, void *device);
void poiseBufferDestroy(Buffer *b);
PoiseErr poiseBufferRead(Buffer *b, Side side, void *p);  /* p: address of a pointer to (const) elements */
PoiseErr poiseBufferWrite(Buffer *b, Side side, void *p); /* old content not needed */
PoiseErr poiseBufferUpdate(Buffer *b, Side side, void *p);
/* A new buffer of the library's own memory with the content of b, on the side where b is valid: nothing
   travels. */
PoiseErr poiseBufferDuplicate(const Buffer *b, Buffer *copy);
/* Set all bytes to 0. Nothing travels: each side becomes 0 when it is next asked for. */
void poiseBufferZero(Buffer *b);
/* Bring the content to the device, and release the host's copy if it is the library's own. */
PoiseErr poiseBufferToDevice(Buffer *b);
/* Release the device's side if the host's holds the same. */
void poiseBufferLeave(Buffer *b);
/* Release the device's side. To read the buffer is an error then, until it is written again. The device host
   keeps its array, as it would touch new pages each time. */
void poiseBufferForget(Buffer *b);
/* Make a borrowed array current on its side. Does nothing for other buffers. */
PoiseErr poiseBufferSyncBorrowed(Buffer *b);
bool poiseBufferIsCurrent(const Buffer *b, Side side); /* true if reading it there copies nothing */
int64_t poiseBufferBytes(const Buffer *b, Side side);  /* held on that side */
void poiseBufferAdd(const Buffer *b, PoiseBytes *sum); /* sum += bytes that it holds */

#endif
