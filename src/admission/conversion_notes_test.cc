#include "admission/conversion_notes.h"

#include "admission/testing.h"

namespace phalanx::admission {
namespace {

using testing::yaml;

ConversionNotes losses_of(const json::value& original, const json::value& round_trip,
                          size_t most_bytes = 10'000) {
  NoteRoom of_spec("v1beta1", most_bytes);
  NoteRoom of_status("v1beta1", most_bytes);
  return find_losses(original, round_trip, of_spec, of_status);
}

// The notes as they are written, without the version.
std::string losses(std::string_view original, std::string_view round_trip) {
  std::string text;
  for (const ConversionNote& note : losses_of(yaml(original), yaml(round_trip))) {
    text += (text.empty() ? "" : "\n") + note.at + " " + json::serialize(note.was);
  }
  return text;
}

TEST(ConversionNotes, FieldsThatAreLostAddedAndChanged) {
  EXPECT_EQ(losses("spec: {a: 1, b: {c: 2, d: 3}}", "spec: {a: 1, b: {c: 2, d: 3}}"), "");
  EXPECT_EQ(losses("spec: {a: 1, b: {c: 2, d: 3}}", "spec: {b: {c: 4}, e: 5}"),
            "/spec/b {\"c\":2}\n/spec/b {\"d\":3}\n/spec {\"a\":1}\n/spec {\"e\":null}");
  EXPECT_EQ(losses("spec: {a: {b: 1}, c: [1, 2]}", "spec: {a: [], c: [1]}"),
            "/spec {\"a\":{\"b\":1}}\n/spec {\"c\":[1,2]}");
  EXPECT_EQ(losses("spec: {a: null}", "spec: {}"), "");
  EXPECT_EQ(losses("spec: {a/b: {c~d: {e: 1}}}", "spec: {a/b: {c~d: {}}}"),
            "/spec/a~1b/c~0d {\"e\":1}");
}

TEST(ConversionNotes, OnlySpecAndStatus) {
  EXPECT_EQ(losses("{metadata: {name: a}, kind: A, value: 1, status: {a: 1}}",
                   "{metadata: {name: b}, kind: B, value: 2, status: {a: 2}}"),
            "/status {\"a\":1}");
  EXPECT_EQ(losses("{spec: {a: 1}}", "{}"), "");
}

TEST(ConversionNotes, ElementsOfListsStandByTheirName) {
  EXPECT_EQ(losses("spec: {l: [{name: x, a: 1}, {name: y, a: 2}]}",
                   "spec: {l: [{name: x, a: 1}, {name: y}]}"),
            "/spec/l/y {\"a\":2}");
  // Without names of their own, by their index.
  EXPECT_EQ(losses("spec: {l: [{a: 1}, {a: 2}]}", "spec: {l: [{a: 1}, {}]}"),
            "/spec/l/1 {\"a\":2}");
  EXPECT_EQ(losses("spec: {l: [{name: x, a: 1}, {name: x, a: 2}]}",
                   "spec: {l: [{name: x, a: 1}, {name: x}]}"),
            "/spec/l/1 {\"a\":2}");
  // Other elements: the whole list.
  EXPECT_EQ(losses("spec: {l: [{name: x}, {name: y}]}", "spec: {l: [{name: y}]}"),
            R"(/spec {"l":[{"name":"x"},{"name":"y"}]})");
}

TEST(ConversionNotes, FieldsOfOneMeaningAreInOneNote) {
  EXPECT_EQ(losses("spec: {admissionChecks: [a], x: 1}",
                   "spec: {admissionChecksStrategy: {admissionChecks: [{name: a}]}}"),
            R"(/spec {"admissionChecks":["a"],"admissionChecksStrategy":null})"
            "\n/spec {\"x\":1}");
  EXPECT_EQ(losses("spec: {topologyRequest: {required: rack, layers: [1]}}",
                   "spec: {topologyRequest: {required: rack}}"),
            R"(/spec {"topologyRequest":{"required":"rack","layers":[1]}})");
}

TEST(ConversionNotes, PutBackWhatWasLost) {
  const json::value original =
      yaml("spec: {a: 1, l: [{name: x, a: {b: 1}}, {name: y, c: [1]}], m: [{q: 1}, {}]}");
  const json::value round_trip =
      yaml("spec: {d: 1, l: [{name: x, a: {}}, {name: y, c: [2]}], m: [{}, {}]}");
  json::value document = round_trip;
  for (const ConversionNote& note : losses_of(original, round_trip)) {
    EXPECT_TRUE(put_back(document, note)) << note.at;
  }
  EXPECT_EQ(document, original);
}

TEST(ConversionNotes, ElementsAreFoundWhereTheyMovedTo) {
  json::value document = yaml("spec: {l: [{name: new}, {name: y}, {name: x}]}");
  EXPECT_TRUE(put_back(document, {"/spec/l/x", {{"a", 1}}}));
  EXPECT_EQ(document, yaml("spec: {l: [{name: new}, {name: y}, {name: x, a: 1}]}"));
  EXPECT_FALSE(put_back(document, {"/spec/l/z", {{"a", 1}}}));
  EXPECT_FALSE(put_back(document, {"/spec/l/0", {{"a", 1}}}));  // they have names
}

TEST(ConversionNotes, PlacesThatAreNone) {
  const json::value original = yaml("spec: {a: 1, b: {c: 1}, l: [1, 2]}");
  json::value document = original;
  for (const std::string_view at : {"/spec/a", "/spec/x", "/spec/b/c", "/spec/l", "/spec/l/0",
                                    "/spec/b/~", "/spec/b/~2", "spec", "/spec/"}) {
    EXPECT_FALSE(put_back(document, {std::string(at), {{"a", 2}}})) << at;
  }
  EXPECT_EQ(document, original);
}

TEST(ConversionNotes, WrittenAndRead) {
  const ConversionNotes notes{{"/spec", {{"a", nullptr}}}, {"/status/l/x", {{"b", "\"\\ü"}}}};
  const std::string text = write_notes(notes, "v1beta1", 1000);
  EXPECT_EQ(text, R"({"of":"v1beta1","lost":[{"at":"/spec","was":{"a":null}},)"
                  R"({"at":"/status/l/x","was":{"b":"\"\\ü"}}]})");
  EXPECT_EQ(read_notes(text, "v1beta1"), notes);
  EXPECT_TRUE(read_notes(text, "v1beta2").empty());
  EXPECT_EQ(write_notes({}, "v1beta1", 1000), "");
}

TEST(ConversionNotes, WhatDoesNotFitIsLeftOut) {
  const ConversionNotes notes{
      {"/spec", {{"a", 1}}}, {"/spec", {{"large", std::string(500, 'x')}}}, {"/spec", {{"b", 2}}}};
  for (size_t limit = 0; limit < 700; ++limit) {
    const std::string text = write_notes(notes, "v1beta1", limit);
    ASSERT_LE(text.size(), limit);
    for (const ConversionNote& note : read_notes(text, "v1beta1")) {
      EXPECT_NE(std::ranges::find(notes, note), notes.end());
    }
  }
  EXPECT_EQ(read_notes(write_notes(notes, "v1beta1", 200), "v1beta1"),
            (ConversionNotes{notes[0], notes[2]}));
  EXPECT_EQ(read_notes(write_notes(notes, "v1beta1", 700), "v1beta1"), notes);
  EXPECT_EQ(write_notes(notes, "v1beta1", 10), "");
  const ConversionNotes many(kMostConversionNotes + 5, notes[0]);
  EXPECT_EQ(read_notes(write_notes(many, "v1beta1", 100'000), "v1beta1").size(),
            kMostConversionNotes);
}

TEST(ConversionNotes, WhatHasNoRoomIsNotKept) {
  // As many of each part as are written of it.
  json::value original = yaml("{spec: {}, status: {}}");
  for (int i = 0; i < 100; ++i) {
    original.at("spec").as_object()["field-" + std::to_string(i)] = json::object{{"a", 1}};
    original.at("status").as_object()["field-" + std::to_string(i)] = i;
  }
  json::value round_trip = original;
  for (auto& field : round_trip.at("spec").as_object()) field.value() = json::object();
  round_trip.at("status") = json::object();
  EXPECT_EQ(losses_of(original, round_trip).size(), 2 * kMostConversionNotes);
  NoteRoom shared("v1beta1", 10'000);
  const ConversionNotes first = find_losses(original, round_trip, shared, shared);
  ASSERT_EQ(first.size(), kMostConversionNotes);
  EXPECT_EQ(first.back().at, "/spec/field-31");

  // And what is written of those that were found is all of them.
  for (size_t limit = 0; limit < 1000; limit += 7) {
    NoteRoom room("v1beta1", limit);
    const ConversionNotes fit = find_losses(original, round_trip, room, room);
    EXPECT_EQ(read_notes(write_notes(fit, "v1beta1", limit), "v1beta1"), fit) << limit;
  }
  // Behind one that is too large, others may fit.
  EXPECT_EQ(
      losses_of(yaml("spec: {a: " + std::string(300, 'x') + ", b: 1}"), yaml("spec: {}"), 200),
      (ConversionNotes{{"/spec", {{"b", 1}}}}));
  // So they may behind an object that is too long to name.
  const std::string name(300, 'n');
  EXPECT_EQ(losses_of(yaml("spec: {l: [{name: " + name + ", a: {b: 1}}, {name: m, a: {b: 2}}]}"),
                      yaml("spec: {l: [{name: " + name + ", a: {}}, {name: m, a: {}}]}"), 200),
            (ConversionNotes{{"/spec/l/m/a", {{"b", 2}}}}));
}

TEST(ConversionNotes, TextThatIsNone) {
  std::string many = R"({"of":"v1beta1","lost":[)";
  for (size_t i = 0; i <= kMostConversionNotes; ++i) {
    many += std::string(i == 0 ? "" : ",") + R"({"at":"/spec","was":{"a":1}})";
  }
  const std::string deep = R"({"of":"v1beta1","lost":[{"at":"/spec","was":{"a":)" +
                           std::string(10'000, '[') + std::string(10'000, ']') + "}}]}";
  for (const std::string& text : std::initializer_list<std::string>{
           "",
           "x",
           "[]",
           "1",
           "null",
           "{}",
           R"({"of":"v1beta1"})",
           R"({"of":"v1beta1","lost":{}})",
           R"({"of":"v1beta1","lost":[1]})",
           R"({"of":"v1beta1","lost":[{"at":"/spec"}]})",
           R"({"of":"v1beta1","lost":[{"at":"/spec","was":{}}]})",
           R"({"of":"v1beta1","lost":[{"at":"/spec","was":[1]}]})",
           R"({"of":"v1beta1","lost":[{"at":"","was":{"kind":"Secret"}}]})",
           R"({"of":"v1beta1","lost":[{"at":"/","was":{"kind":"Secret"}}]})",
           R"({"of":"v1beta1","lost":[{"at":"/metadata","was":{"name":"a"}}]})",
           R"({"of":"v1beta1","lost":[{"at":"/specs","was":{"name":"a"}}]})",
           R"({"of":"v1beta1","lost":[{"at":"spec","was":{"name":"a"}}]})",
           R"({"of":"v1beta1","lost":[{"at":"/spec","was":{"a":1}},1]})",
           R"({"of":"v1beta1","of":"v1beta1","lost":[]})",
           "{\"of\":\"v1beta1\",\"lost\":[{\"at\":\"/spec\",\"was\":{\"a\":\"\xff\"}}]}",
           many + "]}",
           deep}) {
    EXPECT_TRUE(read_notes(text, "v1beta1").empty()) << text.substr(0, 200);
  }
}

}  // namespace
}  // namespace phalanx::admission
