// What a mistyped name was most likely meant to be, for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace phalanx {

// The candidate that comes nearest to `name`, regardless of case; "" if none is near enough to be
// worth saying. Of equally near ones the first.
std::string_view closest(std::string_view name, std::span<const std::string_view> candidates);

// "; did you mean `apply`?", or "; there are a, b, c" if nothing is near.
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace phalanx
