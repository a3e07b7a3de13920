// The forms that names, label keys and values, and quantities have in Kubernetes, checked by hand:
// std::regex is slow and recurses once for every character.
//
// Lengths are not checked here unless it says so: schemas and rules have limits of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace phalanx::admission {

// "train-1": lower case letters, digits and '-', a letter or digit at both ends.
bool is_dns_label(std::string_view text);
// "team.example.com": labels with dots between them.
bool is_dns_subdomain(std::string_view text);
// "example.com/rack", "rack": a word, with an optional DNS name before it.
bool is_qualified_name(std::string_view text);
// A qualified name within the lengths that labels and resources have: 253 and 63.
bool is_label_key(std::string_view text);
// Empty, or up to 63 letters, digits, '-', '_' and '.', a letter or digit at both ends.
bool is_label_value(std::string_view text);
// "PodsReady": the reason of a condition.
bool is_condition_reason(std::string_view text);
// "ProvisioningRequestConfig": the kind of an object, in any case.
bool is_kind_name(std::string_view text);
// "500m", "-1", "64Gi", with a sign or without.
bool is_quantity(std::string_view text);

// A regular expression that occurs in a schema, and what it means.
struct Pattern {
  std::string_view expression;
  bool (*matches)(std::string_view text);
  std::string_view form;    // "a DNS name"
  std::string_view remedy;  // "use lower case letters, ..."
};
// nullptr if nobody here knows the expression.
const Pattern* find_pattern(std::string_view expression);

// `"a"`, `"a" or "b"`, without the quotes; an empty text is shown as "".
std::string alternatives(const std::vector<std::string>& texts);

}  // namespace phalanx::admission
