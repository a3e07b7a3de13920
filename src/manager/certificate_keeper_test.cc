#include "manager/certificate_keeper.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <mutex>

#include "base/base64.h"
#include "base/file.h"
#include "serve/server.h"

namespace phalanx::manager {
namespace {

using std::chrono::milliseconds;

const std::vector<std::string> kNames{"hooks.ours.svc", "127.0.0.1", "::1"};

json::array patch_for(std::string_view document) {
  return trust_patch(json::parse(document), {.ca_bundle_pem = "new"}, kNames);
}

TEST(TrustPatch, EveryWebhookThatCallsUsTrustsTheBundle) {
  EXPECT_EQ(json::value(patch_for(R"({"metadata":{"resourceVersion":"7"},"webhooks":[
      {"name":"a","clientConfig":{"url":"https://127.0.0.1:9443/a","caBundle":"b2xk"}},
      {"name":"b","clientConfig":{"service":{"name":"hooks","namespace":"ours"}}},
      {"name":"c","clientConfig":{"url":"https://[::1]/c","caBundle":"bmV3"}}]})")),
            json::parse(R"([
      {"op":"test","path":"/metadata/resourceVersion","value":"7"},
      {"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"bmV3"},
      {"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":"bmV3"}])"));
}

TEST(TrustPatch, ConversionOfACrdTrustsTheBundle) {
  EXPECT_EQ(json::value(patch_for(R"({"metadata":{"resourceVersion":"8"},"spec":{"conversion":
      {"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://[::1]:1/x"}}}}})")),
            json::parse(R"([
      {"op":"test","path":"/metadata/resourceVersion","value":"8"},
      {"op":"add","path":"/spec/conversion/webhook/clientConfig/caBundle","value":"bmV3"}])"));
}

// Kueue's definitions, where cert-manager made its certificates: they call us now, and the injector
// would write its CA for ever.
TEST(TrustPatch, NobodyGoesOnToInjectAnotherAuthority) {
  const std::string crd = R"({"metadata":{"resourceVersion":"8","annotations":{"mine":"stays",
      "cert-manager.io/inject-ca-from":"kueue-system/kueue-serving-cert"}},"spec":{"conversion":
      {"strategy":"Webhook","webhook":{"clientConfig":{"caBundle":"b2xk",
        "service":{"name":"hooks","namespace":"OWNER"}}}}}})";
  const auto called_in = [&](std::string_view owner) {
    std::string text = crd;
    return text.replace(text.find("OWNER"), 5, owner);
  };
  EXPECT_EQ(json::value(patch_for(called_in("ours"))), json::parse(R"([
      {"op":"test","path":"/metadata/resourceVersion","value":"8"},
      {"op":"add","path":"/spec/conversion/webhook/clientConfig/caBundle","value":"bmV3"},
      {"op":"remove","path":"/metadata/annotations/cert-manager.io~1inject-ca-from"}])"));
  EXPECT_TRUE(patch_for(called_in("theirs")).empty());
}

TEST(TrustPatch, WhatTrustsItAlreadyIsLeftAlone) {
  EXPECT_TRUE(patch_for(R"({"metadata":{"resourceVersion":"7"},"webhooks":[
      {"clientConfig":{"url":"https://127.0.0.1","caBundle":"bmV3"}}]})")
                  .empty());
  EXPECT_TRUE(patch_for(R"({"spec":{"conversion":{"strategy":"None"}}})").empty());
  EXPECT_TRUE(patch_for("{}").empty());
}

TEST(TrustPatch, AuthoritiesThatAreTrustedStayIfAsked) {
  const Time now = parse_time("2026-01-01T00:00:00Z").value();
  const auto authority = [&] {
    return serve::make_authority("phalanx", now, std::chrono::hours(1))->certificate_pem;
  };
  const std::string before = authority();
  const std::string ours = authority();
  const auto trusting = [](const std::string& bundle) {
    return json::parse(R"({"metadata":{"resourceVersion":"7"},"webhooks":[{"clientConfig":
        {"url":"https://127.0.0.1","caBundle":")" +
                       to_base64(bundle) + R"("}}]})");
  };
  const Trust both{.ca_bundle_pem = ours, .keeps_others = true};
  const auto patch = trust_patch(trusting(before), both, kNames);
  ASSERT_EQ(patch.size(), 2U);
  EXPECT_EQ(patch[1].at("value").as_string(), to_base64(ours + before));
  EXPECT_TRUE(trust_patch(trusting(ours + before), both, kNames).empty());
  EXPECT_TRUE(trust_patch(trusting(ours), both, kNames).empty());
  // In the end only ours.
  const auto last = trust_patch(trusting(ours + before), {.ca_bundle_pem = ours}, kNames);
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[1].at("value").as_string(), to_base64(ours));
}

// The CRDs are Kueue's as much as ours: while its webhook converts them, its CA counts.
TEST(TrustPatch, WhatCallsSomebodyElseIsLeftAlone) {
  EXPECT_TRUE(patch_for(R"({"metadata":{"resourceVersion":"8"},"spec":{"conversion":
      {"strategy":"Webhook","webhook":{"clientConfig":{"caBundle":"b2xk",
        "service":{"name":"kueue-webhook-service","namespace":"kueue-system"}}}}}})")
                  .empty());
  EXPECT_TRUE(patch_for(R"({"metadata":{"resourceVersion":"8"},"webhooks":[
      {"clientConfig":{"url":"https://127.0.0.1.example.com/x"}},
      {"clientConfig":{"service":{"name":"hooks","namespace":"theirs"}}}]})")
                  .empty());
}

// An API server that has one Secret, or none.
class SecretStore {
 public:
  SecretStore() {
    serve::ServerOptions options;
    options.address = {"127.0.0.1", 0};
    options.stop_grace = milliseconds(10);
    server_ = serve::Server::start(options, std::nullopt,
                                   [this](const serve::Request& request,
                                          const serve::Reply& reply) { answer(request, reply); })
                  .value();
  }

  [[nodiscard]] kube::ClusterAccess access() const {
    return {.server = "http://127.0.0.1:" + std::to_string(server_->address().port)};
  }
  void put(const CertificateFiles& files) {
    const std::scoped_lock lock(mutex_);
    json::object data{{"note", "bWluZQ=="}};
    for (const auto& [file, content] : files) data[file] = to_base64(content);
    store(json::object{{"metadata", json::object{{"name", "certificates"}}},
                       {"type", "kubernetes.io/something"},
                       {"data", std::move(data)}});
  }
  [[nodiscard]] json::value secret() const {
    const std::scoped_lock lock(mutex_);
    return secret_;
  }
  [[nodiscard]] std::string file(std::string_view name) const {
    const json::value document = secret();
    const json::value* content = document.at("data").as_object().if_contains(name);
    return content == nullptr ? "" : from_base64(std::string(content->as_string())).value();
  }
  [[nodiscard]] int writes() const {
    const std::scoped_lock lock(mutex_);
    return writes_;
  }
  // What happens meanwhile, just before the next request of this method is answered.
  void before(const std::string& method, std::function<void()> action) {
    const std::scoped_lock lock(mutex_);
    before_[method] = std::move(action);
  }
  void fail_with(int status) { status_ = status; }
  // There are webhooks, which can be changed or not.
  void register_webhooks(bool can_be_changed) {
    const std::scoped_lock lock(mutex_);
    webhooks_ = json::parse(R"({"metadata":{"resourceVersion":"7"},"webhooks":
        [{"clientConfig":{"url":"https://127.0.0.1"}}]})");
    webhooks_can_be_changed_ = can_be_changed;
  }
  [[nodiscard]] std::string trusted() const {
    const std::scoped_lock lock(mutex_);
    return webhooks_trust_;
  }
  void hang() { hangs_ = true; }

 private:
  void store(json::value document) {
    document.at("metadata").as_object()["resourceVersion"] = std::to_string(++version_);
    secret_ = std::move(document);
  }

  std::function<void()> action_before(const std::string& method) {
    const std::scoped_lock lock(mutex_);
    return std::exchange(before_[method], nullptr);
  }

  void answer(const serve::Request& request, const serve::Reply& reply) {
    if (hangs_) return kept_.push_back(reply);
    if (status_ != 0) return reply({.status = status_, .body = "{}"});
    if (const auto action = action_before(request.method)) action();
    const std::scoped_lock lock(mutex_);
    if (request.path.contains("mutatingwebhookconfigurations")) {
      return answer_webhooks(request, reply);
    }
    if (request.method == "GET") {
      if (secret_.is_null()) return reply({.status = 404, .body = "{}"});
      return reply({.body = json::serialize(secret_)});
    }
    json::value sent = json::parse(request.body);
    const json::value* version = sent.at("metadata").as_object().if_contains("resourceVersion");
    const bool fits =
        request.method == "POST"
            ? secret_.is_null()
            : version != nullptr && *version == secret_.at("metadata").at("resourceVersion");
    if (!fits) return reply({.status = 409, .body = "{}"});
    ++writes_;
    store(std::move(sent));
    reply({.status = 200, .body = json::serialize(secret_)});
  }

  void answer_webhooks(const serve::Request& request, const serve::Reply& reply) {
    if (webhooks_.is_null()) return reply({.status = 404, .body = "{}"});
    if (request.method == "GET") return reply({.body = json::serialize(webhooks_)});
    if (!webhooks_can_be_changed_) return reply({.status = 500, .body = "{}"});
    json::value& config = webhooks_.at("webhooks").at(0).at("clientConfig");
    const json::value bundle = json::parse(request.body).at(1).at("value");
    config.as_object()["caBundle"] = bundle;
    webhooks_trust_ = from_base64(std::string(bundle.as_string())).value();
    reply({.body = json::serialize(webhooks_)});
  }

  mutable std::mutex mutex_;
  json::value webhooks_;
  bool webhooks_can_be_changed_ = false;
  std::string webhooks_trust_;
  json::value secret_;
  int version_ = 0;
  int writes_ = 0;
  std::atomic<int> status_ = 0;
  std::atomic<bool> hangs_ = false;
  std::vector<serve::Reply> kept_;
  std::map<std::string, std::function<void()>> before_;
  std::unique_ptr<serve::Server> server_;
};

// A keeper that looks every few milliseconds, and what it told.
class Replica {
 public:
  Replica(const SecretStore& store, const std::string& folder, bool only_reads = false)
      : folder_(folder),
        keeper_({.access = store.access(),
                 .folder = {.path = folder, .names = kNames},
                 .secret_namespace = "ours",
                 .secret = "certificates",
                 .only_reads = only_reads,
                 .retry = milliseconds(5),
                 .interval = milliseconds(5),
                 .settling = milliseconds(1)}) {
    keeper_.start({.changed = [this](const serve::Identity& identity) -> Result<void> {
                     const std::scoped_lock lock(mutex_);
                     identity_ = identity.certificate_pem;
                     return {};
                   },
                   .gave_up =
                       [this](const Error& error) {
                         const std::scoped_lock lock(mutex_);
                         failure_ = error.message;
                       }});
  }

  // What it serves at this moment.
  [[nodiscard]] std::string served() {
    const std::scoped_lock lock(mutex_);
    return identity_;
  }
  // What it serves; waits until there is something other than that.
  std::string identity(const std::string& other_than = "") {
    eventually([&] { return identity_ != other_than; });
    const std::scoped_lock lock(mutex_);
    return identity_;
  }
  std::string failure() {
    eventually([&] { return !failure_.empty(); });
    const std::scoped_lock lock(mutex_);
    return failure_;
  }
  [[nodiscard]] std::string path(const std::string& file) const { return folder_ + "/" + file; }
  void stop() { keeper_.stop(); }

  template <typename Condition>
  void eventually(const Condition& holds) {
    for (int i = 0; i < 4000; ++i) {
      {
        const std::scoped_lock lock(mutex_);
        if (holds()) return;
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    ADD_FAILURE() << "it did not come to that";
  }

 private:
  const std::string folder_;
  std::mutex mutex_;
  std::string identity_;
  std::string failure_;
  CertificateKeeper keeper_;
};

class CertificateKeeperTest : public testing::Test {
 protected:
  CertificateKeeperTest()
      : home_(std::filesystem::temp_directory_path() /
              ("phalanx." + std::to_string(::getpid()) + "." +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~CertificateKeeperTest() override { std::filesystem::remove_all(home_); }

  std::string folder(const std::string& name) const { return (home_ / name).string(); }
  // As somebody makes them: all four files.
  CertificateFiles made_elsewhere(const std::string& name) const {
    SecretStore elsewhere;
    Replica other(elsewhere, folder(name));
    [[maybe_unused]] const std::string made = other.identity();
    CertificateFiles files;
    for (const char* file : {"ca.crt", "ca.key", "tls.crt", "tls.key"}) {
      files[file] = elsewhere.file(file);
    }
    return files;
  }

  std::filesystem::path home_;
  SecretStore store_;
};

TEST_F(CertificateKeeperTest, ReplicasServeOneCertificate) {
  Replica first(store_, folder("a"));
  const std::string certificate = first.identity();
  EXPECT_EQ(store_.file("tls.crt"), certificate);
  Replica second(store_, folder("b"));
  EXPECT_EQ(second.identity(), certificate);
  EXPECT_EQ(store_.writes(), 1);
  struct stat status{};
  ASSERT_EQ(::stat(second.path("ca.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(CertificateKeeperTest, WhoeverIsFasterIsRight) {
  CertificateFiles others = made_elsewhere("other");
  store_.before("POST", [&] { store_.put(others); });
  Replica slow(store_, folder("a"));
  EXPECT_EQ(slow.identity(), others["tls.crt"]);
  EXPECT_EQ(store_.writes(), 0);
}

TEST_F(CertificateKeeperTest, AFolderThatIsEmptiedIsFilledFromTheSecret) {
  Replica replica(store_, folder("a"));
  const std::string certificate = replica.identity();
  std::atomic<bool> emptied = false;
  store_.before("GET", [&] {
    std::filesystem::remove_all(folder("a"));
    emptied = true;
  });
  replica.eventually([&] { return emptied && std::filesystem::exists(replica.path("tls.crt")); });
  EXPECT_EQ(read_file(replica.path("tls.crt")).value(), certificate);
  EXPECT_EQ(store_.writes(), 1) << "it made new ones";
}

// Somebody else's certificates are only read, whatever the folder had before.
TEST_F(CertificateKeeperTest, ASecretWithoutTheKeyOfItsCaIsSomebodyElses) {
  CertificateFiles others = made_elsewhere("a");
  others.erase("ca.key");
  ASSERT_TRUE(std::filesystem::exists(folder("a") + "/ca.key"));
  store_.put(others);
  Replica replica(store_, folder("a"));
  EXPECT_EQ(replica.identity(), others["tls.crt"]);
  EXPECT_FALSE(std::filesystem::exists(replica.path("ca.key")));
  EXPECT_EQ(store_.writes(), 0);
}

// cert-manager: it makes the Secret when it comes to it, and replaces what is in it.
TEST_F(CertificateKeeperTest, WhatSomebodyElseKeepsIsWaitedForAndFollowed) {
  CertificateFiles first = made_elsewhere("x");
  const CertificateFiles second = made_elsewhere("y");
  Replica replica(store_, folder("a"), true);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(replica.served(), "");
  store_.put({});  // a Secret that is not filled yet
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(replica.served(), "");
  first.erase("ca.key");
  store_.put(first);
  EXPECT_EQ(replica.identity(), first["tls.crt"]);
  // The key of a CA that was ours once changes nothing.
  store_.put(second);
  EXPECT_EQ(replica.identity(first["tls.crt"]), second.at("tls.crt"));
  EXPECT_FALSE(std::filesystem::exists(replica.path("ca.key")));
  EXPECT_EQ(store_.writes(), 0);
}

TEST_F(CertificateKeeperTest, ASecretThatSomebodyMadeKeepsWhatElseItHas) {
  store_.put({});
  Replica replica(store_, folder("a"));
  const std::string certificate = replica.identity();
  EXPECT_EQ(store_.file("tls.crt"), certificate);
  EXPECT_EQ(store_.secret().at("data").at("note").as_string(), "bWluZQ==");
  EXPECT_EQ(store_.secret().at("type").as_string(), "kubernetes.io/something");
}

TEST_F(CertificateKeeperTest, AServerThatFailsIsTriedAgain) {
  store_.fail_with(503);
  Replica replica(store_, folder("a"));
  std::this_thread::sleep_for(milliseconds(50));
  store_.fail_with(0);
  EXPECT_FALSE(replica.identity().empty());
}

// Also if nobody leads: whoever has it sees to it first.
TEST_F(CertificateKeeperTest, ANewCertificateIsServedOnceItIsTrusted) {
  Replica replica(store_, folder("a"));
  const std::string first = replica.identity();
  const std::string first_authority = store_.file("ca.crt");
  store_.register_webhooks(false);
  store_.put({{"ca.key", store_.file("ca.key")}});  // the authority is lost: there will be another
  replica.eventually([&] { return store_.file("ca.crt") != ""; });
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(replica.identity(), first);
  store_.register_webhooks(true);
  EXPECT_NE(replica.identity(first), first);
  EXPECT_NE(store_.file("ca.crt"), first_authority);
  EXPECT_EQ(store_.trusted(), store_.file("ca.crt"));
}

TEST_F(CertificateKeeperTest, AFolderThatCannotBeIsTheEnd) {
  std::filesystem::create_directories(home_);
  ASSERT_TRUE(write_file(folder("a"), "a file"));
  Replica replica(store_, folder("a"));
  EXPECT_NE(replica.failure().find(folder("a")), std::string::npos) << replica.failure();
}

TEST_F(CertificateKeeperTest, StoppingWaitsForNoServer) {
  store_.hang();
  Replica replica(store_, folder("a"));
  std::this_thread::sleep_for(milliseconds(50));
  replica.stop();  // or the test takes as long as a request may: 30 s
}

}  // namespace
}  // namespace phalanx::manager
