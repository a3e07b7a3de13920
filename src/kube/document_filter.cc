#include "kube/document_filter.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <boost/json/monotonic_resource.hpp>

namespace phalanx::kube {
namespace {

namespace ondemand = simdjson::ondemand;

// Deeper documents are nobody's honest work; simdjson's own bound is 1024.
constexpr int kMostDepth = 128;

// Throws simdjson::simdjson_error, caught at the edge of this file: the library's own checks at
// every field would bury what is being done.
class Filtering {
 public:
  explicit Filtering(const json::storage_ptr& storage) : storage_(storage) {}

  json::value copy(ondemand::value value, const FieldFilter& filter, int depth = 0) {
    if (depth > kMostDepth) throw simdjson::simdjson_error(simdjson::DEPTH_ERROR);
    switch (value.type().value()) {
      case ondemand::json_type::object:
        return copy_object(value.get_object(), filter, depth);
      case ondemand::json_type::array: {
        json::array array(storage_);
        for (ondemand::value element : value.get_array()) {
          array.push_back(copy(element, filter, depth + 1));
        }
        return array;
      }
      case ondemand::json_type::string: {
        const std::string_view text = value.get_string();
        return json::string(text, storage_);
      }
      case ondemand::json_type::number:
        return copy_number(value.get_number());
      case ondemand::json_type::boolean:
        return json::value(bool(value.get_bool()), storage_);
      case ondemand::json_type::null:
        // Reading it checks that it is spelled right.
        if (!value.is_null()) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
        return json::value(nullptr, storage_);
    }
    return nullptr;
  }

  json::value copy_object(ondemand::object object, const FieldFilter& filter, int depth) {
    json::object result(storage_);
    for (ondemand::field field : object) {
      const std::string_view key = field.unescaped_key();
      const FieldFilter* named = filter.find(key);
      if (named == nullptr && !filter.keeps_others()) continue;
      if (named != nullptr && named->keeps_nothing()) continue;
      static const FieldFilter kWhole = FieldFilter::whole();
      // The key's text is overwritten by the next string that is read.
      const std::string name(key);
      result[name] = copy(field.value(), named == nullptr ? kWhole : *named, depth + 1);
    }
    return result;
  }

 private:
  json::value copy_number(ondemand::number number) {
    switch (number.get_number_type()) {
      case ondemand::number_type::signed_integer:
        return json::value(int64_t{number.get_int64()}, storage_);
      case ondemand::number_type::unsigned_integer:
        return json::value(uint64_t{number.get_uint64()}, storage_);
      case ondemand::number_type::floating_point_number:
        return json::value(double{number.get_double()}, storage_);
    }
    return nullptr;
  }

  const json::storage_ptr& storage_;
};

std::unexpected<Error> unreadable(const simdjson::simdjson_error& error) {
  return fail(fmt::format("what the API server sent is no JSON that can be read: {}",
                          simdjson::error_message(error.error())));
}

}  // namespace

struct DocumentReader::Parser {
  ondemand::parser parser;
  std::string text;  // with room behind it, as the library wants it

  ondemand::document open(std::string_view written) {
    text.reserve(written.size() + simdjson::SIMDJSON_PADDING);
    text.assign(written);
    return parser.iterate(text.data(), text.size(), text.capacity());
  }
};

DocumentReader::DocumentReader() : parser_(std::make_unique<Parser>()) {}
DocumentReader::~DocumentReader() = default;

Result<json::value> DocumentReader::document(std::string_view text, const FieldFilter& filter,
                                             const json::storage_ptr& storage) {
  try {
    ondemand::document document = parser_->open(text);
    return Filtering(storage).copy_object(document.get_object(), filter, 0);
  } catch (const simdjson::simdjson_error& error) {
    return unreadable(error);
  }
}

Result<WatchLine> DocumentReader::watch_line(std::string_view text, const FieldFilter& filter,
                                             const json::storage_ptr& storage) {
  try {
    ondemand::document document = parser_->open(text);
    WatchLine line{"", json::value(storage)};
    for (ondemand::field field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "type") {
        line.type = std::string_view(field.value().get_string());
      } else if (key == "object") {
        // A Status has fields of its own.
        static const FieldFilter kWhole = FieldFilter::whole();
        line.object =
            Filtering(storage).copy(field.value(), line.type == "ERROR" ? kWhole : filter);
      }
    }
    if (line.type.empty() || !line.object.is_object()) {
      return fail("what the API server sent is no event of a watch");
    }
    return line;
  } catch (const simdjson::simdjson_error& error) {
    return unreadable(error);
  }
}

Result<ListPage> DocumentReader::list(std::string_view text, const FieldFilter& filter,
                                      bool scratch,
                                      const std::function<void(json::value&)>& visit) {
  try {
    ondemand::document document = parser_->open(text);
    ListPage page;
    bool items_seen = false;
    // Memory of one item serves the next.
    std::array<unsigned char, size_t{32} << 10> buffer{};
    for (ondemand::field field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "metadata") {
        for (ondemand::field entry : field.value().get_object()) {
          const std::string_view name = entry.unescaped_key();
          std::string* target = name == "resourceVersion" ? &page.resource_version
                                : name == "continue"      ? &page.continue_token
                                                          : nullptr;
          if (target != nullptr) *target = std::string_view(entry.value().get_string());
        }
      } else if (key == "items") {
        items_seen = true;
        ondemand::value items = field.value();
        if (items.is_null()) continue;
        for (ondemand::value element : items.get_array()) {
          json::monotonic_resource memory(buffer.data(), buffer.size());
          const json::storage_ptr storage =
              scratch ? json::storage_ptr(&memory) : json::storage_ptr();
          json::value item = Filtering(storage).copy(element, filter);
          visit(item);
        }
      }
    }
    if (!items_seen) return fail("what the API server sent is no list");
    return page;
  } catch (const simdjson::simdjson_error& error) {
    return unreadable(error);
  }
}

}  // namespace phalanx::kube
