# SPDX-License-Identifier: BSD-3-Clause
# Make a C program of a page of documentation, which runs the page's fragments:
#   awk -f page.awk -v prelude=page.h page.md > page.c
#
# Blocks marked ```c, in their order:
#   with a main                       a whole program, which is called first
#   beginning with # or static        functions, for the blocks behind them
#   else                              statements, which get objects of their own (see page.h)
# Other blocks (```c and more words, ```sh, ...) are not looked at.

function Flush(    k)
{
  if (text ~ /int main\(/) {
    functions = functions "#define main PageMain\n" line text "#undef main\n"
    program = 1
  } else if (text ~ /^(#|static )/) {
    functions = functions line text
  } else {
    functions = functions "static PoiseErr Fragment" ++count "(PoiseContext ctx, void *arg)\n{\n" \
                "  PAGE_OPEN\n" line text "  PAGE_CLOSE\n}\n"
  }
}

inside && /^```$/ { Flush(); inside = 0; next }
inside { text = text $0 "\n"; next }
/^```c$/ { inside = 1; text = ""; line = "#line " FNR + 1 " \"" FILENAME "\"\n" }

END {
  if (!program && !count && functions == "") {
    print "page.awk: " FILENAME " has no C" > "/dev/stderr"
    exit 1
  }
  print "#include \"" prelude "\""
  printf "%s", functions
  print "static const PageFragment fragments[] = {"
  for (k = 1; k <= count; k++) print "    Fragment" k ","
  print "    NULL};"
  print "int main(int argc, char **argv)\n{"
  if (program) print "  if (PageMain(argc, argv)) return 1;"
  print "  return PageRun(argc, argv, fragments);\n}"
}
