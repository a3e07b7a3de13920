// Random sequences of writes, good and bad, by several clients: whatever happens, versions only
// grow, a reader of the history knows what the server knows, and nothing is said of writes that
// changed nothing.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "sim/api_server_testing.h"
#include "sim/state_folder.h"

namespace phalanx::sim {
namespace {

// One write: what, of which of a few objects, with which of a few values.
struct Step {
  int action = 0;
  int object = 0;
  int value = 0;
  int seconds = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << "{" << step.action << ", " << step.object << ", " << step.value << ", "
             << step.seconds << "}";
}

constexpr int kActions = 13;
constexpr int kObjects = 6;

using Known = std::map<api::ObjectKey, Stored>;

// What an object says, apart from its version: that alone is no change.
json::value said(const Stored& object) {
  if (!object) return nullptr;
  json::value copy = *object;
  erase_at(copy, {"metadata", "resourceVersion"});
  return copy;
}

// A client that follows the server: it knows objects only from events.
class Follower {
 public:
  Follower(const ApiServer& server, WatchCursor cursor) : cursor_(std::move(cursor)) {
    // What is there at the cursor's position comes from a listing.
    for (const api::KindInfo& about : api::all_kinds()) {
      for (const Stored& object : server.list(about.kind).items) {
        known_[key_of(about.kind, *object)] = object;
      }
    }
  }

  void catch_up(ApiServer& server, size_t at_most) {
    for (;;) {
      const auto events = server.read(cursor_, at_most);
      RC_ASSERT(events.has_value());
      if (events->empty()) return;
      for (const WatchEvent& event : *events) take(event);
    }
  }

  [[nodiscard]] const Known& known() const { return known_; }

 private:
  void take(const WatchEvent& event) {
    RC_ASSERT(event.resource_version > last_version_);
    last_version_ = event.resource_version;
    if (event.type == WatchEventType::kBookmark) return;
    RC_ASSERT(resource_version_of(*event.object) == event.resource_version);
    const api::ObjectKey key = key_of(event.kind, *event.object);
    RC_ASSERT(known_.contains(key) == (event.type != WatchEventType::kAdded));
    if (event.type == WatchEventType::kDeleted) {
      known_.erase(key);
      return;
    }
    if (event.type == WatchEventType::kModified) {
      RC_ASSERT(said(known_.at(key)) != said(event.object));
      RC_ASSERT(uid_of(*known_.at(key)) == uid_of(*event.object));
    }
    known_[key] = event.object;
  }

  WatchCursor cursor_;
  Known known_;
  uint64_t last_version_ = 0;
};

class Cluster {
 public:
  explicit Cluster(uint64_t seed) : server_(clock_, seed) {}

  ApiServer& server() { return server_; }

  // Does what the step says; whether the server took it is its own business.
  void run(const Step& step) {
    clock_.advance_to(clock_.now() + std::chrono::seconds(step.seconds));
    const uint64_t before = server_.resource_version();
    const Stored old = server_.get(key(step));
    write(step);
    const Stored now = server_.get(key(step));
    const uint64_t grown = server_.resource_version() - before;
    RC_ASSERT(grown <= 1);
    // A version was used if, and only if, something changed.
    RC_ASSERT((grown == 1) == (said(old) != said(now)));
    if (old && now) RC_ASSERT(resource_version_of(*now) >= resource_version_of(*old));
  }

 private:
  static api::ObjectKey key(const Step& step) {
    constexpr std::array kKinds{api::Kind::kPod, api::Kind::kNode, api::Kind::kWorkload};
    const api::Kind kind = kKinds[static_cast<size_t>(step.object) % kKinds.size()];
    return {kind, api::info(kind).namespaced ? "default" : "", "o" + std::to_string(step.object)};
  }

  static json::value document(const Step& step) {
    const api::ObjectKey where = key(step);
    json::value object = json::object{{"apiVersion", api::api_version(where.kind)},
                                      {"kind", std::string(api::info(where.kind).name)},
                                      {"metadata", json::object{{"name", where.name}}}};
    if (where.kind == api::Kind::kPod) {
      object.get_object()["spec"] = from_yaml("containers: [{name: main}]");
      if (step.value == 1) {
        ensure_object(object, {"spec"})["schedulingGates"] = from_yaml("[{name: a.example/g}]");
      }
    }
    if (step.value == 2) {
      ensure_object(object, {"metadata"})["finalizers"] = json::array{"a.example/f"};
    }
    return object;
  }

  json::value label(const Step& step) const {
    return json::object{
        {"metadata", json::object{{"labels", json::object{{"v", std::to_string(step.value)}}}}}};
  }

  void write(const Step& step) {
    const api::ObjectKey where = key(step);
    const std::string manager = "m" + std::to_string(step.value % 2);
    switch (step.action) {
      case 0:
      case 1:
        return ignore(server_.create(document(step)));
      case 2:
        return ignore(server_.patch(where, PatchType::kMerge, label(step)));
      case 3:
        return ignore(
            server_.patch(where, PatchType::kMerge, label(step), {.field_manager = manager}));
      case 4:
        return write_back(where, step);
      case 5:
        return ignore(server_.patch(where, PatchType::kMerge, status(step), {.status = true}));
      case 6:
        return ignore(server_.remove(where));
      case 7:
        return ignore(server_.remove(where, {.grace_period_seconds = 0}));
      case 8:
        return ignore(server_.remove(where, {.propagation = Propagation::kForeground}));
      case 9:
        return ignore(
            server_.patch(where, PatchType::kMerge, from_yaml("metadata: {finalizers: null}")));
      case 10:
        return ignore(server_.bind(where, "n" + std::to_string(step.value)));
      case 11: {
        json::value applied = document(step);
        ensure_object(applied, {"metadata", "labels"})["w" + std::to_string(step.value)] = "x";
        return ignore(server_.patch(where, PatchType::kApply, applied,
                                    {.field_manager = manager, .force = step.value == 3}));
      }
      default:
        return ignore(server_.patch(where, PatchType::kJson,
                                    from_yaml("[{op: remove, path: /metadata/labels/v}]")));
    }
  }

  json::value status(const Step& step) const {
    constexpr std::array kPhases{"Pending", "Running", "Succeeded", "Failed"};
    return json::object{
        {"status", json::object{{"phase", kPhases[static_cast<size_t>(step.value) % 4]}}}};
  }

  // Reads, changes and writes back; sometimes what it read is old.
  void write_back(const api::ObjectKey& where, const Step& step) {
    const Stored old = server_.get(where);
    if (!old) return;
    json::value changed = *old;
    apply_label(changed, step.value);
    if (step.value == 3) ensure_object(changed, {"metadata"})["resourceVersion"] = "1";
    const auto written = server_.update(changed);
    if (step.value == 3) RC_ASSERT(!written.has_value() && written.error().reason == "Conflict");
  }

  static void apply_label(json::value& object, int value) {
    ensure_object(object, {"metadata", "labels"})["v"] = std::to_string(value);
  }

  template <typename T>
  static void ignore(const ApiResult<T>& result) {
    // A refusal always says what and why.
    if (!result) RC_ASSERT(!result.error().message.empty() && result.error().code >= 400);
  }

  Clock clock_{test_start()};
  ApiServer server_;
};

std::vector<Step> random_steps() {
  const auto step =
      rc::gen::construct<Step>(rc::gen::inRange(0, kActions), rc::gen::inRange(0, kObjects),
                               rc::gen::inRange(0, 4), rc::gen::element(0, 0, 0, 1, 40));
  return *rc::gen::container<std::vector<Step>>(step);
}

Known objects_of(const ApiServer& server) {
  return server.state().objects;
}

// The same cases in every run, so that a failure is the change's and not the day's; RC_PARAMS asks
// for others.
bool property(const std::string& name, const std::function<void()>& body) {
  ::setenv("RC_PARAMS", "seed=20260131 max_success=200 max_size=200", 0);
  return rc::check(name, body);
}

TEST(ApiServerProperty, FollowersKnowWhatTheServerKnows) {
  EXPECT_TRUE(property("events replay to the listing from any point", [] {
    Cluster cluster(*rc::gen::arbitrary<uint64_t>());
    const std::vector<Step> steps = random_steps();
    const size_t join_at = *rc::gen::inRange<size_t>(0, steps.size() + 1);
    const size_t at_most = *rc::gen::inRange<size_t>(1, 5);
    std::optional<Follower> follower;
    for (size_t i = 0; i <= steps.size(); ++i) {
      if (i == join_at) {
        follower.emplace(cluster.server(), WatchCursor{{}, cluster.server().resource_version()});
      }
      if (i < steps.size()) cluster.run(steps[i]);
    }
    follower->catch_up(cluster.server(), at_most);
    RC_ASSERT(follower->known() == objects_of(cluster.server()));
  }));
}

TEST(ApiServerProperty, TheSameStepsGiveTheSameCluster) {
  EXPECT_TRUE(property("a run depends on its seed and its steps only", [] {
    const auto seed = *rc::gen::arbitrary<uint64_t>();
    Cluster one(seed);
    Cluster two(seed);
    for (const Step& step : random_steps()) {
      one.run(step);
      two.run(step);
    }
    const Known a = objects_of(one.server());
    const Known b = objects_of(two.server());
    RC_ASSERT(std::ranges::equal(a, b, [](const auto& left, const auto& right) {
      return left.first == right.first && *left.second == *right.second;
    }));
  }));
}

TEST(ApiServerProperty, SavedClustersAreLoadedExactly) {
  const std::string folder =
      (std::filesystem::path(testing::TempDir()) / "phalanx-state-property").string();
  EXPECT_TRUE(property("saving and loading changes nothing", [&] {
    Cluster cluster(*rc::gen::arbitrary<uint64_t>());
    for (const Step& step : random_steps()) cluster.run(step);
    const ClusterState before = cluster.server().state();
    const auto saved = save_state(before, folder);
    RC_ASSERT(saved.has_value());
    const auto loaded = load_state(folder);
    if (!loaded) RC_FAIL(loaded.error().message);
    RC_ASSERT(loaded->now == before.now);
    RC_ASSERT(loaded->resource_version == before.resource_version);
    RC_ASSERT(loaded->random_state == before.random_state);
    RC_ASSERT(std::ranges::equal(
        loaded->objects, before.objects, [](const auto& left, const auto& right) {
          return left.first == right.first && *left.second == *right.second;
        }));
  }));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace phalanx::sim
