// What a deploy changed, Pond by Pond, and what of it still waits for a Run to end.
import { useMemo } from "react";
import { useGet } from "../api";
import type { World } from "../feed";
import { useWorld } from "../live";
import { Age, Command, Empty, Loaded, PageHead, Panel, StateChip, Tag } from "../parts/basics";
import { Link, PondLink } from "../parts/link";
import { Word } from "../parts/word";
import { usePlace } from "../router";
import type { DeploymentsView, DeploymentView, PlannedPond, PlanView, RippleChange, SchemaView } from "../types";
import { countText, listText, momentText, shortName } from "../words";
import type { Page } from "./page";

function Plan() {
  const world = useWorld();
  const found = useGet<DeploymentsView>("deployments", { limit: 30 }, world.seq);
  return (
    <>
      <PageHead
        title={<Word of="plan">Plan</Word>}
        lead="What each deploy changed. What is deployed while a Pond runs waits for the end of that Run."
      >
        <Command text="pondage plan" />
      </PageHead>
      <Loaded from={found}>{(data) => <Deployments data={data} />}</Loaded>
    </>
  );
}

function Deployments({ data }: { data: DeploymentsView }) {
  const { params } = usePlace();
  const world = useWorld();
  const chosen = data.deployments.find((each) => String(each.deployed_at) === params.at) ?? firstOf(data, world);
  if (chosen === undefined) {
    return (
      <Panel>
        <Empty title="Nothing was deployed here yet" commands={["pondage plan", "pondage deploy"]}>
          A plan says what a deploy would change, before it does.
        </Empty>
      </Panel>
    );
  }
  return (
    <div className="stack">
      {data.waiting.length === 0 ? null : <Waiting ponds={data.waiting} plan={chosen.plan} />}
      <div className="sided">
        <Panel title="Deploys" className="picker">
          <ul>
            {data.deployments.map((each) => (
              <li key={each.deployed_at}>
                <Link params={{ at: String(each.deployed_at) }} current={each === chosen} className="pick">
                  <strong>{each.project}</strong> <code className="faint">{each.archive.slice(0, 8)}</code>
                  <br />
                  <span className="faint">
                    <Age at={each.deployed_at} />
                    {each.is_rollback ? " · a rollback" : ""}
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        </Panel>
        <Changes deployment={chosen} waiting={new Set(data.waiting)} />
      </div>
    </div>
  );
}

/** The newest deploy of a project that something waits of; else the newest. */
function firstOf(data: DeploymentsView, world: World): DeploymentView | undefined {
  const projects = new Set(data.waiting.map((key) => world.ponds.get(key)?.project));
  return data.deployments.find((each) => projects.has(each.project)) ?? data.deployments[0];
}

function Waiting({ ponds, plan }: { ponds: readonly string[]; plan: unknown }) {
  const world = useWorld();
  const changed = new Set(
    isPlan(plan) ? plan.ponds.filter((pond) => pond.change !== "unchanged").map((pond) => pond.key) : ponds,
  );
  const shown = ponds.filter((key) => changed.has(key));
  const others = ponds.length - shown.length;
  return (
    <section className="notice">
      <strong>{ponds.length === 1 ? "1 new definition waits." : `${ponds.length} new definitions wait.`}</strong>{" "}
      {others === 0 ? null : `${others} of them only take the new archive. `}
      {shown.map((key) => {
        const run = world.ponds.get(key)?.active[0];
        return (
          <span key={key}>
            <PondLink pond={key} />{" "}
            {run === undefined ? (
              "takes over soon. "
            ) : (
              <>
                takes over when{" "}
                <Link page="run" params={{ run: run.id }}>
                  #{run.number}
                </Link>{" "}
                is done.{" "}
              </>
            )}
          </span>
        );
      })}
    </section>
  );
}

function isPlan(plan: unknown): plan is PlanView {
  return typeof plan === "object" && plan !== null && "ponds" in plan && Array.isArray(plan.ponds);
}

function Changes({ deployment, waiting }: { deployment: DeploymentView; waiting: ReadonlySet<string> }) {
  const plan = isPlan(deployment.plan) ? deployment.plan : null;
  const changed = useMemo(() => (plan?.ponds ?? []).filter((pond) => pond.change !== "unchanged"), [plan]);
  const same = (plan?.ponds.length ?? 0) - changed.length;
  const growing = plan?.goes_on ?? [];
  const anew = (plan?.recomputes ?? []).filter((key) => !growing.includes(key));
  return (
    <div className="stack">
      <Panel
        title={`${deployment.project}, ${momentText(deployment.deployed_at)}`}
        aside={same > 0 ? `${countText(same, "Pond")} unchanged` : undefined}
      >
        {plan === null ||
        (changed.length === 0 && (plan.jobs ?? []).length === 0 && (plan.reactors ?? []).length === 0) ? (
          <p className="soft">Nothing but the code’s archive is different.</p>
        ) : null}
        <ul className="changes">
          {changed.map((pond) => (
            <Change key={pond.key} pond={pond} isWaiting={waiting.has(pond.key)} />
          ))}
          {[...(plan?.reactors ?? []), ...(plan?.jobs ?? [])]
            .filter((each) => each.change !== "unchanged")
            .map((each) => (
              <li key={each.name} className={`change change-${each.change}`}>
                <div className="row">
                  <Mark change={each.change} /> <strong>{each.name}</strong>
                  {"is_rebound" in each && each.is_rebound ? (
                    <span className="soft">its graphs, while it runs</span>
                  ) : null}
                </div>
              </li>
            ))}
        </ul>
      </Panel>
      {plan === null || plan.messages.length + plan.recomputes.length === 0 ? null : (
        <Panel title="What follows from it">
          <ul className="stack-small">
            {plan.messages.map((message) => (
              <li key={message.text}>{message.text}</li>
            ))}
            {anew.length === 0 ? null : (
              <li>These compute anew when somebody wants them next: {listText(anew.map(shortName))}.</li>
            )}
            {growing.length === 0 ? null : (
              <li>These keep their rows and take their next batch: {listText(growing.map(shortName))}.</li>
            )}
          </ul>
        </Panel>
      )}
    </div>
  );
}

function Mark({ change }: { change: string }) {
  const sign = { added: "+", removed: "−", changed: "~", fused: "→" }[change] ?? "";
  return (
    <span className={`mark mark-${change}`}>
      <b aria-hidden="true">{sign}</b> {change}
    </span>
  );
}

function Change({ pond, isWaiting }: { pond: PlannedPond; isWaiting: boolean }) {
  const version =
    pond.version_from === pond.version_to
      ? null
      : [pond.version_from, pond.version_to].filter((each) => each !== null).join(" → ");
  return (
    <li className={`change change-${pond.change}`}>
      <div className="row">
        <Mark change={pond.change} />
        <PondLink pond={pond.key} />
        {version === null ? null : <Tag>{version}</Tag>}
        {pond.runs && pond.change === "changed" ? <span className="faint">computes anew</span> : null}
        {isWaiting ? <StateChip state="waiting" /> : null}
      </div>
      {(pond.kept_for ?? []).length === 0 ? null : <p className="soft">kept for {listText(pond.kept_for ?? [])}</p>}
      {(pond.rebound ?? []).map((each) => (
        <p key={each} className="soft">
          reads {each}
        </p>
      ))}
      {pond.what.length === 0 ? null : <p className="soft">{listText(pond.what)}</p>}
      {pond.ripples.length === 0 ? null : (
        <ul className="change-ripples">
          {pond.ripples.map((ripple) => (
            <RippleLine key={ripple.name} ripple={ripple} />
          ))}
        </ul>
      )}
      {pond.schemas
        .filter((schema) => schema.columns.length > 0)
        .map((schema) => (
          <Columns key={schema.ripple} schema={schema} />
        ))}
      {pond.proposed === null || pond.proposed === pond.version_to ? null : (
        <p className="soft">The change deserves version {pond.proposed}.</p>
      )}
      {pond.triggers.length === 0 || pond.change !== "added" ? null : <p className="soft">{listText(pond.triggers)}</p>}
    </li>
  );
}

function RippleLine({ ripple }: { ripple: RippleChange }) {
  return (
    <li>
      <Mark change={ripple.change} /> <code>{ripple.name}</code> <span className="soft">{listText(ripple.what)}</span>
    </li>
  );
}

function Columns({ schema }: { schema: SchemaView }) {
  return (
    <ul className="change-ripples">
      {schema.columns.map((column) => (
        <li key={column.name}>
          <Mark change={column.before === null ? "added" : column.after === null ? "removed" : "changed"} />{" "}
          <code>
            {schema.ripple}.{column.name}
          </code>{" "}
          <span className="soft">{[column.before, column.after].filter((each) => each !== null).join(" → ")}</span>
        </li>
      ))}
    </ul>
  );
}

export const plan: Page = {
  id: "plan",
  title: "Plan",
  shortcut: "d",
  icon: "M12 5v8M8 9h8M8 18h8M4 3h16v18H4z",
  Component: Plan,
};
