#include "cli/webhook_samples.h"

#include <fmt/format.h>

#include "admission/webhook.h"
#include "base/json.h"
#include "base/random.h"
#include "core/names.h"

namespace phalanx::cli {
namespace {

namespace names = core::names;
using serve::Wire;

constexpr std::string_view kKueueVersion = "kueue.x-k8s.io/v1beta2";
constexpr std::string_view kOlderKueueVersion = "kueue.x-k8s.io/v1beta1";
constexpr int kVariants = 24;  // of each good sort
constexpr int kGarbageVariants = 4;
constexpr int kBrackets = 100'000;
constexpr int kUnknownFields = 8'000;
constexpr size_t kLargeAnnotation = 1'500'000;
constexpr size_t kMebibyte = size_t{1} << 20;

const std::string kAllowed = R"("allowed":true)";
const std::string kRefused = R"("allowed":false)";
const std::string kConverted = R"("status":"Success")";

class SampleMaker {
 public:
  SampleMaker(std::string host, uint64_t seed) : host_(std::move(host)), random_(seed) {}

  WebhookSamples make() && {
    for (int i = 0; i < kVariants; ++i) {
      add_jobs();
      add_workloads();
      add_queues();
      add_conversions();
    }
    for (int i = 0; i < kGarbageVariants; ++i) {
      add_bad_documents();
      add_odd_documents();
      add_bad_requests();
      add_bad_clients();
    }
    return std::move(samples_);
  }

 private:
  static std::string head(std::string_view method, std::string_view path, const std::string& host,
                          const std::string& more) {
    return fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{}\r\n",
                       method, path, host, more);
  }
  [[nodiscard]] std::string post(std::string_view path, std::string_view body) const {
    return head("POST", path, host_, fmt::format("Content-Length: {}\r\n", body.size()))
        .append(body);
  }
  void good(std::string_view sort, std::string_view path, const json::value& body,
            const std::string& contains) {
    samples_.good.push_back(
        {sort, post(path, json::serialize(body)), Wire::kKept, {200, contains}});
  }
  void garbage(std::string_view sort, std::string text, ExpectedAnswer expected,
               Wire wire = Wire::kKept) {
    samples_.garbage.push_back({sort, std::move(text), wire, std::move(expected)});
  }

  json::object review(const json::value& object, const json::value& old_object = nullptr) {
    const std::string_view version = object.at("apiVersion").as_string();
    const size_t slash = version.find('/');
    const json::object about{{"group", version.substr(0, slash)},
                             {"version", version.substr(slash + 1)},
                             {"kind", object.at("kind")}};
    return {
        {"apiVersion", "admission.k8s.io/v1"},
        {"kind", "AdmissionReview"},
        {"request", json::object{{"uid", fmt::format("{:016x}", random_.next())},
                                 {"kind", about},
                                 {"resource", json::object{{"group", version.substr(0, slash)},
                                                           {"version", version.substr(slash + 1)},
                                                           {"resource", "things"}}},
                                 {"namespace", "tenant"},
                                 {"name", object.at("metadata").at("name")},
                                 {"operation", old_object.is_null() ? "CREATE" : "UPDATE"},
                                 {"userInfo", json::object{{"username", "somebody"}}},
                                 {"object", object},
                                 {"oldObject", old_object}}}};
  }

  std::string name() { return fmt::format("object-{:08x}", random_.next() & 0xFFFF'FFFF); }

  json::object pod_template() {
    json::array environment;
    const int64_t size = random_.between(0, 60);
    for (int64_t i = 0; i < size; ++i) {
      environment.push_back(
          json::object{{"name", fmt::format("VARIABLE_{}", i)},
                       {"value", std::string(static_cast<size_t>(random_.between(1, 120)), 'v')}});
    }
    json::object container{
        {"name", "worker"},
        {"image", "registry.example.com/training:1"},
        {"env", std::move(environment)},
        {"resources",
         json::object{
             {"requests", json::object{{"cpu", "4"}, {"memory", "16Gi"}, {"nvidia.com/gpu", "8"}}},
             {"limits", json::object{{"nvidia.com/gpu", "8"}}}}}};
    return {{"metadata", json::object{{"labels", json::object{{"app", "training"}}}}},
            {"spec", json::object{{"restartPolicy", "Never"},
                                  {"containers", json::array{std::move(container)}}}}};
  }

  json::object job(bool suspended) {
    json::object annotations;
    const int64_t size = random_.between(0, 20);
    for (int64_t i = 0; i < size; ++i) {
      annotations[fmt::format("example.com/note-{}", i)] =
          std::string(static_cast<size_t>(random_.between(1, 400)), 'n');
    }
    const int64_t pods = random_.between(1, 512);
    return {{"apiVersion", "batch/v1"},
            {"kind", "Job"},
            {"metadata", json::object{{"name", name()},
                                      {"namespace", "tenant"},
                                      {"labels", json::object{{names::kQueueLabel, "main"}}},
                                      {"annotations", std::move(annotations)}}},
            {"spec", json::object{{"parallelism", pods},
                                  {"completions", pods},
                                  {"suspend", suspended},
                                  {"template", pod_template()}}}};
  }

  json::object workload(std::string_view version = kKueueVersion) {
    return {{"apiVersion", version},
            {"kind", "Workload"},
            {"metadata", json::object{{"name", name()}, {"namespace", "tenant"}}},
            {"spec",
             json::object{{"queueName", "main"},
                          {"podSets", json::array{json::object{{"name", "main"},
                                                               {"count", random_.between(1, 512)},
                                                               {"template", pod_template()}}}}}}};
  }

  json::object cluster_queue(std::string_view version = kKueueVersion) {
    json::array flavors;
    const int64_t size = random_.between(1, 16);
    for (int64_t i = 0; i < size; ++i) {
      flavors.push_back(json::object{
          {"name", fmt::format("flavor-{}", i)},
          {"resources",
           json::array{json::object{{"name", "nvidia.com/gpu"},
                                    {"nominalQuota", std::to_string(random_.between(1, 4096))}}}}});
    }
    return {
        {"apiVersion", version},
        {"kind", "ClusterQueue"},
        {"metadata", json::object{{"name", name()}}},
        {"spec",
         json::object{{"namespaceSelector", json::object()},
                      {"resourceGroups",
                       json::array{json::object{{"coveredResources", json::array{"nvidia.com/gpu"}},
                                                {"flavors", std::move(flavors)}}}}}}};
  }

  json::value queue_of_quota(std::string_view amount) {
    json::value queue = cluster_queue();
    json::value& flavor = queue.at("spec").at("resourceGroups").at(0).at("flavors").at(0);
    flavor.at("resources").at(0).as_object()["nominalQuota"] = amount;
    return queue;
  }

  void add_jobs() {
    good("job created", admission::kMutateJobPath, review(job(false)), R"("patch":)");
    good("job checked", admission::kValidateJobPath, review(job(true)), kAllowed);
    const json::value waits = job(true);
    json::value larger = waits;
    larger.at("spec").as_object()["parallelism"] = 2;
    good("job changed", admission::kValidateJobPath, review(larger, waits), kAllowed);
    const json::value runs = job(false);
    json::value moved = runs;
    moved.at("metadata").at("labels").as_object()[names::kQueueLabel] = "other";
    good("running job to another queue", admission::kValidateJobPath, review(moved, runs),
         kRefused);
    json::value started = waits;
    started.at("spec").as_object()["suspend"] = false;
    good("job started by hand", admission::kKeepSuspendedPath, review(started, waits), kRefused);
  }

  void add_workloads() {
    good("workload created", admission::kValidateKueuePath, review(workload()), kAllowed);
    json::value short_of_pods = workload();
    json::object& pod_set = short_of_pods.at("spec").at("podSets").as_array().front().as_object();
    pod_set["minCount"] = pod_set.at("count").as_int64() + 1;
    good("workload of too few pods", admission::kValidateKueuePath, review(short_of_pods),
         kRefused);
    const json::value waits = workload();
    json::value forged = waits;
    forged.as_object()["status"] =
        json::object{{"admission", json::object{{"clusterQueue", "team"}}}};
    json::object asked = review(forged, waits);
    asked["request"].as_object()["subResource"] = "status";
    good("admission by hand", admission::kKeepStatusPath, asked, kRefused);
  }

  void add_queues() {
    good("queue created", admission::kMutateKueuePath, review(cluster_queue()), R"("patch":)");
    good("queue checked", admission::kValidateKueuePath, review(cluster_queue()), kAllowed);
    good("queue of negative quota", admission::kValidateKueuePath, review(queue_of_quota("-1")),
         kRefused);
  }

  json::object conversion(std::string_view wanted, json::array objects) {
    return {{"apiVersion", "apiextensions.k8s.io/v1"},
            {"kind", "ConversionReview"},
            {"request", json::object{{"uid", fmt::format("{:016x}", random_.next())},
                                     {"desiredAPIVersion", wanted},
                                     {"objects", std::move(objects)}}}};
  }

  void add_conversions() {
    good("to the stored version", admission::kConvertPath,
         conversion(kKueueVersion, {workload(kOlderKueueVersion), workload(kOlderKueueVersion)}),
         kConverted);
    good("to the older version", admission::kConvertPath,
         conversion(kOlderKueueVersion, {workload(), cluster_queue()}), kConverted);
  }

  void add_bad_documents() {
    const std::string_view path = admission::kValidateJobPath;
    const std::string whole = json::serialize(review(job(true)));
    const ExpectedAnswer bad{400, "Failure"};
    garbage("not JSON", post(path, "<html>" + whole), bad);
    garbage("truncated JSON", post(path, whole.substr(0, whole.size() - 1 - random_.below(500))),
            bad);
    garbage("nested too deep",
            post(path, std::string(kBrackets, '[') + std::string(kBrackets, ']')), bad);
    std::string no_text = whole;
    no_text[no_text.find("object-")] = '\xFF';
    garbage("no UTF-8", post(path, no_text), bad);
    std::string twice = whole;
    twice.insert(1, R"("kind":"AdmissionReview",)");
    garbage("a key twice", post(path, twice), bad);
    std::string beyond = whole;
    const std::string_view count = R"("parallelism":)";
    beyond.insert(beyond.find(count) + count.size(), "1e400,\"more\":");
    garbage("a number of 1e400", post(path, beyond), {200, kAllowed});
  }

  void add_odd_documents() {
    const std::string_view path = admission::kValidateJobPath;
    const ExpectedAnswer bad{400, "Failure"};
    json::value large = job(true);
    large.at("metadata").at("annotations").as_object()["example.com/large"] =
        std::string(kLargeAnnotation, 'x');
    garbage("an annotation of 1.5 MB", post(path, json::serialize(review(large))), {200, kAllowed});
    const json::value many = queue_of_quota("9223372036854775808");
    garbage("a quota of 2^63", post(admission::kValidateKueuePath, json::serialize(review(many))),
            {200, kRefused});
    json::object strange = workload(kOlderKueueVersion);
    for (int i = 0; i < kUnknownFields; ++i) strange["spec"].as_object()[fmt::format("f{}", i)] = i;
    garbage("8 000 unknown fields",
            post(admission::kConvertPath, json::serialize(conversion(kKueueVersion, {strange}))),
            {200, kConverted});
    json::value pod = job(true);
    pod.as_object()["kind"] = "Pod";
    garbage("another kind", post(path, json::serialize(review(pod))), bad);
    json::object contradiction = review(job(true));
    contradiction["request"].at("object").as_object()["kind"] = "CronJob";
    garbage("a review that contradicts itself", post(path, json::serialize(contradiction)), bad);
  }

  void add_bad_requests() {
    const std::string body = json::serialize(review(job(true)));
    garbage("no such path", post("/validate-everything", body), {404, "Failure"});
    garbage("no POST", head("GET", admission::kValidateJobPath, host_, ""), {405, "Failure"});
    garbage("no body", post(admission::kValidateJobPath, ""), {400, "Failure"});
    // Who is told while he still sends may miss it.
    garbage("too large, as it says",
            head("POST", admission::kValidateJobPath, host_,
                 fmt::format("Content-Length: {}\r\n", 100 * kMebibyte)) +
                std::string(1000, ' '),
            {413, ""}, Wire::kOwn);
    std::string chunked =
        head("POST", admission::kValidateJobPath, host_, "Transfer-Encoding: chunked\r\n");
    const std::string chunk(kMebibyte, ' ');
    for (int i = 0; i < 9; ++i) chunked += fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk);
    // Where much is read at the same time, the largest give way.
    garbage("too large, in chunks", chunked, {413, "", true, true}, Wire::kOwn);
  }

  void add_bad_clients() {
    const std::string whole = post(admission::kValidateJobPath, json::serialize(review(job(true))));
    garbage("a request that is cut", whole.substr(0, whole.size() / 2), {0, ""}, Wire::kCut);
    garbage("a byte now and then", whole, {408, "", true}, Wire::kDripping);
    garbage("no TLS", whole, {400, "https"}, Wire::kPlain);
    std::string noise(static_cast<size_t>(random_.between(10, 2000)), '\0');
    noise[0] = '\x16';  // what a handshake begins with
    for (size_t i = 1; i < noise.size(); ++i) noise[i] = static_cast<char>(random_.below(256));
    garbage("noise instead of TLS", noise, {0, ""}, Wire::kPlain);
  }

  std::string host_;
  Random random_;
  WebhookSamples samples_;
};

}  // namespace

WebhookSamples make_webhook_samples(const std::string& host, uint64_t seed) {
  return SampleMaker(host, seed).make();
}

}  // namespace phalanx::cli
