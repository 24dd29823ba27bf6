import { createRoot } from "react-dom/client";
import flow from "@xyflow/react/dist/base.css";
import base from "./styles/base.css";
import building from "./styles/building.css";
import { takeToken } from "./api";
import canvas from "./styles/canvas.css";
import pages from "./styles/pages.css";
import shell from "./styles/shell.css";
import watching from "./styles/watching.css";
import { Shell } from "./shell/shell";
import { applyTheme } from "./shell/theme";

document.adoptedStyleSheets = [flow, base, shell, pages, watching, canvas, building].map((text) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
});
applyTheme();
takeToken();
const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<Shell />);
