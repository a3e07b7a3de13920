// Files, folders or standard input with Kubernetes objects, YAML or JSON, one object after another.
//
// Lists are unwrapped. Every object comes with where it stood, for errors: "file: line 3: Job
// ml/a". Folders mean their .yaml, .yml and .json files, gzipped or not, in name order, without
// subfolders;
// "-" is standard input.
//
// Cost: one pass; a file's documents are dropped as soon as they were visited.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace phalanx::cli {

// What is read of an object before it is known what it is.
struct ManifestHeader {
  std::string api_version;
  std::string kind;
  std::string namespace_;
  std::string name;

  [[nodiscard]] std::string group() const;
  // "Node gpu-1" or "Job ml/train".
  [[nodiscard]] std::string text() const;
};

struct Manifest {
  json::value value;
  ManifestHeader header;
  std::string origin;
};

// What is wrong with an object of a kind that api::find_kind() does not know, if it was most likely
// meant to be one that it does; "" if it may well be of another kind.
std::string problem_of_kind(const ManifestHeader& header);

// Visits every object that the paths name, in order, and stops at the first error. `progress` is
// told about each file before it is read.
// Of files that hold no document at all, those that a path names itself are errors if asked for.
enum class EmptyFiles : uint8_t { kAllowed, kRefused };
Result<void> read_manifests(const std::vector<std::string>& paths,
                            const std::function<void(const std::string&)>& progress,
                            const std::function<Result<void>(Manifest)>& visit,
                            EmptyFiles empty_files = EmptyFiles::kAllowed);

// The same for a text at hand; `name` stands for it in errors.
Result<void> parse_manifests(std::string_view text, const std::string& name,
                             const std::function<Result<void>(Manifest)>& visit);

}  // namespace phalanx::cli
