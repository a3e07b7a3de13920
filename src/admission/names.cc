#include "admission/names.h"

#include <algorithm>
#include <array>

#include "base/quantity.h"

namespace phalanx::admission {
namespace {

constexpr size_t kMaxSubdomain = 253;
constexpr size_t kMaxLabel = 63;

bool is_lower(char letter) {
  return letter >= 'a' && letter <= 'z';
}
bool is_letter(char letter) {
  return is_lower(letter) || (letter >= 'A' && letter <= 'Z');
}
bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// One character or more of `inner`, of which the first and the last are `outer` too.
template <typename Outer, typename Inner>
bool is_word(std::string_view text, Outer outer, Inner inner) {
  return !text.empty() && outer(text.front()) && outer(text.back()) &&
         std::ranges::all_of(text, inner);
}

bool is_name_word(std::string_view text) {
  const auto outer = [](char letter) { return is_letter(letter) || is_digit(letter); };
  return is_word(text, outer, [&](char letter) {
    return outer(letter) || letter == '-' || letter == '_' || letter == '.';
  });
}

constexpr std::array kPatterns{
    Pattern{R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?$)", is_dns_label, "a DNS label",
            "use lower case letters, digits and '-', with a letter or digit at both ends"},
    Pattern{R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)",
            is_dns_subdomain, "a DNS name",
            "use lower case letters, digits, '-' and '.', with a letter or digit at both ends"},
    Pattern{R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?)"
            R"((([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)",
            is_qualified_name, "a qualified name",
            "use letters, digits, '-', '_' and '.', with an optional DNS name and '/' before them"},
    Pattern{R"(^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$)", is_condition_reason, "a reason",
            "use one word of letters, digits and '_', such as PodsReady"},
    Pattern{R"(^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$)", is_kind_name, "a kind",
            "use the kind of an object, such as ProvisioningRequestConfig"},
    Pattern{R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+)))"
            R"((([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)",
            is_quantity, "a quantity",
            "write a number with an optional unit, such as 500m, 8, 1.5, 64Gi or 1e3"},
};

}  // namespace

bool is_dns_label(std::string_view text) {
  const auto outer = [](char letter) { return is_lower(letter) || is_digit(letter); };
  return is_word(text, outer, [&](char letter) { return outer(letter) || letter == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  for (;;) {
    const size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_qualified_name(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_name_word(text);
  return is_dns_subdomain(text.substr(0, slash)) && is_name_word(text.substr(slash + 1));
}

bool is_label_key(std::string_view text) {
  const size_t slash = text.find('/');
  const size_t word = slash == std::string_view::npos ? 0 : slash + 1;
  return is_qualified_name(text) && word <= kMaxSubdomain + 1 && text.size() - word <= kMaxLabel;
}

bool is_label_value(std::string_view text) {
  return text.empty() || (text.size() <= kMaxLabel && is_name_word(text));
}

bool is_condition_reason(std::string_view text) {
  const auto word = [](char letter) {
    return is_letter(letter) || is_digit(letter) || letter == '_';
  };
  return !text.empty() && is_letter(text.front()) && word(text.back()) &&
         std::ranges::all_of(
             text, [&](char letter) { return word(letter) || letter == ',' || letter == ':'; });
}

bool is_kind_name(std::string_view text) {
  const auto outer = [](char letter) { return is_letter(letter) || is_digit(letter); };
  return !text.empty() && is_letter(text.front()) &&
         is_word(text, outer, [&](char letter) { return outer(letter) || letter == '-'; });
}

bool is_quantity(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  // A second sign would be read as the number's own.
  if (text.starts_with('-') || text.starts_with('+')) return false;
  return parse_amount("", text).has_value();
}

const Pattern* find_pattern(std::string_view expression) {
  const auto* found = std::ranges::find(kPatterns, expression, &Pattern::expression);
  return found == kPatterns.end() ? nullptr : found;
}

std::string alternatives(const std::vector<std::string>& texts) {
  std::string joined;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) joined += i + 1 == texts.size() ? " or " : ", ";
    joined += texts[i].empty() ? "\"\"" : texts[i];
  }
  return joined;
}

}  // namespace phalanx::admission
