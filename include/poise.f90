! SPDX-License-Identifier: BSD-3-Clause
! Poise from Fortran 2018, by iso_c_binding. Made from include/poise/*.h by scripts/fortran.py: do not edit.
! The headers document the functions. Compile this file with your program. What C's parameters become:
!
!   PoiseErr, int, enums       integer(c_int)
!   PoiseInt                   integer(POISE_INT). Rows and columns that functions take count from 0
!   double                     real(c_double)
!   PoiseMat, PoiseVec, ...    type(c_ptr); what may be NULL may be c_null_ptr
!   const char *               character(*); in structs a c_ptr to text that ends with c_null_char
!   arrays                     dimension(*). Arrays that stay with the library, and those of functions with
!                              Device in their names, are type(c_ptr): c_loc of a contiguous target
!   arrays that are lent       type(c_ptr): c_f_pointer(c, f, [n]) makes an array of them
!                              POISE_ADOPT is for arrays that C's malloc has made
!   functions                  type(c_funptr): c_funloc of a function with bind(c) and an interface below
!                              If it runs on several ranks that are threads (PoiseRun), it is recursive
!   pointers that may be NULL  optional
!
! What is not set in a struct is 0 or null; the base of indices in arrays is 1.
!
! Left out, as they take a FILE or any number of arguments: PoiseErrorSet, PoiseSetOutput, PoisePrintf,
! PoiseOptionsUnused, PoiseLogView.
! At the end of the module are poise_begin, which starts with the program's command line, views to a file by
! name, and poise_text, which makes a string of C's.
module poise
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer, parameter :: POISE_INT = c_int64_t
  integer(c_int), parameter :: POISE_VERSION_MAJOR = 0
  integer(c_int), parameter :: POISE_VERSION_MINOR = 1
  integer(c_int), parameter :: POISE_VERSION_PATCH = 0
  integer(c_int), parameter :: POISE_OK = 0
  integer(c_int), parameter :: POISE_ERR_ARG = 1
  integer(c_int), parameter :: POISE_ERR_SIZE = 2
  integer(c_int), parameter :: POISE_ERR_MEMORY = 3
  integer(c_int), parameter :: POISE_ERR_STATE = 4
  integer(c_int), parameter :: POISE_ERR_OPTION = 5
  integer(c_int), parameter :: POISE_ERR_UNSUPPORTED = 6
  integer(c_int), parameter :: POISE_ERR_FILE = 7
  integer(c_int), parameter :: POISE_ERR_FORMAT = 8
  integer(c_int), parameter :: POISE_ERR_NUMERIC = 9
  integer(c_int), parameter :: POISE_ERR_NOT_CONVERGED = 10
  integer(c_int), parameter :: POISE_ERR_COMM = 11
  integer(c_int), parameter :: POISE_ERR_DEVICE = 12
  integer(c_int), parameter :: POISE_ERR_USER = 13
  integer(c_int), parameter :: POISE_ERR_REMOTE = 14
  integer(c_int), parameter :: POISE_ERR_INTERNAL = 15
  integer(c_int), parameter :: POISE_COPY = 0
  integer(c_int), parameter :: POISE_ADOPT = 1
  integer(c_int), parameter :: POISE_BORROW = 2
  integer(c_int), parameter :: POISE_OPTION_BOOL = 0
  integer(c_int), parameter :: POISE_OPTION_INT = 1
  integer(c_int), parameter :: POISE_OPTION_REAL = 2
  integer(c_int), parameter :: POISE_OPTION_STRING = 3
  integer(c_int), parameter :: POISE_OPTION_CHOICE = 4
  integer(c_int), parameter :: POISE_OPTION_LENGTH = 256
  integer(c_int), parameter :: POISE_LOG_TEXT = 0
  integer(c_int), parameter :: POISE_LOG_CSV = 1
  integer(c_int), parameter :: POISE_LOG_JSON = 2
  integer(c_int), parameter :: POISE_NORM_1 = 0
  integer(c_int), parameter :: POISE_NORM_2 = 1
  integer(c_int), parameter :: POISE_NORM_INF = 2
  integer(c_int), parameter :: POISE_NORM_FROBENIUS = 3
  integer(POISE_INT), parameter :: POISE_DECIDE = -1
  integer(c_int), parameter :: POISE_BLOCK_FILLS = 8
  integer(c_int), parameter :: POISE_PARTITION_ROWS = 0
  integer(c_int), parameter :: POISE_PARTITION_NONZEROS = 1
  integer(c_int), parameter :: POISE_PARTITION_BYTES = 2
  integer(c_int), parameter :: POISE_PARTITION_GRAPH = 3
  integer(c_int), parameter :: POISE_ORDER_NATURAL = 0
  integer(c_int), parameter :: POISE_ORDER_RCM = 1
  integer(c_int), parameter :: POISE_ORDER_AMD = 2
  integer(c_int), parameter :: POISE_ORDER_MATCH = 3
  integer(c_int), parameter :: POISE_ORDER_MATCH_RCM = 4
  integer(c_int), parameter :: POISE_ORDER_MATCH_AMD = 5
  integer(c_int), parameter :: POISE_ITERATING = 0
  integer(c_int), parameter :: POISE_CONVERGED_RTOL_NORMAL = 1
  integer(c_int), parameter :: POISE_CONVERGED_ATOL_NORMAL = 9
  integer(c_int), parameter :: POISE_CONVERGED_RTOL = 2
  integer(c_int), parameter :: POISE_CONVERGED_ATOL = 3
  integer(c_int), parameter :: POISE_CONVERGED_ITS = 4
  integer(c_int), parameter :: POISE_CONVERGED_HAPPY_BREAKDOWN = 5
  integer(c_int), parameter :: POISE_CONVERGED_USER = 6
  integer(c_int), parameter :: POISE_DIVERGED_NULL = -2
  integer(c_int), parameter :: POISE_DIVERGED_ITS = -3
  integer(c_int), parameter :: POISE_DIVERGED_DTOL = -4
  integer(c_int), parameter :: POISE_DIVERGED_BREAKDOWN = -5
  integer(c_int), parameter :: POISE_DIVERGED_INDEFINITE_PC = -8
  integer(c_int), parameter :: POISE_DIVERGED_NANORINF = -9
  integer(c_int), parameter :: POISE_DIVERGED_INDEFINITE_MAT = -10
  integer(c_int), parameter :: POISE_DIVERGED_USER = -12
  integer(c_int), parameter :: POISE_DIVERGED_ERROR = -13
  integer(c_int), parameter :: POISE_KSP_NORM_DEFAULT = 0
  integer(c_int), parameter :: POISE_KSP_NORM_NONE = 1
  integer(c_int), parameter :: POISE_KSP_NORM_PRECONDITIONED = 2
  integer(c_int), parameter :: POISE_KSP_NORM_UNPRECONDITIONED = 3
  integer(c_int), parameter :: POISE_KSP_NORM_NATURAL = 4
  integer(c_int), parameter :: POISE_PC_LEFT = 0
  integer(c_int), parameter :: POISE_PC_RIGHT = 1
  integer(c_int), parameter :: POISE_PC_MG_MULTIPLICATIVE = 0
  integer(c_int), parameter :: POISE_PC_MG_ADDITIVE = 1
  integer(c_int), parameter :: POISE_PC_MG_FULL = 2
  integer(c_int), parameter :: POISE_PC_MG_KASKADE = 3
  integer(c_int), parameter :: POISE_PC_MG_CYCLE_V = 0
  integer(c_int), parameter :: POISE_PC_MG_CYCLE_W = 1

  type, bind(c) :: PoiseInit
    type(c_ptr) :: prefix = c_null_ptr
    type(c_ptr) :: mpi_comm = c_null_ptr
    integer(c_int) :: serial = 0
    type(c_ptr) :: help = c_null_ptr
    type(c_ptr) :: options = c_null_ptr
    type(c_ptr) :: stream = c_null_ptr
    type(c_ptr) :: out = c_null_ptr
    integer(c_int) :: keep_running = 0
  end type

  type, bind(c) :: PoiseBytes
    integer(c_int64_t) :: host = 0
    integer(c_int64_t) :: device = 0
  end type

  type, bind(c) :: PoisePrediction
    type(PoiseBytes) :: least
    type(PoiseBytes) :: most
    type(c_ptr) :: beyond = c_null_ptr
  end type

  type, bind(c) :: PoiseOption
    type(c_ptr) :: key = c_null_ptr
    integer(c_int) :: type = 0
    integer(c_size_t) :: offset = 0
    type(c_ptr) :: initial = c_null_ptr
    real(c_double) :: min = 0
    real(c_double) :: max = 0
    type(c_ptr) :: choices = c_null_ptr
    type(c_ptr) :: help = c_null_ptr
  end type

  type, bind(c) :: PoiseCSR
    type(c_ptr) :: ptr32 = c_null_ptr
    type(c_ptr) :: col32 = c_null_ptr
    type(c_ptr) :: ptr64 = c_null_ptr
    type(c_ptr) :: col64 = c_null_ptr
    type(c_ptr) :: val = c_null_ptr
    integer(c_int) :: base = 1
  end type

  type, bind(c) :: PoiseBCSR
    type(c_ptr) :: ptr32 = c_null_ptr
    type(c_ptr) :: col32 = c_null_ptr
    type(c_ptr) :: ptr64 = c_null_ptr
    type(c_ptr) :: col64 = c_null_ptr
    type(c_ptr) :: val = c_null_ptr
    integer(c_int) :: base = 1
    integer(c_int) :: row_major = 0
  end type

  type, bind(c) :: PoiseCSC
    type(c_ptr) :: ptr32 = c_null_ptr
    type(c_ptr) :: row32 = c_null_ptr
    type(c_ptr) :: ptr64 = c_null_ptr
    type(c_ptr) :: row64 = c_null_ptr
    type(c_ptr) :: val = c_null_ptr
    integer(c_int) :: base = 1
  end type

  type, bind(c) :: PoiseTriplets
    integer(POISE_INT) :: n = 0
    type(c_ptr) :: row32 = c_null_ptr
    type(c_ptr) :: col32 = c_null_ptr
    type(c_ptr) :: row64 = c_null_ptr
    type(c_ptr) :: col64 = c_null_ptr
    type(c_ptr) :: val = c_null_ptr
    integer(c_int) :: base = 1
  end type

  type, bind(c) :: PoiseShell
    type(c_funptr) :: mult = c_null_funptr
    type(c_funptr) :: mult_transpose = c_null_funptr
    type(c_funptr) :: diagonal = c_null_funptr
  end type

  type, bind(c) :: PoiseBlockFill
    integer(c_int) :: b = 0
    integer(POISE_INT) :: blocks = 0
    real(c_double) :: fill = 0
    real(c_double) :: bytes = 0
  end type

  type, bind(c) :: PoiseMatCounts
    integer(POISE_INT) :: nonzeros = 0
    integer(POISE_INT) :: ghosts = 0
    integer(POISE_INT) :: sends = 0
    integer(c_int) :: transpose = 0
  end type

  type, bind(c) :: PoiseShellPC
    type(c_funptr) :: apply = c_null_funptr
    type(c_funptr) :: setup = c_null_funptr
  end type

  ! What functions of the application's look like.
  abstract interface
    integer(c_int) function PoiseInterrupt(arg) bind(c)
      import
      type(c_ptr), value :: arg
    end function
    integer(c_int) function PoiseShell_mult(arg, x, y) bind(c)
      import
      type(c_ptr), value :: arg, x, y
    end function
    integer(c_int) function PoiseShell_mult_transpose(arg, x, y) bind(c)
      import
      type(c_ptr), value :: arg, x, y
    end function
    integer(c_int) function PoiseShell_diagonal(arg, d) bind(c)
      import
      type(c_ptr), value :: arg, d
    end function
    integer(c_int) function PoiseShellPC_apply(arg, r, z) bind(c)
      import
      type(c_ptr), value :: arg, r, z
    end function
    integer(c_int) function PoiseShellPC_setup(arg, P) bind(c)
      import
      type(c_ptr), value :: arg, P
    end function
    integer(c_int) function PoiseMonitor(ksp, iteration, norm, arg) bind(c)
      import
      type(c_ptr), value :: ksp
      integer(POISE_INT), value :: iteration
      real(c_double), value :: norm
      type(c_ptr), value :: arg
    end function
    integer(c_int) function PoiseConvergenceTest(ksp, iteration, norm, reason, arg) bind(c)
      import
      type(c_ptr), value :: ksp
      integer(POISE_INT), value :: iteration
      real(c_double), value :: norm
      integer(c_int), intent(inout) :: reason
      type(c_ptr), value :: arg
    end function
  end interface

  interface
    integer(c_int) function PoiseVersion() bind(c, name="PoiseVersion")
      import
    end function
    type(c_ptr) function PoiseErrorString_c(code) bind(c, name="PoiseErrorString")
      import
      integer(c_int), value :: code
    end function
    type(c_ptr) function PoiseErrorMessage_c() bind(c, name="PoiseErrorMessage")
      import
    end function
    type(c_ptr) function PoiseErrorText_c() bind(c, name="PoiseErrorText")
      import
    end function
    subroutine PoiseErrorClear() bind(c, name="PoiseErrorClear")
      import
    end subroutine
    integer(c_int) function PoiseErrorTrace_c(code, function, file, line) bind(c, name="PoiseErrorTrace")
      import
      integer(c_int), value :: code
      character(kind=c_char), dimension(*), intent(in) :: function, file
      integer(c_int), value :: line
    end function
    integer(c_int) function PoiseInitialize(argc, argv, init, ctx) bind(c, name="PoiseInitialize")
      import
      integer(c_int), intent(inout), optional :: argc
      type(c_ptr), intent(inout), optional :: argv
      type(PoiseInit), intent(in), optional :: init
      type(c_ptr), intent(out), optional :: ctx
    end function
    integer(c_int) function PoiseFinalize(ctx) bind(c, name="PoiseFinalize")
      import
      type(c_ptr), intent(inout) :: ctx
    end function
    integer(c_int) function PoiseRun(ctx, body, arg) bind(c, name="PoiseRun")
      import
      type(c_ptr), value :: ctx
      type(c_funptr), value :: body
      type(c_ptr), value :: arg
    end function
    integer(c_int) function PoiseAnswered(ctx) bind(c, name="PoiseAnswered")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseRank(ctx) bind(c, name="PoiseRank")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseSize(ctx) bind(c, name="PoiseSize")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseThreads(ctx) bind(c, name="PoiseThreads")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseBarrier(ctx) bind(c, name="PoiseBarrier")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseAgree(ctx, mine) bind(c, name="PoiseAgree")
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: mine
    end function
    integer(c_int) function PoiseSum(ctx, n, v) bind(c, name="PoiseSum")
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: n
      real(c_double), dimension(*), intent(inout) :: v
    end function
    integer(c_int) function PoiseMax(ctx, n, v) bind(c, name="PoiseMax")
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: n
      real(c_double), dimension(*), intent(inout) :: v
    end function
    subroutine PoiseSplit(ctx, N_global, begin, n) bind(c, name="PoiseSplit")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: N_global
      integer(POISE_INT), intent(out) :: begin, n
    end subroutine
    integer(c_int) function PoiseSetInterrupt(ctx, look, arg) bind(c, name="PoiseSetInterrupt")
      import
      type(c_ptr), value :: ctx
      type(c_funptr), value :: look
      type(c_ptr), value :: arg
    end function
    real(c_double) function PoiseTime() bind(c, name="PoiseTime")
      import
    end function
    integer(c_int) function PoiseView(ctx) bind(c, name="PoiseView")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseDeviceMemory(ctx, left, total) bind(c, name="PoiseDeviceMemory")
      import
      type(c_ptr), value :: ctx
      integer(c_int64_t), intent(out), optional :: left, total
    end function
    type(c_ptr) function PoiseStream(ctx) bind(c, name="PoiseStream")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseWait(ctx) bind(c, name="PoiseWait")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseOptionsSet_c(ctx, key, value) bind(c, name="PoiseOptionsSet")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in), optional :: key, value
    end function
    integer(c_int) function PoiseOptionsSetString_c(ctx, text) bind(c, name="PoiseOptionsSetString")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in) :: text
    end function
    integer(c_int) function PoiseOptionsClear_c(ctx, key) bind(c, name="PoiseOptionsClear")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in) :: key
    end function
    integer(c_int) function PoiseOptionsDefaults(table, fields) bind(c, name="PoiseOptionsDefaults")
      import
      type(PoiseOption), dimension(*), intent(in) :: table
      type(c_ptr), value :: fields
    end function
    integer(c_int) function PoiseOptionsRead_c(ctx, prefix, table, fields) bind(c, name="PoiseOptionsRead")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in), optional :: prefix
      type(PoiseOption), dimension(*), intent(in), optional :: table
      type(c_ptr), value :: fields
    end function
    integer(c_int) function PoiseOptionsHas_c(ctx, prefix, key, value) bind(c, name="PoiseOptionsHas")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in), optional :: prefix, key
      type(c_ptr), intent(out), optional :: value
    end function
    integer(c_int) function PoiseOptionsUsed_c(ctx, key) bind(c, name="PoiseOptionsUsed")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in) :: key
    end function
    integer(c_int) function PoiseOptionsHelp(ctx) bind(c, name="PoiseOptionsHelp")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseLogBegin_c(ctx, name) bind(c, name="PoiseLogBegin")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in) :: name
    end function
    integer(c_int) function PoiseLogEnd_c(ctx, name) bind(c, name="PoiseLogEnd")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in) :: name
    end function
    integer(c_int) function PoiseVecCreate(ctx, n, N_global, x) bind(c, name="PoiseVecCreate")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n, N_global
      type(c_ptr), intent(out) :: x
    end function
    integer(c_int) function PoiseVecCreateArray(ctx, n, N_global, array, own, x) bind(c, &
      name="PoiseVecCreateArray")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n, N_global
      type(c_ptr), value :: array
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: x
    end function
    integer(c_int) function PoiseVecCreateDeviceArray(ctx, n, N_global, array, own, x) bind(c, &
      name="PoiseVecCreateDeviceArray")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n, N_global
      type(c_ptr), value :: array
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: x
    end function
    integer(c_int) function PoiseVecDuplicate(x, y) bind(c, name="PoiseVecDuplicate")
      import
      type(c_ptr), value :: x
      type(c_ptr), intent(out) :: y
    end function
    integer(c_int) function PoiseVecCreateBlock(ctx, n, N_global, k, x) bind(c, name="PoiseVecCreateBlock")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n, N_global
      integer(c_int), value :: k
      type(c_ptr), intent(out) :: x
    end function
    integer(c_int) function PoiseVecCreateBlockArray(ctx, n, N_global, k, array, own, x) bind(c, &
      name="PoiseVecCreateBlockArray")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n, N_global
      integer(c_int), value :: k
      type(c_ptr), value :: array
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: x
    end function
    integer(c_int) function PoiseVecCreateBlockDeviceArray(ctx, n, N_global, k, array, own, x) bind(c, &
      name="PoiseVecCreateBlockDeviceArray")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n, N_global
      integer(c_int), value :: k
      type(c_ptr), value :: array
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: x
    end function
    integer(c_int) function PoiseVecColumns(x) bind(c, name="PoiseVecColumns")
      import
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecSetColumns(x, ld, array) bind(c, name="PoiseVecSetColumns")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), value :: ld
      type(c_ptr), value :: array
    end function
    integer(c_int) function PoiseVecGetColumns(x, ld, array) bind(c, name="PoiseVecGetColumns")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), value :: ld
      type(c_ptr), value :: array
    end function
    integer(c_int) function PoiseVecGetColumn(wide, j, x) bind(c, name="PoiseVecGetColumn")
      import
      type(c_ptr), value :: wide
      integer(c_int), value :: j
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecSetColumn(wide, j, x) bind(c, name="PoiseVecSetColumn")
      import
      type(c_ptr), value :: wide
      integer(c_int), value :: j
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecColumnDots(x, y, dots) bind(c, name="PoiseVecColumnDots")
      import
      type(c_ptr), value :: x, y
      real(c_double), dimension(*), intent(inout) :: dots
    end function
    integer(c_int) function PoiseVecColumnNorms(x, norms) bind(c, name="PoiseVecColumnNorms")
      import
      type(c_ptr), value :: x
      real(c_double), intent(out) :: norms
    end function
    integer(c_int) function PoiseVecDestroy(x) bind(c, name="PoiseVecDestroy")
      import
      type(c_ptr), intent(inout) :: x
    end function
    integer(POISE_INT) function PoiseVecSize(x) bind(c, name="PoiseVecSize")
      import
      type(c_ptr), value :: x
    end function
    integer(POISE_INT) function PoiseVecLocalSize(x) bind(c, name="PoiseVecLocalSize")
      import
      type(c_ptr), value :: x
    end function
    subroutine PoiseVecRange(x, begin, end) bind(c, name="PoiseVecRange")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), intent(out) :: begin, end
    end subroutine
    type(c_ptr) function PoiseVecContext(x) bind(c, name="PoiseVecContext")
      import
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecGetRead(x, array) bind(c, name="PoiseVecGetRead")
      import
      type(c_ptr), value :: x
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function PoiseVecGetWrite(x, array) bind(c, name="PoiseVecGetWrite")
      import
      type(c_ptr), value :: x
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function PoiseVecGetUpdate(x, array) bind(c, name="PoiseVecGetUpdate")
      import
      type(c_ptr), value :: x
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function PoiseVecGetDeviceRead(x, array) bind(c, name="PoiseVecGetDeviceRead")
      import
      type(c_ptr), value :: x
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function PoiseVecGetDeviceWrite(x, array) bind(c, name="PoiseVecGetDeviceWrite")
      import
      type(c_ptr), value :: x
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function PoiseVecGetDeviceUpdate(x, array) bind(c, name="PoiseVecGetDeviceUpdate")
      import
      type(c_ptr), value :: x
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function PoiseVecRestore(x, array) bind(c, name="PoiseVecRestore")
      import
      type(c_ptr), value :: x
      type(c_ptr), intent(inout) :: array
    end function
    integer(c_int) function PoiseVecToDevice(x) bind(c, name="PoiseVecToDevice")
      import
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecAddValues(x, n, rows, v) bind(c, name="PoiseVecAddValues")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseVecSetValues(x, n, rows, v) bind(c, name="PoiseVecSetValues")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseVecAssemble(x) bind(c, name="PoiseVecAssemble")
      import
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecSetLocalToGlobal(x, n, rows) bind(c, name="PoiseVecSetLocalToGlobal")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows
    end function
    integer(c_int) function PoiseVecAddValuesLocal(x, n, rows, v) bind(c, name="PoiseVecAddValuesLocal")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseVecSetValuesLocal(x, n, rows, v) bind(c, name="PoiseVecSetValuesLocal")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseVecGetValues(x, n, rows, v) bind(c, name="PoiseVecGetValues")
      import
      type(c_ptr), value :: x
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows
      real(c_double), dimension(*), intent(inout) :: v
    end function
    integer(c_int) function PoiseVecSet(x, a) bind(c, name="PoiseVecSet")
      import
      type(c_ptr), value :: x
      real(c_double), value :: a
    end function
    integer(c_int) function PoiseVecSetRandom(x, seed) bind(c, name="PoiseVecSetRandom")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: seed
    end function
    integer(c_int) function PoiseVecCopy(x, y) bind(c, name="PoiseVecCopy")
      import
      type(c_ptr), value :: x, y
    end function
    integer(c_int) function PoiseVecScale(x, a) bind(c, name="PoiseVecScale")
      import
      type(c_ptr), value :: x
      real(c_double), value :: a
    end function
    integer(c_int) function PoiseVecAXPY(y, a, x) bind(c, name="PoiseVecAXPY")
      import
      type(c_ptr), value :: y
      real(c_double), value :: a
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecAYPX(y, a, x) bind(c, name="PoiseVecAYPX")
      import
      type(c_ptr), value :: y
      real(c_double), value :: a
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecAXPBY(y, a, b, x) bind(c, name="PoiseVecAXPBY")
      import
      type(c_ptr), value :: y
      real(c_double), value :: a, b
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecWAXPY(w, a, x, y) bind(c, name="PoiseVecWAXPY")
      import
      type(c_ptr), value :: w
      real(c_double), value :: a
      type(c_ptr), value :: x, y
    end function
    integer(c_int) function PoiseVecMAXPY(y, k, a, x) bind(c, name="PoiseVecMAXPY")
      import
      type(c_ptr), value :: y
      integer(c_int), value :: k
      real(c_double), dimension(*), intent(in) :: a
      type(c_ptr), dimension(*), intent(in) :: x
    end function
    integer(c_int) function PoiseVecPointwiseMult(w, x, y) bind(c, name="PoiseVecPointwiseMult")
      import
      type(c_ptr), value :: w, x, y
    end function
    integer(c_int) function PoiseVecPointwiseDivide(w, x, y) bind(c, name="PoiseVecPointwiseDivide")
      import
      type(c_ptr), value :: w, x, y
    end function
    integer(c_int) function PoiseVecReciprocal(x) bind(c, name="PoiseVecReciprocal")
      import
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecDot(x, y, dot) bind(c, name="PoiseVecDot")
      import
      type(c_ptr), value :: x, y
      real(c_double), intent(out) :: dot
    end function
    integer(c_int) function PoiseVecMDot(y, k, x, dots) bind(c, name="PoiseVecMDot")
      import
      type(c_ptr), value :: y
      integer(c_int), value :: k
      type(c_ptr), dimension(*), intent(in) :: x
      real(c_double), dimension(*), intent(inout) :: dots
    end function
    integer(c_int) function PoiseVecNorm(x, type, norm) bind(c, name="PoiseVecNorm")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: type
      real(c_double), intent(out) :: norm
    end function
    integer(c_int) function PoiseVecSumEntries(x, sum) bind(c, name="PoiseVecSumEntries")
      import
      type(c_ptr), value :: x
      real(c_double), intent(out) :: sum
    end function
    integer(c_int) function PoiseVecAXPYDot(y, a, x, yy) bind(c, name="PoiseVecAXPYDot")
      import
      type(c_ptr), value :: y
      real(c_double), value :: a
      type(c_ptr), value :: x
      real(c_double), intent(out) :: yy
    end function
    integer(c_int) function PoiseVecDotNorm2(x, y, xy, yy) bind(c, name="PoiseVecDotNorm2")
      import
      type(c_ptr), value :: x, y
      real(c_double), intent(out) :: xy, yy
    end function
    integer(c_int) function PoiseVecBytes(x, bytes) bind(c, name="PoiseVecBytes")
      import
      type(c_ptr), value :: x
      type(PoiseBytes), intent(out) :: bytes
    end function
    integer(c_int) function PoiseVecPredictBytes(ctx, n, p) bind(c, name="PoiseVecPredictBytes")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n
      type(PoisePrediction), intent(out) :: p
    end function
    integer(c_int) function PoiseVecView(x) bind(c, name="PoiseVecView")
      import
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseVecSave_c(x, path) bind(c, name="PoiseVecSave")
      import
      type(c_ptr), value :: x
      character(kind=c_char), dimension(*), intent(in) :: path
    end function
    integer(c_int) function PoiseVecLoad_c(ctx, n, N_global, path, x) bind(c, name="PoiseVecLoad")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n, N_global
      character(kind=c_char), dimension(*), intent(in) :: path
      type(c_ptr), intent(out) :: x
    end function
    integer(c_int) function PoiseMatCreateCSR(ctx, m, n, M_global, N_global, csr, own, A) bind(c, &
      name="PoiseMatCreateCSR")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseCSR), intent(in) :: csr
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatCreateDeviceCSR(ctx, m, n, M_global, N_global, csr, own, A) bind(c, &
      name="PoiseMatCreateDeviceCSR")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseCSR), intent(in) :: csr
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatCreateBCSR(ctx, b, m, n, M_global, N_global, bcsr, own, A) bind(c, &
      name="PoiseMatCreateBCSR")
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: b
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseBCSR), intent(in) :: bcsr
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatCreateDeviceBCSR(ctx, b, m, n, M_global, N_global, bcsr, own, A) bind(c, &
      name="PoiseMatCreateDeviceBCSR")
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: b
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseBCSR), intent(in) :: bcsr
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatCreateCSC(ctx, m, n, M_global, N_global, csc, own, A) bind(c, &
      name="PoiseMatCreateCSC")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseCSC), intent(in) :: csc
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatCreateDeviceCSC(ctx, m, n, M_global, N_global, csc, own, A) bind(c, &
      name="PoiseMatCreateDeviceCSC")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseCSC), intent(in) :: csc
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatCreateTriplets(ctx, m, n, M_global, N_global, triplets, own, A) bind(c, &
      name="PoiseMatCreateTriplets")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseTriplets), intent(in) :: triplets
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatCreateDeviceTriplets(ctx, m, n, M_global, N_global, triplets, own, A) &
      bind(c, name="PoiseMatCreateDeviceTriplets")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseTriplets), intent(in) :: triplets
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatCreate(ctx, m, n, M_global, N_global, A) bind(c, name="PoiseMatCreate")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatAddBlock(A, nr, rows, nc, cols, v) bind(c, name="PoiseMatAddBlock")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: nr
      integer(POISE_INT), dimension(*), intent(in) :: rows
      integer(c_int), value :: nc
      integer(POISE_INT), dimension(*), intent(in) :: cols
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatSetBlock(A, nr, rows, nc, cols, v) bind(c, name="PoiseMatSetBlock")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: nr
      integer(POISE_INT), dimension(*), intent(in) :: rows
      integer(c_int), value :: nc
      integer(POISE_INT), dimension(*), intent(in) :: cols
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatAddEntries(A, n, rows, cols, v) bind(c, name="PoiseMatAddEntries")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows, cols
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatSetEntries(A, n, rows, cols, v) bind(c, name="PoiseMatSetEntries")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows, cols
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatSetLocalToGlobal(A, nr, rows, nc, cols) bind(c, &
      name="PoiseMatSetLocalToGlobal")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: nr
      integer(POISE_INT), dimension(*), intent(in) :: rows
      integer(POISE_INT), value :: nc
      integer(POISE_INT), dimension(*), intent(in) :: cols
    end function
    integer(c_int) function PoiseMatAddBlockLocal(A, nr, rows, nc, cols, v) bind(c, &
      name="PoiseMatAddBlockLocal")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: nr
      integer(POISE_INT), dimension(*), intent(in) :: rows
      integer(c_int), value :: nc
      integer(POISE_INT), dimension(*), intent(in) :: cols
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatSetBlockLocal(A, nr, rows, nc, cols, v) bind(c, &
      name="PoiseMatSetBlockLocal")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: nr
      integer(POISE_INT), dimension(*), intent(in) :: rows
      integer(c_int), value :: nc
      integer(POISE_INT), dimension(*), intent(in) :: cols
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatAssemble(A) bind(c, name="PoiseMatAssemble")
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoiseMatZeroEntries(A) bind(c, name="PoiseMatZeroEntries")
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoiseMatSetValuesCSR(A, val) bind(c, name="PoiseMatSetValuesCSR")
      import
      type(c_ptr), value :: A
      real(c_double), dimension(*), intent(in) :: val
    end function
    integer(c_int) function PoiseMatSetValuesBCSR(A, row_major, val) bind(c, name="PoiseMatSetValuesBCSR")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: row_major
      real(c_double), dimension(*), intent(in) :: val
    end function
    integer(c_int) function PoiseMatSetPatternCOO(A, n, rows, cols) bind(c, name="PoiseMatSetPatternCOO")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows, cols
    end function
    integer(c_int) function PoiseMatSetValuesCOO(A, v) bind(c, name="PoiseMatSetValuesCOO")
      import
      type(c_ptr), value :: A
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatAddValuesCOO(A, v) bind(c, name="PoiseMatAddValuesCOO")
      import
      type(c_ptr), value :: A
      real(c_double), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatSetPatternDeviceCOO(A, n, rows, cols) bind(c, &
      name="PoiseMatSetPatternDeviceCOO")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: n
      type(c_ptr), value :: rows, cols
    end function
    integer(c_int) function PoiseMatSetValuesDeviceCOO(A, v) bind(c, name="PoiseMatSetValuesDeviceCOO")
      import
      type(c_ptr), value :: A, v
    end function
    integer(c_int) function PoiseMatAddValuesDeviceCOO(A, v) bind(c, name="PoiseMatAddValuesDeviceCOO")
      import
      type(c_ptr), value :: A, v
    end function
    integer(c_int) function PoiseMatSetBlockPatternCOO(A, n, rows, cols) bind(c, &
      name="PoiseMatSetBlockPatternCOO")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows, cols
    end function
    integer(c_int) function PoiseMatSetBlockPatternDeviceCOO(A, n, rows, cols) bind(c, &
      name="PoiseMatSetBlockPatternDeviceCOO")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: n
      type(c_ptr), value :: rows, cols
    end function
    integer(c_int) function PoiseMatCreateShell(ctx, m, n, M_global, N_global, functions, arg, A) bind(c, &
      name="PoiseMatCreateShell")
      import
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, M_global, N_global
      type(PoiseShell), intent(in), optional :: functions
      type(c_ptr), value :: arg
      type(c_ptr), intent(out), optional :: A
    end function
    integer(c_int) function PoiseMatDestroy(A) bind(c, name="PoiseMatDestroy")
      import
      type(c_ptr), intent(inout) :: A
    end function
    integer(c_int) function PoiseMatSetType_c(A, type) bind(c, name="PoiseMatSetType")
      import
      type(c_ptr), value :: A
      character(kind=c_char), dimension(*), intent(in) :: type
    end function
    type(c_ptr) function PoiseMatType_c(A) bind(c, name="PoiseMatType")
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoiseMatSetLocalType_c(A, type) bind(c, name="PoiseMatSetLocalType")
      import
      type(c_ptr), value :: A
      character(kind=c_char), dimension(*), intent(in) :: type
    end function
    integer(c_int) function PoiseMatSetCSRKernel_c(A, name) bind(c, name="PoiseMatSetCSRKernel")
      import
      type(c_ptr), value :: A
      character(kind=c_char), dimension(*), intent(in) :: name
    end function
    type(c_ptr) function PoiseMatCSRKernel_c(A) bind(c, name="PoiseMatCSRKernel")
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoiseMatSetOptionsPrefix_c(A, prefix) bind(c, name="PoiseMatSetOptionsPrefix")
      import
      type(c_ptr), value :: A
      character(kind=c_char), dimension(*), intent(in) :: prefix
    end function
    integer(c_int) function PoiseMatSetFromOptions(A) bind(c, name="PoiseMatSetFromOptions")
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoiseMatSetBlockSize(A, b) bind(c, name="PoiseMatSetBlockSize")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: b
    end function
    integer(c_int) function PoiseMatBlockSize(A) bind(c, name="PoiseMatBlockSize")
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoiseMatFindBlockSize(A, table, b) bind(c, name="PoiseMatFindBlockSize")
      import
      type(c_ptr), value :: A
      type(PoiseBlockFill), dimension(*), intent(inout) :: table
      integer(c_int), intent(out) :: b
    end function
    integer(c_int) function PoiseMatSetPartition(A, partition) bind(c, name="PoiseMatSetPartition")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: partition
    end function
    integer(c_int) function PoiseMatSetOrder(A, order) bind(c, name="PoiseMatSetOrder")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: order
    end function
    integer(c_int) function PoiseMatSetPartitionWeights(A, n, weights) bind(c, &
      name="PoiseMatSetPartitionWeights")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: n
      real(c_double), dimension(*), intent(in), optional :: weights
    end function
    integer(c_int) function PoiseMatRearrange(A, B, P) bind(c, name="PoiseMatRearrange")
      import
      type(c_ptr), value :: A
      type(c_ptr), intent(out), optional :: B, P
    end function
    integer(c_int) function PoiseMatMult(A, x, y) bind(c, name="PoiseMatMult")
      import
      type(c_ptr), value :: A, x, y
    end function
    integer(c_int) function PoiseMatMultAdd(A, alpha, x, b, y) bind(c, name="PoiseMatMultAdd")
      import
      type(c_ptr), value :: A
      real(c_double), value :: alpha
      type(c_ptr), value :: x
      real(c_double), value :: b
      type(c_ptr), value :: y
    end function
    integer(c_int) function PoiseMatMultTranspose(A, x, y) bind(c, name="PoiseMatMultTranspose")
      import
      type(c_ptr), value :: A, x, y
    end function
    integer(c_int) function PoiseMatMultBlock(A, X, Y) bind(c, name="PoiseMatMultBlock")
      import
      type(c_ptr), value :: A, X, Y
    end function
    integer(c_int) function PoiseMatMultTransposeBlock(A, X, Y) bind(c, name="PoiseMatMultTransposeBlock")
      import
      type(c_ptr), value :: A, X, Y
    end function
    integer(c_int) function PoiseMatMultDot(A, x, y, u, dot) bind(c, name="PoiseMatMultDot")
      import
      type(c_ptr), value :: A, x, y, u
      real(c_double), intent(out) :: dot
    end function
    integer(c_int) function PoiseMatResidual(A, b, x, r) bind(c, name="PoiseMatResidual")
      import
      type(c_ptr), value :: A, b, x, r
    end function
    integer(c_int) function PoiseMatGetDiagonal(A, d) bind(c, name="PoiseMatGetDiagonal")
      import
      type(c_ptr), value :: A, d
    end function
    integer(c_int) function PoiseMatZeroRows(A, n, rows, diagonal, x, b) bind(c, name="PoiseMatZeroRows")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in), optional :: rows
      real(c_double), value :: diagonal
      type(c_ptr), value :: x, b
    end function
    integer(c_int) function PoiseMatZeroRowsColumns(A, n, rows, diagonal, x, b) bind(c, &
      name="PoiseMatZeroRowsColumns")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in), optional :: rows
      real(c_double), value :: diagonal
      type(c_ptr), value :: x, b
    end function
    integer(c_int) function PoiseMatScale(A, alpha) bind(c, name="PoiseMatScale")
      import
      type(c_ptr), value :: A
      real(c_double), value :: alpha
    end function
    integer(c_int) function PoiseMatDiagonalScale(A, l, r) bind(c, name="PoiseMatDiagonalScale")
      import
      type(c_ptr), value :: A, l, r
    end function
    integer(c_int) function PoiseMatShift(A, alpha) bind(c, name="PoiseMatShift")
      import
      type(c_ptr), value :: A
      real(c_double), value :: alpha
    end function
    integer(c_int) function PoiseMatAddDiagonal(A, d) bind(c, name="PoiseMatAddDiagonal")
      import
      type(c_ptr), value :: A, d
    end function
    integer(c_int) function PoiseMatSetDiagonal(A, d) bind(c, name="PoiseMatSetDiagonal")
      import
      type(c_ptr), value :: A, d
    end function
    integer(c_int) function PoiseMatAXPY(Y, a, X) bind(c, name="PoiseMatAXPY")
      import
      type(c_ptr), value :: Y
      real(c_double), value :: a
      type(c_ptr), value :: X
    end function
    integer(c_int) function PoiseMatNorm(A, type, norm) bind(c, name="PoiseMatNorm")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: type
      real(c_double), intent(out) :: norm
    end function
    integer(c_int) function PoiseMatGetRow(A, row, n, cols, v) bind(c, name="PoiseMatGetRow")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), value :: row
      integer(POISE_INT), intent(out), optional :: n
      type(c_ptr), intent(out), optional :: cols, v
    end function
    integer(c_int) function PoiseMatDuplicate(A, values, B) bind(c, name="PoiseMatDuplicate")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: values
      type(c_ptr), intent(out) :: B
    end function
    integer(c_int) function PoiseMatTranspose(A, T) bind(c, name="PoiseMatTranspose")
      import
      type(c_ptr), value :: A
      type(c_ptr), intent(out) :: T
    end function
    integer(c_int) function PoiseMatIsTranspose(A, B, tol, is) bind(c, name="PoiseMatIsTranspose")
      import
      type(c_ptr), value :: A, B
      real(c_double), value :: tol
      integer(c_int), intent(out) :: is
    end function
    integer(c_int) function PoiseMatIsSymmetric(A, tol, is) bind(c, name="PoiseMatIsSymmetric")
      import
      type(c_ptr), value :: A
      real(c_double), value :: tol
      integer(c_int), intent(out) :: is
    end function
    integer(c_int) function PoiseMatSetNullSpace(A, constant, n, v) bind(c, name="PoiseMatSetNullSpace")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: constant, n
      type(c_ptr), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatSetTransposeNullSpace(A, constant, n, v) bind(c, &
      name="PoiseMatSetTransposeNullSpace")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: constant, n
      type(c_ptr), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatSetNearNullSpace(A, constant, n, v) bind(c, &
      name="PoiseMatSetNearNullSpace")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: constant, n
      type(c_ptr), dimension(*), intent(in) :: v
    end function
    integer(c_int) function PoiseMatGetNearNullSpace(A, n, v) bind(c, name="PoiseMatGetNearNullSpace")
      import
      type(c_ptr), value :: A
      integer(c_int), intent(out) :: n
      type(c_ptr), intent(out) :: v
    end function
    integer(c_int) function PoiseMatSetCoordinates(A, dim, n, x) bind(c, name="PoiseMatSetCoordinates")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: dim
      integer(POISE_INT), value :: n
      real(c_double), dimension(*), intent(in) :: x
    end function
    integer(c_int) function PoiseMatSetDeviceCoordinates(A, dim, n, x) bind(c, &
      name="PoiseMatSetDeviceCoordinates")
      import
      type(c_ptr), value :: A
      integer(c_int), value :: dim
      integer(POISE_INT), value :: n
      type(c_ptr), value :: x
    end function
    subroutine PoiseMatSizes(A, M, N) bind(c, name="PoiseMatSizes")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), intent(out), optional :: M, N
    end subroutine
    subroutine PoiseMatLocalSizes(A, m, n) bind(c, name="PoiseMatLocalSizes")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), intent(out), optional :: m, n
    end subroutine
    integer(c_int) function PoiseMatNonzeros(A, nz) bind(c, name="PoiseMatNonzeros")
      import
      type(c_ptr), value :: A
      integer(POISE_INT), intent(out) :: nz
    end function
    integer(c_int) function PoiseMatCreateVecs(A, x, y) bind(c, name="PoiseMatCreateVecs")
      import
      type(c_ptr), value :: A
      type(c_ptr), intent(out), optional :: x, y
    end function
    integer(c_int) function PoiseMatCopyCSR(A, ptr, col, val) bind(c, name="PoiseMatCopyCSR")
      import
      type(c_ptr), value :: A
      type(c_ptr), intent(out) :: ptr, col, val
    end function
    type(c_ptr) function PoiseMatContext(A) bind(c, name="PoiseMatContext")
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoiseMatBytes(A, bytes, plain) bind(c, name="PoiseMatBytes")
      import
      type(c_ptr), value :: A
      type(PoiseBytes), intent(out), optional :: bytes
      integer(c_int64_t), intent(out), optional :: plain
    end function
    integer(c_int) function PoiseMatPredictBytes(A, counts, p) bind(c, name="PoiseMatPredictBytes")
      import
      type(c_ptr), value :: A
      type(PoiseMatCounts), intent(in), optional :: counts
      type(PoisePrediction), intent(out), optional :: p
    end function
    integer(c_int) function PoiseMatView(A) bind(c, name="PoiseMatView")
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoiseMatLoad_c(ctx, path, A) bind(c, name="PoiseMatLoad")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in) :: path
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatSave_c(A, path) bind(c, name="PoiseMatSave")
      import
      type(c_ptr), value :: A
      character(kind=c_char), dimension(*), intent(in) :: path
    end function
    integer(c_int) function PoiseMatMatMult(A, B, C) bind(c, name="PoiseMatMatMult")
      import
      type(c_ptr), value :: A, B
      type(c_ptr), intent(out) :: C
    end function
    integer(c_int) function PoiseMatPtAP(A, P, C) bind(c, name="PoiseMatPtAP")
      import
      type(c_ptr), value :: A, P
      type(c_ptr), intent(out) :: C
    end function
    integer(c_int) function PoisePCCreate(ctx, pc) bind(c, name="PoisePCCreate")
      import
      type(c_ptr), value :: ctx
      type(c_ptr), intent(out) :: pc
    end function
    integer(c_int) function PoisePCDestroy(pc) bind(c, name="PoisePCDestroy")
      import
      type(c_ptr), intent(inout) :: pc
    end function
    integer(c_int) function PoisePCSetType_c(pc, type) bind(c, name="PoisePCSetType")
      import
      type(c_ptr), value :: pc
      character(kind=c_char), dimension(*), intent(in) :: type
    end function
    type(c_ptr) function PoisePCType_c(pc) bind(c, name="PoisePCType")
      import
      type(c_ptr), value :: pc
    end function
    integer(c_int) function PoisePCSetOperator(pc, P) bind(c, name="PoisePCSetOperator")
      import
      type(c_ptr), value :: pc, P
    end function
    integer(c_int) function PoisePCSetOptionsPrefix_c(pc, prefix) bind(c, name="PoisePCSetOptionsPrefix")
      import
      type(c_ptr), value :: pc
      character(kind=c_char), dimension(*), intent(in) :: prefix
    end function
    integer(c_int) function PoisePCSetFromOptions(pc) bind(c, name="PoisePCSetFromOptions")
      import
      type(c_ptr), value :: pc
    end function
    integer(c_int) function PoisePCSetUp(pc) bind(c, name="PoisePCSetUp")
      import
      type(c_ptr), value :: pc
    end function
    integer(c_int) function PoisePCApply(pc, r, z) bind(c, name="PoisePCApply")
      import
      type(c_ptr), value :: pc, r, z
    end function
    integer(c_int) function PoisePCSetShell(pc, functions, arg) bind(c, name="PoisePCSetShell")
      import
      type(c_ptr), value :: pc
      type(PoiseShellPC), intent(in), optional :: functions
      type(c_ptr), value :: arg
    end function
    integer(c_int) function PoisePCBytes(pc, bytes) bind(c, name="PoisePCBytes")
      import
      type(c_ptr), value :: pc
      type(PoiseBytes), intent(out) :: bytes
    end function
    integer(c_int) function PoisePCPredictBytes(pc, counts, p) bind(c, name="PoisePCPredictBytes")
      import
      type(c_ptr), value :: pc
      type(PoiseMatCounts), intent(in), optional :: counts
      type(PoisePrediction), intent(out), optional :: p
    end function
    integer(c_int) function PoisePCAMGGetSizes(pc, room, rows, entries, levels) bind(c, &
      name="PoisePCAMGGetSizes")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: room
      integer(POISE_INT), intent(out) :: rows, entries
      integer(c_int), intent(out) :: levels
    end function
    integer(c_int) function PoisePCView(pc) bind(c, name="PoisePCView")
      import
      type(c_ptr), value :: pc
    end function
    integer(c_int) function PoiseKSPCreate(ctx, ksp) bind(c, name="PoiseKSPCreate")
      import
      type(c_ptr), value :: ctx
      type(c_ptr), intent(out) :: ksp
    end function
    integer(c_int) function PoiseKSPDestroy(ksp) bind(c, name="PoiseKSPDestroy")
      import
      type(c_ptr), intent(inout) :: ksp
    end function
    integer(c_int) function PoiseKSPSetType_c(ksp, type) bind(c, name="PoiseKSPSetType")
      import
      type(c_ptr), value :: ksp
      character(kind=c_char), dimension(*), intent(in) :: type
    end function
    type(c_ptr) function PoiseKSPType_c(ksp) bind(c, name="PoiseKSPType")
      import
      type(c_ptr), value :: ksp
    end function
    integer(c_int) function PoiseKSPSetOperators(ksp, A, P) bind(c, name="PoiseKSPSetOperators")
      import
      type(c_ptr), value :: ksp, A, P
    end function
    integer(c_int) function PoiseKSPGetPC(ksp, pc) bind(c, name="PoiseKSPGetPC")
      import
      type(c_ptr), value :: ksp
      type(c_ptr), intent(out) :: pc
    end function
    integer(c_int) function PoiseKSPSetTolerances(ksp, rtol, atol, dtol, maxits) bind(c, &
      name="PoiseKSPSetTolerances")
      import
      type(c_ptr), value :: ksp
      real(c_double), value :: rtol, atol, dtol
      integer(POISE_INT), value :: maxits
    end function
    integer(c_int) function PoiseKSPSetNormType(ksp, norm) bind(c, name="PoiseKSPSetNormType")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: norm
    end function
    integer(c_int) function PoiseKSPSetPCSide(ksp, side) bind(c, name="PoiseKSPSetPCSide")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: side
    end function
    integer(c_int) function PoiseKSPSetComputeEigenvalues(ksp, on) bind(c, &
      name="PoiseKSPSetComputeEigenvalues")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPSetComputeSingularValues(ksp, on) bind(c, &
      name="PoiseKSPSetComputeSingularValues")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPComputeEigenvalues(ksp, n, real, imaginary, count) bind(c, &
      name="PoiseKSPComputeEigenvalues")
      import
      type(c_ptr), value :: ksp
      integer(POISE_INT), value :: n
      real(c_double), intent(out) :: real, imaginary
      integer(POISE_INT), intent(out) :: count
    end function
    integer(c_int) function PoiseKSPGMRESHessenberg(ksp, room, h, n) bind(c, name="PoiseKSPGMRESHessenberg")
      import
      type(c_ptr), value :: ksp
      integer(POISE_INT), value :: room
      real(c_double), intent(out) :: h
      integer(POISE_INT), intent(out) :: n
    end function
    integer(c_int) function PoiseKSPGMRESCombine(ksp, n, y, x) bind(c, name="PoiseKSPGMRESCombine")
      import
      type(c_ptr), value :: ksp
      integer(POISE_INT), value :: n
      real(c_double), dimension(*), intent(in) :: y
      type(c_ptr), value :: x
    end function
    integer(c_int) function PoiseKSPComputeExtremeSingularValues(ksp, largest, least) bind(c, &
      name="PoiseKSPComputeExtremeSingularValues")
      import
      type(c_ptr), value :: ksp
      real(c_double), intent(out) :: largest, least
    end function
    integer(c_int) function PoiseKSPSetInitialGuessNonzero(ksp, nonzero) bind(c, &
      name="PoiseKSPSetInitialGuessNonzero")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: nonzero
    end function
    integer(c_int) function PoiseKSPSetErrorIfNotConverged(ksp, on) bind(c, &
      name="PoiseKSPSetErrorIfNotConverged")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPSetVerify(ksp, on) bind(c, name="PoiseKSPSetVerify")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPSetErrorIfInaccurate(ksp, on) bind(c, &
      name="PoiseKSPSetErrorIfInaccurate")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPSetProgress(ksp, on) bind(c, name="PoiseKSPSetProgress")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPGMRESSetRestart(ksp, restart) bind(c, name="PoiseKSPGMRESSetRestart")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: restart
    end function
    integer(c_int) function PoiseKSPGMRESSetBreakdownTolerance(ksp, tolerance) bind(c, &
      name="PoiseKSPGMRESSetBreakdownTolerance")
      import
      type(c_ptr), value :: ksp
      real(c_double), value :: tolerance
    end function
    integer(c_int) function PoiseKSPLGMRESSetAugDim(ksp, augment) bind(c, name="PoiseKSPLGMRESSetAugDim")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: augment
    end function
    integer(c_int) function PoiseKSPGCRSetRestart(ksp, restart) bind(c, name="PoiseKSPGCRSetRestart")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: restart
    end function
    integer(c_int) function PoiseKSPFCGSetMmax(ksp, most) bind(c, name="PoiseKSPFCGSetMmax")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: most
    end function
    integer(c_int) function PoiseKSPLSQRSetComputeVariances(ksp, on) bind(c, &
      name="PoiseKSPLSQRSetComputeVariances")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPLSQRVariances(ksp, v) bind(c, name="PoiseKSPLSQRVariances")
      import
      type(c_ptr), value :: ksp, v
    end function
    integer(c_int) function PoiseKSPLSQRNorms(ksp, normal, size) bind(c, name="PoiseKSPLSQRNorms")
      import
      type(c_ptr), value :: ksp
      real(c_double), intent(out) :: normal, size
    end function
    integer(c_int) function PoiseKSPRichardsonSetScale(ksp, scale) bind(c, &
      name="PoiseKSPRichardsonSetScale")
      import
      type(c_ptr), value :: ksp
      real(c_double), value :: scale
    end function
    integer(c_int) function PoiseKSPChebyshevSetEigenvalues(ksp, emax, emin) bind(c, &
      name="PoiseKSPChebyshevSetEigenvalues")
      import
      type(c_ptr), value :: ksp
      real(c_double), value :: emax, emin
    end function
    integer(c_int) function PoiseKSPSetReusePreconditioner(ksp, on) bind(c, &
      name="PoiseKSPSetReusePreconditioner")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPSetOptionsPrefix_c(ksp, prefix) bind(c, name="PoiseKSPSetOptionsPrefix")
      import
      type(c_ptr), value :: ksp
      character(kind=c_char), dimension(*), intent(in) :: prefix
    end function
    integer(c_int) function PoiseKSPSetFromOptions(ksp) bind(c, name="PoiseKSPSetFromOptions")
      import
      type(c_ptr), value :: ksp
    end function
    integer(c_int) function PoiseKSPSetUp(ksp) bind(c, name="PoiseKSPSetUp")
      import
      type(c_ptr), value :: ksp
    end function
    integer(c_int) function PoiseKSPSolve(ksp, b, x) bind(c, name="PoiseKSPSolve")
      import
      type(c_ptr), value :: ksp, b, x
    end function
    integer(c_int) function PoiseKSPSolveTranspose(ksp, b, x) bind(c, name="PoiseKSPSolveTranspose")
      import
      type(c_ptr), value :: ksp, b, x
    end function
    integer(c_int) function PoiseKSPSolveBlock(ksp, B, X) bind(c, name="PoiseKSPSolveBlock")
      import
      type(c_ptr), value :: ksp, B, X
    end function
    integer(c_int) function PoiseKSPColumnReason(ksp, j) bind(c, name="PoiseKSPColumnReason")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: j
    end function
    integer(POISE_INT) function PoiseKSPColumnIterations(ksp, j) bind(c, name="PoiseKSPColumnIterations")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: j
    end function
    real(c_double) function PoiseKSPColumnResidualNorm(ksp, j) bind(c, name="PoiseKSPColumnResidualNorm")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: j
    end function
    integer(c_int) function PoiseKSPColumnHistory(ksp, j, count, norms) bind(c, &
      name="PoiseKSPColumnHistory")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: j
      integer(POISE_INT), intent(out) :: count
      type(c_ptr), intent(out) :: norms
    end function
    integer(c_int) function PoiseKSPConvergedReason(ksp) bind(c, name="PoiseKSPConvergedReason")
      import
      type(c_ptr), value :: ksp
    end function
    type(c_ptr) function PoiseKSPReasonString_c(reason) bind(c, name="PoiseKSPReasonString")
      import
      integer(c_int), value :: reason
    end function
    type(c_ptr) function PoiseKSPReasonDetail_c(ksp) bind(c, name="PoiseKSPReasonDetail")
      import
      type(c_ptr), value :: ksp
    end function
    integer(POISE_INT) function PoiseKSPIterations(ksp) bind(c, name="PoiseKSPIterations")
      import
      type(c_ptr), value :: ksp
    end function
    real(c_double) function PoiseKSPResidualNorm(ksp) bind(c, name="PoiseKSPResidualNorm")
      import
      type(c_ptr), value :: ksp
    end function
    integer(c_int) function PoiseKSPNormUsed(ksp) bind(c, name="PoiseKSPNormUsed")
      import
      type(c_ptr), value :: ksp
    end function
    type(c_ptr) function PoiseKSPNormString_c(norm) bind(c, name="PoiseKSPNormString")
      import
      integer(c_int), value :: norm
    end function
    integer(c_int) function PoiseKSPKeepHistory(ksp, on) bind(c, name="PoiseKSPKeepHistory")
      import
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPHistory(ksp, count, norms) bind(c, name="PoiseKSPHistory")
      import
      type(c_ptr), value :: ksp
      integer(POISE_INT), intent(out) :: count
      type(c_ptr), intent(out) :: norms
    end function
    integer(c_int) function PoiseKSPTrueResidual(ksp, b, x, norm) bind(c, name="PoiseKSPTrueResidual")
      import
      type(c_ptr), value :: ksp, b, x
      real(c_double), intent(out) :: norm
    end function
    real(c_double) function PoiseKSPInconsistency(ksp) bind(c, name="PoiseKSPInconsistency")
      import
      type(c_ptr), value :: ksp
    end function
    integer(c_int) function PoiseKSPAddMonitor(ksp, monitor, arg) bind(c, name="PoiseKSPAddMonitor")
      import
      type(c_ptr), value :: ksp
      type(c_funptr), value :: monitor
      type(c_ptr), value :: arg
    end function
    integer(c_int) function PoiseKSPSetConvergenceTest(ksp, test, arg) bind(c, &
      name="PoiseKSPSetConvergenceTest")
      import
      type(c_ptr), value :: ksp
      type(c_funptr), value :: test
      type(c_ptr), value :: arg
    end function
    integer(c_int) function PoiseKSPBuildSolution(ksp, x) bind(c, name="PoiseKSPBuildSolution")
      import
      type(c_ptr), value :: ksp, x
    end function
    integer(c_int) function PoisePCBJacobiSetTotalBlocks(pc, blocks) bind(c, &
      name="PoisePCBJacobiSetTotalBlocks")
      import
      type(c_ptr), value :: pc
      integer(POISE_INT), value :: blocks
    end function
    integer(c_int) function PoisePCBJacobiSetLocalBlocks(pc, blocks, lengths) bind(c, &
      name="PoisePCBJacobiSetLocalBlocks")
      import
      type(c_ptr), value :: pc
      integer(POISE_INT), value :: blocks
      integer(POISE_INT), dimension(*), intent(in), optional :: lengths
    end function
    integer(c_int) function PoisePCBJacobiGetSubKSP(pc, count, first, ksp) bind(c, &
      name="PoisePCBJacobiGetSubKSP")
      import
      type(c_ptr), value :: pc
      integer(POISE_INT), intent(out), optional :: count, first
      type(c_ptr), intent(out), optional :: ksp
    end function
    integer(c_int) function PoisePCKSPGetKSP(pc, ksp) bind(c, name="PoisePCKSPGetKSP")
      import
      type(c_ptr), value :: pc
      type(c_ptr), intent(out) :: ksp
    end function
    integer(c_int) function PoisePCMGSetLevels(pc, levels) bind(c, name="PoisePCMGSetLevels")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: levels
    end function
    integer(c_int) function PoisePCMGGetLevels(pc, levels) bind(c, name="PoisePCMGGetLevels")
      import
      type(c_ptr), value :: pc
      integer(c_int), intent(out) :: levels
    end function
    integer(c_int) function PoisePCMGSetType(pc, type) bind(c, name="PoisePCMGSetType")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: type
    end function
    integer(c_int) function PoisePCMGSetCycleType(pc, cycle) bind(c, name="PoisePCMGSetCycleType")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: cycle
    end function
    integer(c_int) function PoisePCMGMultiplicativeSetCycles(pc, cycles) bind(c, &
      name="PoisePCMGMultiplicativeSetCycles")
      import
      type(c_ptr), value :: pc
      integer(POISE_INT), value :: cycles
    end function
    integer(c_int) function PoisePCMGSetGalerkin(pc, on) bind(c, name="PoisePCMGSetGalerkin")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: on
    end function
    integer(c_int) function PoisePCMGSetInterpolation(pc, level, P) bind(c, &
      name="PoisePCMGSetInterpolation")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: level
      type(c_ptr), value :: P
    end function
    integer(c_int) function PoisePCMGSetRestriction(pc, level, R) bind(c, name="PoisePCMGSetRestriction")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: level
      type(c_ptr), value :: R
    end function
    integer(c_int) function PoisePCMGSetInjection(pc, level, n, rows) bind(c, name="PoisePCMGSetInjection")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: level
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows
    end function
    integer(c_int) function PoisePCMGSetOperator(pc, level, A) bind(c, name="PoisePCMGSetOperator")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: level
      type(c_ptr), value :: A
    end function
    integer(c_int) function PoisePCMGGetSmoother(pc, level, ksp) bind(c, name="PoisePCMGGetSmoother")
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: level
      type(c_ptr), intent(out) :: ksp
    end function
    integer(c_int) function PoisePCMGGetCoarseSolve(pc, ksp) bind(c, name="PoisePCMGGetCoarseSolve")
      import
      type(c_ptr), value :: pc
      type(c_ptr), intent(out) :: ksp
    end function
    integer(c_int) function PoisePCMGSetNumberSmooth(pc, steps) bind(c, name="PoisePCMGSetNumberSmooth")
      import
      type(c_ptr), value :: pc
      integer(POISE_INT), value :: steps
    end function
    type(c_ptr) function PoiseKSPContext(ksp) bind(c, name="PoiseKSPContext")
      import
      type(c_ptr), value :: ksp
    end function
    integer(c_int) function PoiseKSPBytes(ksp, bytes) bind(c, name="PoiseKSPBytes")
      import
      type(c_ptr), value :: ksp
      type(PoiseBytes), intent(out) :: bytes
    end function
    integer(c_int) function PoiseKSPPredictBytes(ksp, counts, p) bind(c, name="PoiseKSPPredictBytes")
      import
      type(c_ptr), value :: ksp
      type(PoiseMatCounts), intent(in) :: counts
      type(PoisePrediction), intent(out) :: p
    end function
    integer(c_int) function PoiseKSPView(ksp) bind(c, name="PoiseKSPView")
      import
      type(c_ptr), value :: ksp
    end function
    ! of libpoise, for the functions at the end of the module
    subroutine poise_set_output_c(ctx, file) bind(c, name="PoiseSetOutput")
      import
      type(c_ptr), value :: ctx, file
    end subroutine
    integer(c_int) function poise_log_view_c(ctx, file, format) bind(c, name="PoiseLogView")
      import
      type(c_ptr), value :: ctx, file
      integer(c_int), value :: format
    end function
    integer(c_int) function poise_options_unused_c(ctx, file, number) bind(c, name="PoiseOptionsUnused")
      import
      type(c_ptr), value :: ctx, file
      integer(c_int), intent(out) :: number
    end function
    ! of C. What PoiseMatCopyCSR gives is released by poise_free
    type(c_ptr) function poise_fopen(path, mode) bind(c, name="fopen")
      import
      character(kind=c_char), dimension(*), intent(in) :: path, mode
    end function
    integer(c_int) function poise_fclose(file) bind(c, name="fclose")
      import
      type(c_ptr), value :: file
    end function
    integer(c_size_t) function poise_strlen(text) bind(c, name="strlen")
      import
      type(c_ptr), value :: text
    end function
    subroutine poise_free(array) bind(c, name="free")
      import
      type(c_ptr), value :: array
    end subroutine
  end interface

  private :: poise_open, poise_close

contains

  function PoiseErrorString(code) result(answer)
    integer(c_int), intent(in) :: code
    character(:), allocatable :: answer
    answer = poise_text(PoiseErrorString_c(code))
  end function

  function PoiseErrorMessage() result(answer)
    character(:), allocatable :: answer
    answer = poise_text(PoiseErrorMessage_c())
  end function

  function PoiseErrorText() result(answer)
    character(:), allocatable :: answer
    answer = poise_text(PoiseErrorText_c())
  end function

  function PoiseErrorTrace(code, function, file, line) result(answer)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: function, file
    integer(c_int), intent(in) :: line
    integer(c_int) :: answer
    character(:, c_char), allocatable :: function_c, file_c
    function_c = function // c_null_char
    file_c = file // c_null_char
    answer = PoiseErrorTrace_c(code, function_c, file_c, line)
  end function

  function PoiseOptionsSet(ctx, key, value) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in), optional :: key, value
    integer(c_int) :: answer
    character(:, c_char), allocatable :: key_c, value_c
    if (present(key)) key_c = key // c_null_char
    if (present(value)) value_c = value // c_null_char
    answer = PoiseOptionsSet_c(ctx, key_c, value_c)
  end function

  function PoiseOptionsSetString(ctx, text) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: text
    integer(c_int) :: answer
    character(:, c_char), allocatable :: text_c
    text_c = text // c_null_char
    answer = PoiseOptionsSetString_c(ctx, text_c)
  end function

  function PoiseOptionsClear(ctx, key) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: key
    integer(c_int) :: answer
    character(:, c_char), allocatable :: key_c
    key_c = key // c_null_char
    answer = PoiseOptionsClear_c(ctx, key_c)
  end function

  function PoiseOptionsRead(ctx, prefix, table, fields) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in), optional :: prefix
    type(PoiseOption), dimension(*), intent(in), optional :: table
    type(c_ptr), intent(in) :: fields
    integer(c_int) :: answer
    character(:, c_char), allocatable :: prefix_c
    if (present(prefix)) prefix_c = prefix // c_null_char
    answer = PoiseOptionsRead_c(ctx, prefix_c, table, fields)
  end function

  function PoiseOptionsHas(ctx, prefix, key, value) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in), optional :: prefix, key
    type(c_ptr), intent(out), optional :: value
    integer(c_int) :: answer
    character(:, c_char), allocatable :: prefix_c, key_c
    if (present(prefix)) prefix_c = prefix // c_null_char
    if (present(key)) key_c = key // c_null_char
    answer = PoiseOptionsHas_c(ctx, prefix_c, key_c, value)
  end function

  function PoiseOptionsUsed(ctx, key) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: key
    integer(c_int) :: answer
    character(:, c_char), allocatable :: key_c
    key_c = key // c_null_char
    answer = PoiseOptionsUsed_c(ctx, key_c)
  end function

  function PoiseLogBegin(ctx, name) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: name
    integer(c_int) :: answer
    character(:, c_char), allocatable :: name_c
    name_c = name // c_null_char
    answer = PoiseLogBegin_c(ctx, name_c)
  end function

  function PoiseLogEnd(ctx, name) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: name
    integer(c_int) :: answer
    character(:, c_char), allocatable :: name_c
    name_c = name // c_null_char
    answer = PoiseLogEnd_c(ctx, name_c)
  end function

  function PoiseVecSave(x, path) result(answer)
    type(c_ptr), intent(in) :: x
    character(*), intent(in) :: path
    integer(c_int) :: answer
    character(:, c_char), allocatable :: path_c
    path_c = path // c_null_char
    answer = PoiseVecSave_c(x, path_c)
  end function

  function PoiseVecLoad(ctx, n, N_global, path, x) result(answer)
    type(c_ptr), intent(in) :: ctx
    integer(POISE_INT), intent(in) :: n, N_global
    character(*), intent(in) :: path
    type(c_ptr), intent(out) :: x
    integer(c_int) :: answer
    character(:, c_char), allocatable :: path_c
    path_c = path // c_null_char
    answer = PoiseVecLoad_c(ctx, n, N_global, path_c, x)
  end function

  function PoiseMatSetType(A, type) result(answer)
    type(c_ptr), intent(in) :: A
    character(*), intent(in) :: type
    integer(c_int) :: answer
    character(:, c_char), allocatable :: type_c
    type_c = type // c_null_char
    answer = PoiseMatSetType_c(A, type_c)
  end function

  function PoiseMatType(A) result(answer)
    type(c_ptr), intent(in) :: A
    character(:), allocatable :: answer
    answer = poise_text(PoiseMatType_c(A))
  end function

  function PoiseMatSetLocalType(A, type) result(answer)
    type(c_ptr), intent(in) :: A
    character(*), intent(in) :: type
    integer(c_int) :: answer
    character(:, c_char), allocatable :: type_c
    type_c = type // c_null_char
    answer = PoiseMatSetLocalType_c(A, type_c)
  end function

  function PoiseMatSetCSRKernel(A, name) result(answer)
    type(c_ptr), intent(in) :: A
    character(*), intent(in) :: name
    integer(c_int) :: answer
    character(:, c_char), allocatable :: name_c
    name_c = name // c_null_char
    answer = PoiseMatSetCSRKernel_c(A, name_c)
  end function

  function PoiseMatCSRKernel(A) result(answer)
    type(c_ptr), intent(in) :: A
    character(:), allocatable :: answer
    answer = poise_text(PoiseMatCSRKernel_c(A))
  end function

  function PoiseMatSetOptionsPrefix(A, prefix) result(answer)
    type(c_ptr), intent(in) :: A
    character(*), intent(in) :: prefix
    integer(c_int) :: answer
    character(:, c_char), allocatable :: prefix_c
    prefix_c = prefix // c_null_char
    answer = PoiseMatSetOptionsPrefix_c(A, prefix_c)
  end function

  function PoiseMatLoad(ctx, path, A) result(answer)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: path
    type(c_ptr), intent(out) :: A
    integer(c_int) :: answer
    character(:, c_char), allocatable :: path_c
    path_c = path // c_null_char
    answer = PoiseMatLoad_c(ctx, path_c, A)
  end function

  function PoiseMatSave(A, path) result(answer)
    type(c_ptr), intent(in) :: A
    character(*), intent(in) :: path
    integer(c_int) :: answer
    character(:, c_char), allocatable :: path_c
    path_c = path // c_null_char
    answer = PoiseMatSave_c(A, path_c)
  end function

  function PoisePCSetType(pc, type) result(answer)
    type(c_ptr), intent(in) :: pc
    character(*), intent(in) :: type
    integer(c_int) :: answer
    character(:, c_char), allocatable :: type_c
    type_c = type // c_null_char
    answer = PoisePCSetType_c(pc, type_c)
  end function

  function PoisePCType(pc) result(answer)
    type(c_ptr), intent(in) :: pc
    character(:), allocatable :: answer
    answer = poise_text(PoisePCType_c(pc))
  end function

  function PoisePCSetOptionsPrefix(pc, prefix) result(answer)
    type(c_ptr), intent(in) :: pc
    character(*), intent(in) :: prefix
    integer(c_int) :: answer
    character(:, c_char), allocatable :: prefix_c
    prefix_c = prefix // c_null_char
    answer = PoisePCSetOptionsPrefix_c(pc, prefix_c)
  end function

  function PoiseKSPSetType(ksp, type) result(answer)
    type(c_ptr), intent(in) :: ksp
    character(*), intent(in) :: type
    integer(c_int) :: answer
    character(:, c_char), allocatable :: type_c
    type_c = type // c_null_char
    answer = PoiseKSPSetType_c(ksp, type_c)
  end function

  function PoiseKSPType(ksp) result(answer)
    type(c_ptr), intent(in) :: ksp
    character(:), allocatable :: answer
    answer = poise_text(PoiseKSPType_c(ksp))
  end function

  function PoiseKSPSetOptionsPrefix(ksp, prefix) result(answer)
    type(c_ptr), intent(in) :: ksp
    character(*), intent(in) :: prefix
    integer(c_int) :: answer
    character(:, c_char), allocatable :: prefix_c
    prefix_c = prefix // c_null_char
    answer = PoiseKSPSetOptionsPrefix_c(ksp, prefix_c)
  end function

  function PoiseKSPReasonString(reason) result(answer)
    integer(c_int), intent(in) :: reason
    character(:), allocatable :: answer
    answer = poise_text(PoiseKSPReasonString_c(reason))
  end function

  function PoiseKSPReasonDetail(ksp) result(answer)
    type(c_ptr), intent(in) :: ksp
    character(:), allocatable :: answer
    answer = poise_text(PoiseKSPReasonDetail_c(ksp))
  end function

  function PoiseKSPNormString(norm) result(answer)
    integer(c_int), intent(in) :: norm
    character(:), allocatable :: answer
    answer = poise_text(PoiseKSPNormString_c(norm))
  end function

  ! PoiseInitialize with the command line of this program.
  integer(c_int) function poise_begin(ctx, init) result(err)
    type(c_ptr), intent(out) :: ctx
    type(PoiseInit), intent(in), optional :: init
    character(kind=c_char), allocatable, target :: words(:, :)
    type(c_ptr), allocatable, target :: argv(:)
    type(c_ptr) :: place
    character(:), allocatable :: word
    integer :: i, k, length, longest
    integer(c_int) :: argc
    longest = 0
    do i = 0, command_argument_count()
      call get_command_argument(i, length=length)
      longest = max(longest, length)
    end do
    allocate (words(longest + 1, 0:command_argument_count()), argv(0:command_argument_count() + 1))
    allocate (character(longest) :: word)
    argv = c_null_ptr
    words = c_null_char
    do i = 0, command_argument_count()
      call get_command_argument(i, word, length)
      do k = 1, length
        words(k, i) = word(k:k)
      end do
      argv(i) = c_loc(words(1, i))
    end do
    argc = command_argument_count() + 1
    place = c_loc(argv)
    err = PoiseInitialize(argc, place, init, ctx)
  end function

  ! Views, monitors and reports go to a file, on rank 0, until poise_close_output. A file that is there is
  ! overwritten.
  integer(c_int) function poise_open_output(ctx, path, file) result(err)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: path
    type(c_ptr), intent(out) :: file
    err = poise_open(ctx, path, file)
    if (err == POISE_OK) call poise_set_output_c(ctx, file)
  end function

  ! What poise_open_output has opened is closed, and the output is the standard output again.
  integer(c_int) function poise_close_output(ctx, file) result(err)
    type(c_ptr), intent(in) :: ctx
    type(c_ptr), intent(inout) :: file
    call poise_set_output_c(ctx, c_null_ptr)
    err = poise_close(file)
  end function

  ! PoiseLogView to a file by name. Collective.
  integer(c_int) function poise_log_view(ctx, path, format) result(err)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: path
    integer(c_int), intent(in) :: format
    type(c_ptr) :: file
    integer(c_int) :: closed
    err = PoiseAgree(ctx, poise_open(ctx, path, file))
    if (err == POISE_OK) err = poise_log_view_c(ctx, file, format)
    closed = poise_close(file)
    if (err == POISE_OK) err = closed
  end function

  ! PoiseOptionsUnused, without the list.
  integer(c_int) function poise_options_unused(ctx, number) result(err)
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(out) :: number
    err = poise_options_unused_c(ctx, c_null_ptr, number)
  end function

  ! A string of C's; "" for c_null_ptr.
  function poise_text(string) result(text)
    type(c_ptr), intent(in) :: string
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    text = ""
    if (.not. c_associated(string)) return
    call c_f_pointer(string, letters, [poise_strlen(string)])
    deallocate (text)
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  ! A file to write, on rank 0; on other ranks c_null_ptr.
  integer(c_int) function poise_open(ctx, path, file) result(err)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: path
    type(c_ptr), intent(out) :: file
    file = c_null_ptr
    err = POISE_OK
    if (PoiseRank(ctx) /= 0) return
    file = poise_fopen(path // c_null_char, "w" // c_null_char)
    if (.not. c_associated(file)) err = POISE_ERR_FILE
  end function

  integer(c_int) function poise_close(file) result(err)
    type(c_ptr), intent(inout) :: file
    err = POISE_OK
    if (c_associated(file)) then
      if (poise_fclose(file) /= 0) err = POISE_ERR_FILE
    end if
    file = c_null_ptr
  end function
end module
