#include "sim/state_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/yaml.h"
#include "sim/document.h"
#include "sim/kind_rules.h"
#include "sim/metadata.h"

namespace phalanx::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kClusterFile = "cluster.yaml";
constexpr std::string_view kApiVersion = "phalanx.dev/v1";
constexpr std::string_view kKind = "ClusterState";

std::string file_of(const api::KindInfo& about) {
  return std::string(about.plural) + ".yaml";
}

// Every name that a file of a saved cluster can have.
std::set<std::string> all_files() {
  std::set<std::string> files{std::string(kClusterFile)};
  for (const api::KindInfo& about : api::all_kinds()) files.insert(file_of(about));
  return files;
}

std::string cluster_text(const ClusterState& state, json::array files) {
  return "# When this cluster was saved, what decides the names and versions to come, and the "
         "files "
         "that belong to it.\n" +
         to_yaml(json::object{{"apiVersion", kApiVersion},
                              {"kind", kKind},
                              {"now", format_micro_time(state.now)},
                              // Too large for what YAML readers take for a number.
                              {"resourceVersion", std::to_string(state.resource_version)},
                              {"randomState", std::to_string(state.random_state)},
                              {"files", std::move(files)}});
}

std::string objects_text(const ClusterState& state, api::Kind kind) {
  std::string text;
  for (auto each = state.objects.lower_bound({kind, "", ""});
       each != state.objects.end() && each->first.kind == kind; ++each) {
    text += "---\n" + to_yaml(*each->second);
  }
  return text;
}

Result<void> write_all(const ClusterState& state, const fs::path& folder) {
  json::array files;
  for (const api::KindInfo& about : api::all_kinds()) {
    const std::string text = objects_text(state, about.kind);
    if (text.empty()) continue;
    RETURN_IF_ERROR(write_file((folder / file_of(about)).string(), text));
    files.emplace_back(file_of(about));
  }
  return write_file((folder / kClusterFile).string(), cluster_text(state, std::move(files)));
}

// Puts `fresh` in the place of `folder`, in one step where the file system can.
Result<void> exchange(const fs::path& fresh, const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) {
    fs::rename(fresh, folder, code);
  } else if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(fresh, code);
    code.clear();  // what is left of the old one does no harm
  } else {
    fs::remove_all(folder, code);
    if (!code) fs::rename(fresh, folder, code);
  }
  if (code) {
    return fail(fmt::format("{}: cannot be put in place: {}; the cluster is saved in {}",
                            folder.string(), code.message(), fresh.string()));
  }
  return {};
}

Result<uint64_t> read_counter(const json::value& document, std::string_view field) {
  if (const auto number = parse_unsigned(string_at(document, {field}))) return *number;
  return fail(fmt::format("{}: must be a whole number in quotes", field));
}

// Where the next document begins: after a line break, at "---" on a line of its own.
size_t next_document(std::string_view text, size_t from) {
  constexpr std::string_view kMarker = "\n---";
  for (size_t at = text.find(kMarker, from); at != std::string_view::npos;
       at = text.find(kMarker, at + 1)) {
    const size_t after = at + kMarker.size();
    if (after == text.size() || text[after] == '\n' || text[after] == '\r') return at + 1;
  }
  return text.size();
}

// One document after the other: the YAML parser needs some thirty times the memory of what it
// reads.
Result<std::vector<Document>> parse_each(std::string_view text) {
  std::vector<Document> all;
  int line = 1;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = next_document(text, begin);
    const std::string_view part = text.substr(begin, end - begin);
    auto documents = parse_documents(part);
    // Seen as a whole the error has the right line.
    if (!documents) return parse_documents(text);
    for (Document& document : *documents) {
      document.line += line - 1;
      all.push_back(std::move(document));
    }
    line += static_cast<int>(std::ranges::count(part, '\n'));
    begin = end;
  }
  return all;
}

Result<std::vector<Document>> read_documents(const fs::path& folder, const std::string& file) {
  auto text = read_file((folder / file).string());
  if (!text) return std::unexpected(text.error());
  auto documents = parse_each(*text);
  if (!documents) return within((folder / file).string(), documents.error());
  return documents;
}

// The old folder, if there is one, must be ours before it is replaced.
Result<void> check_replaceable(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) return {};
  if (!fs::is_directory(folder, code)) {
    return fail(
        fmt::format("{}: is a file; name a folder to save the cluster in", folder.string()));
  }
  const std::set<std::string> ours = all_files();
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (ours.contains(name)) continue;
    return fail(
        fmt::format("{}: holds other files than a saved cluster, such as {}; name a new "
                    "folder",
                    folder.string(), name));
  }
  if (code) {
    return fail(fmt::format("{}: cannot list the folder: {}", folder.string(), code.message()));
  }
  if (fs::is_empty(folder, code)) return {};
  // Others call their files cluster.yaml, too.
  const auto documents = read_documents(folder, std::string(kClusterFile));
  const bool is_saved =
      documents && documents->size() == 1 && string_at(documents->front().value, {"kind"}) == kKind;
  if (is_saved) return {};
  return fail(fmt::format("{}: is no {}; name a new folder, or remove this one",
                          (folder / kClusterFile).string(), kKind));
}

fs::path folder_path(const std::string& folder) {
  fs::path path(folder);
  return path.has_filename() ? path : path.parent_path();  // "folder/"
}

// An empty folder beside the one to be saved in. It has a name of its own: whatever else stands
// there is not ours to remove.
Result<std::string> fresh_folder(const fs::path& target) {
  RETURN_IF_ERROR(check_replaceable(target));
  std::error_code code;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), code);
  std::string fresh = target.string() + ".new-XXXXXX";
  if (code || ::mkdtemp(fresh.data()) == nullptr) {
    if (!code) code.assign(errno, std::generic_category());
    return fail(fmt::format("{}: cannot be created: {}", target.string(), code.message()));
  }
  return fresh;
}

Result<void> read_cluster_document(const json::value& document, ClusterState& state) {
  if (string_at(document, {"apiVersion"}) != kApiVersion ||
      string_at(document, {"kind"}) != kKind) {
    return fail(fmt::format("apiVersion and kind must be {} and {}", kApiVersion, kKind));
  }
  const auto now = parse_time(string_at(document, {"now"}));
  if (!now) return within("now", now.error());
  state.now = *now;
  ASSIGN_OR_RETURN(state.resource_version, read_counter(document, "resourceVersion"));
  ASSIGN_OR_RETURN(state.random_state, read_counter(document, "randomState"));
  return {};
}

// Reads the objects of all files into one state, and checks them against each other.
class StateReader {
 public:
  explicit StateReader(fs::path folder) : folder_(std::move(folder)) {}

  Result<ClusterState> run() {
    std::error_code code;
    if (!fs::is_directory(folder_, code)) {
      return fail(fmt::format("{}: there is no such folder; name one that a cluster was saved in",
                              folder_.string()));
    }
    if (!fs::exists(folder_ / kClusterFile, code)) {
      return fail(
          fmt::format("{}: holds no saved cluster: there is no {}; name a folder that a cluster "
                      "was saved in, whole",
                      folder_.string(), kClusterFile));
    }
    RETURN_IF_ERROR(read_cluster());
    RETURN_IF_ERROR(check_files());
    for (const api::KindInfo& about : api::all_kinds()) {
      const std::string file = file_of(about);
      if (!fs::exists(folder_ / file, code)) continue;
      ASSIGN_OR_RETURN(std::vector<Document> documents, read_documents(folder_, file));
      for (Document& document : documents) {
        const std::string place =
            fmt::format("{}: line {}", (folder_ / file).string(), document.line);
        RETURN_IF_ERROR(add(about.kind, std::move(document.value), place));
      }
    }
    RETURN_IF_ERROR(check_namespaces());
    return std::move(state_);
  }

 private:
  Result<void> read_cluster() {
    ASSIGN_OR_RETURN(const std::vector<Document> documents,
                     read_documents(folder_, std::string(kClusterFile)));
    const std::string place = (folder_ / kClusterFile).string();
    if (documents.size() != 1) return fail(place + ": must hold exactly one document");
    auto read = read_cluster_document(documents.front().value, state_);
    if (!read) {
      return within(fmt::format("{}: line {}", place, documents.front().line), read.error());
    }
    return check_complete(documents.front().value);
  }

  // A folder that was copied in part would be another cluster.
  Result<void> check_complete(const json::value& cluster) {
    const json::array* files = array_at(cluster, {"files"});
    if (files == nullptr) return {};
    for (const json::value& file : *files) {
      std::error_code code;
      const fs::path path =
          folder_ / std::string(file.is_string() ? file.get_string() : json::string());
      if (fs::exists(path, code)) continue;
      return fail(
          fmt::format("{}: is missing, although {} lists it; copy the folder whole, or take the "
                      "file from the list there",
                      path.string(), kClusterFile));
    }
    return {};
  }

  // A file with a misspelled name would silently be missing.
  Result<void> check_files() {
    const std::set<std::string> known = all_files();
    std::set<std::string> strange;
    std::error_code code;
    for (fs::directory_iterator entry(folder_, code), end; !code && entry != end;
         entry.increment(code)) {
      const std::string name = entry->path().filename().string();
      const fs::path extension = entry->path().extension();
      const bool manifest = extension == ".yaml" || extension == ".yml" || extension == ".json";
      if (manifest && !known.contains(name)) strange.insert(name);
    }
    if (code) {
      return fail(fmt::format("{}: cannot list the folder: {}", folder_.string(), code.message()));
    }
    if (strange.empty()) return {};
    return fail(fmt::format("{}: no kind of object is saved under this name; rename or remove it",
                            (folder_ / *strange.begin()).string()));
  }

  Result<void> add(api::Kind kind, json::value document, const std::string& place) {
    const auto found =
        api::find_kind(string_at(document, {"apiVersion"}), string_at(document, {"kind"}));
    if (found != kind || string_at(document, {"apiVersion"}) != api::api_version(kind)) {
      return fail(fmt::format("{}: apiVersion and kind must be {} and {} in this file", place,
                              api::api_version(kind), api::info(kind).name));
    }
    const api::ObjectKey key = key_of(kind, document);
    const std::string object = place + ": " + key.text();
    Problems problems;
    check_metadata(kind, document, problems);
    check_saved_metadata(key, document, problems);
    for (const bool status : {false, true}) {
      check_object({nothing_, state_.now, status, nullptr}, kind, document, problems);
    }
    if (!problems.none()) return fail(object + ": " + problems.text());
    if (const auto size = check_size(key, document); !size) {
      return fail(place + ": " + size.error().message);
    }
    if (const auto [entry, is_new] = places_.emplace(key, place); !is_new) {
      return fail(fmt::format("{}: is there already, at {}; remove one", object, entry->second));
    }
    state_.objects.emplace(key, std::make_shared<const json::value>(std::move(document)));
    return {};
  }

  // What the server gave the object must be there, and be nobody else's.
  void check_saved_metadata(const api::ObjectKey& key, const json::value& document,
                            Problems& problems) {
    if (api::info(key.kind).namespaced && key.namespace_.empty()) {
      problems.add("metadata.namespace", "is required");
    }
    const std::string uid(uid_of(document));
    if (uid.empty()) {
      problems.add("metadata.uid", "is required");
    } else if (!uids_.insert(uid).second) {
      problems.add("metadata.uid", "another object has it already; every object has its own");
    }
    const uint64_t version = resource_version_of(document);
    if (version == 0 || version > state_.resource_version) {
      problems.add("metadata.resourceVersion",
                   fmt::format("must be a whole number in quotes, from 1 to the resourceVersion of "
                               "{}, which is {}",
                               kClusterFile, state_.resource_version));
    } else if (!versions_.insert(version).second) {
      problems.add("metadata.resourceVersion", "another object has it already");
    }
    for (const std::string_view field : {"creationTimestamp", "deletionTimestamp"}) {
      const json::value* time = find_at(document, {"metadata", field});
      const bool required = field == "creationTimestamp";
      if (time == nullptr && !required) continue;
      if (const auto parsed = parse_time(string_at(document, {"metadata", field})); !parsed) {
        problems.add(fmt::format("metadata.{}", field), parsed.error().message);
      }
    }
  }

  Result<void> check_namespaces() {
    for (const auto& [key, object] : state_.objects) {
      if (key.namespace_.empty() ||
          state_.objects.contains({api::Kind::kNamespace, "", key.namespace_})) {
        continue;
      }
      return fail(
          fmt::format("{}: {}: metadata.namespace: there is no Namespace {}; add it to "
                      "namespaces.yaml",
                      places_.at(key), key.text(), key.namespace_));
    }
    return {};
  }

  fs::path folder_;
  Store nothing_;  // objects are checked by themselves
  ClusterState state_;
  std::map<api::ObjectKey, std::string> places_;
  std::set<std::string> uids_;
  std::set<uint64_t> versions_;
};

}  // namespace

Result<void> check_saveable(const std::string& folder) {
  const fs::path target = folder_path(folder);
  ASSIGN_OR_RETURN(const std::string fresh, fresh_folder(target));
  std::error_code code;
  fs::remove(fresh, code);
  return {};
}

Result<void> save_state(const ClusterState& state, const std::string& folder) {
  const fs::path target = folder_path(folder);
  ASSIGN_OR_RETURN(const std::string fresh, fresh_folder(target));
  std::error_code code;
  constexpr fs::perms kUsual = fs::perms::owner_all | fs::perms::group_read |
                               fs::perms::group_exec | fs::perms::others_read |
                               fs::perms::others_exec;
  fs::permissions(fresh, kUsual, code);
  if (auto written = write_all(state, fresh); !written) {
    fs::remove_all(fresh, code);
    return written;
  }
  return exchange(fs::path(fresh), target);
}

Result<ClusterState> load_state(const std::string& folder) {
  return StateReader(folder).run();
}

}  // namespace phalanx::sim
