// What a page is. Each is one file that exports one of these; `index.ts` lists them in the order of the navigation.
import type { ComponentType } from "react";

export interface Page {
  /** Its name in the address: `?page=runs`. */
  id: string;
  title: string;
  /** Pressed after `g`, it goes there. */
  shortcut?: string;
  /** An SVG path on a field of 24 by 24, drawn as a line. Pages without one are reached by links, not by navigation. */
  icon?: string;
  /** The page of the navigation that this one belongs to. */
  under?: string;
  /** Uses the whole width and height, without margins. */
  isWide?: boolean;
  Component: ComponentType;
}
