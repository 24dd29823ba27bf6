import { Age, Duration, Elapsed } from "../basics";

/** Why a run began, when, and how long it took or takes. */
export function RunLead({ run }: { run: { reason: string; started_at: number; ended_at: number | null } }) {
  return (
    <>
      {run.reason} · began <Age at={run.started_at} /> ·{" "}
      {run.ended_at === null ? (
        <>
          runs for <Elapsed since={run.started_at} />
        </>
      ) : (
        <>
          took <Duration us={run.ended_at - run.started_at} />
        </>
      )}
    </>
  );
}
