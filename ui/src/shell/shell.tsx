import { useCallback, useEffect, useState } from "react";
import { followEnvironment, useLive, type Connection } from "../live";
import { PAGES, pageOf } from "../pages";
import { Empty } from "../parts/basics";
import { Link } from "../parts/link";
import { Word } from "../parts/word";
import { go, usePlace, writePlace } from "../router";
import { Entry } from "./entry";
import { Help } from "./help";
import { useKeys } from "./keys";
import { Logo } from "./logo";
import { Search } from "./search";
import { setTheme, useTheme, type Theme } from "./theme";
import { Tips } from "./tips";

const NEXT_THEME: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const THEME_TEXT: Record<Theme, string> = { system: "Auto", light: "Light", dark: "Dark" };
const CONNECTION: Record<Connection, string> = {
  connecting: "connecting …",
  live: "live",
  lost: "connecting again …",
  refused: "no access",
};

/** Navigation, search, environment; the page that the address names is inside. */
export function Shell() {
  const place = usePlace();
  const live = useLive();
  const theme = useTheme();
  const [help, setHelp] = useState<string | null>(null);
  useEffect(followEnvironment, [place]);
  const page = pageOf(place.page);
  useEffect(() => {
    document.title = page === undefined ? "Pondage" : `${page.title} · Pondage`;
  }, [page]);
  const showHelp = useCallback(() => setHelp(""), []);
  const nextTheme = useCallback(() => setTheme(NEXT_THEME[theme]), [theme]);
  useKeys(showHelp, nextTheme);

  if (live.connection === "refused") return <Entry problem={live.problem} />;
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <nav className="side" aria-label="Pages">
        <Link page="overview" className="home">
          <Logo />
        </Link>
        <ul>
          {PAGES.filter((each) => each.icon !== undefined).map((each) => (
            <li key={each.id}>
              <Link page={each.id} className="nav" current={each.id === place.page || page?.under === each.id}>
                <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
                  <path d={each.icon} />
                </svg>
                {each.title}
              </Link>
            </li>
          ))}
        </ul>
        <div className="side-foot">
          <button
            type="button"
            className="quiet"
            onClick={nextTheme}
            aria-label={`Colours: ${THEME_TEXT[theme]}. Change`}
          >
            {THEME_TEXT[theme]}
          </button>
          <button type="button" className="quiet" onClick={showHelp} aria-label="Keys and words">
            <kbd>?</kbd> Help
          </button>
        </div>
      </nav>
      <header className="top">
        <Search onWord={setHelp} />
        <div className="top-right">
          <span className={`connection connection-${live.connection}`} role="status">
            <i aria-hidden="true" />
            {CONNECTION[live.connection]}
          </span>
          <label className="environment">
            <Word of="environment" />
            <EnvironmentSwitch />
          </label>
        </div>
      </header>
      <main id="content" className={page?.isWide ? "content content-wide" : "content"} tabIndex={-1}>
        {live.world.seq < 0 ? (
          <p className="loading">Reading the ledger …</p>
        ) : page === undefined ? (
          <Empty title={`There is no page “${place.page}”.`}>The navigation on the left has all of them.</Empty>
        ) : (
          <page.Component />
        )}
      </main>
      <Tips />
      {help === null ? null : <Help word={help} onClose={() => setHelp(null)} />}
    </div>
  );
}

function EnvironmentSwitch() {
  const { who, world } = useLive();
  const place = usePlace();
  const current = place.params.env ?? who?.environment ?? world.environment;
  const known = [...new Set([...(who?.environments ?? []), current])].filter((each) => each !== "");
  return (
    <select value={current} onChange={(event) => go(writePlace(place.page, { env: event.target.value }))}>
      {known.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}
