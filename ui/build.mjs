// Builds the page into the package: one HTML file and one script, which carries the styles and the layout worker.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import * as esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = path.resolve(here, process.env.PONDAGE_PAGE_OUT ?? "../src/pondage/server/page");
const shared = {
  bundle: true,
  minify: true,
  write: false,
  target: ["es2022"],
  legalComments: "none",
  logLevel: "warning",
};

// `import text from "layout-worker"` is the whole worker as text: it starts from a blob, without another request.
const worker = {
  name: "worker",
  setup(build) {
    build.onResolve({ filter: /^layout-worker$/ }, () => ({ path: "layout-worker", namespace: "worker" }));
    build.onLoad({ filter: /.*/, namespace: "worker" }, async () => {
      const entry = path.join(here, "src/pages/canvas/worker.ts");
      const built = await esbuild.build({ ...shared, entryPoints: [entry], format: "iife", metafile: true });
      const files = Object.keys(built.metafile.inputs).map((file) => path.resolve(file));
      return { contents: built.outputFiles[0].text, loader: "text", watchFiles: files };
    });
  },
};

// `import sheet from "./x.css"` is minified text, and goes to an adopted style sheet: a CSP without inline styles stays.
const styles = {
  name: "styles",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path: file }) => {
      const built = await esbuild.transform(await readFile(file, "utf8"), { loader: "css", minify: true });
      return { contents: built.code, loader: "text", watchFiles: [file] };
    });
  },
};

const place = {
  name: "place",
  setup(build) {
    build.onEnd(async (result) => {
      if (result.errors.length > 0) return;
      const script = result.outputFiles[0].contents;
      const name = `page-${createHash("sha256").update(script).digest("hex").slice(0, 16)}.js`;
      const html = await readFile(path.join(here, "src/index.html"), "utf8");
      await mkdir(target, { recursive: true });
      await writeFile(path.join(target, name), script);
      // Whoever looks meanwhile finds the page before or this one, and never half of one.
      await writeFile(path.join(target, "index.new"), html.replace("page.js", name));
      await rename(path.join(target, "index.new"), path.join(target, "index.html"));
      for (const old of await readdir(target)) {
        if (old !== name && old !== "index.html") await rm(path.join(target, old), { recursive: true, force: true });
      }
      console.log(`${path.relative(process.cwd(), path.join(target, name))}: ${Math.round(script.length / 1000)} kB`);
    });
  },
};

const options = {
  ...shared,
  entryPoints: [path.join(here, "src/main.tsx")],
  format: "esm",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [worker, styles, place],
};

if (process.argv.includes("--watch")) {
  await (await esbuild.context(options)).watch();
} else {
  await esbuild.build(options);
}
