"""PostgreSQL passes the very tests that SQLite passes: the fixtures of this folder bring another driver."""

from tests.ledger.act.test_environments import *  # noqa: F403
from tests.ledger.act.test_past import *  # noqa: F403
from tests.ledger.act.test_readers import *  # noqa: F403
from tests.ledger.act.test_reading import *  # noqa: F403
from tests.ledger.act.test_rollback import *  # noqa: F403
from tests.ledger.commit.test_growing_rules import *  # noqa: F403
from tests.ledger.commit.test_kept_tables import *  # noqa: F403
from tests.ledger.commit.test_landing_rules import *  # noqa: F403
from tests.ledger.commit.test_partitioned_tables import *  # noqa: F403
from tests.ledger.commit.test_probes import *  # noqa: F403
from tests.ledger.commit.test_reactor_work import *  # noqa: F403
from tests.ledger.commit.test_trials import *  # noqa: F403
from tests.ledger.data.test_checks import *  # noqa: F403
from tests.ledger.database.test_mapping import *  # noqa: F403
from tests.ledger.database.test_values import *  # noqa: F403
from tests.ledger.queue.test_pools import *  # noqa: F403
from tests.ledger.step.test_backfills import *  # noqa: F403
from tests.ledger.step.test_coherence import *  # noqa: F403
from tests.ledger.step.test_reactors import *  # noqa: F403
from tests.ledger.tables.test_read_leases import *  # noqa: F403
from tests.ledger.tables.test_reads import *  # noqa: F403
from tests.ledger.tables.test_schedules import *  # noqa: F403
from tests.ledger.test_backfill_deaths import *  # noqa: F403
from tests.ledger.test_faults import *  # noqa: F403
from tests.ledger.test_found_by_simulation import *  # noqa: F403
from tests.ledger.test_life_of_a_run import *  # noqa: F403
from tests.ledger.upkeep.test_health import *  # noqa: F403
from tests.ledger.upkeep.test_keeping import *  # noqa: F403

# Its clock is the server's: no machine of a reader has a part in it.
del test_a_lease_of_another_boot_is_dead  # noqa: F821
