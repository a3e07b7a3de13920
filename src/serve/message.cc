#include "serve/message.h"

#include <algorithm>

namespace phalanx::serve {
namespace {

// ASCII only, whatever the locale.
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const Header& each : headers) {
    if (std::ranges::equal(each.name, name, {}, lower, lower)) return each.value;
  }
  return "";
}

}  // namespace phalanx::serve
