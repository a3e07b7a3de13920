// Expected failures as values: bad input, a refused write, a conflict.
//
// An Error is a sentence for a person. Whoever passes it on adds where it happened with `within`,
// so that the final text reads "file: object: field: reason; remedy". What "does not fit" is no
// Error but data (placement/explanation.h), and a programmer's mistake is a CHECK (base/check.h).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace phalanx {

struct [[nodiscard]] Error {
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(std::string message) {
  return std::unexpected(Error{std::move(message)});
}

// Prefixes the place where the error happened.
inline std::unexpected<Error> within(std::string_view place, Error error) {
  return std::unexpected(Error{std::string(place) + ": " + std::move(error.message)});
}

}  // namespace phalanx

// Evaluates a Result expression; returns its error from the enclosing function, or binds its value.
#define PHALANX_CONCAT_INNER(a, b) a##b
#define PHALANX_CONCAT(a, b) PHALANX_CONCAT_INNER(a, b)
#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_INNER(PHALANX_CONCAT(result_, __LINE__), declaration, expression)
#define ASSIGN_OR_RETURN_INNER(temporary, declaration, expression)      \
  auto temporary = (expression);                                        \
  if (!temporary) return std::unexpected(std::move(temporary).error()); \
  declaration = std::move(temporary).value()
#define RETURN_IF_ERROR(expression)                                                                \
  do {                                                                                             \
    if (auto outcome = (expression); !outcome) return std::unexpected(std::move(outcome).error()); \
  } while (false)
