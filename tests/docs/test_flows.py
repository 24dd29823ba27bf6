"""The to-do list of the document about flows: each item has tests that prove it, or the reason why it has none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ITEMS: dict[str, tuple[str, ...]] = {
    "type checking": (
        (
            "tests/plan/flow/test_random_trees.py::"
            "test_random_trees_are_accepted_with_the_right_types_or_refused_with_exact_codes_and_pointers"
        ),
    ),
    "example progdefs": ("tests/spark/flows/test_flows.py::test_the_samples_make_a_first_tree",),
    "local demo": (
        "tests/spark/flows/test_flow_examples.py::test_orders_are_cleaned_and_their_errors_collected",
        "tests/cli/test_flows.py::test_a_tree_is_submitted_followed_and_shown",
    ),
    "remote demo": (
        "tests/services/test_flows_on_two_machines.py::test_example_flows_run_on_two_workers_that_share_postgresql",
    ),
    # A program needs no image, and an edited tree no other worker.
    "speedup of image builds": ("tests/project/test_archive.py::test_an_edited_tree_is_no_other_code",),
    "generic types and type inference": (
        "tests/spark/flows/test_flow_examples.py::test_one_generic_program_serves_tables_of_different_columns",
    ),
    "autoscaling, vertical and horizontal": (
        (
            "tests/ledger/queue/test_queues.py::"
            "test_work_that_ran_out_of_memory_is_done_again_with_the_next_size_and_counts_against_nothing"
        ),
        "tests/ledger/queue/test_queues.py::test_the_depth_of_a_queue_is_known_to_whoever_starts_workers",
        "tests/engine/supervise/test_children.py::test_a_queue_gets_as_many_workers_as_its_depth_needs_within_its_bounds",
        "tests/engine/supervise/test_children.py::test_work_that_needs_more_memory_gets_a_worker_that_has_it",
        "tests/connect/test_kubernetes.py::test_the_number_of_workers_follows_the_queue_of_the_component",
    ),
    "a python library to simplify writing progdefs": (
        "tests/engine/programs/test_conformance.py::test_the_library_works_on_a_job_and_says_that_it_is_done",
    ),
    "test suite that runs pipelines locally": (
        "tests/testing/test_flow_simulation.py::test_every_node_ends_well_unless_a_fixture_fails",
        "tests/spark/flows/test_flow_simulation.py::test_a_flow_runs_in_this_process_and_rows_may_stand_for_nodes",
    ),
    "machine specs": (
        "tests/connect/test_kubernetes.py::test_what_a_component_declares_is_what_its_container_gets",
        "tests/ledger/queue/test_queues.py::test_components_that_are_placed_differently_are_not_fused",
        "tests/ledger/commit/test_component_work.py::test_labels_and_code_decide_who_may_run_a_component",
    ),
    "a static input, a const node": (
        "tests/spark/flows/test_flows.py::test_a_constant_becomes_rows_of_its_type_and_a_second_reader_gets_them_too",
        "tests/spark/flows/test_flows.py::test_values_and_bytes_travel_as_python_has_them",
        "tests/ledger/act/test_flows.py::test_a_constant_that_was_stored_before_comes_with_the_flow_that_names_it",
        (
            "tests/spark/flows/test_flows.py::"
            "test_tables_and_values_that_were_stored_before_are_what_a_tree_names_by_their_digests"
        ),
    ),
    "extract the output as streams of bytes": (
        "tests/connect/test_extraction.py::test_the_same_bytes_come_from_every_offset",
        "tests/cli/test_flows.py::test_an_extract_is_fetched_as_bytes_from_any_offset",
    ),
    "separate image build from kube deployment": (
        "tests/connect/test_kubernetes.py::test_every_document_is_valid_by_the_schema_of_kubernetes",
    ),
    "separate scheduler inside the cluster": (
        "tests/services/test_flows_on_two_machines.py::test_example_flows_run_on_two_workers_that_share_postgresql",
    ),
    "cleanup of successful or failed flows": (
        (
            "tests/ledger/act/test_flows.py::"
            "test_cleaning_up_removes_tables_attempts_and_rows_before_their_retention_but_no_extract"
        ),
        "tests/engine/programs/test_conformance.py::test_nothing_is_left_of_the_queues_of_a_job_that_has_ended",
    ),
    "flow panics": (
        (
            "tests/ledger/act/test_flows.py::"
            "test_a_panic_that_nobody_handles_ends_the_flow_cancels_the_others_and_skips_the_rest"
        ),
        "tests/spark/flows/test_flows.py::test_a_panic_that_nobody_handles_ends_the_flow_with_its_code",
    ),
    "watching for stop": (
        "tests/engine/programs/test_conformance.py::test_a_stop_is_waited_for_and_ends_the_inputs",
        (
            "tests/spark/flows/test_flow_simulation.py::"
            "test_a_row_on_a_stop_edge_reaches_the_program_and_what_it_gives_then_counts"
        ),
    ),
    "health": (
        (
            "tests/engine/programs/test_conformance.py::"
            "test_health_is_ascii_milliseconds_and_the_sender_s_clock_is_only_compared_with_itself"
        ),
    ),
    "stop accepting new jobs on termination": (
        "tests/engine/programs/test_hosting.py::test_after_sigterm_the_job_at_hand_is_finished_and_no_other_is_taken",
        "tests/engine/worker/test_worker.py::test_what_may_run_only_once_is_waited_for_and_never_given_back",
        (
            "tests/engine/supervise/test_supervisor.py::"
            "test_a_draining_supervisor_waits_out_the_grace_of_work_that_may_run_only_once_and_of_no_other"
        ),
    ),
    "pipe from panic": (
        "tests/spark/flows/test_flows.py::test_a_wired_panic_is_handled_and_its_row_says_what_happened",
        "tests/spark/flows/test_flow_examples.py::test_a_shop_that_does_not_answer_is_handled_and_the_rest_goes_on",
    ),
    "pipe into stop": (
        (
            "tests/ledger/act/test_flows.py::"
            "test_the_first_row_on_an_edge_into_stop_stops_in_the_same_transaction_and_delays_nothing"
        ),
    ),
    "vocabulary": ("tests/docs/test_flows.py::test_every_word_of_the_vocabulary_is_explained",),
    "a crash without a panic always panics the flow": (
        "tests/ledger/act/test_flows.py::test_a_crash_is_unseen_within_its_budget_and_a_panic_when_that_is_spent",
        "tests/ledger/act/test_flows.py::test_what_may_run_only_once_panics_at_its_first_crash_whoever_was_to_blame",
        "tests/engine/programs/test_hosting.py::test_a_death_without_a_panic_is_a_crash_also_when_all_outputs_are_closed",
    ),
}
"""Each item of "Misc things", and the tests that prove it."""

WORDS = ("program", "tree", "node", "port", "flow", "segment", "panic", "stop", "extract", "worker")


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_of_the_list_has_tests_of_these_names(item: str) -> None:
    assert ITEMS[item]
    for place in ITEMS[item]:
        file, _, name = place.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), place


def test_every_word_of_the_vocabulary_is_explained() -> None:
    text = (ROOT / "docs" / "flows.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^## Words\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    explained = re.findall(r"^\| \*\*(\w+)\*\* \|", table, re.MULTILINE)
    assert sorted(explained) == sorted(WORDS)
