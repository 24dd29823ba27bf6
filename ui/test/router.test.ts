import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, hrefOf, readPlace, writePlace } from "../src/router";

test("an address without a page is the overview", () => {
  assert.deepEqual(readPlace(""), { page: "overview", params: {} });
  assert.equal(writePlace("overview"), "?");
});

test("what is written is read again, whatever is in it", () => {
  const params = { pond: "sales@2", note: "a&b=c #d/é" };
  const place = readPlace(writePlace("node", params));
  assert.deepEqual(place, { page: "node", params });
});

test("links are queries only, so that any prefix of a proxy works", () => {
  for (const href of [writePlace("runs"), writePlace("node", { pond: "../x" })]) assert.match(href, /^\?[^/]*$/);
});

test("empty filters are left out", () => {
  assert.equal(
    writePlace("runs", { state: "", pond: null, limit: 20, all: true, off: false }),
    "?page=runs&limit=20&all=1",
  );
});

test("the environment goes along, other filters do not", () => {
  const from = readPlace("?page=runs&state=failed&env=dev");
  assert.equal(hrefOf(from, "node", { pond: "a@1" }), "?page=node&env=dev&pond=a%401");
});

test("changing a filter keeps the page and the others", () => {
  const from = readPlace("?page=runs&state=failed&pond=a");
  assert.equal(changed(from, { state: null, limit: 5 }), "?page=runs&pond=a&limit=5");
});

test("a name that is given twice counts once", () => {
  assert.deepEqual(readPlace("?pond=a&pond=b").params, { pond: "a" });
});
