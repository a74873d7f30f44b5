# SPDX-License-Identifier: BSD-3-Clause
"""Poise's declarations for ctypes. Made from include/poise/*.h by python/generate.py: do not edit."""
# ruff: noqa
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t
from ctypes import c_uint64, c_void_p


class PoiseErr(c_int):
    """A code that a function returns: it is looked at behind each call."""

POISE_VERSION_MAJOR = 0
POISE_VERSION_MINOR = 1
POISE_VERSION_PATCH = 0
POISE_OPTION_LENGTH = 256
POISE_DECIDE = -1

# PoiseErr
POISE_OK = 0
POISE_ERR_ARG = 1
POISE_ERR_SIZE = 2
POISE_ERR_MEMORY = 3
POISE_ERR_STATE = 4
POISE_ERR_OPTION = 5
POISE_ERR_UNSUPPORTED = 6
POISE_ERR_FILE = 7
POISE_ERR_FORMAT = 8
POISE_ERR_NUMERIC = 9
POISE_ERR_NOT_CONVERGED = 10
POISE_ERR_COMM = 11
POISE_ERR_DEVICE = 12
POISE_ERR_USER = 13
POISE_ERR_REMOTE = 14
POISE_ERR_INTERNAL = 15

# PoiseOwn
POISE_COPY = 0
POISE_ADOPT = 1
POISE_BORROW = 2

# PoiseOptionType
POISE_OPTION_BOOL = 0
POISE_OPTION_INT = 1
POISE_OPTION_REAL = 2
POISE_OPTION_STRING = 3
POISE_OPTION_CHOICE = 4

# PoiseLogFormat
POISE_LOG_TEXT = 0
POISE_LOG_CSV = 1
POISE_LOG_JSON = 2

# PoiseNorm
POISE_NORM_1 = 0
POISE_NORM_2 = 1
POISE_NORM_INF = 2
POISE_NORM_FROBENIUS = 3

POISE_BLOCK_FILLS = 8

# PoisePartition
POISE_PARTITION_ROWS = 0
POISE_PARTITION_NONZEROS = 1
POISE_PARTITION_BYTES = 2
POISE_PARTITION_GRAPH = 3

# PoiseOrder
POISE_ORDER_NATURAL = 0
POISE_ORDER_RCM = 1
POISE_ORDER_AMD = 2
POISE_ORDER_MATCH = 3
POISE_ORDER_MATCH_RCM = 4
POISE_ORDER_MATCH_AMD = 5

# PoiseKSPReason
POISE_ITERATING = 0
POISE_CONVERGED_RTOL_NORMAL = 1
POISE_CONVERGED_ATOL_NORMAL = 9
POISE_CONVERGED_RTOL = 2
POISE_CONVERGED_ATOL = 3
POISE_CONVERGED_ITS = 4
POISE_CONVERGED_HAPPY_BREAKDOWN = 5
POISE_CONVERGED_USER = 6
POISE_DIVERGED_NULL = -2
POISE_DIVERGED_ITS = -3
POISE_DIVERGED_DTOL = -4
POISE_DIVERGED_BREAKDOWN = -5
POISE_DIVERGED_INDEFINITE_PC = -8
POISE_DIVERGED_NANORINF = -9
POISE_DIVERGED_INDEFINITE_MAT = -10
POISE_DIVERGED_USER = -12
POISE_DIVERGED_ERROR = -13

# PoiseNormType
POISE_KSP_NORM_DEFAULT = 0
POISE_KSP_NORM_NONE = 1
POISE_KSP_NORM_PRECONDITIONED = 2
POISE_KSP_NORM_UNPRECONDITIONED = 3
POISE_KSP_NORM_NATURAL = 4

# PoisePCSide
POISE_PC_LEFT = 0
POISE_PC_RIGHT = 1

# PoisePCMGType
POISE_PC_MG_MULTIPLICATIVE = 0
POISE_PC_MG_ADDITIVE = 1
POISE_PC_MG_FULL = 2
POISE_PC_MG_KASKADE = 3

# PoisePCMGCycleType
POISE_PC_MG_CYCLE_V = 0
POISE_PC_MG_CYCLE_W = 1


class PoiseContext(c_void_p):
    pass


class PoiseVec(c_void_p):
    pass


class PoiseMat(c_void_p):
    pass


class PoisePC(c_void_p):
    pass


class PoiseKSP(c_void_p):
    pass


PoiseInterrupt = CFUNCTYPE(c_int, c_void_p)
PoiseMonitor = CFUNCTYPE(c_int, PoiseKSP, c_int64, c_double, c_void_p)
PoiseConvergenceTest = CFUNCTYPE(c_int, PoiseKSP, c_int64, c_double, c_void_p, c_void_p)


class PoiseInit(Structure):
    _fields_ = [
        ("prefix", c_char_p),
        ("mpi_comm", c_void_p),
        ("serial", c_int),
        ("help", c_char_p),
        ("options", c_void_p),
        ("stream", c_void_p),
        ("out", c_void_p),
        ("keep_running", c_int),
    ]


class PoiseBytes(Structure):
    _fields_ = [
        ("host", c_int64),
        ("device", c_int64),
    ]


class PoisePrediction(Structure):
    _fields_ = [
        ("least", PoiseBytes),
        ("most", PoiseBytes),
        ("beyond", c_char_p),
    ]


class PoiseOption(Structure):
    _fields_ = [
        ("key", c_char_p),
        ("type", c_int),
        ("offset", c_size_t),
        ("initial", c_char_p),
        ("min", c_double),
        ("max", c_double),
        ("choices", c_char_p),
        ("help", c_char_p),
    ]


class PoiseCSR(Structure):
    _fields_ = [
        ("ptr32", c_void_p),
        ("col32", c_void_p),
        ("ptr64", c_void_p),
        ("col64", c_void_p),
        ("val", c_void_p),
        ("base", c_int),
    ]


class PoiseBCSR(Structure):
    _fields_ = [
        ("ptr32", c_void_p),
        ("col32", c_void_p),
        ("ptr64", c_void_p),
        ("col64", c_void_p),
        ("val", c_void_p),
        ("base", c_int),
        ("row_major", c_int),
    ]


class PoiseCSC(Structure):
    _fields_ = [
        ("ptr32", c_void_p),
        ("row32", c_void_p),
        ("ptr64", c_void_p),
        ("row64", c_void_p),
        ("val", c_void_p),
        ("base", c_int),
    ]


class PoiseTriplets(Structure):
    _fields_ = [
        ("n", c_int64),
        ("row32", c_void_p),
        ("col32", c_void_p),
        ("row64", c_void_p),
        ("col64", c_void_p),
        ("val", c_void_p),
        ("base", c_int),
    ]


class PoiseShell(Structure):
    _fields_ = [
        ("mult", CFUNCTYPE(c_int, c_void_p, PoiseVec, PoiseVec)),
        ("mult_transpose", CFUNCTYPE(c_int, c_void_p, PoiseVec, PoiseVec)),
        ("diagonal", CFUNCTYPE(c_int, c_void_p, PoiseVec)),
    ]


class PoiseBlockFill(Structure):
    _fields_ = [
        ("b", c_int),
        ("blocks", c_int64),
        ("fill", c_double),
        ("bytes", c_double),
    ]


class PoiseMatCounts(Structure):
    _fields_ = [
        ("nonzeros", c_int64),
        ("ghosts", c_int64),
        ("sends", c_int64),
        ("transpose", c_int),
    ]


class PoiseShellPC(Structure):
    _fields_ = [
        ("apply", CFUNCTYPE(c_int, c_void_p, PoiseVec, PoiseVec)),
        ("setup", CFUNCTYPE(c_int, c_void_p, PoiseMat)),
    ]


# name: (result, parameters)
FUNCTIONS = {
    "PoiseVersion": (c_int, []),
    "PoiseErrorString": (c_char_p, [c_int]),
    "PoiseErrorMessage": (c_char_p, []),
    "PoiseErrorText": (c_char_p, []),
    "PoiseErrorClear": (None, []),
    "PoiseErrorSet": (PoiseErr, [c_int, c_char_p, c_char_p, c_int, c_char_p]),
    "PoiseErrorTrace": (PoiseErr, [c_int, c_char_p, c_char_p, c_int]),
    "PoiseInitialize": (PoiseErr, [c_void_p, c_void_p, POINTER(PoiseInit), POINTER(PoiseContext)]),
    "PoiseFinalize": (PoiseErr, [POINTER(PoiseContext)]),
    "PoiseRun": (PoiseErr, [PoiseContext, CFUNCTYPE(c_int, PoiseContext, c_void_p), c_void_p]),
    "PoiseAnswered": (c_int, [PoiseContext]),
    "PoiseRank": (c_int, [PoiseContext]),
    "PoiseSize": (c_int, [PoiseContext]),
    "PoiseThreads": (c_int, [PoiseContext]),
    "PoiseBarrier": (PoiseErr, [PoiseContext]),
    "PoiseAgree": (PoiseErr, [PoiseContext, c_int]),
    "PoiseSum": (PoiseErr, [PoiseContext, c_int, c_void_p]),
    "PoiseMax": (PoiseErr, [PoiseContext, c_int, c_void_p]),
    "PoiseSplit": (None, [PoiseContext, c_int64, c_void_p, c_void_p]),
    "PoiseSetInterrupt": (PoiseErr, [PoiseContext, PoiseInterrupt, c_void_p]),
    "PoiseSetOutput": (None, [PoiseContext, c_void_p]),
    "PoisePrintf": (PoiseErr, [PoiseContext, c_char_p]),
    "PoiseTime": (c_double, []),
    "PoiseView": (PoiseErr, [PoiseContext]),
    "PoiseDeviceMemory": (PoiseErr, [PoiseContext, c_void_p, c_void_p]),
    "PoiseStream": (c_void_p, [PoiseContext]),
    "PoiseWait": (PoiseErr, [PoiseContext]),
    "PoiseOptionsSet": (PoiseErr, [PoiseContext, c_char_p, c_char_p]),
    "PoiseOptionsSetString": (PoiseErr, [PoiseContext, c_char_p]),
    "PoiseOptionsClear": (PoiseErr, [PoiseContext, c_char_p]),
    "PoiseOptionsDefaults": (PoiseErr, [POINTER(PoiseOption), c_void_p]),
    "PoiseOptionsRead": (PoiseErr, [PoiseContext, c_char_p, POINTER(PoiseOption), c_void_p]),
    "PoiseOptionsHas": (c_int, [PoiseContext, c_char_p, c_char_p, c_void_p]),
    "PoiseOptionsUsed": (c_int, [PoiseContext, c_char_p]),
    "PoiseOptionsHelp": (PoiseErr, [PoiseContext]),
    "PoiseOptionsUnused": (PoiseErr, [PoiseContext, c_void_p, c_void_p]),
    "PoiseLogBegin": (PoiseErr, [PoiseContext, c_char_p]),
    "PoiseLogEnd": (PoiseErr, [PoiseContext, c_char_p]),
    "PoiseLogView": (PoiseErr, [PoiseContext, c_void_p, c_int]),
    "PoiseVecCreate": (PoiseErr, [PoiseContext, c_int64, c_int64, POINTER(PoiseVec)]),
    "PoiseVecCreateArray": (PoiseErr, [PoiseContext, c_int64, c_int64, c_void_p, c_int, POINTER(PoiseVec)]),
    "PoiseVecCreateDeviceArray": (PoiseErr, [PoiseContext, c_int64, c_int64, c_void_p, c_int,
        POINTER(PoiseVec)]),
    "PoiseVecDuplicate": (PoiseErr, [PoiseVec, POINTER(PoiseVec)]),
    "PoiseVecCreateBlock": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int, POINTER(PoiseVec)]),
    "PoiseVecCreateBlockArray": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int, c_void_p, c_int,
        POINTER(PoiseVec)]),
    "PoiseVecCreateBlockDeviceArray": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int, c_void_p, c_int,
        POINTER(PoiseVec)]),
    "PoiseVecColumns": (c_int, [PoiseVec]),
    "PoiseVecSetColumns": (PoiseErr, [PoiseVec, c_int64, c_void_p]),
    "PoiseVecGetColumns": (PoiseErr, [PoiseVec, c_int64, c_void_p]),
    "PoiseVecGetColumn": (PoiseErr, [PoiseVec, c_int, PoiseVec]),
    "PoiseVecSetColumn": (PoiseErr, [PoiseVec, c_int, PoiseVec]),
    "PoiseVecColumnDots": (PoiseErr, [PoiseVec, PoiseVec, c_void_p]),
    "PoiseVecColumnNorms": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecDestroy": (PoiseErr, [POINTER(PoiseVec)]),
    "PoiseVecSize": (c_int64, [PoiseVec]),
    "PoiseVecLocalSize": (c_int64, [PoiseVec]),
    "PoiseVecRange": (None, [PoiseVec, c_void_p, c_void_p]),
    "PoiseVecContext": (PoiseContext, [PoiseVec]),
    "PoiseVecGetRead": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecGetWrite": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecGetUpdate": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecGetDeviceRead": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecGetDeviceWrite": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecGetDeviceUpdate": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecRestore": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecToDevice": (PoiseErr, [PoiseVec]),
    "PoiseVecAddValues": (PoiseErr, [PoiseVec, c_int64, c_void_p, c_void_p]),
    "PoiseVecSetValues": (PoiseErr, [PoiseVec, c_int64, c_void_p, c_void_p]),
    "PoiseVecAssemble": (PoiseErr, [PoiseVec]),
    "PoiseVecSetLocalToGlobal": (PoiseErr, [PoiseVec, c_int64, c_void_p]),
    "PoiseVecAddValuesLocal": (PoiseErr, [PoiseVec, c_int64, c_void_p, c_void_p]),
    "PoiseVecSetValuesLocal": (PoiseErr, [PoiseVec, c_int64, c_void_p, c_void_p]),
    "PoiseVecGetValues": (PoiseErr, [PoiseVec, c_int64, c_void_p, c_void_p]),
    "PoiseVecSet": (PoiseErr, [PoiseVec, c_double]),
    "PoiseVecSetRandom": (PoiseErr, [PoiseVec, c_uint64]),
    "PoiseVecCopy": (PoiseErr, [PoiseVec, PoiseVec]),
    "PoiseVecScale": (PoiseErr, [PoiseVec, c_double]),
    "PoiseVecAXPY": (PoiseErr, [PoiseVec, c_double, PoiseVec]),
    "PoiseVecAYPX": (PoiseErr, [PoiseVec, c_double, PoiseVec]),
    "PoiseVecAXPBY": (PoiseErr, [PoiseVec, c_double, c_double, PoiseVec]),
    "PoiseVecWAXPY": (PoiseErr, [PoiseVec, c_double, PoiseVec, PoiseVec]),
    "PoiseVecMAXPY": (PoiseErr, [PoiseVec, c_int, c_void_p, POINTER(PoiseVec)]),
    "PoiseVecPointwiseMult": (PoiseErr, [PoiseVec, PoiseVec, PoiseVec]),
    "PoiseVecPointwiseDivide": (PoiseErr, [PoiseVec, PoiseVec, PoiseVec]),
    "PoiseVecReciprocal": (PoiseErr, [PoiseVec]),
    "PoiseVecDot": (PoiseErr, [PoiseVec, PoiseVec, c_void_p]),
    "PoiseVecMDot": (PoiseErr, [PoiseVec, c_int, POINTER(PoiseVec), c_void_p]),
    "PoiseVecNorm": (PoiseErr, [PoiseVec, c_int, c_void_p]),
    "PoiseVecSumEntries": (PoiseErr, [PoiseVec, c_void_p]),
    "PoiseVecAXPYDot": (PoiseErr, [PoiseVec, c_double, PoiseVec, c_void_p]),
    "PoiseVecDotNorm2": (PoiseErr, [PoiseVec, PoiseVec, c_void_p, c_void_p]),
    "PoiseVecBytes": (PoiseErr, [PoiseVec, POINTER(PoiseBytes)]),
    "PoiseVecPredictBytes": (PoiseErr, [PoiseContext, c_int64, POINTER(PoisePrediction)]),
    "PoiseVecView": (PoiseErr, [PoiseVec]),
    "PoiseVecSave": (PoiseErr, [PoiseVec, c_char_p]),
    "PoiseVecLoad": (PoiseErr, [PoiseContext, c_int64, c_int64, c_char_p, POINTER(PoiseVec)]),
    "PoiseMatCreateCSR": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int64, c_int64, POINTER(PoiseCSR),
        c_int, POINTER(PoiseMat)]),
    "PoiseMatCreateDeviceCSR": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int64, c_int64,
        POINTER(PoiseCSR), c_int, POINTER(PoiseMat)]),
    "PoiseMatCreateBCSR": (PoiseErr, [PoiseContext, c_int, c_int64, c_int64, c_int64, c_int64,
        POINTER(PoiseBCSR), c_int, POINTER(PoiseMat)]),
    "PoiseMatCreateDeviceBCSR": (PoiseErr, [PoiseContext, c_int, c_int64, c_int64, c_int64, c_int64,
        POINTER(PoiseBCSR), c_int, POINTER(PoiseMat)]),
    "PoiseMatCreateCSC": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int64, c_int64, POINTER(PoiseCSC),
        c_int, POINTER(PoiseMat)]),
    "PoiseMatCreateDeviceCSC": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int64, c_int64,
        POINTER(PoiseCSC), c_int, POINTER(PoiseMat)]),
    "PoiseMatCreateTriplets": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int64, c_int64,
        POINTER(PoiseTriplets), c_int, POINTER(PoiseMat)]),
    "PoiseMatCreateDeviceTriplets": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int64, c_int64,
        POINTER(PoiseTriplets), c_int, POINTER(PoiseMat)]),
    "PoiseMatCreate": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int64, c_int64, POINTER(PoiseMat)]),
    "PoiseMatAddBlock": (PoiseErr, [PoiseMat, c_int, c_void_p, c_int, c_void_p, c_void_p]),
    "PoiseMatSetBlock": (PoiseErr, [PoiseMat, c_int, c_void_p, c_int, c_void_p, c_void_p]),
    "PoiseMatAddEntries": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_void_p, c_void_p]),
    "PoiseMatSetEntries": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_void_p, c_void_p]),
    "PoiseMatSetLocalToGlobal": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_int64, c_void_p]),
    "PoiseMatAddBlockLocal": (PoiseErr, [PoiseMat, c_int, c_void_p, c_int, c_void_p, c_void_p]),
    "PoiseMatSetBlockLocal": (PoiseErr, [PoiseMat, c_int, c_void_p, c_int, c_void_p, c_void_p]),
    "PoiseMatAssemble": (PoiseErr, [PoiseMat]),
    "PoiseMatZeroEntries": (PoiseErr, [PoiseMat]),
    "PoiseMatSetValuesCSR": (PoiseErr, [PoiseMat, c_void_p]),
    "PoiseMatSetValuesBCSR": (PoiseErr, [PoiseMat, c_int, c_void_p]),
    "PoiseMatSetPatternCOO": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_void_p]),
    "PoiseMatSetValuesCOO": (PoiseErr, [PoiseMat, c_void_p]),
    "PoiseMatAddValuesCOO": (PoiseErr, [PoiseMat, c_void_p]),
    "PoiseMatSetPatternDeviceCOO": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_void_p]),
    "PoiseMatSetValuesDeviceCOO": (PoiseErr, [PoiseMat, c_void_p]),
    "PoiseMatAddValuesDeviceCOO": (PoiseErr, [PoiseMat, c_void_p]),
    "PoiseMatSetBlockPatternCOO": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_void_p]),
    "PoiseMatSetBlockPatternDeviceCOO": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_void_p]),
    "PoiseMatCreateShell": (PoiseErr, [PoiseContext, c_int64, c_int64, c_int64, c_int64, POINTER(PoiseShell),
        c_void_p, POINTER(PoiseMat)]),
    "PoiseMatDestroy": (PoiseErr, [POINTER(PoiseMat)]),
    "PoiseMatSetType": (PoiseErr, [PoiseMat, c_char_p]),
    "PoiseMatType": (c_char_p, [PoiseMat]),
    "PoiseMatSetLocalType": (PoiseErr, [PoiseMat, c_char_p]),
    "PoiseMatSetCSRKernel": (PoiseErr, [PoiseMat, c_char_p]),
    "PoiseMatCSRKernel": (c_char_p, [PoiseMat]),
    "PoiseMatSetOptionsPrefix": (PoiseErr, [PoiseMat, c_char_p]),
    "PoiseMatSetFromOptions": (PoiseErr, [PoiseMat]),
    "PoiseMatSetBlockSize": (PoiseErr, [PoiseMat, c_int]),
    "PoiseMatBlockSize": (c_int, [PoiseMat]),
    "PoiseMatFindBlockSize": (PoiseErr, [PoiseMat, POINTER(PoiseBlockFill), c_void_p]),
    "PoiseMatSetPartition": (PoiseErr, [PoiseMat, c_int]),
    "PoiseMatSetOrder": (PoiseErr, [PoiseMat, c_int]),
    "PoiseMatSetPartitionWeights": (PoiseErr, [PoiseMat, c_int, c_void_p]),
    "PoiseMatRearrange": (PoiseErr, [PoiseMat, POINTER(PoiseMat), POINTER(PoiseMat)]),
    "PoiseMatMult": (PoiseErr, [PoiseMat, PoiseVec, PoiseVec]),
    "PoiseMatMultAdd": (PoiseErr, [PoiseMat, c_double, PoiseVec, c_double, PoiseVec]),
    "PoiseMatMultTranspose": (PoiseErr, [PoiseMat, PoiseVec, PoiseVec]),
    "PoiseMatMultBlock": (PoiseErr, [PoiseMat, PoiseVec, PoiseVec]),
    "PoiseMatMultTransposeBlock": (PoiseErr, [PoiseMat, PoiseVec, PoiseVec]),
    "PoiseMatMultDot": (PoiseErr, [PoiseMat, PoiseVec, PoiseVec, PoiseVec, c_void_p]),
    "PoiseMatResidual": (PoiseErr, [PoiseMat, PoiseVec, PoiseVec, PoiseVec]),
    "PoiseMatGetDiagonal": (PoiseErr, [PoiseMat, PoiseVec]),
    "PoiseMatZeroRows": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_double, PoiseVec, PoiseVec]),
    "PoiseMatZeroRowsColumns": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_double, PoiseVec, PoiseVec]),
    "PoiseMatScale": (PoiseErr, [PoiseMat, c_double]),
    "PoiseMatDiagonalScale": (PoiseErr, [PoiseMat, PoiseVec, PoiseVec]),
    "PoiseMatShift": (PoiseErr, [PoiseMat, c_double]),
    "PoiseMatAddDiagonal": (PoiseErr, [PoiseMat, PoiseVec]),
    "PoiseMatSetDiagonal": (PoiseErr, [PoiseMat, PoiseVec]),
    "PoiseMatAXPY": (PoiseErr, [PoiseMat, c_double, PoiseMat]),
    "PoiseMatNorm": (PoiseErr, [PoiseMat, c_int, c_void_p]),
    "PoiseMatGetRow": (PoiseErr, [PoiseMat, c_int64, c_void_p, c_void_p, c_void_p]),
    "PoiseMatDuplicate": (PoiseErr, [PoiseMat, c_int, POINTER(PoiseMat)]),
    "PoiseMatTranspose": (PoiseErr, [PoiseMat, POINTER(PoiseMat)]),
    "PoiseMatIsTranspose": (PoiseErr, [PoiseMat, PoiseMat, c_double, c_void_p]),
    "PoiseMatIsSymmetric": (PoiseErr, [PoiseMat, c_double, c_void_p]),
    "PoiseMatSetNullSpace": (PoiseErr, [PoiseMat, c_int, c_int, POINTER(PoiseVec)]),
    "PoiseMatSetTransposeNullSpace": (PoiseErr, [PoiseMat, c_int, c_int, POINTER(PoiseVec)]),
    "PoiseMatSetNearNullSpace": (PoiseErr, [PoiseMat, c_int, c_int, POINTER(PoiseVec)]),
    "PoiseMatGetNearNullSpace": (PoiseErr, [PoiseMat, c_void_p, c_void_p]),
    "PoiseMatSetCoordinates": (PoiseErr, [PoiseMat, c_int, c_int64, c_void_p]),
    "PoiseMatSetDeviceCoordinates": (PoiseErr, [PoiseMat, c_int, c_int64, c_void_p]),
    "PoiseMatSizes": (None, [PoiseMat, c_void_p, c_void_p]),
    "PoiseMatLocalSizes": (None, [PoiseMat, c_void_p, c_void_p]),
    "PoiseMatNonzeros": (PoiseErr, [PoiseMat, c_void_p]),
    "PoiseMatCreateVecs": (PoiseErr, [PoiseMat, POINTER(PoiseVec), POINTER(PoiseVec)]),
    "PoiseMatCopyCSR": (PoiseErr, [PoiseMat, c_void_p, c_void_p, c_void_p]),
    "PoiseMatContext": (PoiseContext, [PoiseMat]),
    "PoiseMatBytes": (PoiseErr, [PoiseMat, POINTER(PoiseBytes), c_void_p]),
    "PoiseMatPredictBytes": (PoiseErr, [PoiseMat, POINTER(PoiseMatCounts), POINTER(PoisePrediction)]),
    "PoiseMatView": (PoiseErr, [PoiseMat]),
    "PoiseMatLoad": (PoiseErr, [PoiseContext, c_char_p, POINTER(PoiseMat)]),
    "PoiseMatSave": (PoiseErr, [PoiseMat, c_char_p]),
    "PoiseMatMatMult": (PoiseErr, [PoiseMat, PoiseMat, POINTER(PoiseMat)]),
    "PoiseMatPtAP": (PoiseErr, [PoiseMat, PoiseMat, POINTER(PoiseMat)]),
    "PoisePCCreate": (PoiseErr, [PoiseContext, POINTER(PoisePC)]),
    "PoisePCDestroy": (PoiseErr, [POINTER(PoisePC)]),
    "PoisePCSetType": (PoiseErr, [PoisePC, c_char_p]),
    "PoisePCType": (c_char_p, [PoisePC]),
    "PoisePCSetOperator": (PoiseErr, [PoisePC, PoiseMat]),
    "PoisePCSetOptionsPrefix": (PoiseErr, [PoisePC, c_char_p]),
    "PoisePCSetFromOptions": (PoiseErr, [PoisePC]),
    "PoisePCSetUp": (PoiseErr, [PoisePC]),
    "PoisePCApply": (PoiseErr, [PoisePC, PoiseVec, PoiseVec]),
    "PoisePCSetShell": (PoiseErr, [PoisePC, POINTER(PoiseShellPC), c_void_p]),
    "PoisePCBytes": (PoiseErr, [PoisePC, POINTER(PoiseBytes)]),
    "PoisePCPredictBytes": (PoiseErr, [PoisePC, POINTER(PoiseMatCounts), POINTER(PoisePrediction)]),
    "PoisePCAMGGetSizes": (PoiseErr, [PoisePC, c_int, c_void_p, c_void_p, c_void_p]),
    "PoisePCView": (PoiseErr, [PoisePC]),
    "PoiseKSPCreate": (PoiseErr, [PoiseContext, POINTER(PoiseKSP)]),
    "PoiseKSPDestroy": (PoiseErr, [POINTER(PoiseKSP)]),
    "PoiseKSPSetType": (PoiseErr, [PoiseKSP, c_char_p]),
    "PoiseKSPType": (c_char_p, [PoiseKSP]),
    "PoiseKSPSetOperators": (PoiseErr, [PoiseKSP, PoiseMat, PoiseMat]),
    "PoiseKSPGetPC": (PoiseErr, [PoiseKSP, POINTER(PoisePC)]),
    "PoiseKSPSetTolerances": (PoiseErr, [PoiseKSP, c_double, c_double, c_double, c_int64]),
    "PoiseKSPSetNormType": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPSetPCSide": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPSetComputeEigenvalues": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPSetComputeSingularValues": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPComputeEigenvalues": (PoiseErr, [PoiseKSP, c_int64, c_void_p, c_void_p, c_void_p]),
    "PoiseKSPGMRESHessenberg": (PoiseErr, [PoiseKSP, c_int64, c_void_p, c_void_p]),
    "PoiseKSPGMRESCombine": (PoiseErr, [PoiseKSP, c_int64, c_void_p, PoiseVec]),
    "PoiseKSPComputeExtremeSingularValues": (PoiseErr, [PoiseKSP, c_void_p, c_void_p]),
    "PoiseKSPSetInitialGuessNonzero": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPSetErrorIfNotConverged": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPSetVerify": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPSetErrorIfInaccurate": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPSetProgress": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPGMRESSetRestart": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPGMRESSetBreakdownTolerance": (PoiseErr, [PoiseKSP, c_double]),
    "PoiseKSPLGMRESSetAugDim": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPGCRSetRestart": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPFCGSetMmax": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPLSQRSetComputeVariances": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPLSQRVariances": (PoiseErr, [PoiseKSP, PoiseVec]),
    "PoiseKSPLSQRNorms": (PoiseErr, [PoiseKSP, c_void_p, c_void_p]),
    "PoiseKSPRichardsonSetScale": (PoiseErr, [PoiseKSP, c_double]),
    "PoiseKSPChebyshevSetEigenvalues": (PoiseErr, [PoiseKSP, c_double, c_double]),
    "PoiseKSPSetReusePreconditioner": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPSetOptionsPrefix": (PoiseErr, [PoiseKSP, c_char_p]),
    "PoiseKSPSetFromOptions": (PoiseErr, [PoiseKSP]),
    "PoiseKSPSetUp": (PoiseErr, [PoiseKSP]),
    "PoiseKSPSolve": (PoiseErr, [PoiseKSP, PoiseVec, PoiseVec]),
    "PoiseKSPSolveTranspose": (PoiseErr, [PoiseKSP, PoiseVec, PoiseVec]),
    "PoiseKSPSolveBlock": (PoiseErr, [PoiseKSP, PoiseVec, PoiseVec]),
    "PoiseKSPColumnReason": (c_int, [PoiseKSP, c_int]),
    "PoiseKSPColumnIterations": (c_int64, [PoiseKSP, c_int]),
    "PoiseKSPColumnResidualNorm": (c_double, [PoiseKSP, c_int]),
    "PoiseKSPColumnHistory": (PoiseErr, [PoiseKSP, c_int, c_void_p, c_void_p]),
    "PoiseKSPConvergedReason": (c_int, [PoiseKSP]),
    "PoiseKSPReasonString": (c_char_p, [c_int]),
    "PoiseKSPReasonDetail": (c_char_p, [PoiseKSP]),
    "PoiseKSPIterations": (c_int64, [PoiseKSP]),
    "PoiseKSPResidualNorm": (c_double, [PoiseKSP]),
    "PoiseKSPNormUsed": (c_int, [PoiseKSP]),
    "PoiseKSPNormString": (c_char_p, [c_int]),
    "PoiseKSPKeepHistory": (PoiseErr, [PoiseKSP, c_int]),
    "PoiseKSPHistory": (PoiseErr, [PoiseKSP, c_void_p, c_void_p]),
    "PoiseKSPTrueResidual": (PoiseErr, [PoiseKSP, PoiseVec, PoiseVec, c_void_p]),
    "PoiseKSPInconsistency": (c_double, [PoiseKSP]),
    "PoiseKSPAddMonitor": (PoiseErr, [PoiseKSP, PoiseMonitor, c_void_p]),
    "PoiseKSPSetConvergenceTest": (PoiseErr, [PoiseKSP, PoiseConvergenceTest, c_void_p]),
    "PoiseKSPBuildSolution": (PoiseErr, [PoiseKSP, PoiseVec]),
    "PoisePCBJacobiSetTotalBlocks": (PoiseErr, [PoisePC, c_int64]),
    "PoisePCBJacobiSetLocalBlocks": (PoiseErr, [PoisePC, c_int64, c_void_p]),
    "PoisePCBJacobiGetSubKSP": (PoiseErr, [PoisePC, c_void_p, c_void_p, c_void_p]),
    "PoisePCKSPGetKSP": (PoiseErr, [PoisePC, POINTER(PoiseKSP)]),
    "PoisePCMGSetLevels": (PoiseErr, [PoisePC, c_int]),
    "PoisePCMGGetLevels": (PoiseErr, [PoisePC, c_void_p]),
    "PoisePCMGSetType": (PoiseErr, [PoisePC, c_int]),
    "PoisePCMGSetCycleType": (PoiseErr, [PoisePC, c_int]),
    "PoisePCMGMultiplicativeSetCycles": (PoiseErr, [PoisePC, c_int64]),
    "PoisePCMGSetGalerkin": (PoiseErr, [PoisePC, c_int]),
    "PoisePCMGSetInterpolation": (PoiseErr, [PoisePC, c_int, PoiseMat]),
    "PoisePCMGSetRestriction": (PoiseErr, [PoisePC, c_int, PoiseMat]),
    "PoisePCMGSetInjection": (PoiseErr, [PoisePC, c_int, c_int64, c_void_p]),
    "PoisePCMGSetOperator": (PoiseErr, [PoisePC, c_int, PoiseMat]),
    "PoisePCMGGetSmoother": (PoiseErr, [PoisePC, c_int, POINTER(PoiseKSP)]),
    "PoisePCMGGetCoarseSolve": (PoiseErr, [PoisePC, POINTER(PoiseKSP)]),
    "PoisePCMGSetNumberSmooth": (PoiseErr, [PoisePC, c_int64]),
    "PoiseKSPContext": (PoiseContext, [PoiseKSP]),
    "PoiseKSPBytes": (PoiseErr, [PoiseKSP, POINTER(PoiseBytes)]),
    "PoiseKSPPredictBytes": (PoiseErr, [PoiseKSP, POINTER(PoiseMatCounts), POINTER(PoisePrediction)]),
    "PoiseKSPView": (PoiseErr, [PoiseKSP]),
}

# Keys of all options, of docs/options.md
OPTIONS = frozenset(
    "comm_check comm_exchange comm_fuse comm_gather comm_patience device device_forbid_copies device_id "
    "error_trace gpus help host_threads ksp_atol ksp_bcgsl_ell ksp_cg_variant ksp_chebyshev_eigenvalues "
    "ksp_chebyshev_esteig ksp_chebyshev_esteig_steps ksp_converged_reason ksp_divtol "
    "ksp_error_if_inaccurate ksp_error_if_not_converged ksp_fcg_mmax ksp_gcr_restart ksp_gmres_basis "
    "ksp_gmres_breakdown_tolerance ksp_gmres_cgs_refinement_type ksp_gmres_restart ksp_idr_s "
    "ksp_idr_smoothing ksp_initial_guess_nonzero ksp_lgmres_augment ksp_max_it ksp_monitor "
    "ksp_monitor_every ksp_monitor_true_residual ksp_norm_type ksp_pc_side ksp_precision ksp_progress "
    "ksp_replay ksp_reuse_preconditioner ksp_richardson_scale ksp_rtol ksp_type ksp_verify ksp_view "
    "ksp_view_eigenvalues ksp_view_singularvalues load_progress log_device_time log_view mat_bcsr_kernel "
    "mat_block_size mat_combine mat_csr_kernel mat_csri_chunk mat_csri_hubs mat_index16 mat_load_diagonal "
    "mat_local_type mat_order mat_partition mat_partition_weights mat_seg_length mat_seg_padded mat_type "
    "options_file options_left pc_amg_aggregate_min pc_amg_coarse_size pc_amg_cycle pc_amg_degree "
    "pc_amg_interpolation_degree pc_amg_levels pc_amg_precision pc_amg_redundant_size pc_amg_refresh "
    "pc_amg_smoother pc_amg_threshold pc_amg_type pc_bjacobi_blocks pc_bjacobi_local_blocks "
    "pc_bjacobi_supervariables pc_eisenstat_omega pc_factor_drop_tol pc_factor_fill pc_factor_kernel "
    "pc_factor_levels pc_factor_order pc_factor_pivoting pc_factor_setup_sweeps pc_factor_shift_amount "
    "pc_factor_shift_type pc_factor_solver pc_factor_sweeps pc_factor_triangles pc_factor_zeropivot "
    "pc_jacobi_fixdiagonal pc_lu_max_size pc_mg_cycle_type pc_mg_galerkin pc_mg_levels "
    "pc_mg_multiplicative_cycles pc_mg_type pc_sor_backward pc_sor_forward pc_sor_its pc_sor_lits "
    "pc_sor_local_backward pc_sor_local_forward pc_sor_local_symmetric pc_sor_omega pc_sor_order "
    "pc_sor_symmetric pc_type petsc_index_bits poise_view ranks ranks_bind solve_ranks version ".split()
)

# Those of the process, which objects do not read
PROCESS_OPTIONS = frozenset(
    "comm_check comm_exchange comm_fuse comm_gather comm_patience device device_forbid_copies device_id "
    "error_trace gpus help host_threads load_progress log_device_time log_view options_file options_left "
    "poise_view ranks ranks_bind solve_ranks version ".split()
)
