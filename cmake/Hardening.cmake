# SPDX-License-Identifier: BSD-3-Clause
# Mistakes in memory end a program instead of being used: guards of stack frames, string functions that know the size
# of their target, and addresses of functions that cannot be written. Sanitizers do more, and want none of it.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

check_c_compiler_flag(-fstack-protector-strong Poise_STACK_PROTECTOR)
if(Poise_STACK_PROTECTOR)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>)
endif()

# It needs optimisation. Distributions define it to values of their own.
set(optimised $<OR:$<CONFIG:Release>,$<CONFIG:RelWithDebInfo>,$<CONFIG:MinSizeRel>>)
add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C>,${optimised}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")

check_linker_flag(C LINKER:-z,relro,-z,now Poise_RELRO)
if(Poise_RELRO)
  add_link_options($<$<LINK_LANGUAGE:C,CXX>:LINKER:-z,relro,-z,now>)
endif()
