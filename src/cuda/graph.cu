/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Graphs. What is captured runs once a replay, or is the loop of a solver that the GPU repeats by itself:

    first, Enter, WHILE { first step; Step, IF { second step }; Step, IF { third step }; ... Turn }

  `first` is what runs once a replay, if there is any. Enter, Step and Turn are kernels of one thread. Each
  sets conditions of the nodes after it from *done. Turn stands in the last IF's body, so Step also sets the
  condition of WHILE. `first` and the bodies are captured, the rest is made node by node.
*/
#include "cuda.h"

struct Turns { /* memory of the device, for all its graphs, as one of them runs at a time */
  int most;    /* turns of a replay */
  int left;    /* of the present one */
};

struct Recording {         /* what is being captured */
  bool loop;               /* of a solver, repeated or not */
  bool first;              /* what is captured runs once, before the loop */
  cudaGraph_t graph, body; /* body: of WHILE; NULL: what is captured runs once */
  cudaGraphNode_t last;    /* the latest node of body that was not captured; NULL: there is none */
  cudaGraphConditionalHandle again;
  const double *done;
  Turns *turns;
  int gpu;        /* which counts this device */
  int most;       /* as Turns has it once the stream is there */
  bool exchanges; /* NCCL has been called in the capture */
  Graph *graphs;  /* those that live and have such calls */
};

struct Graph {
  cudaGraphExec_t exec; /* NULL: the communicator that it has calls of has ended */
  bool loop, exchanges;
  Graph *next; /* with exchanges */
};

static __global__ void Enter(cudaGraphConditionalHandle again, const double *done, Turns *turns)
{
  turns->left = turns->most;
  cudaGraphSetConditional(again, *done == 0);
}

static __global__ void Step(cudaGraphConditionalHandle further, cudaGraphConditionalHandle again,
                            const double *done)
{
  PdlWait();
  unsigned go = *done == 0;
  cudaGraphSetConditional(further, go);
  cudaGraphSetConditional(again, go);
}

static __global__ void Turn(cudaGraphConditionalHandle again, const double *done, Turns *turns)
{
  PdlWait();
  int left = --turns->left;
  cudaGraphSetConditional(again, *done == 0 && left > 0);
}

static __global__ void SetMost(Turns *turns, int most)
{
  turns->most = most;
}

/* ---- two versions of the runtime ------------------------------------------------------------- */

static cudaError_t AddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                           cudaGraphNodeParams *params)
{
#if CUDART_VERSION >= 13000
  return cudaGraphAddNode(node, graph, after, NULL, after ? 1 : 0, params);
#else
  return cudaGraphAddNode(node, graph, after, after ? 1 : 0, params);
#endif
}

/* The node that the next one of a capture will follow; captures here are chains. */
static cudaError_t LatestNode(cudaStream_t stream, cudaGraphNode_t *node)
{
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t *nodes = NULL;
  size_t n = 0;
#if CUDART_VERSION >= 13000
  cudaError_t e = cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, NULL, &n);
#else
  cudaError_t e = cudaStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, &nodes, &n);
#endif
  if (e == cudaSuccess && n != 1) return cudaErrorStreamCaptureInvalidated;
  if (e == cudaSuccess) *node = nodes[0];
  return e;
}

/* ---- nodes with conditions ------------------------------------------------------------------- */

/* A node that depends on `after` (may be NULL), whose body runs as long as, or if, the condition is set. */
static cudaError_t AddConditional(cudaGraph_t graph, const cudaGraphNode_t *after,
                                  cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                                  cudaGraphNode_t *node, cudaGraph_t *body)
{
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = 1;
  cudaError_t e = AddNode(node, graph, after, &params);
  if (e == cudaSuccess) *body = params.conditional.phGraph_out[0];
  return e;
}

static cudaError_t AddEnter(const Recording *r, const cudaGraphNode_t *after, cudaGraphNode_t *node)
{
  cudaKernelNodeParams params = {};
  void *args[] = {(void *)&r->again, (void *)&r->done, (void *)&r->turns};
  params.func = (void *)Enter;
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = args;
  return cudaGraphAddKernelNode(node, r->graph, after, after ? 1 : 0, &params);
}

static cudaError_t CaptureInto(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after)
{
  return cudaStreamBeginCaptureToGraph(stream, graph, after, NULL, after ? 1 : 0,
                                       cudaStreamCaptureModeThreadLocal);
}

static cudaError_t EndBody(cudaStream_t stream)
{
  cudaGraph_t body;
  return cudaStreamEndCapture(stream, &body); /* belongs to its node */
}

#define STOP_AT(call)                 \
  do {                                \
    cudaError_t e_ = (call);          \
    if (e_ != cudaSuccess) return e_; \
  } while (0)

static cudaError_t BeginFirst(Recording *r, cudaStream_t stream)
{
  STOP_AT(cudaGraphCreate(&r->graph, 0));
  return CaptureInto(stream, r->graph, NULL);
}

static cudaError_t BeginLoop(Recording *r, cudaStream_t stream)
{
  cudaGraphNode_t last, enter, loop;
  bool first = r->first;
  r->first = false;
  cudaError_t known = first ? LatestNode(stream, &last) : cudaGraphCreate(&r->graph, 0);
  if (first) STOP_AT(EndBody(stream)); /* in any case */
  STOP_AT(known);
  STOP_AT(cudaGraphConditionalHandleCreate(&r->again, r->graph, 0, 0));
  STOP_AT(AddEnter(r, first ? &last : NULL, &enter));
  STOP_AT(AddConditional(r->graph, &enter, r->again, cudaGraphCondTypeWhile, &loop, &r->body));
  return CaptureInto(stream, r->body, NULL);
}

static cudaError_t BeginStep(Recording *r, Device *dev)
{
  cudaStream_t stream = poiseCudaStream(dev);
  cudaGraphConditionalHandle further;
  cudaGraphNode_t before;
  cudaGraph_t step;
  if (r->last) { /* Step stands in the body of WHILE, not in that of the IF before */
    STOP_AT(EndBody(stream));
    STOP_AT(CaptureInto(stream, r->body, &r->last));
  }
  STOP_AT(cudaGraphConditionalHandleCreate(&further, r->body, 0, 0));
  if (LaunchPdl(dev, Step, 1, 1, 0, further, r->again, r->done)) return cudaErrorStreamCaptureInvalidated;
  STOP_AT(LatestNode(stream, &before));
  STOP_AT(EndBody(stream));
  STOP_AT(AddConditional(r->body, &before, further, cudaGraphCondTypeIf, &r->last, &step));
  return CaptureInto(stream, step, NULL);
}

/* ---- the device's functions ------------------------------------------------------------------ */

/* Devices of this process on each GPU. Where graphs with conditions of several streams run at once on a GPU,
   drivers (580, say) end them with a launch failure, sooner or later. So only the first device has loops. A
   parent does not count for its workers: it waits for them. */
enum { GPUS = 64 };
static int devices_on[GPUS];

static bool IsAlone(Device *dev, int others)
{
  const PoiseContext parent = dev->ctx->parent;
  bool waits = parent && parent->device->ops == dev->ops && parent->device->id == dev->id;
  return others - waits == 0;
}

PoiseErr poiseCudaRecorderCreate(Device *dev, Recording **recording)
{
  int driver = 0;
  TRY(poiseAlloc(dev->ctx, sizeof **recording, "recorder of graphs", recording));
  (*recording)->gpu = dev->id % GPUS;
  int others = __atomic_fetch_add(&devices_on[(*recording)->gpu], 1, __ATOMIC_RELAXED);
  TRY(poiseCudaCheck(cudaDriverGetVersion(&driver), "asking for the version of the driver"));
  dev->loops = driver >= 12040 && IsAlone(dev, others); /* the first with WHILE and IF */
  return poiseCudaCheck(cudaMalloc((void **)&(*recording)->turns, sizeof(Turns)), "scratch of the device");
}

void poiseCudaRecorderDestroy(Device *dev, Recording **recording)
{
  if (!*recording) return;
  (void)__atomic_fetch_sub(&devices_on[(*recording)->gpu], 1, __ATOMIC_RELAXED);
  if ((*recording)->turns) cudaFree((*recording)->turns);
  poiseFree(dev->ctx, recording);
}

bool poiseCudaInLoop(Device *dev)
{
  return (*poiseCudaRecording(dev))->loop;
}

static void Clear(Recording *r, const double *done)
{
  r->done = done;
  r->graph = r->body = NULL;
  r->last = NULL;
  r->exchanges = false;
}

PoiseErr poiseCudaCaptureFirst(Device *dev, const double *done)
{
  Recording *r = *poiseCudaRecording(dev);
  Clear(r, done);
  cudaError_t e = BeginFirst(r, poiseCudaStream(dev));
  if (e != cudaSuccess && r->graph) cudaGraphDestroy(r->graph);
  r->loop = r->first = e == cudaSuccess;
  return poiseCudaCheck(e, "beginning a capture");
}

PoiseErr poiseCudaCaptureBegin(Device *dev, const double *done)
{
  Recording *r = *poiseCudaRecording(dev);
  cudaStream_t stream = poiseCudaStream(dev);
  if (!r->first) Clear(r, done);
  cudaError_t e = done && dev->loops ? BeginLoop(r, stream)
                                     : cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (e != cudaSuccess && r->graph) cudaGraphDestroy(r->graph);
  r->loop = e == cudaSuccess && done;
  return poiseCudaCheck(e, "beginning a capture");
}

PoiseErr poiseCudaCaptureStep(Device *dev)
{
  Recording *r = *poiseCudaRecording(dev);
  return r->body ? poiseCudaCheck(BeginStep(r, dev), "a step of a captured loop") : POISE_OK;
}

/* Sent to the GPU at once: its first launch must not allocate, as other ranks may poll by then. */
static PoiseErr Instantiate(cudaGraph_t graph, cudaStream_t stream, cudaGraphExec_t *exec)
{
  TRY(poiseCudaCheck(cudaGraphInstantiate(exec, graph, 0), "making a graph of a capture"));
  PoiseErr e = poiseCudaCheck(cudaGraphUpload(*exec, stream), "sending a graph to the GPU");
  if (e) cudaGraphExecDestroy(*exec);
  return e;
}

static void Keep(Recording *r, Graph *graph)
{
  graph->exchanges = true;
  graph->next = r->graphs;
  r->graphs = graph;
}

static void Drop(Recording *r, const Graph *graph)
{
  Graph **at = &r->graphs;
  while (*at != graph) at = &(*at)->next;
  *at = graph->next;
}

PoiseErr poiseCudaCaptureEnd(Device *dev, Graph **graph)
{
  Recording *r = *poiseCudaRecording(dev);
  cudaStream_t stream = poiseCudaStream(dev);
  PoiseErr e = r->body ? LaunchPdl(dev, Turn, 1, 1, 0, r->again, r->done, r->turns) : POISE_OK;
  cudaGraph_t ended = NULL;
  PoiseErr end = poiseCudaCheck(cudaStreamEndCapture(stream, &ended), "ending a capture");
  if (!r->body) r->graph = ended;
  *graph = NULL;
  r->loop = false;
  if (!e) e = end;
  if (!e) e = poiseAlloc(dev->ctx, sizeof **graph, "graph", graph);
  if (!e) (*graph)->loop = r->body != NULL;
  if (!e) e = Instantiate(r->graph, stream, &(*graph)->exec);
  if (r->graph) cudaGraphDestroy(r->graph);
  if (e) poiseFree(dev->ctx, graph);
  if (!e && r->exchanges) Keep(r, *graph);
  return e;
}

void poiseCudaCapturesExchange(Device *dev)
{
  (*poiseCudaRecording(dev))->exchanges = true;
}

/* A communicator of NCCL's does not end as long as there are graphs with calls of it. */
void poiseCudaEndExchanges(Device *dev)
{
  Recording *r = *poiseCudaRecording(dev);
  for (Graph *g = r->graphs; g; g = g->next) {
    cudaGraphExecDestroy(g->exec); /* once it has run */
    g->exec = NULL;
    g->exchanges = false;
  }
  r->graphs = NULL;
}

PoiseErr poiseCudaReplay(Device *dev, Graph *graph, int turns)
{
  Recording *r = *poiseCudaRecording(dev);
  if (!graph->exec) FAIL(POISE_ERR_INTERNAL, "a graph is replayed with calls of NCCL that ranks have left");
  if (graph->loop && turns != r->most) {
    SetMost<<<1, 1, 0, poiseCudaStream(dev)>>>(r->turns, turns);
    TRY(poiseCudaCheck(cudaGetLastError(), "setting the turns of a loop"));
    r->most = turns;
  }
  return poiseCudaCheck(cudaGraphLaunch(graph->exec, poiseCudaStream(dev)), "replaying a graph");
}

void poiseCudaGraphFree(Device *dev, Graph **graph)
{
  if (!*graph) return;
  if ((*graph)->exchanges) Drop(*poiseCudaRecording(dev), *graph);
  if ((*graph)->exec) cudaGraphExecDestroy((*graph)->exec);
  poiseFree(dev->ctx, graph);
}
