// What the compiler does not see: hooks out of order, promises that nobody waits for, pages that reach into each other.
import { readdirSync } from "node:fs";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const entries = readdirSync(new URL("src/pages", import.meta.url), { withFileTypes: true });
const rooms = entries.filter((each) => each.isDirectory()).map((each) => each.name);

/** Forbid the pieces of these pages: what lies in `src/pages/NAME/` is of that page alone. */
function without(names) {
  const message = "It is of one page alone; what several pages use is in src/parts.";
  return { "no-restricted-imports": ["error", { patterns: [{ regex: `(^|/)(${names.join("|")})/`, message }] }] };
}

export default tseslint.config(
  { ignores: ["src/types.ts"] },
  {
    files: ["src/**/*.{ts,tsx}", "test/**/*.ts"],
    extends: [tseslint.configs.recommendedTypeChecked, hooks.configs["recommended-latest"]],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-console": "error",
      "react-hooks/exhaustive-deps": "error",
      // Node's runner answers a promise for each test, and waits for it itself.
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", name: "test", package: "node:test" }] },
      ],
    },
  },
  { files: ["src/**/*.{ts,tsx}"], rules: without(rooms) },
  ...rooms.map((room) => ({
    files: [`src/pages/${room}.tsx`, `src/pages/${room}/**`],
    rules: without(rooms.filter((each) => each !== room)),
  })),
);
