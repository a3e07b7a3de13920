#include "sim/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace phalanx::sim {
namespace {

constexpr size_t kMaxLabel = 63;
constexpr size_t kMaxSubdomain = 253;

bool lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool letter_or_digit(char c) {
  return lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

bool dns_part(std::string_view text) {
  return !text.empty() && lower_or_digit(text.front()) && lower_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return lower_or_digit(c) || c == '-'; });
}

bool name_part(std::string_view text) {
  return !text.empty() && letter_or_digit(text.front()) && letter_or_digit(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

// A hostile text must not fill the message.
std::string quoted(std::string_view text) {
  constexpr size_t kMaxShown = 80;
  if (text.size() <= kMaxShown) return fmt::format("\"{}\"", text);
  return fmt::format("\"{}...\" ({} characters)", text.substr(0, kMaxShown), text.size());
}

}  // namespace

std::string problem_of_dns_label(std::string_view text) {
  if (text.size() > kMaxLabel) {
    return fmt::format("{} is too long; use at most {} characters", quoted(text), kMaxLabel);
  }
  if (dns_part(text)) return "";
  return fmt::format(
      "{} is no name; use lower-case letters, digits and \"-\", and begin and end with a letter or "
      "digit",
      quoted(text));
}

std::string problem_of_dns_subdomain(std::string_view text) {
  if (text.size() > kMaxSubdomain) {
    return fmt::format("{} is too long; use at most {} characters", quoted(text), kMaxSubdomain);
  }
  bool good = true;
  for (std::string_view rest = text; good;) {
    const size_t dot = rest.find('.');
    good = dns_part(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (good) return "";
  return fmt::format(
      "{} is no name; use lower-case letters, digits, \"-\" and \".\", and begin and end every "
      "part with a letter or digit",
      quoted(text));
}

std::string problem_of_qualified_name(std::string_view text) {
  const size_t slash = text.find('/');
  std::string_view name = text;
  if (slash != std::string_view::npos) {
    const std::string problem = problem_of_dns_subdomain(text.substr(0, slash));
    if (!problem.empty())
      return fmt::format("the part of {} before \"/\": {}", quoted(text), problem);
    name = text.substr(slash + 1);
  }
  if (name.size() > kMaxLabel) {
    return fmt::format("{} is too long; use at most {} characters after the \"/\"", quoted(text),
                       kMaxLabel);
  }
  if (name_part(name)) return "";
  return fmt::format(
      "{} is no key; use letters, digits, \"-\", \"_\" and \".\", begin and end with a letter or "
      "digit, with an optional prefix such as \"example.com/\"",
      quoted(text));
}

std::string problem_of_label_value(std::string_view text) {
  if (text.size() > kMaxLabel) {
    return fmt::format("{} is too long; use at most {} characters", quoted(text), kMaxLabel);
  }
  if (text.empty() || name_part(text)) return "";
  return fmt::format(
      "{} is no label value; use letters, digits, \"-\", \"_\" and \".\", and begin and end with a "
      "letter or digit",
      quoted(text));
}

}  // namespace phalanx::sim
