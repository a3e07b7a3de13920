#include "kube/object_decoder.h"

#include <array>
#include <boost/json/monotonic_resource.hpp>

#include "base/json_path.h"
#include "core/names.h"

namespace phalanx::kube {
namespace {

using Filter = FieldFilter;

const Filter kNoManagedFields =
    Filter::all_but({{"metadata", Filter::all_but({{"managedFields", Filter::nothing()}})}});

// Every field that somebody else may have filled with kilobytes is left out by naming those that
// are read; object_decoder_test checks that the decoders see the same with and without the filter.
Filter pod_filter() {
  const Filter resources =
      Filter::only({{"requests", Filter::whole()}, {"limits", Filter::whole()}});
  const Filter containers = Filter::only(
      {{"name", Filter::whole()}, {"resources", resources}, {"restartPolicy", Filter::whole()}});
  return Filter::only({
      {"apiVersion", Filter::whole()},
      {"kind", Filter::whole()},
      {"metadata", Filter::only({{"name", Filter::whole()},
                                 {"namespace", Filter::whole()},
                                 {"uid", Filter::whole()},
                                 {"resourceVersion", Filter::whole()},
                                 {"creationTimestamp", Filter::whole()},
                                 {"deletionTimestamp", Filter::whole()},
                                 {"ownerReferences", Filter::whole()},
                                 {"labels", Filter::whole()},
                                 {"annotations", Filter::only({{core::names::kWorkloadAnnotation,
                                                                Filter::whole()}})}})},
      {"spec", Filter::only({{"nodeName", Filter::whole()},
                             {"containers", containers},
                             {"initContainers", containers},
                             {"resources", resources},
                             {"overhead", Filter::whole()},
                             {"nodeSelector", Filter::whole()},
                             {"schedulingGates", Filter::whole()}})},
      {"status", Filter::only({{"phase", Filter::whole()}, {"conditions", Filter::whole()}})},
  });
}

Filter node_filter() {
  return Filter::only({
      {"apiVersion", Filter::whole()},
      {"kind", Filter::whole()},
      {"metadata",
       Filter::all_but({{"managedFields", Filter::nothing()}, {"annotations", Filter::nothing()}})},
      {"spec", Filter::only({{"taints", Filter::whole()}, {"unschedulable", Filter::whole()}})},
      {"status",
       Filter::only({{"allocatable", Filter::whole()},
                     {"conditions", Filter::only({{"type", Filter::whole()},
                                                  {"status", Filter::whole()},
                                                  {"lastTransitionTime", Filter::whole()}})}})},
  });
}

// Only whose it is: what it holds is for autoscalers.
Filter pod_template_filter() {
  return Filter::only({
      {"apiVersion", Filter::whole()},
      {"kind", Filter::whole()},
      {"metadata", Filter::all_but({{"managedFields", Filter::nothing()}})},
  });
}

// Of these nothing of the document is kept, and they come by the hundred thousand. Jobs and
// Workloads hold templates, which are kept as they were written.
bool keeps_no_document(api::Kind kind) {
  return kind == api::Kind::kPod || kind == api::Kind::kNode;
}

// Memory for one document.
class Scratch {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the buffer is only memory
  explicit Scratch(api::Kind kind) : use_(keeps_no_document(kind)) {}
  json::storage_ptr storage() { return use_ ? json::storage_ptr(&memory_) : json::storage_ptr(); }

 private:
  bool use_;
  std::array<unsigned char, size_t{16} << 10> buffer_;
  json::monotonic_resource memory_{buffer_.data(), buffer_.size()};
};

}  // namespace

const FieldFilter& filter_of(api::Kind kind) {
  static const Filter kPod = pod_filter();
  static const Filter kNode = node_filter();
  static const Filter kPodTemplate = pod_template_filter();
  if (kind == api::Kind::kPod) return kPod;
  if (kind == api::Kind::kNode) return kNode;
  if (kind == api::Kind::kPodTemplate) return kPodTemplate;
  return kNoManagedFields;
}

Result<core::Object> ObjectDecoder::decode(json::value& document, api::Kind kind) {
  if (!document.is_object()) return fail("an item of a list is no object");
  json::object& fields = document.get_object();
  if (!fields.contains("apiVersion")) fields["apiVersion"] = api::api_version(kind);
  if (!fields.contains("kind")) fields["kind"] = api::info(kind).name;
  ASSIGN_OR_RETURN(core::Object object, core::decode_object(document, adapters_));
  if (object.key.kind != kind)
    return fail(object.key.text() + ": is of another kind than asked for");
  return object;
}

Result<core::Object> ObjectDecoder::object(std::string_view text, api::Kind kind) {
  Scratch scratch(kind);
  ASSIGN_OR_RETURN(json::value document,
                   reader_.document(text, filter_of(kind), scratch.storage()));
  return decode(document, kind);
}

Result<ListPage> ObjectDecoder::list(std::string_view text, api::Kind kind,
                                     std::vector<core::Object>& objects,
                                     std::vector<std::string>& problems) {
  return reader_.list(text, filter_of(kind), keeps_no_document(kind), [&](json::value& item) {
    auto object = decode(item, kind);
    if (object) {
      objects.push_back(std::move(*object));
    } else {
      problems.push_back(object.error().message);
    }
  });
}

Result<WatchEvent> ObjectDecoder::watch_line(std::string_view text, api::Kind kind) {
  Scratch scratch(kind);
  ASSIGN_OR_RETURN(WatchLine line, reader_.watch_line(text, filter_of(kind), scratch.storage()));
  if (line.type == "ERROR") {
    const json::object& status = line.object.get_object();
    const json::value* code = status.if_contains("code");
    return WatchFailed{
        code != nullptr && code->is_int64() ? static_cast<int>(code->get_int64()) : 0,
        std::string(string_field(status, "message"))};
  }
  if (line.type == "BOOKMARK") {
    DecodeStatus status;
    // It has a version and no name.
    const auto version = api::parse_resource_version(
        JsonReader(&line.object, "", status).object("metadata").string("resourceVersion"));
    if (!version) return fail("the API server sent a bookmark without a version");
    return Bookmark{*version};
  }
  ASSIGN_OR_RETURN(core::Object object, decode(line.object, kind));
  if (line.type == "DELETED") {
    return core::ObjectDeleted{object.key, object.uid, object.resource_version};
  }
  if (line.type != "ADDED" && line.type != "MODIFIED") {
    return fail("the API server sent an event of the type \"" + line.type + "\"");
  }
  return core::ObjectChanged{std::move(object)};
}

}  // namespace phalanx::kube
