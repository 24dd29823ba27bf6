import { useState, type FormEvent } from "react";
import { forgetToken, hasToken, setToken, type Problem } from "../api";
import { Command, Trouble } from "../parts/basics";
import { Logo } from "./logo";
import { connect } from "../live";
import { change, here } from "../router";

/** Nobody gets in without a token: says which is missing, wrong or too weak, and how to get one. */
export function Entry({ problem }: { problem: Problem | null }) {
  const [typed, setTyped] = useState("");
  const [environment, setEnvironment] = useState(here().params.env ?? "");
  const isAboutEnvironment = problem?.code === "AMBIGUOUS" || problem?.code === "NO_ENVIRONMENT";
  const enter = (event: FormEvent) => {
    event.preventDefault();
    if (typed.trim() !== "") setToken(typed.trim());
    if (environment.trim() !== "" && environment !== here().params.env) change({ env: environment.trim() });
    else connect();
  };
  return (
    <main className="entry">
      <form onSubmit={enter} className="panel">
        <Logo />
        <h1>
          {problem === null
            ? "Open it with a token"
            : isAboutEnvironment
              ? "Which environment?"
              : "This token does not open it"}
        </h1>
        {problem === null ? (
          <p>
            The address that <code>pondage dev</code> and <code>pondage serve</code> print on their first start has a
            token in it, which is kept in <code>.pondage/admin.token</code>. Another one is made with:
          </p>
        ) : (
          <Trouble problem={{ ...problem, hint: null }} />
        )}
        {isAboutEnvironment ? (
          <label>
            Environment
            <input value={environment} spellCheck={false} onChange={(event) => setEnvironment(event.target.value)} />
          </label>
        ) : (
          <Command text="pondage token create --level operate" />
        )}
        <label>
          Token
          <input
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <div className="row">
          <button type="submit" className="primary">
            Open
          </button>
          {hasToken() ? (
            <button
              type="button"
              onClick={() => {
                forgetToken();
                connect();
              }}
            >
              Forget this token
            </button>
          ) : null}
        </div>
        <p className="faint">It is kept in this tab only, and is forgotten when the tab is closed.</p>
      </form>
    </main>
  );
}
