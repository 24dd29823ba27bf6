import type { CSSProperties, MouseEvent, ReactNode } from "react";
import { changed, go, hrefOf, usePlace, type Params } from "../router";
import { hasMajors } from "../words";

interface LinkProps {
  page?: string;
  params?: Params;
  className?: string;
  title?: string;
  current?: boolean;
  style?: CSSProperties;
  children: ReactNode;
}

/** A link to a page with its filters. Without `page` it changes filters of this one. A new tab works as everywhere. */
export function Link({ page, params = {}, className, title, current, style, children }: LinkProps) {
  const place = usePlace();
  const href = page === undefined ? changed(place, params) : hrefOf(place, page, params);
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a
      href={href}
      className={className}
      title={title}
      style={style}
      onClick={follow}
      aria-current={current ? "page" : undefined}
    >
      {children}
    </a>
  );
}

/** A Pond by its name; the major version is shown when it is not the first, or not the only one. */
export function PondLink({ pond, children }: { pond: string; children?: ReactNode }) {
  const [name, major] = pond.split("@");
  return (
    <Link page="node" params={{ pond }} className="pond-link">
      {children ?? (
        <>
          {name}
          {major !== undefined && (major !== "1" || hasMajors(name ?? "")) ? (
            <span className="faint">@{major}</span>
          ) : null}
        </>
      )}
    </Link>
  );
}
