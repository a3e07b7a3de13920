// Text that came from outside, made fit for a terminal: whatever would move the cursor, change
// colors or begin a new line is written as an escape instead.
#pragma once

#include <string>
#include <string_view>

namespace phalanx {

// Control characters become \n, \t, \r or \x1b; everything else stays, UTF-8 included.
std::string printable(std::string_view text);

}  // namespace phalanx
