// Every page, in the order of the navigation.
import type { Page } from "./page";
import { canvas } from "./canvas";
import { overview } from "./overview";

export const PAGES: readonly Page[] = [
  overview,
  canvas,
];

export function pageOf(id: string): Page | undefined {
  return PAGES.find((page) => page.id === id);
}
