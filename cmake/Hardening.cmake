# SPDX-License-Identifier: BSD-3-Clause
# An error in memory ends the program before anybody can make use of it. Stack frames have guards, string
# functions know the size of their target, and addresses of functions cannot be written. Sanitizers do more,
# and do not go together with these guards.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

check_c_compiler_flag(-fstack-protector-strong Poise_STACK_PROTECTOR)
if(Poise_STACK_PROTECTOR)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>)
endif()

# _FORTIFY_SOURCE needs optimisation. Distributions define it to values of their own.
set(optimised $<CONFIG:Release>,$<CONFIG:RelWithDebInfo>,$<CONFIG:MinSizeRel>)
set(optimised $<OR:$<BOOL:${optimised_unnamed}>,${optimised}>)
add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C>,${optimised}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")

check_linker_flag(C LINKER:-z,relro,-z,now Poise_RELRO)
if(Poise_RELRO)
  add_link_options($<$<LINK_LANGUAGE:C,CXX>:LINKER:-z,relro,-z,now>)
endif()
