// The fields of Kubernetes' own kinds, as of Kubernetes 1.34 with what 1.35 adds to them.
//
// A table in text: the name of a type on a line of its own, and below it, indented, its fields with
// their types, separated by commas. A type is the name of another one or
//
//   string, bool, int32, int64, int|string, quantity, any
//
// [T] is a list of T, {T} a map from names to T. Times, base64 and enumerations are strings here:
// what a string may say is a matter of the rules of each kind.
#pragma once

#include <string_view>

namespace phalanx::admission {

std::string_view built_in_types();

}  // namespace phalanx::admission
