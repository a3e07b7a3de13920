// What is wrong with a document: where, and what to do about it.
//
// A list of problems is bounded, so that a hopeless document costs little and its answer can still
// be read: whoever fixes the first twenty will see the rest.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace phalanx::admission {

struct Problem {
  std::string path;     // "spec.levels[1].nodeLabel"; empty: the document as a whole
  std::string message;  // "must have at least 1 item"

  [[nodiscard]] std::string text() const { return path.empty() ? message : path + ": " + message; }
  bool operator==(const Problem&) const = default;
};

// "1 item", "2 items".
inline std::string counted(size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

// All of them in one sentence.
inline std::string texts_of(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += (text.empty() ? "" : "; ") + problem.text();
  return text;
}

class ProblemList {
 public:
  static constexpr size_t kMost = 20;

  void add(std::string path, std::string message) {
    if (!full()) problems_.push_back({std::move(path), std::move(message)});
  }
  void add_all(std::vector<Problem> problems) {
    for (Problem& problem : problems) add(std::move(problem.path), std::move(problem.message));
  }
  [[nodiscard]] bool full() const { return problems_.size() >= kMost; }
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] std::vector<Problem> take() && { return std::move(problems_); }

 private:
  std::vector<Problem> problems_;
};

}  // namespace phalanx::admission
