#include "cli/manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "api/kind.h"
#include "base/file.h"
#include "base/json_path.h"
#include "base/spelling.h"
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

struct InputFile {
  std::string path;
  bool is_named = true;  // by the user, not found in a folder
};

Result<std::vector<InputFile>> expand(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path != "-" && fs::is_directory(path, ignored)) {
      ASSIGN_OR_RETURN(const std::vector<std::string> inside, files_of_folder(path));
      for (const std::string& file : inside) files.push_back({file, false});
    } else if (path == "-" && std::ranges::find(files, "-", &InputFile::path) != files.end()) {
      return fail("-: standard input is named twice, but can be read only once");
    } else if (path != "-" && !fs::exists(path, ignored)) {
      return fail(fmt::format(
          "{}: there is no such file or folder; name one, or - for standard input", path));
    } else {
      files.push_back({path, true});
    }
  }
  return files;
}

ManifestHeader header_of(const json::object& object) {
  ManifestHeader header{std::string(string_field(object, "apiVersion")),
                        std::string(string_field(object, "kind")), "", ""};
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
    const auto wrong = [&](std::string_view field) {
      const bool is_there = value.get_object().contains(field);
      return fmt::format("{}: {}; {}", field, is_there ? "must be a text" : "is required",
                         kNotAnObject);
    };
    if (header.kind.empty()) return fail(fmt::format("{}: {}", place, wrong("kind")));
    if (header.api_version.empty()) {
      return fail(fmt::format("{}: {}: {}", place, header.text(), wrong("apiVersion")));
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

std::string problem_of_kind(const ManifestHeader& header) {
  std::vector<std::string_view> near;
  for (const api::KindInfo& known : api::all_kinds()) {
    // batch.volcano.sh has Jobs as well: only a group that is mistyped, or left out, is meant.
    const std::string group = header.group();
    const std::array<std::string_view, 1> known_group{known.group};
    const bool is_group = group.empty() || group == known.group ||
                          (!group.starts_with(known.group) && !closest(group, known_group).empty());
    if (known.name == header.kind && is_group) {
      return fmt::format("apiVersion: there is no {} in \"{}\"; write {}", header.kind,
                         header.api_version, api::api_version(known.kind));
    }
    if (known.group == group) near.push_back(known.name);
  }
  const std::string_view meant = closest(header.kind, near);
  if (meant.empty()) return "";
  return fmt::format("kind: there is no {} in {}; did you mean `{}`?", header.kind,
                     header.api_version, meant);
}

Result<void> parse_manifests(std::string_view text, const std::string& name,
                             const std::function<Result<void>(Manifest)>& visit) {
  if (text.contains('\0')) {
    return fail(fmt::format("{}: is no text; name files of YAML or JSON, gzipped or not", name));
  }
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
                            const std::function<Result<void>(Manifest)>& visit,
                            EmptyFiles empty_files) {
  ASSIGN_OR_RETURN(const std::vector<InputFile> files, expand(paths));
  for (const InputFile& file : files) {
    progress(file.path);
    ASSIGN_OR_RETURN(const std::string text, read_file(file.path));
    const std::string name = file.path == "-" ? "standard input" : file.path;
    bool is_empty = empty_files == EmptyFiles::kRefused && file.is_named;
    RETURN_IF_ERROR(parse_manifests(text, name, [&](Manifest manifest) {
      is_empty = false;
      return visit(std::move(manifest));
    }));
    // A List without items is an answer; nothing at all is most likely a command that failed.
    if (is_empty && parse_documents(text)->empty()) {
      return fail(fmt::format("{}: holds no object; write one, or leave it out", name));
    }
  }
  return {};
}

}  // namespace phalanx::cli
