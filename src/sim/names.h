// Which texts Kubernetes accepts as names, labels and annotations. Each function says what is wrong
// and how to write it, or nothing (empty) if all is well.
#pragma once

#include <string>
#include <string_view>

namespace phalanx::sim {

// At most 63 lower-case letters, digits and dashes; begins and ends with a letter or digit.
std::string problem_of_dns_label(std::string_view text);
// Such labels (of any length) joined by dots, at most 253 characters.
std::string problem_of_dns_subdomain(std::string_view text);
// A key of labels, annotations and finalizers: an optional DNS subdomain and a slash, then at most
// 63 letters, digits, dashes, underscores and dots that begin and end with a letter or digit.
std::string problem_of_qualified_name(std::string_view text);
// The same as the name part, or empty.
std::string problem_of_label_value(std::string_view text);

}  // namespace phalanx::sim
