// How to draw for whoever reads standard output: colors and glyphs, as the environment says.
#pragma once

#include "cli/tree_picture.h"

namespace phalanx::cli {

// Colors only on a terminal that is not dumb, and unless NO_COLOR is set; Unicode if the locale
// is UTF-8.
PictureStyle style_of_terminal(int max_lines);

}  // namespace phalanx::cli
