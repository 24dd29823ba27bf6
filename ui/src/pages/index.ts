// Every page, in the order of the navigation.
import type { Page } from "./page";
import { audit } from "./audit";
import { canvas } from "./canvas";
import { flows } from "./flows";
import { node } from "./node";
import { overview } from "./overview";
import { plan } from "./plan";
import { processes } from "./processes";
import { reactors } from "./reactors";
import { run } from "./run";
import { runs } from "./runs";
import { timeline } from "./timeline";

export const PAGES: readonly Page[] = [
  overview,
  canvas,
  node,
  runs,
  run,
  timeline,
  reactors,
  flows,
  plan,
  processes,
  audit,
];

export function pageOf(id: string): Page | undefined {
  return PAGES.find((page) => page.id === id);
}
