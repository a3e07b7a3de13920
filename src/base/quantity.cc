#include "base/quantity.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

namespace phalanx {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
using Wide = unsigned __int128;
// Far above anything that still fits 64 bits, far below where a further factor of 10 overflows.
constexpr Wide kWideLimit = Wide{1} << 115;

struct Unit {
  std::string_view name;
  int exponent;  // of ten, or of two
};
constexpr std::array<Unit, 6> kBinary = {
    {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};
constexpr std::array<Unit, 10> kDecimal = {{{"n", -9},
                                            {"u", -6},
                                            {"m", -3},
                                            {"", 0},
                                            {"k", 3},
                                            {"M", 6},
                                            {"G", 9},
                                            {"T", 12},
                                            {"P", 15},
                                            {"E", 18}}};

std::optional<int> exponent_of(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(1);
  int sign = 1;
  if (text[0] == '+' || text[0] == '-') {
    sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  if (text.empty() || text.size() > 4) return std::nullopt;
  int value = 0;
  for (char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return sign * value;
}

struct Amount {
  int64_t value = 0;
  bool is_cut = false;      // to what fits 64 bits
  bool is_rounded = false;  // up to the next unit
};
constexpr Amount kCut{kMax, true, false};

// mantissa × 10^tens × 2^twos, rounded up, saturated.
Amount scale_up(Wide mantissa, int tens, int twos) {
  if (mantissa == 0) return {};
  for (; twos > 0; --twos) {
    mantissa *= 2;
    if (mantissa > kWideLimit) return kCut;
  }
  for (; tens > 0; --tens) {
    mantissa *= 10;
    if (mantissa > kWideLimit) return kCut;
  }
  bool inexact = false;
  for (; tens < 0 && mantissa > 0; ++tens) {
    inexact |= mantissa % 10 != 0;
    mantissa /= 10;
  }
  if (inexact) mantissa += 1;
  if (mantissa > static_cast<Wide>(kMax)) return kCut;
  return {static_cast<int64_t>(mantissa), false, inexact};
}

Result<Amount> parse(std::string_view resource, std::string_view text) {
  const auto malformed = [&](std::string_view why) {
    return fail(
        fmt::format("\"{}\" is not a quantity of {}: {}; write a number with an optional unit, "
                    "such as 500m, 8, 1.5, 64Gi or 1e3",
                    text, resource, why));
  };
  std::string_view rest = text;
  if (rest.starts_with('-')) return malformed("it is negative");
  if (rest.starts_with('+')) rest.remove_prefix(1);

  Wide mantissa = 0;
  int tens = 0;
  bool any_digit = false;
  bool after_point = false;
  for (; !rest.empty(); rest.remove_prefix(1)) {
    const char next = rest.front();
    if (next == '.') {
      if (after_point) return malformed("it has two decimal points");
      after_point = true;
      continue;
    }
    if (next < '0' || next > '9') break;
    any_digit = true;
    if (mantissa > kWideLimit / 16) {
      // Digits beyond any precision we keep: before the point they scale, after it they round up.
      if (!after_point) ++tens;
      if (next != '0') mantissa |= 1;
      continue;
    }
    mantissa = mantissa * 10 + static_cast<unsigned>(next - '0');
    if (after_point) --tens;
  }
  if (!any_digit) return malformed("it has no digits");
  if (resource == "cpu") tens += 3;

  for (const Unit& unit : kBinary) {
    if (rest == unit.name) return scale_up(mantissa, tens, unit.exponent);
  }
  for (const Unit& unit : kDecimal) {
    if (rest == unit.name) return scale_up(mantissa, tens + unit.exponent, 0);
  }
  if (auto exponent = exponent_of(rest)) return scale_up(mantissa, tens + *exponent, 0);
  return malformed(fmt::format("unknown unit \"{}\"", rest));
}

bool is_binary(std::string_view resource) {
  return resource == "memory" || resource.starts_with("hugepages-") ||
         resource.ends_with("storage");
}

}  // namespace

Result<int64_t> parse_amount(std::string_view resource, std::string_view text) {
  ASSIGN_OR_RETURN(const Amount amount, parse(resource, text));
  return amount.value;
}

Result<int64_t> parse_bounded_amount(std::string_view resource, std::string_view text) {
  ASSIGN_OR_RETURN(const Amount amount, parse(resource, text));
  if (!amount.is_cut) return amount.value;
  return fail(fmt::format("\"{}\" is too large; the largest amount of {} is {}{}", text, resource,
                          kMax, resource == "cpu" ? "m" : ""));
}

Result<int64_t> parse_exact_amount(std::string_view resource, std::string_view text) {
  RETURN_IF_ERROR(parse_bounded_amount(resource, text));
  ASSIGN_OR_RETURN(const Amount amount, parse(resource, text));
  if (!amount.is_rounded || !is_counted_whole(resource)) return amount.value;
  return fail(
      fmt::format("\"{}\" is not a whole number, but {} cannot be had in part; write {} or {}",
                  text, resource, amount.value - 1, amount.value));
}

std::string quantity_text(const json::value& quantity) {
  if (quantity.is_string()) return std::string(quantity.get_string());
  // Where JSON would write 1.5E0.
  if (quantity.is_double()) return fmt::format("{}", quantity.get_double());
  return json::serialize(quantity);
}

bool is_counted_whole(std::string_view resource) {
  return resource != "cpu" && !is_binary(resource);
}

std::string format_amount(std::string_view resource, int64_t amount) {
  if (resource == "cpu") {
    return amount % 1000 == 0 ? fmt::format("{}", amount / 1000) : fmt::format("{}m", amount);
  }
  if (is_binary(resource) && amount != 0) {
    for (auto unit = kBinary.rbegin(); unit != kBinary.rend(); ++unit) {
      const int64_t size = int64_t{1} << unit->exponent;
      if (amount % size == 0) return fmt::format("{}{}", amount / size, unit->name);
    }
  }
  return fmt::format("{}", amount);
}

}  // namespace phalanx
