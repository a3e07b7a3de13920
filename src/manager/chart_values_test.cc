// The chart lets through what the manager understands: the values `configuration` of
// deploy/helm/phalanx/values.schema.json against the program itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "base/file.h"
#include "core/feature_gates.h"
#include "manager/settings.h"

namespace phalanx::manager {
namespace {

// Durations that fit the defaults of the others.
const std::map<std::string_view, std::string_view> kFitting{{"retryPeriod", "1s"},
                                                            {"authorityValidity", "90000h"}};

class ChartValuesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("PHALANX_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    if (source == nullptr) GTEST_SKIP() << "PHALANX_SOURCE_DIR is not set; run through ctest";
    const auto text = read_file(std::string(source) + "/deploy/helm/phalanx/values.schema.json");
    ASSERT_TRUE(text) << text.error().message;
    schema_ = parse_json(*text).value();
  }

  [[nodiscard]] const json::object& configuration() const {
    return schema_.at("properties").at("configuration").as_object();
  }

  // Values of a field that the schema allows: all, where it names them.
  [[nodiscard]] static std::vector<json::value> examples(std::string_view name,
                                                         const json::object& field) {
    if (const json::value* choices = field.if_contains("enum")) {
      return {choices->as_array().begin(), choices->as_array().end()};
    }
    if (const json::value* only = field.if_contains("const")) return {*only};
    if (field.contains("$ref")) {
      const auto fitting = kFitting.find(name);
      return {json::value(fitting == kFitting.end() ? "12s" : fitting->second)};
    }
    const json::value& type = field.at("type");
    if (type == "boolean") return {true};
    if (type == "string") return {"a"};
    if (type == "array") return {json::array{of_items(field.at("items").as_object())}};
    if (type == "object") return {of_object(field)};
    return {1};
  }

  [[nodiscard]] static json::value of_items(const json::object& items) {
    return examples("", items).front();
  }

  // With what must be there; of a map one entry.
  [[nodiscard]] static json::value of_object(const json::object& field) {
    json::object object;
    if (const json::value* required = field.if_contains("required")) {
      for (const json::value& name : required->as_array()) {
        const json::value& property = field.at("properties").at(name.as_string());
        object[name.as_string()] = examples(name.as_string(), property.as_object()).front();
      }
    }
    const json::value& others = field.at("additionalProperties");
    const json::value* names = field.if_contains("propertyNames");
    if (others.is_object()) {
      const json::value name = names == nullptr ? json::value("cpu") : names->at("enum").at(0);
      object[name.as_string()] = examples("", others.as_object()).front();
    }
    return object;
  }

  using Put = std::function<json::value(json::value)>;

  // Calls visit(path, object, put) for every object of the schema; `put` makes a whole
  // configuration of a value in its place.
  template <typename Visit>
  static void each_object(const std::string& path, const json::object& field, const Put& put,
                          const Visit& visit) {
    if (const json::value* items = field.if_contains("items")) {
      each_object(
          path + "[]", items->as_object(),
          [&](json::value value) { return put(json::array{std::move(value)}); }, visit);
    }
    if (field.if_contains("type") == nullptr || field.at("type") != "object") return;
    visit(path, field, put);
    const json::value* properties = field.if_contains("properties");
    if (properties == nullptr) return;
    for (const auto& property : properties->as_object()) {
      const Put inner = [&](json::value value) {
        json::value object = of_object(field);
        object.as_object()[property.key()] = std::move(value);
        return put(std::move(object));
      };
      each_object(path + "." + std::string(property.key()), property.value().as_object(), inner,
                  visit);
    }
  }

  // "" if the program takes it.
  [[nodiscard]] static std::string problem(const json::value& fields) {
    json::value file = fields;
    file.as_object()["apiVersion"] = "config.phalanx.dev/v1";
    file.as_object()["kind"] = "Configuration";
    const auto settings = read_settings(json::serialize(file), "config.yaml", {});
    return settings ? "" : settings.error().message;
  }

  json::value schema_;
};

json::value itself(json::value value) {
  return value;
}

TEST_F(ChartValuesTest, HaveExactlyTheGatesOfTheProgram) {
  const json::value& names =
      configuration().at("properties").at("featureGates").at("propertyNames").at("enum");
  std::set<std::string> gates;
  for (const json::value& name : names.as_array()) gates.emplace(name.as_string());
  const std::vector<std::string_view> known = core::feature_gate_names();
  EXPECT_EQ(gates, std::set<std::string>(known.begin(), known.end()));
}

TEST_F(ChartValuesTest, AreWhatTheProgramTakes) {
  size_t tried = 0;
  each_object(
      "configuration", configuration(), itself,
      [&](const std::string& path, const json::object& object, const Put& put) {
        const json::value* properties = object.if_contains("properties");
        if (properties == nullptr) {
          EXPECT_EQ(problem(put(of_object(object))), "") << path;
          return;
        }
        for (const auto& property : properties->as_object()) {
          for (const json::value& value : examples(property.key(), property.value().as_object())) {
            json::value whole = of_object(object);
            whole.as_object()[property.key()] = value;
            if (property.key() == "blockAdmissionScope") {
              whole.as_object()["blockAdmission"] = true;
            }
            EXPECT_EQ(problem(put(whole)), "") << path << "." << property.key();
            ++tried;
          }
        }
      });
  EXPECT_GT(tried, 50U);
}

// What the program would refuse must not get as far as the cluster.
TEST_F(ChartValuesTest, AreClosed) {
  each_object("configuration", configuration(), itself,
              [](const std::string& path, const json::object& object, const Put& put) {
                const json::value* others = object.if_contains("additionalProperties");
                ASSERT_NE(others, nullptr) << path << " takes anything";
                if (others->is_object()) return;
                EXPECT_EQ(*others, json::value(false)) << path;
                json::value whole = of_object(object);
                whole.as_object()["nobodys"] = 1;
                EXPECT_NE(problem(put(whole)), "") << path;
              });
}

}  // namespace
}  // namespace phalanx::manager
