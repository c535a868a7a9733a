"""The results of the exchanges of a fit, kept for shards that have to catch up."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

Frames = Sequence[bytes | bytearray | memoryview]


class State(Enum):
    """What is known of the result of a call."""

    RESULT = "result"
    #: It was dealt out, and has been used: a shard that catches up does without.
    NOTHING = "nothing"
    #: It was dealt out and must be made again, by all shards.
    OPEN = "open"


@dataclass(slots=True)
class Entry:
    """The result of one call.

    Attributes
    ----------
    state : State
        What is known.
    words : str
        Why all shards are to stop, as known with this call; empty as long as they go on.
    frames : sequence of bytes
        The result, pickled, if it is the same for all shards.
    by_rank : list of frames or None
        The results of all shards, if they differ.
    """

    state: State
    words: str
    frames: Frames = ()
    by_rank: Sequence[Frames] | None = None

    @classmethod
    def of_exchange(cls, frames: Frames, words: str) -> Self:
        """Make the entry of a result that all shards get."""
        return cls(State.RESULT, words, frames)

    @classmethod
    def of_deal(cls, by_rank: Sequence[Frames], words: str) -> Self:
        """Make the entry of results that shards get one each."""
        return cls(State.RESULT, words, (), by_rank)

    def forget(self) -> None:
        """Forget the results: a shard that catches up does without."""
        self.state, self.by_rank = State.NOTHING, None


class Record(list[Entry]):
    """The results of the calls of a fit, from the first one on.

    Examples
    --------
    >>> record = Record([Entry.of_exchange([b"a"], ""), Entry(State.NOTHING, ""), Entry.of_exchange([b"b"], "time")])
    >>> header, frames = record.list_from(1, rank=0, max_bytes=100)
    >>> Record.unpack(header, frames)[2].words
    'time'
    """

    def drop_deals_at_end(self) -> None:
        """Drop what shards were dealt since the last exchange: a shard 0 that starts anew lets all do that again."""
        while self and self[-1].state is not State.RESULT:
            self.pop()

    def list_from(self, first: int, rank: int, max_bytes: int) -> tuple[dict[str, Any], list[Any]]:
        """Pack the entries that follow for one shard into a message: at least one, if there is one."""
        states, words, counts, n_bytes = [], [], [], 0
        frames: list[Any] = []
        for entry in self[first:]:
            own = entry.frames if entry.by_rank is None else entry.by_rank[rank]
            states.append(entry.state.value)
            words.append(entry.words)
            counts.append(len(own))
            frames.extend(own)
            n_bytes += sum(len(frame) for frame in own)
            if n_bytes >= max_bytes:
                break
        return {"kind": "entries", "first": first, "states": states, "words": words, "counts": counts}, frames

    @staticmethod
    def unpack(header: dict[str, Any], frames: Frames) -> dict[int, Entry]:
        """Read such a message: entries by call."""
        left = iter(frames)
        return {
            header["first"] + i: Entry(State(state), words, [next(left) for _ in range(count)])
            for i, (state, words, count) in enumerate(
                zip(header["states"], header["words"], header["counts"], strict=True)
            )
        }
