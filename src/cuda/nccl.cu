/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Exchanges by NCCL, between GPUs of one host or of many. The library is opened on first need, and nothing of
  it is needed to build: what is used of it is declared here.

  Its kernels wait for those of other ranks, without a limit. So the host looks at the clock while it waits
  for the GPU. When time is up, graphs with calls of NCCL are ended first, as a communicator outlives them;
  then the communicator, which ends what waits.
*/
#include "cuda.h"

#include <dlfcn.h>

extern "C" {
#include "sys/device/link_device.h"
}

#define NAME "libnccl.so.2"

/* ---- what is used of NCCL 2, as its nccl.h has it -------------------------------------------- */

typedef struct Communicator *Comm_t;
typedef struct UniqueId {
  char internal[128];
} UniqueId;
enum { SUCCESS = 0, IN_PROGRESS = 7, FLOAT64 = 8 };
enum { OLDEST = 21400 }; /* 2.14.0 */

/* F(name, arguments): all return a code, but that which says it in words */
#define FUNCTIONS(F)                                                      \
  F(GetVersion, (int *))                                                  \
  F(GetUniqueId, (UniqueId *))                                            \
  F(CommInitRank, (Comm_t *, int size, UniqueId, int rank))               \
  F(CommDestroy, (Comm_t))                                                \
  F(CommAbort, (Comm_t))                                                  \
  F(CommGetAsyncError, (Comm_t, int *))                                   \
  F(AllGather, (const void *, void *, size_t, int, Comm_t, cudaStream_t)) \
  F(Send, (const void *, size_t, int, int to, Comm_t, cudaStream_t))      \
  F(Recv, (void *, size_t, int, int from, Comm_t, cudaStream_t))          \
  F(GroupStart, (void))                                                   \
  F(GroupEnd, (void))

struct Nccl {
#define POINTER(name, arguments) int(*name) arguments;
  FUNCTIONS(POINTER)
#undef POINTER
  const char *(*GetErrorString)(int);
  const char *(*GetLastError)(Comm_t); /* of this thread */
  int version, rank;
  Comm_t comm;             /* NULL: this rank has not joined, or has left */
  cudaStream_t side;       /* of exchanges, next to the rows that need no ghosts */
  cudaEvent_t begun, came; /* entries are there to be sent; ghosts are there */
  double seconds;          /* that the host waits; 0: any */
};

/* ---- the library ----------------------------------------------------------------------------- */

static PoiseErr Check(const Nccl *n, int code, const char *what)
{
  if (code == SUCCESS) return POISE_OK;
  const char *more = n->GetLastError(NULL);
  FAIL(POISE_ERR_DEVICE, "%s: %s%s%s", what, n->GetErrorString(code), more && *more ? ": " : "",
       more ? more : "");
}

#define CALL(n, function, ...) Check(n, (n)->function(__VA_ARGS__), "nccl" #function)

static PoiseErr LookUp(void *library, const char *name, void **function)
{
  *function = dlsym(library, name);
  if (!*function) FAIL(POISE_ERR_UNSUPPORTED, "the NCCL that was loaded is too old: it has no %s", name);
  return POISE_OK;
}

/* Multicast of NVLink is not for the few numbers of a sum. Who has set the variable decides. */
static void WithoutMulticast()
{
  (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
}

/* As the system finds it, else where the CUDA libraries were at build time. It stays open, since the driver
   has its kernels. */
static PoiseErr Open(Nccl *n)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  char words[160] = "";
  pthread_once(&once, WithoutMulticast);
  void *library = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
  if (!library) snprintf(words, sizeof words, "%s", dlerror());
  if (!library) library = dlopen(POISE_CUDA_LIBRARIES "/" NAME, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    FAIL(POISE_ERR_UNSUPPORTED, "it cannot be loaded (LD_LIBRARY_PATH may name its folder): %s", words);
#define LOOK_UP(name, arguments) TRY(LookUp(library, "nccl" #name, (void **)&n->name));
  FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  TRY(LookUp(library, "ncclGetErrorString", (void **)&n->GetErrorString));
  TRY(LookUp(library, "ncclGetLastError", (void **)&n->GetLastError));
  TRY(CALL(n, GetVersion, &n->version));
  if (n->version < OLDEST)
    FAIL(POISE_ERR_UNSUPPORTED, "the NCCL that was loaded, version %d, is older than 2.14", n->version);
  return POISE_OK;
}

/* Exchanges go ahead of rows that need no ghosts, which otherwise take all places. */
static PoiseErr MakeStream(Nccl *n)
{
  int least, greatest;
  TRY(poiseCudaCheck(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities of streams"));
  TRY(poiseCudaCheck(cudaStreamCreateWithPriority(&n->side, cudaStreamNonBlocking, greatest),
                     "creating a stream"));
  TRY(poiseCudaCheck(cudaEventCreateWithFlags(&n->begun, cudaEventDisableTiming), "creating an event"));
  return poiseCudaCheck(cudaEventCreateWithFlags(&n->came, cudaEventDisableTiming), "creating an event");
}

extern "C" PoiseErr poiseCudaNcclLoad(Device *dev, void **library)
{
  TRY(poiseAlloc(dev->ctx, sizeof(Nccl), "NCCL", library));
  Nccl *n = (Nccl *)*library;
  TRY(Open(n));
  TRY(MakeStream(n));
  *poiseCudaNccl(dev) = n;
  return POISE_OK;
}

extern "C" void poiseCudaNcclUnload(Device *dev, void **library)
{
  Nccl *n = (Nccl *)*library;
  *poiseCudaNccl(dev) = NULL;
  if (!n) return;
  if (n->side) cudaStreamDestroy(n->side);
  if (n->begun) cudaEventDestroy(n->begun);
  if (n->came) cudaEventDestroy(n->came);
  poiseFree(dev->ctx, library);
}

extern "C" void poiseCudaNcclDescribe(const void *library, char *text, size_t size)
{
  int version = ((const Nccl *)library)->version;
  snprintf(text, size, "NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

/* ---- who takes part -------------------------------------------------------------------------- */

extern "C" PoiseErr poiseCudaNcclInvite(Device *dev, void *library, LinkInvitation *invitation)
{
  static_assert(sizeof(UniqueId) <= sizeof invitation->bytes, "an invitation has room for NCCL's");
  const Nccl *n = (const Nccl *)library;
  UniqueId id;
  (void)dev;
  TRY(CALL(n, GetUniqueId, &id));
  memcpy(invitation->bytes, &id, sizeof id);
  return POISE_OK;
}

extern "C" PoiseErr poiseCudaNcclJoin(Device *dev, void *library, const LinkInvitation *invitation, int rank,
                                      int size)
{
  Nccl *n = (Nccl *)library;
  UniqueId id;
  (void)dev;
  memcpy(&id, invitation->bytes, sizeof id);
  n->rank = rank;
  PoiseErr e = CALL(n, CommInitRank, &n->comm, size, id, rank);
  if (e) n->comm = NULL;
  return e;
}

extern "C" void poiseCudaNcclLeave(Device *dev, void *library, bool at_once)
{
  Nccl *n = (Nccl *)library;
  poiseCudaEndExchanges(dev);
  if (!n->comm) return;
  if (at_once)
    (void)n->CommAbort(n->comm);
  else
    (void)n->CommDestroy(n->comm);
  n->comm = NULL;
  (void)cudaGetLastError(); /* the GPU may have failed before */
}

/* ---- waits of the host ----------------------------------------------------------------------- */

extern "C" void poiseCudaNcclWatch(Device *dev, void *library, double seconds)
{
  (void)dev;
  ((Nccl *)library)->seconds = seconds;
}

static PoiseErr GiveUp(Device *dev, Nccl *n, PoiseErr e)
{
  poiseCudaNcclLeave(dev, n, true);
  (void)cudaStreamSynchronize(poiseCudaStream(dev));
  (void)cudaGetLastError();
  return e;
}

static PoiseErr TimeIsOver(const Nccl *n)
{
  FAIL(POISE_ERR_COMM, "the GPU of rank %d waited %g s for those of other ranks, which did not come", n->rank,
       n->seconds);
}

static PoiseErr Failed(const Nccl *n)
{
  int code = SUCCESS;
  TRY(CALL(n, CommGetAsyncError, n->comm, &code));
  return code == IN_PROGRESS ? POISE_OK : Check(n, code, "exchanges by NCCL");
}

PoiseErr poiseCudaNcclWait(Device *dev, cudaEvent_t event)
{
  enum { LOOKS = 1000 }; /* at the GPU, for one at NCCL */
  Nccl *n = *poiseCudaNccl(dev);
  double since = PoiseTime();
  if (!n || !n->comm || n->seconds <= 0) return POISE_OK;
  for (int k = 1;; k++) {
    cudaError_t e = event ? cudaEventQuery(event) : cudaStreamQuery(poiseCudaStream(dev));
    if (e != cudaErrorNotReady) return POISE_OK; /* whoever waits says what it is */
    (void)cudaGetLastError();
    PoiseErr failed = k % LOOKS ? POISE_OK : Failed(n);
    if (!failed && PoiseTime() - since > n->seconds) failed = TimeIsOver(n);
    if (failed) return GiveUp(dev, n, failed);
  }
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static PoiseErr Present(Device *dev, const Nccl *n)
{
  if (!n->comm) FAIL(POISE_ERR_COMM, "the GPU of rank %d has left the exchanges by NCCL", n->rank);
  poiseCudaCapturesExchange(dev);
  return POISE_OK;
}

extern "C" PoiseErr poiseCudaNcclGather(Device *dev, void *library, int count, const double *mine,
                                        double *all)
{
  const Nccl *n = (const Nccl *)library;
  TRY(Present(dev, n));
  return CALL(n, AllGather, mine, all, (size_t)count, FLOAT64, n->comm, poiseCudaStream(dev));
}

static PoiseErr Group(const Nccl *n, const Exchange *ex, const double *send, double *recv)
{
  PoiseErr e = POISE_OK;
  for (int k = 0; k < ex->nrecv && !e; k++) {
    const int64_t *start = ex->recv_start + k;
    e = CALL(n, Recv, recv + start[0], (size_t)(start[1] - start[0]), FLOAT64, ex->recv_rank[k], n->comm,
             n->side);
  }
  for (int k = 0; k < ex->nsend && !e; k++) {
    const int64_t *start = ex->send_start + k;
    e = CALL(n, Send, send + start[0], (size_t)(start[1] - start[0]), FLOAT64, ex->send_rank[k], n->comm,
             n->side);
  }
  return e;
}

extern "C" PoiseErr poiseCudaNcclExchange(Device *dev, void *library, const Exchange *ex, const double *send,
                                          double *recv)
{
  const Nccl *n = (const Nccl *)library;
  TRY(Present(dev, n));
  TRY(poiseCudaCheck(cudaEventRecord(n->begun, poiseCudaStream(dev)), "recording an event"));
  TRY(poiseCudaCheck(cudaStreamWaitEvent(n->side, n->begun, 0), "waiting for an event"));
  TRY(CALL(n, GroupStart));
  PoiseErr e = Group(n, ex, send, recv);
  PoiseErr end = CALL(n, GroupEnd);
  return e ? e : end;
}

static __global__ void Arrived()
{
}

/* A kernel that starts before the one ahead has ended may follow one kernel alone, not two streams. */
extern "C" PoiseErr poiseCudaNcclArrive(Device *dev, void *library)
{
  const Nccl *n = (const Nccl *)library;
  TRY(poiseCudaCheck(cudaEventRecord(n->came, n->side), "recording an event"));
  TRY(poiseCudaCheck(cudaStreamWaitEvent(poiseCudaStream(dev), n->came, 0), "waiting for an event"));
  Arrived<<<1, 1, 0, poiseCudaStream(dev)>>>();
  return poiseCudaCheck(cudaGetLastError(), "the end of an exchange");
}
