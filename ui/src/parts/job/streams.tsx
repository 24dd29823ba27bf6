// The streams of a run: what each holds in segments, how far its readers are, and who waits for whom.
import { Panel, StateChip } from "../basics";
import { Word } from "../word";
import type { ReaderView, StreamView } from "../../types";
import { numberText, sizeText } from "../../words";

const WAITS = { "": "", reader: "waits for more", writer: "its writer waits for it" } as const;

export function Streams({ streams }: { streams: readonly StreamView[] }) {
  if (streams.length === 0) return null;
  return (
    <Panel title={<Word of="stream">Streams</Word>} aside={<Word of="segment">in segments</Word>}>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th>From</th>
              <th>State</th>
              <th className="right">Segments</th>
              <th className="right">Rows</th>
              <th className="right">Size</th>
              <th>To</th>
              <th>Read</th>
            </tr>
          </thead>
          <tbody>
            {streams.flatMap((each) =>
              each.readers.length === 0
                ? [<Line key={`${each.component}.${each.port}`} stream={each} reader={null} isFirst />]
                : each.readers.map((reader, position) => (
                    <Line
                      key={`${each.component}.${each.port} ${reader.component}.${reader.port}`}
                      stream={each}
                      reader={reader}
                      isFirst={position === 0}
                    />
                  )),
            )}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Line({ stream, reader, isFirst }: { stream: StreamView; reader: ReaderView | null; isFirst: boolean }) {
  const shown = (value: number | null, text: (value: number) => string): string =>
    isFirst && value !== null ? text(value) : "";
  return (
    <tr>
      <td>{isFirst ? <code>{`${stream.component}.${stream.port}`}</code> : null}</td>
      <td>{isFirst ? <StateChip state={stream.state} /> : null}</td>
      <td className="right number">{shown(stream.segments, numberText)}</td>
      <td className="right number">{shown(stream.rows, numberText)}</td>
      <td className="right number">{shown(stream.bytes, sizeText)}</td>
      <td>
        {reader === null ? (
          <span className="faint">as a whole</span>
        ) : (
          <code>{`${reader.component}.${reader.port}`}</code>
        )}
      </td>
      <td>{reader === null || stream.segments === null ? null : <Read of={stream.segments} reader={reader} />}</td>
    </tr>
  );
}

function Read({ of, reader }: { of: number; reader: ReaderView }) {
  return (
    <span className="stream-read">
      <progress value={reader.read} max={Math.max(1, of)} aria-label={`Segments that ${reader.component} has read`} />
      <span className="number soft">
        {numberText(reader.read)} of {numberText(of)}
      </span>
      <span className={reader.error === null ? "soft" : "failed-text"}>{reader.error ?? WAITS[reader.waits]}</span>
    </span>
  );
}
