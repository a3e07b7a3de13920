#include "api/job.h"

#include <gtest/gtest.h>

namespace phalanx::api {
namespace {

struct ReadJob {
  Job job;
  std::string error;  // empty: none
};

ReadJob read(std::string_view text) {
  const json::value document = parse_json(text).value();
  DecodeStatus status;
  ReadJob result{read_job(JsonReader(&document, "", status)), ""};
  if (status.error()) result.error = status.error()->message;
  return result;
}

constexpr std::string_view kTemplate =
    R"("template":{"spec":{"containers":[{"resources":{"requests":{"cpu":"2"}}}]}})";

std::string job_with(std::string_view fields) {
  return R"({"metadata":{"name":"j"},"spec":{)" + std::string(fields) + std::string(kTemplate) +
         "}}";
}

TEST(JobTest, RunsAsManyPodsAsParallelismAndCompletionsAllow) {
  EXPECT_EQ(read(job_with("")).job.pod_count(), 1);
  EXPECT_EQ(read(job_with(R"("parallelism":4,)")).job.pod_count(), 4);
  EXPECT_EQ(read(job_with(R"("parallelism":4,"completions":3,)")).job.pod_count(), 3);
  EXPECT_EQ(read(job_with(R"("parallelism":4,"completions":9,)")).job.pod_count(), 4);
  EXPECT_EQ(read(job_with(R"("completions":9,)")).job.pod_count(), 1);
  EXPECT_EQ(read(job_with(R"("parallelism":0,)")).job.pod_count(), 0);
}

TEST(JobTest, ReadsTemplateAndTopologyRequest) {
  const ReadJob result = read(R"({
    "metadata": {"name": "train", "namespace": "ml"},
    "spec": {"parallelism": 2, "template": {
      "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}},
      "spec": {"nodeSelector": {"gpu": "h100"},
               "containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}})");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.job.namespace_, "ml");
  ASSERT_TRUE(result.job.topology);
  EXPECT_EQ(result.job.topology->required, "rack");
  EXPECT_EQ(result.job.pod_template.spec.requests.at("nvidia.com/gpu"), 8);
  EXPECT_EQ(result.job.pod_template.spec.node_selector.at("gpu"), "h100");
}

TEST(JobTest, KnowsWhenItIsFinished) {
  const std::string spec = std::string(kTemplate);
  const auto with_condition = [&](std::string_view type, std::string_view status) {
    return read(R"({"metadata":{"name":"j"},"spec":{)" + spec +
                R"(},"status":{"conditions":[{"type":")" + std::string(type) + R"(","status":")" +
                std::string(status) + R"("}]}})")
        .job.finished;
  };
  EXPECT_TRUE(with_condition("Complete", "True"));
  EXPECT_TRUE(with_condition("Failed", "True"));
  EXPECT_FALSE(with_condition("Failed", "False"));
  EXPECT_FALSE(with_condition("Suspended", "True"));
}

TEST(JobTest, CompletedIndexesAreInOrderWhateverTheTextSays) {
  const auto completed = [](const std::string& text) {
    std::string document = job_with("");
    document.insert(document.size() - 1, R"(,"status":{"completedIndexes":")" + text + R"("})");
    return read(document).job.completed_indexes;
  };
  EXPECT_EQ(completed(""), (std::vector<int32_t>{}));
  EXPECT_EQ(completed("0-2,5"), (std::vector<int32_t>{0, 1, 2, 5}));
  EXPECT_EQ(completed("5,1-2,2-3,5"), (std::vector<int32_t>{1, 2, 3, 5}));
  EXPECT_EQ(completed("4,1,x,0"), (std::vector<int32_t>{1, 4}));
  EXPECT_EQ(completed("3-1,-7"), (std::vector<int32_t>{}));
}

TEST(JobTest, AJobWithoutNameMayHaveAPrefix) {
  const ReadJob result =
      read(R"({"metadata":{"generateName":"run-"},"spec":{)" + std::string(kTemplate) + "}}");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.job.name, "run-");
  EXPECT_TRUE(result.job.name_is_prefix);
}

TEST(JobTest, NamesTheFieldThatIsWrong) {
  EXPECT_TRUE(read(R"({"spec":{}})").error.starts_with("metadata.name: is required"));
  EXPECT_TRUE(read(R"({"metadata":{"name":"j"}})").error.starts_with("spec.template: is required"));
  EXPECT_TRUE(read(R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{}}}})")
                  .error.starts_with("spec.template.spec.containers: "));
  EXPECT_TRUE(read(job_with(R"("parallelism":-1,)")).error.starts_with("spec.parallelism: "));
  EXPECT_TRUE(read(job_with(R"("completions":"all",)")).error.starts_with("spec.completions: "));
  EXPECT_EQ(read(R"({"metadata":{"name":"j"},"spec":[]})").error, "spec: must be an object");
  const std::string slice = read(R"({"metadata":{"name":"j"},"spec":{"template":{
        "metadata":{"annotations":{"kueue.x-k8s.io/podset-slice-size":"2"}},
        "spec":{"containers":[{}]}}}})")
                                .error;
  EXPECT_TRUE(
      slice.starts_with("spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-size]: "))
      << slice;
}

}  // namespace
}  // namespace phalanx::api
