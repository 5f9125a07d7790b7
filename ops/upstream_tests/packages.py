"""Which packages have tests of what an adapter of ELF stands in for, and where those are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package as the registry has it, at the version that ops/constraints-dev.txt pins unless `version` says one.

    `tests` are files and folders of the source distribution, `swap` the module that puts ELF in the place of what
    they test, and `needs` what they import that the environment of the tools lacks. `lacking` is why there is nothing
    to run.
    """

    name: str
    distribution: str
    version: str | None = None
    tests: Sequence[str] = ()
    swap: str = ""
    needs: Sequence[str] = ()
    is_alone: bool = False
    lacking: str = ""


_MOCK: Final = "pytest-mock==3.17.0"

PACKAGES: Final = (
    Package(
        name="openai-agents",
        distribution="openai-agents",
        tests=(
            "tests/memory/test_session.py",
            "tests/memory/test_session_limit.py",
            "tests/memory/test_compaction_model_visibility.py",
            "tests/memory/test_openai_responses_compaction_session.py",
            "tests/extensions/memory/test_encrypt_session.py",
            "tests/utils/test_simple_session.py",
            "tests/deferred_session_writes",
            "tests/test_agent_runner.py",
            "tests/test_agent_runner_streamed.py",
            "tests/test_cancel_streaming.py",
            "tests/test_handoff_history_duplication.py",
            "tests/test_hitl_session_scenario.py",
            "tests/test_invalid_final_output_handler.py",
            "tests/test_max_turns.py",
            "tests/test_native_tool_failure_history.py",
            "tests/test_programmatic_tool_calling.py",
            "tests/test_run_impl_resume_paths.py",
            "tests/test_run_state_pending_input.py",
            "tests/test_runner_guardrail_resume.py",
            "tests/test_runner_tracing_disabled.py",
            "tests/test_runtime_symmetry_contract.py",
            "tests/test_soft_cancel.py",
            "tests/test_tool_batch_failure_history.py",
            "tests/test_tool_failure_boundaries.py",
        ),
        swap="openai_agents",
        needs=(_MOCK,),
    ),
    Package(
        name="langgraph-store",
        distribution="langgraph-checkpoint",
        tests=("tests/test_store.py",),
        swap="langgraph_memory",
        needs=(_MOCK,),
    ),
    Package(
        name="langgraph-store-postgres",
        distribution="langgraph-checkpoint-postgres",
        version="3.2.0",
        tests=("tests/test_store.py", "tests/test_async_store.py"),
        swap="langgraph_postgres",
        needs=(
            "langgraph-checkpoint-postgres==3.2.0",
            "psycopg==3.3.9",
            "psycopg-binary==3.3.9",
            "psycopg-pool==3.3.3",
        ),
    ),
    Package(
        name="anthropic",
        distribution="anthropic",
        tests=("tests/lib/tools/memory_tools/test_filesystem.py",),
        swap="anthropic_files",
        is_alone=True,  # it is about an API that answers from recordings
    ),
    Package(
        name="llama-index",
        distribution="llama-index-core",
        lacking="its own tests of memory blocks are of blocks that they make themselves, or of one kind of them",
    ),
    Package(
        name="pydantic-ai",
        distribution="pydantic-ai-slim",
        lacking="nor are there any of a ConversationStore in the distribution pydantic-ai",
    ),
)
