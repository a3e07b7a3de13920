#include "cli/manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/yaml.h"

namespace phalanx::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNotAnObject =
    "every document must be a Kubernetes object, as kubectl get -o yaml prints it";

bool is_manifest(const fs::path& path) {
  fs::path extension = path.extension();
  if (extension == ".gz") extension = path.stem().extension();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

Result<std::vector<std::string>> files_of_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (is_manifest(entry->path()) && !entry->is_directory(ignored)) {
      files.push_back(entry->path().string());
    }
  }
  if (code) return fail(fmt::format("{}: cannot list the folder: {}", folder, code.message()));
  if (files.empty()) {
    return fail(fmt::format(
        "{}: the folder holds no .yaml, .yml or .json file; name the files (subfolders are not "
        "looked into)",
        folder));
  }
  std::ranges::sort(files);
  return files;
}

Result<std::vector<std::string>> expand(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path != "-" && fs::is_directory(path, ignored)) {
      ASSIGN_OR_RETURN(const std::vector<std::string> inside, files_of_folder(path));
      files.insert(files.end(), inside.begin(), inside.end());
    } else if (path == "-" && std::ranges::find(files, "-") != files.end()) {
      return fail("-: standard input is named twice, but can be read only once");
    } else if (path != "-" && !fs::exists(path, ignored)) {
      return fail(fmt::format(
          "{}: there is no such file or folder; name one, or - for standard input", path));
    } else {
      files.push_back(path);
    }
  }
  return files;
}

std::string string_field(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

ManifestHeader header_of(const json::object& object) {
  ManifestHeader header{string_field(object, "apiVersion"), string_field(object, "kind"), "", ""};
  if (const json::value* metadata = object.if_contains("metadata");
      metadata != nullptr && metadata->is_object()) {
    header.name = string_field(metadata->get_object(), "name");
    header.namespace_ = string_field(metadata->get_object(), "namespace");
  }
  return header;
}

// Takes documents apart into objects.
class Unwrapper {
 public:
  explicit Unwrapper(const std::function<Result<void>(Manifest)>& visit) : visit_(visit) {}

  // `fallback` is what an element of a typed list (NodeList) is if it does not say so itself.
  Result<void> add(json::value value, const std::string& place, const ManifestHeader& fallback) {
    if (!value.is_object()) return fail(fmt::format("{}: {}", place, kNotAnObject));
    ManifestHeader header = header_of(value.get_object());
    if (header.kind.empty()) header.kind = fallback.kind;
    if (header.api_version.empty()) header.api_version = fallback.api_version;
    if (header.kind.empty()) {
      return fail(fmt::format("{}: kind: is required; {}", place, kNotAnObject));
    }
    if (header.api_version.empty()) {
      return fail(
          fmt::format("{}: {}: apiVersion: is required; {}", place, header.text(), kNotAnObject));
    }
    if (header.kind.ends_with("List") && value.get_object().contains("items")) {
      return add_items(value.get_object(), place, header);
    }
    std::string origin = place + ": " + header.text();
    return visit_({std::move(value), std::move(header), std::move(origin)});
  }

 private:
  Result<void> add_items(json::object& list, const std::string& place,
                         const ManifestHeader& header) {
    json::value& items = list.at("items");
    if (items.is_null()) return {};
    if (!items.is_array()) {
      return fail(fmt::format("{}: {}: items: must be a list", place, header.kind));
    }
    ManifestHeader element;
    if (header.kind != "List") {
      element.kind = header.kind.substr(0, header.kind.size() - std::string_view("List").size());
      element.api_version = header.api_version;
    }
    size_t index = 0;
    for (json::value& item : items.get_array()) {
      RETURN_IF_ERROR(add(std::move(item), fmt::format("{}: items[{}]", place, index++), element));
    }
    return {};
  }

  const std::function<Result<void>(Manifest)>& visit_;
};

}  // namespace

std::string ManifestHeader::group() const {
  const size_t slash = api_version.find('/');
  return slash == std::string::npos ? "" : api_version.substr(0, slash);
}

std::string ManifestHeader::text() const {
  if (name.empty()) return kind;
  return namespace_.empty() ? fmt::format("{} {}", kind, name)
                            : fmt::format("{} {}/{}", kind, namespace_, name);
}

Result<void> parse_manifests(std::string_view text, const std::string& name,
                             const std::function<Result<void>(Manifest)>& visit) {
  auto documents = parse_documents(text);
  if (!documents) return within(name, documents.error());
  Unwrapper unwrapper(visit);
  for (Document& document : *documents) {
    RETURN_IF_ERROR(unwrapper.add(std::move(document.value),
                                  fmt::format("{}: line {}", name, document.line), {}));
  }
  return {};
}

Result<void> read_manifests(const std::vector<std::string>& paths,
                            const std::function<void(const std::string&)>& progress,
                            const std::function<Result<void>(Manifest)>& visit) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, expand(paths));
  for (const std::string& file : files) {
    progress(file);
    ASSIGN_OR_RETURN(const std::string text, read_file(file));
    RETURN_IF_ERROR(parse_manifests(text, file == "-" ? "standard input" : file, visit));
  }
  return {};
}

}  // namespace phalanx::cli
