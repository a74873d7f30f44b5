#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the Fortran module of Poise, from what the headers declare.

    scripts/fortran.py            writes include/poise.f90
    scripts/fortran.py --check    fails if that file is not what would be written

A function is bound under its own name. One with text, as parameter or result, is bound with _c behind it, and
a function of the module has its name. Functions that take a FILE or any number of arguments are left out.
"""
import sys
import textwrap

import headers

OUTPUT = headers.ROOT / "include" / "poise.f90"
NUMBERS = {"int": "integer(c_int)", "double": "real(c_double)", "size_t": "integer(c_size_t)",
           "int64_t": "integer(c_int64_t)", "int32_t": "integer(c_int32_t)",
           "uint64_t": "integer(c_int64_t)", "PoiseInt": "integer(POISE_INT)"}
ARRAYS = {"v", "dots", "table"}  # written by a function, or read without const; others are scalars

HEAD = """\
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
@LEFT_OUT@
! At the end of the module are poise_begin, which starts with the program's command line, views to a file by
! name, and poise_text, which makes a string of C's.
module poise
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer, parameter :: POISE_INT = c_int64_t
"""

TAIL = """\
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
"""

LIBC = """\
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
"""


def bound(function):
    """Can Fortran call it? Not with a FILE, which it does not have, or with any number of arguments."""
    return not any(p.name == "..." or p.base == "FILE" for p in function.body)


def wrap(line, indent):
    """A statement on as many lines as it needs."""
    lines = textwrap.wrap(line, 110 - indent - 2, break_long_words=False, break_on_hyphens=False)
    return (" &\n" + " " * (indent + 2)).join(lines).join([" " * indent, "\n"])


class Module:
    def __init__(self):
        self.groups = [group for header in headers.headers() for group in header.groups]
        items = [item for group in self.groups for item in group.items]
        self.enums, self.handles, self.callbacks, self.structs = (
            {item.name for item in items if item.kind == kind}
            for kind in ("enum", "handle", "callback", "struct"))
        self.functions, self.wrappers, self.abstract, self.types, self.constants = [], [], [], [], []
        self.left_out = []
        for group in self.groups:
            for item in group.items:
                getattr(self, item.kind, lambda group, item: None)(group, item)

    def scalar(self, base):
        if base in self.enums:
            return "integer(c_int)"
        if base in self.handles or base == "void":
            return "type(c_ptr)"
        if base in self.structs:
            return f"type({base})"
        if base in NUMBERS:
            return NUMBERS[base]
        raise SystemExit(f"fortran.py: what is '{base}'?")

    def attributes(self, p, owner, optional):
        """The type and attributes of a dummy argument; owner: the name of its function."""
        if p.function is not None or p.base in self.callbacks:
            return "type(c_funptr), value"
        if p.stars == 0:
            return f"{self.scalar(p.base)}, value"
        if p.base == "char" and p.stars == 1:
            return "character(kind=c_char), dimension(*), intent(in)" + optional
        if p.stars > 1:
            return f"type(c_ptr), intent({'inout' if p.stars == 3 else 'out'})" + optional
        if owner == "PoiseVecRestore":
            return "type(c_ptr), intent(inout)"
        numbers = p.base in NUMBERS
        device = "Device" in owner and owner != "PoiseDeviceMemory"
        if p.base == "void" or numbers and (device or p.name == "array"):
            return "type(c_ptr), value"
        if p.name in ARRAYS or p.const and p.base not in self.structs:
            return f"{self.scalar(p.base)}, dimension(*), intent({'in' if p.const else 'inout'})" + optional
        intent = "in" if p.const else "out"
        if owner.endswith(("Destroy", "Finalize")) or p.name in ("argc", "reason"):
            intent = "inout"
        return f"{self.scalar(p.base)}, intent({intent})" + optional

    @staticmethod
    def names(parameters):
        """The names of dummy arguments: Fortran does not tell N from n."""
        seen = [p.name.lower() for p in parameters]
        out = []
        for p in parameters:
            twice = seen.count(p.name.lower()) > 1
            out.append(f"{p.name}_global" if twice and p.name in "MN" else
                       "alpha" if twice and p.name == "a" else p.name)
        return out

    def declarations(self, names, attributes, indent):
        """Arguments of equal attributes, that follow each other, on one line."""
        out = []
        for name, attribute in zip(names, attributes):
            if out and out[-1][0] == attribute:
                out[-1][1].append(name)
            else:
                out.append((attribute, [name]))
        return "".join(wrap(f"{attribute} :: {', '.join(names)}", indent) for attribute, names in out)

    def interface(self, name, parameters, result, owner, optional, bind):
        """A function or subroutine with bind(c), in an interface block."""
        names = self.names(parameters)
        attributes = [self.attributes(p, owner, optional) for p in parameters]
        kind = "subroutine" if result is None else f"{result} function"
        return (wrap(f"{kind} {name}({', '.join(names)}) bind(c{bind})", 4) + "      import\n"
                + self.declarations(names, attributes, 6) + f"    end {kind.split(' ')[-1]}\n")

    def function(self, group, item):
        if not bound(item):
            self.left_out.append(item.name)
            return
        result = headers.Parameter("", item.result)
        text = result.base == "char"
        kind = None if item.result == "void" else "type(c_ptr)" if result.stars else self.scalar(result.base)
        optional = ", optional" if "NULL" in group.doc else ""
        strings = text or any(p.base == "char" and p.stars == 1 for p in item.body)
        name = item.name + "_c" if strings else item.name
        self.functions.append(self.interface(name, item.body, kind, item.name, optional,
                                             f', name="{item.name}"'))
        if strings:
            self.wrapper(item, kind, text, optional)

    def wrapper(self, item, kind, text, optional):
        """A function of the module that takes and gives text as Fortran has it."""
        names = self.names(item.body)
        attributes, actual, copies, before = [], [], [], []
        for name, p in zip(names, item.body):
            attribute = self.attributes(p, item.name, optional).replace(", value", ", intent(in)")
            if p.base == "char" and p.stars == 1:
                attribute = "character(*), intent(in)" + optional
                copies.append(f"{name}_c")
                before.append(f"if (present({name})) " * bool(optional) + f"{name}_c = {name} // c_null_char")
                name += "_c"
            attributes.append(attribute)
            actual.append(name)
        call = f"{item.name}_c({', '.join(actual)})"
        result = "character(:), allocatable" if text else kind
        lines = [wrap(f"function {item.name}({', '.join(names)}) result(answer)", 2),
                 self.declarations(names, attributes, 4), f"    {result} :: answer\n"]
        if copies:
            lines.append(f"    character(:, c_char), allocatable :: {', '.join(copies)}\n")
        lines += [f"    {line}\n" for line in before]
        lines += [wrap(f"answer = {f'poise_text({call})' if text else call}", 4), "  end function\n"]
        self.wrappers.append("".join(lines))

    def callback(self, group, item):
        self.abstract.append(self.interface(item.name, item.body, "integer(c_int)", item.name, "", ""))

    def struct(self, group, item):
        lines = [f"  type, bind(c) :: {item.name}\n"]
        for member in item.body:
            if member.function is not None:
                lines.append(f"    type(c_funptr) :: {member.name} = c_null_funptr\n")
                self.abstract.append(self.interface(f"{item.name}_{member.name}", member.function,
                                                    "integer(c_int)", member.name, "", ""))
            elif member.stars or member.base in self.handles:
                lines.append(f"    type(c_ptr) :: {member.name} = c_null_ptr\n")
            else:
                zero = "" if member.base in self.structs else " = 1" if member.name == "base" else " = 0"
                lines.append(f"    {self.scalar(member.base)} :: {member.name}{zero}\n")
        self.types.append("".join(lines) + "  end type\n")

    def enum(self, group, item):
        self.constants += [f"  integer(c_int), parameter :: {name} = {value}\n" for name, value in item.body]

    def macro(self, group, item):
        for name, value in item.body:
            kind = "POISE_INT" if "PoiseInt" in item.text else "c_int"
            self.constants.append(f"  integer({kind}), parameter :: {name} = {value}\n")

    def text(self):
        left_out = textwrap.wrap("Left out, as they take a FILE or any number of arguments: "
                                 + ", ".join(self.left_out) + ".", 108)
        out = [HEAD.replace("@LEFT_OUT@", "\n".join(f"! {line}" for line in left_out)), *self.constants]
        out += [f"\n{struct}" for struct in self.types]
        out.append("\n  ! What functions of the application's look like.\n  abstract interface\n")
        out += [*self.abstract, "  end interface\n\n  interface\n", *self.functions, LIBC]
        out.append("  end interface\n\n  private :: poise_open, poise_close\n\ncontains\n\n")
        out += [f"{wrapper}\n" for wrapper in self.wrappers]
        return "".join(out) + TAIL


if __name__ == "__main__":
    headers.write_or_check({OUTPUT: Module().text()}, sys.argv[1:], __doc__)
