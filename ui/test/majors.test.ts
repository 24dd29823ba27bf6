import assert from "node:assert/strict";
import { test } from "node:test";
import { hasMajors, noteMajors, shortName } from "../src/words";

test("a Pond is called by its name, and with its major version where there is another one", () => {
  noteMajors(["by_kind@1", "by_kind@2", "board@1"]);
  assert.equal(shortName("by_kind@1"), "by_kind@1");
  assert.equal(shortName("board@1"), "board");
  assert.equal(hasMajors("board"), false);
  noteMajors(["by_kind@2", "board@1"]);
  assert.equal(shortName("by_kind@2"), "by_kind");
});
