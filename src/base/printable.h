// Text that came from outside, made fit for a terminal (whatever would move the cursor, change
// colors or begin a new line is written as an escape instead) or for a field of limited length.
#pragma once

#include <string>
#include <string_view>

namespace phalanx {

// Control characters become \n, \t, \r or \x1b, and characters that hide others or turn them round
// \u202e; everything else stays, UTF-8 included.
std::string printable(std::string_view text);

// What is no UTF-8 is replaced by the character that stands for such (U+FFFD), byte by byte.
std::string valid_utf8(std::string_view text);

// At most so many bytes of the text; what is left out is at the end, and stands for whole
// characters, as a reader of UTF-8 would not accept a part of one.
std::string cut_to(std::string text, size_t most_bytes);

// The same with "..." at its end if something is left out.
std::string shortened(std::string text, size_t most_bytes);

// What somebody wrote, as far as a message needs it to be recognized: a value may have a megabyte.
std::string excerpt(const std::string& text);

}  // namespace phalanx
