// PodTemplateSpec of core/v1: what placement reads of the pods that do not exist yet.
#pragma once

#include <map>
#include <string>

#include "api/pod.h"

namespace phalanx::api {

struct PodTemplate {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  PodSpec spec;
  PodResources resources;
  std::string priority_class;
  std::string runtime_class;
  json::array tolerations;       // as written
  json::array scheduling_gates;  // as written
  // Of what the pods run and need: equal templates have equal fingerprints, whatever was injected
  // into their metadata, selectors, tolerations and gates.
  uint64_t fingerprint = 0;
};

// Reads a template object. A template without containers is reported: no API server accepts one,
// and it would ask for nothing and fit everywhere.
PodTemplate read_pod_template(const JsonReader& object);

}  // namespace phalanx::api
