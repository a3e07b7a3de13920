// The files of deploy/, compiled into the program, so that it can install them and enforce them
// without any file beside it. Sorted by name.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace phalanx::admission {

// The CustomResourceDefinitions: "kueue.x-k8s.io_workloads.yaml".
std::span<const EmbeddedFile> crds();
// What else an installation has: "manager.yaml", "rbac.yaml", "users.yaml", "webhooks.yaml".
std::span<const EmbeddedFile> manifests();

}  // namespace phalanx::admission
