// The lines of a Run as they are written, followed over a WebSocket.
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { apiUrl, post, Refusal, type Problem } from "../api";
import type { LogLine, Ticket } from "../types";
import { clockText, countText } from "../words";
import { change, usePlace } from "../router";
import { Choice, Trouble } from "./basics";

const MOST = 2_000;
type Which = "all" | "warnings" | "errors";
const SHOWN: Record<Which, ReadonlySet<string> | null> = {
  all: null,
  warnings: new Set(["WARNING", "WARN", "ERROR", "CRITICAL", "FATAL"]),
  errors: new Set(["ERROR", "CRITICAL", "FATAL"]),
};

interface Said {
  lines?: LogLine[];
  error?: Problem;
}

/** Follow the log of a Pond, a Run or a run of a job; `ripple` narrows it. */
export function Logs({ subject, ripple = "", isLive }: { subject: string; ripple?: string; isLive: boolean }) {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { params } = usePlace();
  const which: Which = params.log === "warnings" || params.log === "errors" ? params.log : "all";
  const [isFollowing, setFollowing] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let socket: WebSocket | null = null;
    let isOver = false;
    setLines([]);
    setProblem(null);
    const begin = async () => {
      const { ticket } = await post<Ticket>("tickets");
      if (isOver) return;
      const url = new URL(apiUrl("ws/logs", { subject, ripple, lines: 500, ticket }), document.baseURI);
      url.protocol = url.protocol.replace("http", "ws");
      socket = new WebSocket(url);
      socket.onmessage = ({ data }) => {
        const said = JSON.parse(String(data)) as Said;
        if (said.error !== undefined) setProblem(said.error);
        const more = said.lines;
        if (more !== undefined) setLines((before) => [...before, ...more].slice(-MOST));
      };
    };
    begin().catch((error: unknown) => {
      if (!isOver && error instanceof Refusal) setProblem(error.problem);
    });
    return () => {
      isOver = true;
      socket?.close();
    };
  }, [subject, ripple]);
  useLayoutEffect(() => {
    if (isFollowing && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, which, isFollowing]);
  const levels = SHOWN[which];
  const shown = levels === null ? lines : withTraces(lines, levels);
  return (
    <div className="logs">
      <div className="logs-head">
        <span className="faint">
          {isLive ? (isFollowing ? "followed live" : "live, not scrolling along") : countText(shown.length, "line")}
        </span>
        <div className="row">
          {isLive ? (
            <button
              type="button"
              className="quiet"
              aria-pressed={isFollowing}
              onClick={() => setFollowing(!isFollowing)}
            >
              {isFollowing ? "Stop scrolling" : "Scroll along"}
            </button>
          ) : null}
          <Choice
            label="Which lines"
            value={which}
            onChange={(log) => change({ log: log === "all" ? null : log }, { replace: true })}
            options={[
              ["all", "All"],
              ["warnings", "Warnings"],
              ["errors", "Errors"],
            ]}
          />
        </div>
      </div>
      {problem === null ? null : <Trouble problem={problem} />}
      <div className="logs-lines" ref={box} tabIndex={0} role="log" aria-label="Log">
        {shown.length === 0 ? <p className="faint">Nothing was logged yet.</p> : null}
        {shown.map((line, position) => (
          <div key={position} className={`log-line level-${(line.level ?? "more").toLowerCase()}`}>
            <span className="faint">{line.at === null ? "" : clockText(line.at)}</span>
            <span className="log-level">{line.level ?? ""}</span>
            <span className="log-where">{line.at === null ? "" : line.ripple}</span>
            <span className="log-text">{line.text}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

/** Lines of these levels, and those that go on from them: a traceback belongs to its error. */
function withTraces(lines: readonly LogLine[], levels: ReadonlySet<string>): LogLine[] {
  let isShown = false;
  return lines.filter((line) => {
    if (line.level !== null) isShown = levels.has(line.level);
    return isShown;
  });
}
