// Written by `python -m scripts.page_types` from the server's structs. Do not edit.

export interface AboutView {
  version: string;
  environment: string;
  warehouse: string;
  at: number;
}

export interface ActiveRunView {
  id: string;
  number: number;
  freshness: number;
  started_at: number;
  reason: string;
  ripples: RippleView[];
}

export interface AlertRow {
  id: string;
  rule: string;
  environment: string;
  trouble: Trouble;
  opened_at: number;
  resolved_at: number | null;
}

export interface AlertsView {
  environment: string;
  at: number;
  alerts: AlertRow[];
}

export interface Analysing {
  answer: string | null;
}

export interface AnswerView {
  id: string;
  kind: string;
  state: "done" | "failed" | "no worker" | "running" | "starting spark" | "waiting";
  result: unknown;
  error: ProblemsProblem | null;
  trace: string | null;
  notes: string[];
}

export interface AttemptView {
  ripple: string;
  number: number;
  reason: string;
  outcome: string | null;
  created_at: number;
  closed_at: number | null;
  executions: ExecutionView[];
  job_run: string | null;
}

export interface AuditLine {
  id: number;
  at: number;
  who: string;
  verb: string;
  target: string;
  note: string;
  refused: string | null;
}

export interface AuditView {
  environment: string;
  at: number;
  lines: AuditLine[];
  has_more: boolean;
}

export interface AwakeView {
  is_awake: boolean;
  until: number | null;
  expected: number | null;
  tz: string;
}

export interface BackfillDetail {
  backfill: string;
  pond: string;
  state: "cancelled" | "completed" | "failed" | "paused" | "running";
  reason: string;
  request: string;
  note: string;
  by: string[];
  created_at: number;
  ended_at: number | null;
  at: number;
  chunks: number;
  completed: number;
  failed: number;
  partitions: number;
  left_us: number | null;
  listed: ChunkView[];
}

export interface BackfillPlan {
  pond: string;
  by: string[];
  chunks: (((string | number | boolean | null)[])[])[];
  partitions: number;
  new: number;
  rows: number;
  bytes: number;
  time_us: number | null;
  sinks: string[];
}

export interface BackfillView {
  backfill: string;
  pond: string;
  state: "cancelled" | "completed" | "failed" | "paused" | "running";
  reason: string;
  request: string;
  note: string;
  by: string[];
  created_at: number;
  ended_at: number | null;
  at: number;
  chunks: number;
  completed: number;
  failed: number;
  partitions: number;
  left_us: number | null;
}

export interface BackfillsView {
  at: number;
  backfills: BackfillView[];
}

export interface Breaking {
  table: string;
  run: string;
  is_published: boolean;
  answer: string;
}

export interface Changes {
  type: "changes";
  after: number;
  seq: number;
  at: number;
  ponds?: PondView[];
  gone?: string[];
  runs?: JobRunView[];
  reactors?: ReactorView[] | null;
  processes?: ProcessView[] | null;
}

export interface CheckView {
  check: string;
  ok: boolean;
  detail: string;
  hint: string | null;
}

export interface ChecksView {
  environment: string;
  at: number;
  rules: RuleView[];
}

export interface ChunkView {
  number: number;
  partitions: ((string | number | boolean | null)[])[];
  state: "cancelled" | "completed" | "failed" | "sent" | "waiting";
  error: FailureView | null;
  run: string | null;
  started_at: number | null;
  ended_at: number | null;
}

export interface CleanedUpView {
  tables: number;
  streams: number;
  files_go_at: number;
}

export interface CodeView {
  project: string;
  version: string;
  archive: string;
  entry: string;
  place: string;
  deployed_at: number | null;
}

export interface ColumnEdge {
  source: string;
  source_column: string;
  target: string;
  target_column: string;
  kind: "rows" | "value";
}

export interface ColumnView {
  name: string;
  type: string;
  nullable: boolean;
}

export interface Coming {
  lane: string;
  at: number;
  text: string;
}

export interface Compacting {
  pond: string;
  tables: CompactingTable[];
}

export interface CompactingTable {
  ripple: string;
  batches: number;
  answer: string;
}

export interface Comparing {
  pond: string;
  before: StateView;
  after: StateView;
  tables: TableDifference[] | null;
  answer: string | null;
}

export interface ComponentView {
  name: string;
  type: string;
  state: string;
  cause: string;
  code: string;
  attempt: number;
  crashes: number;
  deaths: number;
  crash_budget: number;
  again_at: number | null;
  is_restored: boolean;
  work: string;
  started_at: number | null;
  ended_at: number | null;
  trace: string | null;
  outputs: JobsOutputView[];
  progress: Progress | null;
}

export interface Demand {
  pull: boolean;
  targets: number[];
}

export interface Deployed {
  definition: PondDefinition;
  project: string;
  environment: string;
}

export interface DeploymentView {
  project: string;
  archive: string;
  deployed_at: number;
  is_rollback: boolean;
  plan: unknown;
}

export interface DeploymentsView {
  environment: string;
  at: number;
  deployments: DeploymentView[];
  waiting: string[];
}

export interface DoctorView {
  ok: boolean;
  checks: CheckView[];
}

export interface DoorReader {
  reader: string;
  door: "api" | "page" | "query" | "read" | "sql";
  reads: number;
  last_at: number;
}

export interface EditedView {
  changed: string[];
  added: string[];
  removed: string[];
}

export interface EnvironmentDetailView {
  environment: EnvironmentView;
  ponds: ReadPondView[];
}

export interface EnvironmentView {
  name: string;
  parent: string | null;
  own: number;
  borrowed: number;
  bytes: number;
}

export interface EnvironmentsView {
  environments: EnvironmentView[];
}

export interface ExecutionView {
  epoch: number;
  outcome: string | null;
  process: string | null;
  claimed_at: number | null;
  completed_at: number | null;
  progress: Progress | null;
  error: FailureView | null;
  log: string | null;
}

export interface ExpectationDefinition {
  name: string;
  kind: "bad_rows" | "between" | "check" | "foreign_key" | "fresh" | "in_set" | "matches" | "not_null" | "rows" | "unique" | "volume";
  column: string | null;
  minimum: string | number | boolean | null;
  maximum: string | number | boolean | null;
  values: (string | number | boolean | null)[];
  severity: "fail" | "warn";
  digest: string;
  columns: string[];
  pattern: string;
  refers: string;
  key: string;
  within_us: number;
  of_last: number;
  quarantine: boolean;
  at_most: number | null;
}

export interface ExpectationResult {
  name: string;
  severity: string;
  passed: boolean;
  observed: string;
  broken: number | null;
  value: number | null;
  is_set_aside: boolean;
}

export interface ExposedChange {
  kind: "component" | "type";
  name: string;
  change: "added" | "changed" | "removed" | "unchanged";
  version_from: string | null;
  version_to: string | null;
}

export interface ExtractView {
  name: string;
  source: string;
  format: string;
  type: string;
  state: string;
  rows: number | null;
  bytes: number | null;
  until: number | null;
}

export interface FailureView {
  code: string;
  message: string;
  place: string | null;
  trace: string | null;
}

export interface FeedDefinition {
  reactor: string;
  period_us: number;
  schema: string;
}

export interface FileView {
  path: string;
  state: string;
  size: number;
  modified: number;
  at: number;
  run: string;
  why: string;
}

export interface FilesView {
  pond: string;
  at: number;
  folders: FolderView[];
}

export interface Fit {
  got: string;
  want: string;
  why: string;
}

export interface FlowCheckView {
  ok: boolean;
  plan: string;
  problems: FlowProblem[];
  nodes: FlowNode[];
  edges: FlowEdge[];
  extracts: Record<string, FlowExtract>;
  unresolved: string[];
  types: Record<string, string>;
  fits: Record<string, Fit>;
}

export interface FlowDetail {
  flow: JobRunDetail;
  panics: Panic[];
  extracts: ExtractView[];
  cleaned_at: number | null;
}

export interface FlowEdge {
  source: string;
  target: string;
  type: string;
  is_stream: boolean;
}

export interface FlowExtract {
  source: string;
  format: string;
  type: string;
}

export interface FlowNode {
  name: string;
  program: string;
}

export interface FlowProblem {
  code: string;
  pointer: string;
  message: string;
}

export interface FlowsView {
  environment: string;
  at: number;
  runs: JobRunView[];
}

export interface FolderView {
  ripple: string;
  folder: string;
  counts: Record<string, number>;
  bytes: number;
  files: FileView[];
}

export interface FollowDefinition {
  tz: string;
  sure: number;
  is_resting: boolean;
}

export interface Forgotten {
  pond: string;
  paths: string[];
}

export interface FormatDefinition {
  kind: "delta" | "iceberg";
  ripples: string[];
}

export interface FusionView {
  ripple: string;
  into: string | null;
  reason: string;
}

export interface GateView {
  gate: string;
  text: string;
  hint: string | null;
  fields: Record<string, unknown>;
}

export interface GoneSecret {
  name: string;
}

export interface GraphEdge {
  source: string;
  target: string;
  kind: string;
  label: string;
  type: string;
}

export interface GraphNode {
  name: string;
  type: string;
  subjob: string;
  of: string;
}

export interface GraphPond {
  key: string;
  project: string;
  owner: string;
  tags: string[];
  windows: string[];
  ripples: GraphRipple[];
  sources: GraphSource[];
}

export interface GraphReactor {
  name: string;
  reads: string[];
  publishes: string | null;
  jobs: string[];
}

export interface GraphRipple {
  name: string;
  kind: string;
  parents: string[];
  ponds: string[];
  fused: string[];
  expectations: number;
}

export interface GraphSource {
  key: string;
  is_required: boolean;
}

export interface GraphView {
  environment: string;
  ponds: GraphPond[];
  reactors: GraphReactor[];
  jobs: JobView[];
}

export interface HealthView {
  ok: boolean;
  at: number;
}

export interface HeldFiles {
  table: string;
  run: string;
  schema: string;
  files: string[];
  held_until: number;
}

export interface HistoryLine {
  at: number;
  kind: string;
  text: string;
  details: Record<string, unknown>;
}

export interface Inferred {
  key: string;
  outputs: Record<string, string>;
  problem: string;
  port: string;
  why: string;
}

export interface Inferring {
  known: Inferred[];
  answer: string | null;
  keys: Record<string, string>;
}

export interface InputView {
  snapshot: string;
  table: string;
  run: string;
  freshness: number;
  delay: number;
}

export interface JobChange {
  name: string;
  change: "added" | "changed" | "removed" | "unchanged";
}

export interface JobGraphView {
  run: string;
  job: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface JobMetrics {
  edges_fired: number;
  global_writes: Record<string, number>;
  checkpoint_bytes: number;
  resumed_in_us: number | null;
}

export interface JobRunDetail {
  run: JobRunView;
  version: string;
  plan: string;
  context: Record<string, unknown>;
  components: ComponentView[];
  subjobs: SubjobView[];
  globals: Record<string, unknown>;
  metrics: JobMetrics;
  at: number;
  streams: StreamView[];
}

export interface JobRunView {
  id: string;
  job: string;
  state: string;
  code: string | null;
  reason: string;
  resumed_from: string | null;
  started_at: number;
  ended_at: number | null;
  counts: Record<string, number>;
  is_flow: boolean;
  halted: string | null;
}

export interface JobView {
  name: string;
  version: string;
  project: string;
  plan: string;
  components: number;
  deployed_at: number;
  schedule: string | null;
  next_at: number | null;
}

export interface JobsView {
  environment: string;
  at: number;
  jobs: JobView[];
  runs: JobRunView[];
}

export interface KeptSecret {
  name: string;
  is_new: boolean;
}

export interface KnownComponent {
  name: string;
  version: string;
  doc: string;
  kind: "iterator" | "plain";
  mode: "stream" | "table";
  inputs: Record<string, Port>;
  outputs: Record<string, Port>;
  vars: Record<string, string>;
  params: Record<string, unknown>;
  startable: boolean;
  after: string[] | null;
  globals: string[] | null;
  deterministic: boolean;
  restartable: boolean;
  exposed: boolean;
  entry: string;
  archive: string;
  digest: string;
  resources: Resources;
  scaling: Scaling;
  image: string;
  dockerfile: string;
  command: string[];
  transport: "amqp" | "unix";
  project: string;
}

export interface KnownType {
  name: string;
  version: string;
  definition: string;
  doc: string;
  serialisation: string;
  is_built_in: boolean;
  project: string;
}

export interface LastRunView {
  id: string;
  number: number;
  state: string;
  freshness: number;
  started_at: number;
  ended_at: number;
  error: FailureView | null;
}

export interface LineageEdge {
  source: string;
  target: string;
  parameter: string;
}

export interface LineageTable {
  table: string;
  pond: string;
  ripple: string;
  distance: number;
  is_deployed: boolean;
  snapshot: string | null;
  run: string | null;
  number: number | null;
  freshness: number | null;
  delay: number;
  is_spliced: boolean;
}

export interface LineageView {
  environment: string;
  at: number;
  subject: string;
  direction: "both" | "down" | "up";
  tables: LineageTable[];
  edges: LineageEdge[];
  columns: ColumnEdge[];
  unknown: string[];
  has_more: boolean;
}

export interface LogFile {
  run: string;
  pond: string;
  run_number: number;
  ripple: string;
  attempt: number;
  epoch: number;
  path: string;
  claimed_at: number;
  outcome: string | null;
  completed_at: number | null;
  rows: number | null;
  bytes: number | null;
}

export interface LogLine {
  at: number | null;
  level: string | null;
  text: string;
  pond: string;
  ripple: string;
  run: string;
  attempt: number;
}

export interface LogsView {
  environment: string;
  at: number;
  files: LogFile[];
  lines: LogLine[];
  reactor: string | null;
  runs: string[];
}

export interface MadeToken {
  token: string;
  row: TokenRow;
}

export interface Message {
  kind: "newer_major" | "not_deployed" | "removed_source" | "returned" | "schema" | "trigger" | "version";
  text: string;
  pond: string;
}

export interface Moment {
  at: number;
  kind: string;
  text: string;
}

export interface Next {
  text: string;
  at: number | null;
}

export interface OlderCode {
  pond: string;
  partitions: number;
}

export interface OlderRun {
  id: string;
  number: number;
  freshness: number;
  delay: number;
}

export type Pacing = "eager" | "just_in_time";

export interface Panic {
  node: string;
  attempt: number;
  code: string;
  message: string;
  detail: string;
  at: number;
}

export interface PartitionColumn {
  column: string;
  unit: "day" | "hour" | "month" | "year" | null;
  tz: string;
}

export interface PartitionDefinition {
  by: PartitionColumn[];
  has_null: boolean;
  within_us: number;
  late: "ignore" | "quarantine" | "refuse";
  expected: "day" | "hour" | "month" | "year" | null;
}

export interface PartitionView {
  values: (string | number | boolean | null)[];
  rows: number;
  bytes: number;
  run: string;
  made_at: number;
  is_older_code: boolean;
}

export interface PartitionsView {
  by: string[];
  count: number;
  older_code: number;
  partitions: PartitionView[];
  missing: string[];
}

export interface PinView {
  source: string;
  run: string | null;
  number: number | null;
  freshness: number | null;
}

export interface PlanView {
  project: string;
  environment: string;
  is_empty: boolean;
  ponds: PlannedPond[];
  messages: Message[];
  problems: ValuesProblem[];
  digest: string;
  recomputes: string[];
  goes_on: string[];
  asking: string[];
  reactors: ReactorChange[];
  is_analyzed: boolean;
  jobs: JobChange[];
  exposed: ExposedChange[];
  parent: string | null;
  borrowed: string[];
}

export interface PlannedPond {
  key: string;
  change: "added" | "changed" | "kept" | "removed" | "unchanged";
  version_from: string | null;
  version_to: string | null;
  what: string[];
  ripples: RippleChange[];
  sources: string[];
  triggers: string[];
  runs: boolean;
  proposed: string | null;
  schemas: SchemaView[];
  fuse: boolean;
  fusions: FusionView[];
  kept_for: string[];
  rebound: string[];
}

export interface PondBack {
  pond: string;
  older: RunDetailView;
  is_shown: boolean;
  status: StatusView;
}

export interface PondDefinition {
  name: string;
  version: string;
  entry: string;
  ripples: RippleDefinition[];
  sources: SourceDefinition[];
  windows: WindowDefinition[];
  retries: Retries;
  triggers: Triggers;
  mode: "append" | "auto" | "merge" | "partition" | "replace";
  keys: string[];
  verify: Verification | null;
  partition: PartitionDefinition | null;
  coherent: boolean | "required";
  fuse: boolean;
  keep: string;
  pool: string | null;
  labels: string[];
  publish: FormatDefinition[];
  description: string;
  owner: string;
  tags: string[];
  archive: string;
  project: string;
  place: string;
  borrowed: string;
  feed: FeedDefinition | null;
  reading: ReadingDefinition;
}

export interface PondReaders {
  pond: string;
  reads: number;
  bytes: number;
  age_us: number;
  last_at: number;
  week: number[];
  readers: DoorReader[];
}

export interface PondReference {
  key: string;
  is_deployed: boolean;
  is_required: boolean | null;
  minimum: string | null;
}

export interface PondRhythm {
  key: string;
  runs: number;
  mean_run_us: number;
  mean_period_us: number | null;
  pace_us: number | null;
  scheduled_runs: number | null;
}

export interface PondShow {
  environment: string;
  at: number;
  key: string;
  name: string;
  version: string;
  project: string;
  description: string;
  owner: string;
  tags: string[];
  place: string;
  entry: string;
  archive: string;
  mode: string;
  coherent: boolean | "required";
  pool: string | null;
  labels: string[];
  retries_immediately: number;
  retries_on_change: number;
  windows: string[];
  wave: string | null;
  tides: Record<string, number>;
  schedules: string[];
  sources: PondReference[];
  sinks: PondReference[];
  freshness: number | null;
  delay: number | null;
  current_run: string | null;
  current_number: number | null;
  ripples: RippleShow[];
  read_from: string | null;
  is_spliced: boolean;
  spliced_from: string[];
  rolled_back_to: OlderRun | null;
}

export interface PondView {
  key: string;
  name: string;
  version: string;
  project: string;
  kind: "inlet" | "outlet" | "pond";
  state: "blocked" | "failed" | "idle" | "killed" | "queued" | "running";
  freshness: number | null;
  delay: number | null;
  staleness: number | null;
  demand: Demand;
  triggers: TriggerView[];
  sources: string[];
  active: ActiveRunView[];
  runs: number;
  fused: Record<string, string>;
  last_run: LastRunView | null;
  halted: string | null;
  next: Next;
  borrowed_from: string | null;
}

export interface PoolView {
  name: string;
  size: number;
  taken: number;
}

export interface Port {
  type: string;
  required: boolean;
  multi: boolean;
  discardable: boolean;
  accept: "exact" | "subset" | "upcast";
  job_only: boolean;
}

export interface ProcessView {
  id: string;
  role: string;
  machine: string;
  pid: number;
  state: string;
  slots: number;
  busy: number;
  code: string;
  labels: string[];
  registered_at: number;
  silent_us: number | null;
  is_silent: boolean;
}

export interface Progress {
  phase: string;
  jobs: number;
  stages: number;
  tasks_done: number;
  tasks_all: number;
  done: StageView[];
}

export interface ProjectBack {
  plan: PlanView;
  environment: string;
  deployed_at: number;
  at: number;
  older_runs: Record<string, number>;
}

export interface Promoted {
  pond: string;
  run: string;
  number: number;
  freshness: number;
  is_shown: boolean;
}

export interface Promotion {
  environment: string;
  to: string;
  ponds: Promoted[];
}

export interface PublishedView {
  snapshot: string;
  run: string;
  freshness: number;
  delay: number;
  rows: number;
  bytes: number;
  batches: number | null;
  batch_rows: number | null;
  path: string;
  stable: string;
  link: string | null;
  columns: ColumnView[];
  expectations: ExpectationResult[];
  upkeep: UpkeepView | null;
}

export interface QueryView {
  columns: string[];
  types: string[];
  rows: unknown[][];
  truncated: boolean;
  notes: string[];
}

export interface QueueView {
  id: number;
  components: string[];
  code: string;
  served_by: string;
  labels: string[];
  memory: string[];
  pool: string;
  waiting: number;
  running: number;
  oldest_us: number | null;
  workers: string[];
  is_left_over: boolean;
}

export interface QueuesView {
  newest: string;
  queues: QueueView[];
}

export interface ReactorChange {
  name: string;
  change: "added" | "changed" | "removed" | "unchanged";
  version_from: string | null;
  version_to: string | null;
  is_rebound: boolean;
  rebound: string[];
}

export interface ReactorView {
  name: string;
  version: string;
  project: string;
  state: string;
  waiting_for: string[];
  is_owned: boolean;
  epoch: number;
  criteria: string;
  strategy: string;
  durable: string;
  sources: string[];
  graphs: string[];
  is_rebound: boolean;
  is_alone: boolean;
  error: string | null;
  stuck: string | null;
  stuck_at: number | null;
}

export interface ReactorWhyView {
  reactor: string;
  environment: string;
  state: string;
  reasons: Reason[];
  where: string;
}

export interface ReadDefinition {
  parameter: string;
  ripple: string;
  pond: string | null;
  optional: boolean;
  columns: string[] | null;
  by_changes: boolean;
  by_check: boolean;
}

export interface ReadPondView {
  key: string;
  is_own: boolean;
  read_from: string;
  run: string | null;
}

export interface ReadRow {
  pond: string;
  minute: number;
  door: "api" | "page" | "query" | "read" | "sql";
  reader: string;
  count: number;
  bytes: number;
  age: number;
}

export interface ReaderView {
  component: string;
  port: string;
  read: number;
  waits: "" | "reader" | "writer";
  error: string | null;
}

export interface ReadersView {
  environment: string;
  at: number;
  since: number;
  week_from: number;
  ponds: PondReaders[];
  unread: UnreadRuns[];
  reads: ReadRow[];
}

export interface ReadingDefinition {
  asks: "none" | "pulse" | "tap";
  wait_us: number | null;
}

export interface Reason {
  gate: string;
  text: string;
  hint: string | null;
}

export interface Rebound {
  queue: number;
  served_by: string;
  before: string;
  components: Record<string, string>;
  deployed_at: number | null;
}

export interface Recorded {
  median_us: number;
  spread: number;
  samples: number;
}

export interface RecordedRipple {
  pond: string;
  ripple: string;
  recorded: Recorded;
}

export interface RemovedEnvironment {
  environment: string;
  ponds: string[];
  snapshots: number;
  bytes: number;
  kept: number;
}

export interface RepairView {
  reactor: string;
  letters: string[];
}

export interface Reset {
  type: "reset";
  after: number;
}

export interface Resources {
  cores: number;
  memory: string[];
  gpu: number;
  labels: string[];
}

export interface Retries {
  immediately: number;
  on_change: number;
}

export interface RhythmView {
  environment: string;
  since: number;
  until: number;
  bottleneck: string | null;
  ponds: PondRhythm[];
  scheduled_runs: number | null;
  schedule: string | null;
  rounds: number;
  deployed: number;
}

export interface RippleChange {
  name: string;
  change: "added" | "changed" | "fused" | "removed";
  what: ("code" | "expectations" | "inputs" | "parameters" | "settings")[];
}

export interface RippleDefinition {
  name: string;
  kind: "feed" | "function" | "job" | "sql";
  reads: ReadDefinition[];
  injects: ("run" | "spark")[];
  expectations: ExpectationDefinition[];
  parameters: Record<string, string | number | boolean | null>;
  description: string;
  digest: string;
  source: string;
  sql: string | null;
  job: string | null;
  always: boolean;
  has_probe: boolean;
  probe_digest: string;
  timeout_s: number | null;
  progress_lease_s: number | null;
  materialize: boolean | null;
  is_deterministic: boolean;
  fused: Record<string, RippleDefinition>;
}

export interface RippleShow {
  name: string;
  kind: string;
  table: string;
  description: string;
  reads: string[];
  expectations: string[];
  is_outlet: boolean;
  fused: string[];
  digest: string;
  source: string;
  timeout_s: number | null;
  published: PublishedView | null;
  formats: string[];
  partitions: PartitionsView | null;
}

export interface RippleView {
  name: string;
  state: "cancelled" | "done" | "failed" | "queued" | "reused" | "running" | "waiting";
  attempt: number | null;
  epoch: number | null;
  since_at: number | null;
  available_at: number | null;
  process: string | null;
  process_state: string | null;
  progress: Progress | null;
  fused: string[];
  job_run: string | null;
  reason: string;
  crashes: number;
  crash_budget: number;
  is_isolated: boolean;
}

export interface RuleOutcome {
  run: string;
  number: number;
  at: number;
  passed: boolean;
  severity: string;
  observed: string;
  broken: number | null;
  value: number | null;
  is_set_aside: boolean;
  is_published: boolean;
}

export interface RuleView {
  pond: string;
  ripple: string;
  rule: string;
  text: string;
  state: "broken" | "kept" | "never judged" | "set aside";
  trend: "better" | "new" | "steady" | "worse";
  kept: number;
  outcomes: RuleOutcome[];
}

export interface RunDetailView {
  environment: string;
  at: number;
  run: RunView;
  code: CodeView;
  pins: PinView[];
  attempts: AttemptView[];
  outputs: RunsOutputView[];
}

export interface RunView {
  id: string;
  pond: string;
  number: number;
  version: string;
  state: string;
  reason: string;
  freshness: number;
  delay: number;
  started_at: number;
  ended_at: number | null;
  duration_us: number | null;
  is_forced: boolean;
  is_spliced: boolean;
  spliced_from: string[];
  rolled_back_to: number | null;
  shows: string | null;
  ripple: string | null;
  error: FailureView | null;
  removed_at: number | null;
}

export interface RunsView {
  environment: string;
  at: number;
  runs: RunView[];
  has_more: boolean;
}

export interface SavedLine {
  id: string;
  name: string;
  saved_at: number;
  start: number;
  length_us: number;
  triggers: string[];
}

export interface SavedSimulation {
  line: SavedLine;
  spans: SavedSpan[];
  has_more: boolean;
}

export interface SavedSimulations {
  environment: string;
  at: number;
  simulations: SavedLine[];
}

export interface SavedSpan {
  lane: string;
  start: number;
  end: number;
}

export interface Scaling {
  max_concurrency: number;
  min: number;
  max: number;
}

export interface ScheduleDefinition {
  cron: string;
  tz: string;
  catch_up: "all" | "latest" | "none";
  name: string;
}

export interface SchemaView {
  ripple: string;
  state: "changed" | "new" | "same" | "unknown";
  columns: PlanColumnDifference[];
  breaks: string[];
  problem: string | null;
  upkeep: string | null;
}

export interface SecretsView {
  secrets: string[];
}

export interface SimulationFacts {
  environment: string;
  at: number;
  deployed: Deployed[];
  above: Deployed[];
  standing: Standing[];
  recorded: RecordedRipple[];
}

export interface Snapshot {
  type: "snapshot";
  seq: number;
  status: StatusView;
  runs: JobRunView[];
  reactors: ReactorView[];
  graph: GraphView | null;
}

export interface SnapshotShow {
  environment: string;
  at: number;
  id: string;
  pond: string;
  ripple: string;
  run: string;
  freshness: number;
  delay: number;
  kind: string;
  path: string;
  files: string[];
  rows: number;
  bytes: number;
  columns: ColumnView[];
  expectations: ExpectationResult[];
  inputs: Record<string, string | null>;
  read: Record<string, InputView>;
  code: CodeView;
  digest: string;
  source: string;
  created_at: number;
  is_deleted: boolean;
}

export interface SourceDefinition {
  pond: string;
  minimum: [number, number, number] | null;
  major: number | null;
  required: boolean;
}

export interface Span {
  lane: string;
  kind: "job" | "pond";
  id: string;
  state: string;
  start: number;
  end: number | null;
  number: number | null;
  reason: string;
}

export interface StageView {
  id: number;
  tasks: number;
  failed: number;
  work_us: number;
  read_bytes: number;
  shuffled_bytes: number;
  spilled_bytes: number;
}

export interface Standing {
  pond: string;
  wave: Pacing | null;
  tides: Record<string, number>;
  paused: string[];
}

export interface Started {
  run: string;
}

export interface StateView {
  environment: string;
  run: string;
  number: number;
  freshness: number;
}

export interface StatusView {
  environment: string;
  at: number;
  ponds: PondView[];
  processes: ProcessView[];
  has_more: boolean;
  reactors: ReactorView[];
}

export interface StoredConstant {
  ref: string;
}

export interface StreamView {
  component: string;
  port: string;
  state: string;
  segments: number | null;
  rows: number | null;
  bytes: number | null;
  readers: ReaderView[];
}

export interface SubjobView {
  name: string;
  state: string;
  error: string;
}

export interface TableDifference {
  ripple: string;
  keys: string[];
  before_rows: number | null;
  after_rows: number | null;
  schema: DiffColumnDifference[];
  added: number;
  removed: number;
  changed: number;
  columns: Record<string, number>;
  sample: QueryView | null;
}

export interface TestedAlert {
  alert: string;
}

export interface Ticket {
  ticket: string;
  seconds: number;
  name: string;
  level: string;
  environment: string;
  environments: string[];
}

export interface TideDefinition {
  limit_us: number;
  name: string;
  follow: FollowDefinition | null;
}

export interface TimelineView {
  environment: string;
  at: number;
  since: number;
  until: number;
  spans: Span[];
  moments: Moment[];
  coming: Coming[];
  has_more: boolean;
}

export interface TokenRow {
  id: string;
  name: string;
  level: string;
  environments: string[];
  created_at: number;
  revoked_at: number | null;
  expires_at: number | null;
}

export interface TrendPoint {
  run: string;
  number: number;
  state: string;
  freshness: number;
  delay: number;
  started_at: number;
  ended_at: number | null;
  tables: TrendTable[];
}

export interface TrendTable {
  ripple: string;
  rows: number;
  bytes: number;
  is_reused: boolean;
}

export interface TrendView {
  environment: string;
  at: number;
  pond: string;
  points: TrendPoint[];
}

export interface TriggerView {
  kind: "schedule" | "tide" | "wave";
  name: string;
  limit_us: number | null;
  pacing: string | null;
  cron: string | null;
  tz: string | null;
  next_at: number | null;
  paused_by: "kill" | "pause" | "sleep" | null;
  awake: AwakeView | null;
}

export interface Triggers {
  wave: boolean;
  pacing: "eager" | "just_in_time";
  tides: TideDefinition[];
  wave_follow: FollowDefinition | null;
  schedules: ScheduleDefinition[];
}

export interface Trouble {
  kind: string;
  cause: string;
  subject: string;
  text: string;
  hint: string;
  affected: string[];
}

export interface UnreadRuns {
  pond: string;
  runs: number;
  unread: number;
  spent_us: number;
  unread_us: number;
}

export interface UpkeepView {
  how: string;
  said: string;
  changed: number | null;
  of: number | null;
  rows: number | null;
  is_verified: boolean;
  differing: string[];
}

export interface VacuumReport {
  dry_run: boolean;
  thinned: number;
  tombstoned: string[];
  tombstoned_count: number;
  swept: string[];
  swept_count: number;
  orphans: string[];
  orphan_count: number;
  logs: number;
  bytes: number;
  runs: number;
}

export interface Verification {
  first: number;
  every: number;
}

export interface WhyView {
  environment: string;
  at: number;
  pond: string;
  state: "blocked" | "failed" | "idle" | "killed" | "queued" | "running";
  freshness: number | null;
  staleness: number | null;
  demand: Demand;
  gates: GateView[];
}

export interface WindowDefinition {
  start: string;
  tz: string;
  weekdays: number[];
  end: string | null;
}

export interface WorkListView {
  environment: string;
  at: number;
  processes: ProcessView[];
  work: WorkView[];
  pools: PoolView[];
  has_more: boolean;
}

export interface WorkView {
  id: number;
  kind: string;
  node: string;
  subject: string;
  run: string | null;
  attempt: number;
  epoch: number;
  created_at: number;
  process: string | null;
  claimed_at: number | null;
  progress: Progress | null;
  available_at: number | null;
  waits: string;
}

export interface ValuesProblem {
  code: string;
  message: string;
  pond: string;
  place: string | null;
  hint: string | null;
}

export interface JobsOutputView {
  port: string;
  rows: number;
  bytes: number;
  path: string;
}

export interface PlanColumnDifference {
  name: string;
  before: string | null;
  after: string | null;
}

export interface ProblemsProblem {
  code: string;
  message: string;
  place: string | null;
  hint: string | null;
}

export interface RunsOutputView {
  ripple: string;
  snapshot: string;
  freshness: number;
  rows: number;
  bytes: number;
  path: string;
  table_rows: number | null;
  upkeep: UpkeepView | null;
}

export interface DiffColumnDifference {
  column: string;
  before: string | null;
  after: string | null;
}
