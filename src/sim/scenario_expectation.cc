#include "sim/scenario_expectation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/spelling.h"
#include "sim/document.h"
#include "sim/scenario_placement.h"

namespace phalanx::sim {
namespace {

constexpr std::array<std::string_view, 8> kSubjects{
    "object", "count", "absent", "placed", "event", "journal", "no-overcommit", "account"};

struct PathValue {
  std::string path_text;
  ValuePath path;
  json::value value;
};

// A condition of status.conditions as it should be.
struct ExpectedCondition {
  std::string type;
  std::string status;
  std::string reason;  // empty: any
};

Result<std::string> text_field(const json::object& object, std::string_view field) {
  const json::value* value = object.if_contains(field);
  if (value == nullptr || value->is_null()) return fail(fmt::format("{}: is required", field));
  if (!value->is_string()) return fail(fmt::format("{}: must be a text", field));
  return std::string(value->get_string());
}

Result<std::string> optional_text(const json::object& object, std::string_view field) {
  if (!object.contains(field)) return std::string();
  return text_field(object, field);
}

Result<std::optional<int64_t>> optional_count(const json::object& object) {
  const json::value* value = object.if_contains("count");
  if (value == nullptr) return std::nullopt;
  if (!value->is_int64() || value->get_int64() < 0) {
    return fail("count: must be a whole number, 0 or more");
  }
  return value->get_int64();
}

Result<ObjectPattern> pattern_field(const json::object& object, std::string_view field) {
  ASSIGN_OR_RETURN(const std::string text, text_field(object, field));
  auto pattern = parse_pattern(text);
  if (!pattern) return within(field, pattern.error());
  return pattern;
}

Result<std::vector<PathValue>> path_values(const json::object& object, std::string_view field) {
  std::vector<PathValue> result;
  const json::value* map = object.if_contains(field);
  if (map == nullptr) return result;
  if (!map->is_object()) return fail(fmt::format("{}: must be a map of paths to values", field));
  for (const auto& [key, value] : map->get_object()) {
    const std::string text(key);
    auto path = parse_value_path(text);
    if (!path) return within(field, path.error());
    result.push_back({text, std::move(*path), value});
  }
  return result;
}

std::string shown(const json::value* value) {
  return value == nullptr ? "absent" : json::serialize(*value);
}

std::optional<std::string> difference(const json::value& object, const PathValue& expected) {
  const json::value* actual = find_value(object, expected.path);
  if (actual != nullptr && *actual == expected.value) return std::nullopt;
  return fmt::format("{}: expected {}, is {}", expected.path_text, json::serialize(expected.value),
                     shown(actual));
}

// "True", "False Reason"; YAML makes booleans of unquoted ones.
Result<std::vector<ExpectedCondition>> read_conditions(const json::object& object) {
  std::vector<ExpectedCondition> conditions;
  const json::value* map = object.if_contains("conditions");
  if (map == nullptr) return conditions;
  if (!map->is_object()) return fail("conditions: must be a map, like {Admitted: \"True\"}");
  for (const auto& [key, value] : map->get_object()) {
    std::string text;
    if (value.is_bool()) text = value.get_bool() ? "True" : "False";
    if (value.is_string()) text = value.get_string();
    const size_t space = text.find(' ');
    ExpectedCondition condition{std::string(key), text.substr(0, space), ""};
    if (space != std::string::npos) condition.reason = text.substr(space + 1);
    if (condition.status != "True" && condition.status != "False" &&
        condition.status != "Unknown") {
      return fail(fmt::format(
          "conditions.{}: must be True, False or Unknown, and may go on with a reason, like "
          "\"False WaitingForQuota\"",
          condition.type));
    }
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

Result<void> check_condition(const json::value& object, const ExpectedCondition& expected) {
  const json::object* actual = find_condition(object, expected.type);
  const std::string wanted =
      expected.reason.empty() ? expected.status : expected.status + " " + expected.reason;
  if (actual == nullptr) {
    return fail(fmt::format("condition {}: expected {}, is absent", expected.type, wanted));
  }
  const std::string_view status = string_field(*actual, "status");
  const std::string_view reason = string_field(*actual, "reason");
  if (status == expected.status && (expected.reason.empty() || reason == expected.reason)) {
    return {};
  }
  return fail(fmt::format("condition {}: expected {}, is {} {} ({})", expected.type, wanted, status,
                          reason, string_field(*actual, "message")));
}

struct ObjectExpectation {
  ObjectPattern pattern;
  std::vector<PathValue> has;
  std::vector<PathValue> contains;
  std::vector<PathValue> lacks;  // without values
  std::vector<ExpectedCondition> conditions;

  Result<void> operator()(Backend& backend) const {
    ASSIGN_OR_RETURN(const Stored object, find_object(backend, pattern));
    if (auto checked = check(*object); !checked) return within(pattern.text(), checked.error());
    return {};
  }

  [[nodiscard]] Result<void> check(const json::value& object) const {
    for (const PathValue& expected : has) {
      if (auto differs = difference(object, expected)) return fail(std::move(*differs));
    }
    for (const PathValue& expected : contains) {
      const json::value* actual = find_value(object, expected.path);
      const std::string_view text = expected.value.get_string();
      if (actual != nullptr && actual->is_string() &&
          std::string_view(actual->get_string()).find(text) != std::string_view::npos) {
        continue;
      }
      return fail(fmt::format("{}: expected to contain \"{}\", is {}", expected.path_text, text,
                              shown(actual)));
    }
    for (const PathValue& expected : lacks) {
      const json::value* actual = find_value(object, expected.path);
      if (actual == nullptr) continue;
      return fail(fmt::format("{}: expected absent, is {}", expected.path_text, shown(actual)));
    }
    for (const ExpectedCondition& condition : conditions) {
      RETURN_IF_ERROR(check_condition(object, condition));
    }
    return {};
  }
};

Result<Expectation> read_object(const json::object& document) {
  ObjectExpectation expectation;
  ASSIGN_OR_RETURN(expectation.pattern, pattern_field(document, "object"));
  ASSIGN_OR_RETURN(expectation.has, path_values(document, "has"));
  ASSIGN_OR_RETURN(expectation.contains, path_values(document, "contains"));
  for (const PathValue& entry : expectation.contains) {
    if (!entry.value.is_string()) {
      return fail(fmt::format("contains.{}: must be a text", entry.path_text));
    }
  }
  ASSIGN_OR_RETURN(expectation.conditions, read_conditions(document));
  const json::value* lacks = document.if_contains("lacks");
  if (lacks != nullptr && !lacks->is_array()) return fail("lacks: must be a list of paths");
  for (const json::value& entry : lacks == nullptr ? json::array() : lacks->get_array()) {
    if (!entry.is_string()) return fail("lacks: must be a list of paths");
    const std::string text(entry.get_string());
    auto path = parse_value_path(text);
    if (!path) return within("lacks", path.error());
    expectation.lacks.push_back({text, std::move(*path), nullptr});
  }
  return expectation;
}

Result<Expectation> read_count(const json::object& document) {
  ASSIGN_OR_RETURN(const std::string text, text_field(document, "count"));
  int64_t count = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code != std::errc() || count < 0 || rest == text.data() + text.size() || *rest != ' ') {
    return fail(fmt::format("count: \"{}\" must be like 4 pods ml/train-*", text));
  }
  auto pattern =
      parse_pattern(std::string_view(text).substr(static_cast<size_t>(rest - text.data()) + 1));
  if (!pattern) return within("count", pattern.error());
  ASSIGN_OR_RETURN(auto where, path_values(document, "where"));
  return [count, objects = *pattern, where](Backend& backend) -> Result<void> {
    int64_t found = 0;
    std::string example;
    for (const Stored& object : find_objects(backend, objects)) {
      std::optional<std::string> differs;
      for (const PathValue& expected : where) {
        if (!differs) differs = difference(*object, expected);
      }
      if (!differs) {
        ++found;
      } else if (example.empty()) {
        example = fmt::format(" (not counted: {}: {})", string_at(*object, {"metadata", "name"}),
                              *differs);
      }
    }
    if (found == count) return {};
    return fail(
        fmt::format("count of {}: expected {}, is {}{}", objects.text(), count, found, example));
  };
}

Result<Expectation> read_absent(const json::object& document) {
  ASSIGN_OR_RETURN(const ObjectPattern pattern, pattern_field(document, "absent"));
  return [pattern](Backend& backend) -> Result<void> {
    const auto found = find_objects(backend, pattern);
    if (found.empty()) return {};
    return fail(fmt::format("{}: expected absent, but there is {}", pattern.text(),
                            string_at(*found.front(), {"metadata", "name"})));
  };
}

// Whether something was there as often as expected; without a number: at least once.
Result<void> check_times(const std::string& what, std::optional<int64_t> expected, int64_t found) {
  if (expected ? found == *expected : found > 0) return {};
  if (!expected) return fail(fmt::format("{}: there is none", what));
  return fail(fmt::format("{}: expected {}, is {}", what, *expected, found));
}

bool holds(std::string_view text, const std::string& part) {
  return part.empty() || text.find(part) != std::string_view::npos;
}

Result<Expectation> read_event(const json::object& document) {
  const json::value& written = *document.if_contains("event");
  if (!written.is_object())
    return fail("event: must be like {about: Job ml/train, reason: Started}");
  const json::object& event = written.get_object();
  constexpr std::array<std::string_view, 5> kFields{"about", "reason", "message", "type", "count"};
  RETURN_IF_ERROR(check_fields(event, kFields));
  ASSIGN_OR_RETURN(const ObjectPattern about, pattern_field(event, "about"));
  ASSIGN_OR_RETURN(const std::string reason, optional_text(event, "reason"));
  ASSIGN_OR_RETURN(const std::string message, optional_text(event, "message"));
  ASSIGN_OR_RETURN(const std::string type, optional_text(event, "type"));
  ASSIGN_OR_RETURN(const auto count, optional_count(event));
  return [=](Backend& backend) -> Result<void> {
    int64_t found = 0;
    for (const Stored& object : backend.list(api::Kind::kEvent)) {
      const std::string_view name = string_at(*object, {"involvedObject", "name"});
      const std::string_view space = string_at(*object, {"involvedObject", "namespace"});
      const bool same_kind =
          string_at(*object, {"involvedObject", "kind"}) == api::info(about.kind).name;
      if (same_kind && matches_glob(about.name, name) && matches_glob(about.namespace_, space) &&
          (reason.empty() || string_at(*object, {"reason"}) == reason) &&
          (type.empty() || string_at(*object, {"type"}) == type) &&
          holds(string_at(*object, {"message"}), message)) {
        found += integer_at(*object, {"count"}).value_or(1);  // what was said twice is counted
      }
    }
    return check_times(fmt::format("events {} about {}{}", reason, about.text(),
                                   message.empty() ? "" : " with \"" + message + "\""),
                       count, found);
  };
}

Result<Expectation> read_journal(const json::object& document) {
  const json::value& written = *document.if_contains("journal");
  if (!written.is_object()) {
    return fail("journal: must be like {decision: admit, object: Workload ml/*}");
  }
  const json::object& entry = written.get_object();
  constexpr std::array<std::string_view, 4> kFields{"decision", "object", "reason", "count"};
  RETURN_IF_ERROR(check_fields(entry, kFields));
  ASSIGN_OR_RETURN(const std::string decision, text_field(entry, "decision"));
  ASSIGN_OR_RETURN(const std::string reason, optional_text(entry, "reason"));
  ASSIGN_OR_RETURN(const auto count, optional_count(entry));
  std::string object = "*";
  if (entry.contains("object")) {
    ASSIGN_OR_RETURN(const ObjectPattern pattern, pattern_field(entry, "object"));
    object = pattern.text();
  }
  return [=](Backend& backend) -> Result<void> {
    int64_t found = 0;
    for (const std::string& line : backend.journal()) {
      const auto parsed = parse_json(line);
      if (!parsed) return std::unexpected(parsed.error());
      if (string_at(*parsed, {"decision"}) == decision &&
          matches_glob(object, string_at(*parsed, {"object"})) &&
          holds(string_at(*parsed, {"reason"}), reason)) {
        ++found;
      }
    }
    return check_times(fmt::format("decisions {} about {} in the journal", decision, object), count,
                       found);
  };
}

Result<Expectation> read_flag(const json::object& document, std::string_view field,
                              Expectation expectation) {
  const json::value& value = *document.if_contains(field);
  if (value.is_bool() && value.get_bool()) return expectation;
  return fail(fmt::format("{}: must be true; leave it out otherwise", field));
}

// What may stand beside each subject.
std::vector<std::string_view> fields_of(std::string_view subject) {
  if (subject == "object") return {"object", "has", "contains", "lacks", "conditions"};
  if (subject == "count") return {"count", "where"};
  if (subject == "placed") return {"placed", "at", "on", "within", "same"};
  return {subject};
}

}  // namespace

Result<ValuePath> parse_value_path(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(
        fmt::format("\"{}\" is no path: {}; write status.conditions[Admitted].status", text, why));
  };
  ValuePath path;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '[') {
      const size_t end = text.find(']', at);
      if (end == std::string_view::npos) return bad("a bracket is not closed");
      if (end == at + 1) return bad("brackets are empty");
      path.emplace_back(text.substr(at + 1, end - at - 1));
      at = end + 1;
    } else {
      const size_t end = std::min(text.find_first_of(".[", at), text.size());
      if (end == at) return bad("a name is missing");
      path.emplace_back(text.substr(at, end - at));
      at = end;
    }
    if (at == text.size() || text[at] == '[') continue;
    if (text[at] != '.') return bad("a dot is missing behind a bracket");
    if (++at == text.size()) return bad("it ends with a dot");
  }
  if (path.empty()) return bad("it is empty");
  return path;
}

const json::value* find_value(const json::value& document, const ValuePath& path) {
  const json::value* value = &document;
  for (const std::string& name : path) {
    const json::value* next = nullptr;
    if (const json::object* object = value->if_object()) {
      next = object->if_contains(name);
    } else if (const json::array* list = value->if_array()) {
      size_t index = 0;
      const auto [rest, code] = std::from_chars(name.data(), name.data() + name.size(), index);
      const bool number = code == std::errc() && rest == name.data() + name.size();
      if (number) {
        if (index < list->size()) next = &(*list)[index];
      } else {
        const auto found = std::ranges::find_if(*list, [&](const json::value& element) {
          return string_at(element, {"name"}) == name || string_at(element, {"type"}) == name ||
                 string_at(element, {"key"}) == name;
        });
        if (found != list->end()) next = &*found;
      }
    }
    if (next == nullptr || next->is_null()) return nullptr;
    value = next;
  }
  return value;
}

Result<Expectation> read_expectation(const json::value& document) {
  const json::object* object = document.if_object();
  if (object == nullptr) return fail("must be an expectation, like {absent: Job ml/train}");
  std::string_view subject;
  for (const std::string_view name : kSubjects) {
    if (subject.empty() && object->contains(name)) subject = name;
  }
  if (subject.empty()) {
    RETURN_IF_ERROR(check_fields(*object, kSubjects));
    return fail(fmt::format("expects nothing; give it one of {}", fmt::join(kSubjects, ", ")));
  }
  RETURN_IF_ERROR(check_fields(*object, fields_of(subject)));
  if (subject == "object") return read_object(*object);
  if (subject == "count") return read_count(*object);
  if (subject == "absent") return read_absent(*object);
  if (subject == "placed") return read_placed(*object);
  if (subject == "event") return read_event(*object);
  if (subject == "journal") return read_journal(*object);
  if (subject == "account") {
    return read_flag(*object, subject, [](Backend& backend) { return backend.check_account(); });
  }
  return read_flag(*object, subject, check_no_overcommit);
}

}  // namespace phalanx::sim
