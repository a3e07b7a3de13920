// What the tests of metrics share: a core that is told of objects, and what a scrape shows of it.
// Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "base/yaml.h"
#include "jobs/batch_job.h"
#include "manager/scrape.h"
#include "manager/workload_meter.h"

namespace phalanx::manager {

class ScrapeFixture : public testing::Test {
 protected:
  // Tells the core of a document, and the meter if it is a Workload.
  void tell(std::string_view yaml, bool counts = true) {
    json::value document = parse_documents(yaml).value().front().value;
    json::object& metadata = document.at("metadata").as_object();
    if (!metadata.contains("uid")) {
      metadata["uid"] = "uid-" + std::string(metadata["name"].as_string());
    }
    metadata["resourceVersion"] = std::to_string(++version_);
    auto object = core::decode_object(document, adapters_);
    ASSERT_TRUE(object) << object.error().message;
    if (auto* unreadable = std::get_if<core::Unreadable>(&object->body)) {
      FAIL() << object->key.text() << ": " << unreadable->problem;
    }
    if (object->key.kind == api::Kind::kWorkload) {
      workloads_.saw(*object, core_.state(), Role::kLeader, now_, counts);
    }
    step({core::ObjectChanged{std::move(*object)}});
  }
  void step(std::vector<core::Event> events) {
    const core::Output output = core_.step(now_, std::move(events));
    workloads_.decided(output.tally, Role::kLeader, std::chrono::microseconds(100));
  }

  std::string scrape() {
    return render_metrics(meters_, core_, {.ready = true, .role = Role::kLeader}, {});
  }
  // Every series of a scrape with its value as text: `name{label="value"}`.
  std::map<std::string, std::string> series() {
    std::map<std::string, std::string> found;
    const std::string text = scrape();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      const size_t space = line.rfind(' ');
      if (!line.starts_with('#')) found[line.substr(0, space)] = line.substr(space + 1);
    }
    return found;
  }
  void expect(const std::map<std::string, std::string>& wanted) {
    const auto found = series();
    for (const auto& [name, value] : wanted) {
      EXPECT_TRUE(found.contains(name)) << name;
      if (found.contains(name)) EXPECT_EQ(found.at(name), value) << name;
    }
  }

  const core::Adapters adapters_ = jobs::all_adapters();
  core::Configuration configuration_;
  core::Core core_{configuration_, adapters_};
  Meters meters_;
  WorkloadMeter workloads_{meters_.registry};
  Time now_ = parse_time("2026-01-01T00:01:00Z").value();
  uint64_t version_ = 0;
};

}  // namespace phalanx::manager
