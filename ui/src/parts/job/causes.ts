// Why a component was skipped, in plain words: the machine gives a code with what it is about in brackets.

const WORDS: Readonly<Record<string, (about: string, label: string) => string>> = {
  DATA_STARVED: (port) => `nothing came to its input “${port}”`,
  UPSTREAM_SKIPPED: (other) => `${other} before it was skipped`,
  UPSTREAM_ERROR: (other) => `${other} before it failed`,
  EDGE_NOT_FIRED: (other, label) => `${other} did not end in “${label}”`,
  CONDITION_FALSE: (other, label) => `the condition ${label} of ${other} was false`,
  BRANCH_ERROR: (branches) => `a branch failed: ${branches}`,
  ALL_BRANCHES_SKIPPED: () => "every branch before it was skipped",
  ABORTED: (code) =>
    code === "STOPPED" ? "the run was stopped" : `the run was ended: ${code.toLowerCase().replaceAll("_", " ")}`,
  ABORTED_BY_POLICY: () => "a failure before it ended the run",
};

export function causeText(cause: string): string {
  const match = /^([A-Z_]+)(?:\((.*)\))?$/.exec(cause);
  if (match === null) return cause;
  const [about = "", label = ""] = (match[2] ?? "").split(",");
  return WORDS[match[1] ?? ""]?.(about, label) ?? cause;
}
