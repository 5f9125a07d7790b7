"""A family that keeps vectors in its own rows, and uses every form that an operation may have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from elf.api.error_style import ErrorStyle
from elf.api.operation import Operation, Stream
from elf.api.tool import Tool
from elf.config.table import Table
from elf.core.errors import NotFound
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.ground import Ground

Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00]+$")]
Words = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")]


class ToyRowsTable(Table):
    """[toy_rows]: the file that says which toys came."""

    diary: str

    def anchored(self, folder: Path) -> Self:
        return self.model_copy(update={"diary": str(folder / self.diary)})


class Place(BaseModel):
    """Whose box it is; whoever shares the project shares the box."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    tenant_id: Name
    project_id: Name
    agent_id: Name


class PutToy(Place):
    words: Words


class PutToys(Place):
    toys: Annotated[list[Words], Field(min_length=1, max_length=100)]


class OneToy(Place):
    toy_id: UUID


class FindToys(Place):
    query: Words
    limit: Annotated[int, Field(ge=1, le=50)] = 5


class Toy(BaseModel):
    toy_id: UUID
    words: str
    score: float | None = None


class Toys(BaseModel):
    toys: list[Toy]


class Problem(BaseModel):
    problem: str


PLAINLY: Final = ErrorStyle(Problem, lambda error: Problem(problem=error.message))
IDS: Final = dict.fromkeys(("tenant_id", "project_id", "agent_id"), "")
BOX: Final = "/v1/toy_rows/{tenant_id}/{project_id}/{agent_id}"

PUT_TOY: Final = Operation(
    "put_toy", "POST", "/v1/toy_rows/toys", "Put a toy into the box", PutToy, Toy, status=201, text="any"
)
PUT_TOYS: Final = Operation(
    "put_toys", "POST", f"{BOX}/toys", "Put several", PutToys, Toys, status=201, text="any", body="toys"
)
GET_TOY: Final = Operation(
    "get_toy", "GET", "/v1/toy_rows/toys/{toy_id}", "Look at a toy", OneToy, Toy,
    errors=(NotFound,), error_style=PLAINLY,
)  # fmt: skip
DROP_TOY: Final = Operation(
    "drop_toy", "DELETE", "/v1/toy_rows/toys/{toy_id}", "Throw a toy away", OneToy, None,
    status=204, errors=(NotFound,),
)  # fmt: skip
FIND_TOYS: Final = Operation(
    "find_toys", "POST", "/v1/toy_rows/find", "Find toys like these words", FindToys, Toys, text="any"
)
ALL_TOYS: Final = Stream("all_toys", "GET", "/v1/toy_rows/all", "Look at one toy after the other", Place, Toy)
EMPTY_BOX: Final = Operation(
    "empty_box", "POST", "/v1/toy_rows/empty", "Throw all away", Place, None, status=204, role="admin"
)


def _about(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    return "Keeps toys in a box and finds them again."


def _open(ground: Ground) -> Opened:
    from tests.families.toy_rows.box import open_box

    return open_box(ground)


TOY_ROWS: Final = Family(
    name="toy_rows",
    table=ToyRowsTable,
    sql=Path(__file__).parent / "sql",
    operations=(PUT_TOY, PUT_TOYS, GET_TOY, DROP_TOY, FIND_TOYS, ALL_TOYS, EMPTY_BOX),
    tools=(
        Tool(
            name="put_toy", title="Put a toy", operation=PUT_TOY, description="Puts a toy into the box.",
            arguments={**IDS, "words": "What the toy looks like."},
        ),
        Tool(
            name="find_toys", title="Find toys", operation=FIND_TOYS, description="Finds toys in the box.",
            arguments={**IDS, "query": "What it looks like."}, read_only=True,
        ),
    ),
    about=_about,
    open=_open,
)  # fmt: skip
