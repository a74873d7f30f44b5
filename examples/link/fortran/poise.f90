! SPDX-License-Identifier: BSD-3-Clause
! Poise from Fortran 2008, by iso_c_binding. This is a start, not a whole binding: the functions that diffusion.f90 calls. The
! others are declared in the same way from their line of the headers include/poise/*.h, which document them all:
!
!   PoiseErr, int, enum              integer(c_int), value
!   PoiseInt                         integer(POISE_INT), value
!   double                           real(c_double), value
!   PoiseMat, PoiseVec, ...          type(c_ptr), value
!   PoiseMat *, ... (Create, Destroy) type(c_ptr), intent(out) or intent(inout)
!   const char *                     character(kind=c_char), dimension(*), intent(in); the caller ends it by c_null_char
!   an array that the call only reads    dimension(*), intent(in)
!   an array that is lent (POISE_BORROW) type(c_ptr), value: c_loc of an array that has the attribute target. The library keeps
!                                        its address, so it must be contiguous; and without target the compiler may believe
!                                        that a later call cannot change the array.
module poise
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer, parameter :: POISE_INT = c_int64_t
  integer(POISE_INT), parameter :: POISE_DECIDE = -1

  integer(c_int), parameter :: POISE_OK = 0, POISE_ERR_ARG = 1                   ! of POISE_ERROR_LIST
  integer(c_int), parameter :: POISE_COPY = 0, POISE_ADOPT = 1, POISE_BORROW = 2 ! PoiseOwn

  ! Members in the order of the C structs; what is not set is zero, as C's designated initialisers have it.
  type, bind(c) :: PoiseInit
    type(c_ptr) :: prefix = c_null_ptr
    type(c_ptr) :: mpi_comm = c_null_ptr ! the address of a C MPI_Comm; null: MPI_COMM_WORLD
    integer(c_int) :: serial = 0
    type(c_ptr) :: help = c_null_ptr
    type(c_ptr) :: options = c_null_ptr
    type(c_ptr) :: stream = c_null_ptr
  end type

  type, bind(c) :: PoiseCSR
    type(c_ptr) :: ptr32 = c_null_ptr, col32 = c_null_ptr
    type(c_ptr) :: ptr64 = c_null_ptr, col64 = c_null_ptr
    type(c_ptr) :: val = c_null_ptr
    integer(c_int) :: base = 1 ! Fortran's
  end type

  interface
    ! ---- context ----
    integer(c_int) function PoiseInitialize(argc, argv, init, ctx) bind(c, name="PoiseInitialize")
      import :: c_int, c_ptr, PoiseInit
      type(c_ptr), value :: argc, argv ! c_null_ptr: see poise_command_line
      type(PoiseInit), intent(in) :: init
      type(c_ptr), intent(out) :: ctx
    end function
    integer(c_int) function PoiseFinalize(ctx) bind(c, name="PoiseFinalize")
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: ctx
    end function
    integer(c_int) function PoiseOptionsSetString(ctx, text) bind(c, name="PoiseOptionsSetString")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: ctx
      character(kind=c_char), dimension(*), intent(in) :: text
    end function
    integer(c_int) function PoiseRank(ctx) bind(c, name="PoiseRank")
      import :: c_int, c_ptr
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function PoiseSize(ctx) bind(c, name="PoiseSize")
      import :: c_int, c_ptr
      type(c_ptr), value :: ctx
    end function
    subroutine PoiseSplit(ctx, all, begin, n) bind(c, name="PoiseSplit")
      import :: c_ptr, POISE_INT
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: all
      integer(POISE_INT), intent(out) :: begin, n ! rows are counted from 0 here
    end subroutine
    integer(c_int) function PoiseSum(ctx, n, v) bind(c, name="PoiseSum")
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: ctx
      integer(c_int), value :: n
      real(c_double), dimension(*), intent(inout) :: v
    end function

    ! ---- vectors ----
    integer(c_int) function PoiseVecCreateArray(ctx, n, all, array, own, x) bind(c, name="PoiseVecCreateArray")
      import :: c_int, c_ptr, POISE_INT
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: n, all
      type(c_ptr), value :: array
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: x
    end function
    integer(c_int) function PoiseVecGetValues(x, n, rows, v) bind(c, name="PoiseVecGetValues")
      import :: c_int, c_ptr, c_double, POISE_INT
      type(c_ptr), value :: x
      integer(POISE_INT), value :: n
      integer(POISE_INT), dimension(*), intent(in) :: rows ! counted from 0
      real(c_double), dimension(*), intent(inout) :: v
    end function
    integer(c_int) function PoiseVecDestroy(x) bind(c, name="PoiseVecDestroy")
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: x
    end function

    ! ---- matrices ----
    integer(c_int) function PoiseMatCreateCSR(ctx, m, n, all_rows, all_cols, csr, own, A) bind(c, name="PoiseMatCreateCSR")
      import :: c_int, c_ptr, POISE_INT, PoiseCSR
      type(c_ptr), value :: ctx
      integer(POISE_INT), value :: m, n, all_rows, all_cols
      type(PoiseCSR), intent(in) :: csr
      integer(c_int), value :: own
      type(c_ptr), intent(out) :: A
    end function
    integer(c_int) function PoiseMatDestroy(A) bind(c, name="PoiseMatDestroy")
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: A
    end function

    ! ---- solvers ----
    integer(c_int) function PoiseKSPCreate(ctx, ksp) bind(c, name="PoiseKSPCreate")
      import :: c_int, c_ptr
      type(c_ptr), value :: ctx
      type(c_ptr), intent(out) :: ksp
    end function
    integer(c_int) function PoiseKSPDestroy(ksp) bind(c, name="PoiseKSPDestroy")
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: ksp
    end function
    integer(c_int) function PoiseKSPSetType(ksp, name) bind(c, name="PoiseKSPSetType")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: ksp
      character(kind=c_char), dimension(*), intent(in) :: name
    end function
    integer(c_int) function PoiseKSPSetOperators(ksp, A, P) bind(c, name="PoiseKSPSetOperators")
      import :: c_int, c_ptr
      type(c_ptr), value :: ksp, A, P ! P may be c_null_ptr
    end function
    integer(c_int) function PoiseKSPGetPC(ksp, pc) bind(c, name="PoiseKSPGetPC")
      import :: c_int, c_ptr
      type(c_ptr), value :: ksp
      type(c_ptr), intent(out) :: pc
    end function
    integer(c_int) function PoisePCSetType(pc, name) bind(c, name="PoisePCSetType")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: pc
      character(kind=c_char), dimension(*), intent(in) :: name
    end function
    integer(c_int) function PoiseKSPSetTolerances(ksp, rtol, atol, dtol, maxits) bind(c, name="PoiseKSPSetTolerances")
      import :: c_int, c_ptr, c_double, POISE_INT
      type(c_ptr), value :: ksp
      real(c_double), value :: rtol, atol, dtol
      integer(POISE_INT), value :: maxits
    end function
    integer(c_int) function PoiseKSPSetErrorIfNotConverged(ksp, on) bind(c, name="PoiseKSPSetErrorIfNotConverged")
      import :: c_int, c_ptr
      type(c_ptr), value :: ksp
      integer(c_int), value :: on
    end function
    integer(c_int) function PoiseKSPSetFromOptions(ksp) bind(c, name="PoiseKSPSetFromOptions")
      import :: c_int, c_ptr
      type(c_ptr), value :: ksp
    end function
    integer(c_int) function PoiseKSPSolve(ksp, b, x) bind(c, name="PoiseKSPSolve")
      import :: c_int, c_ptr
      type(c_ptr), value :: ksp, b, x
    end function
    integer(POISE_INT) function PoiseKSPIterations(ksp) bind(c, name="PoiseKSPIterations")
      import :: c_ptr, POISE_INT
      type(c_ptr), value :: ksp
    end function

    ! ---- what the functions below need of C ----
    type(c_ptr) function PoiseErrorTextC() bind(c, name="PoiseErrorText")
      import :: c_ptr
    end function
    type(c_ptr) function PoiseErrorMessageC() bind(c, name="PoiseErrorMessage")
      import :: c_ptr
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

  private :: from_c

contains

  ! Code, message and trace of the latest error.
  function PoiseErrorText() result(text)
    character(:), allocatable :: text
    text = from_c(PoiseErrorTextC())
  end function

  ! Its message alone.
  function PoiseErrorMessage() result(text)
    character(:), allocatable :: text
    text = from_c(PoiseErrorMessageC())
  end function

  ! The words behind the program's name, for PoiseOptionsSetString: Fortran has no argc and argv to hand to PoiseInitialize.
  function poise_command_line() result(text)
    character(:), allocatable :: text
    character(:), allocatable :: word
    integer :: i, length
    text = ""
    do i = 1, command_argument_count()
      call get_command_argument(i, length=length)
      allocate (character(length) :: word)
      call get_command_argument(i, word)
      text = text // word // " "
      deallocate (word)
    end do
    text = text // c_null_char
  end function

  function from_c(string) result(text)
    type(c_ptr), intent(in) :: string
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(string, letters, [c_strlen(string)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function
end module
