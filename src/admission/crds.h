// The CustomResourceDefinitions of deploy/crds, compiled into the program, so that it can install
// them and enforce them without any file beside it. Sorted by name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace phalanx::admission {

struct CrdText {
  std::string_view name;                    // of the file: "kueue.x-k8s.io_workloads.yaml"
  std::span<const std::string_view> parts;  // the text in pieces: compilers limit a literal's size

  [[nodiscard]] std::string text() const {
    std::string whole;
    for (const std::string_view part : parts) whole += part;
    return whole;
  }
};

std::span<const CrdText> crds();

}  // namespace phalanx::admission
