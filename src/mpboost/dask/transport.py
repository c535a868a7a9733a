"""How shards in different processes talk: parts go to shard 0, which joins them, and results come back.

Nothing here knows Dask. ``Hub`` is what shard 0 sees of all shards, ``Spoke`` what another one sees. Between them are
lines that someone else provides, with a method ``send``; messages that arrive are passed to ``receive``, from any
thread.
"""

import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from mpboost.dask.record import Entry, Record, State

Part = TypeVar("Part")
Result = TypeVar("Result")

#: What a message carries besides its header: a pickle and its large buffers.
Frames = Sequence[bytes | bytearray | memoryview]

#: Buffers of at least this many bytes are sent as they are, not inside the pickle.
LARGE_BUFFER = 65_536
#: Bytes of recorded results that are sent in one message to a shard that catches up.
BATCH_BYTES = 8_000_000
#: Seconds between two looks at what may have gone wrong, while a shard waits.
TICK = 0.5
#: Seconds without any message, while a shard waits for one, after which a process counts as lost. Lines carry a beat
#: every few seconds, even while their process computes.
MAX_SILENCE = 30.0


class Line(Protocol):
    """A connection that stays open. Messages are delivered in order, or not at all after the line broke."""

    def send(self, header: dict[str, Any], frames: Frames = ()) -> None:
        """Send a message and return at once; a line that broke ignores it."""

    def close(self) -> None:
        """Close the line."""


class ShardsEndedError(Exception):
    """The fit is over, or has failed elsewhere: this shard must end, too."""


class LineLostError(Exception):
    """The connection to shard 0 broke: this shard must be made anew, or shard 0 is lost itself."""


class SilentShardError(RuntimeError):
    """A worker does not answer, although its connection is open."""


def encode(value: Any) -> list[bytes | memoryview]:
    """Pickle a value; large buffers are not copied."""
    buffers: list[memoryview] = []

    def keep_inside(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < LARGE_BUFFER:
            return True
        buffers.append(raw)
        return False

    return [pickle.dumps(value, protocol=5, buffer_callback=keep_inside), *buffers]


def freeze(frames: Frames) -> list[bytes]:
    """Copy what someone may change."""
    return [frame if isinstance(frame, bytes) else bytes(frame) for frame in frames]


def decode(frames: Frames) -> Any:
    """Unpickle a value. Its arrays can be written to."""
    buffers = [bytearray(frame) if memoryview(frame).readonly else frame for frame in frames[1:]]
    return pickle.loads(frames[0], buffers=buffers)


class _Shards:
    """What hub and spokes have in common: rows, the count of calls, the wish to stop, and errors from outside."""

    def __init__(self, rank: int, ranges: Sequence[tuple[int, int]]):
        self.rank, self.size = rank, len(ranges)
        self.first_row, self.end_row = ranges[rank]
        self.n_rows = ranges[-1][1]
        #: Why all shards should stop after this iteration; empty as long as they should not.
        self.stop_words = ""
        self._n_calls = 0
        self._changed = threading.Condition()
        self._error: BaseException | None = None

    @property
    def is_stopping(self) -> bool:
        """Whether all shards were asked to stop: each of them knows it after the same exchange."""
        return self.stop_words != ""

    def fail(self, error: BaseException) -> None:
        """Let this shard raise an error where it waits, or else in its next exchange; only the first one counts."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def check(self) -> None:
        """Raise the error that this shard was given, if any."""
        if self._error is not None:
            raise self._error


class Hub(_Shards):
    """What shard 0 sees of all shards: it collects their parts, joins them and sends the results.

    It records the results, so that a shard that replaces a lost one can catch up, and a hub that replaces a lost one,
    too, with a record that a spoke has kept.

    Parameters
    ----------
    ranges : sequence of (int, int)
        The first row of each shard, and the row after its last.
    record : Record or None
        Results of the calls that this hub has to catch up with.
    watch : callable or None
        Called now and then while the hub waits; it may raise an error to end the fit.
    max_silence : float
        Seconds without a message from a connected shard after which waiting for it fails.
    """

    def __init__(
        self,
        ranges: Sequence[tuple[int, int]],
        record: Record | None = None,
        watch: Callable[[], None] | None = None,
        max_silence: float = MAX_SILENCE,
    ):
        super().__init__(0, ranges)
        self.record = Record() if record is None else record
        self.record.drop_deals_at_end()
        self._watch, self.max_silence = watch, max_silence
        self._wish = ""
        self._lines: dict[int, Line] = {}
        self._names: dict[int, str] = {}
        self._early: dict[int, dict[int, Frames]] = {}
        self._is_waiting = False
        self._dealt: list[Entry] = []
        self._n_ticks_silent: dict[int, int] = {}

    def ask_to_stop(self, words: str) -> None:
        """Let all shards stop; they are told with the next result. Only the first wish counts."""
        with self._changed:
            self._wish = self._wish or words

    def connect(self, rank: int, line: Line, name: str) -> None:
        """Take the line to a shard, by the name of its worker; an older line to the same shard is closed."""
        with self._changed:
            older = self._lines.get(rank)
            self._lines[rank], self._names[rank], self._n_ticks_silent[rank] = line, name, 0
            line.send({"kind": "welcome", "n_recorded": len(self.record)})
        if older is not None:
            older.close()

    def disconnect(self, rank: int, line: Line) -> None:
        """Note that a line broke."""
        with self._changed:
            if self._lines.get(rank) is line:
                del self._lines[rank]

    def receive(self, rank: int, line: Line, header: dict[str, Any], frames: Frames) -> None:
        """Take a message of a shard."""
        with self._changed:
            self._n_ticks_silent[rank] = 0
            if header["kind"] == "part":
                parts = self._early.setdefault(header["call"], {}) if header["call"] >= self._n_calls else {}
                parts[rank] = frames
                if len(parts) == self.size - 1:
                    self._changed.notify_all()
            elif header["kind"] == "more":
                line.send(*self.record.list_from(header["first"], rank, BATCH_BYTES))

    def exchange(self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Result]) -> Result:
        """Join what the shards contribute; all get the result."""
        recorded = self._look_up()
        if recorded is not None:
            return decode(recorded)
        result = join(self._collect(make_part()))
        frames = freeze(encode(result))
        with self._changed:
            self._note(Entry.of_exchange(frames, self._wish))
            # What was dealt out went into the parts of this exchange: until now, a replacement would have needed it.
            for entry in self._dealt:
                entry.forget()
            self._dealt.clear()
            for line in self._lines.values():
                line.send({"kind": "result", "call": self._n_calls, "words": self._wish}, frames)
            self._count(self._wish)
        return result

    def deal(
        self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Sequence[Result]], *, keeps: bool = False
    ) -> Result | None:
        """Join what the shards contribute; each gets the result at its rank."""
        if self._look_up() is not None:
            return None
        results = join(self._collect(make_part()))
        if len(results) != self.size:
            raise ValueError(f"join returned {len(results)} results for {self.size} shards.")
        frames = [freeze(encode(result)) for result in results[1:]]
        with self._changed:
            entry = Entry.of_deal([[], *frames], self._wish)
            self._note(entry)
            if not keeps:
                self._dealt.append(entry)
            for rank, line in self._lines.items():
                line.send({"kind": "result", "call": self._n_calls, "words": self._wish}, frames[rank - 1])
            self._count(self._wish)
        return results[0]

    def close(self, words: str = "The fit is over.") -> None:
        """Tell the other shards to end."""
        self.fail(ShardsEndedError(words))
        with self._changed:
            for line in self._lines.values():
                line.send({"kind": "end", "words": words})

    def list_missing(self) -> list[tuple[int, str]]:
        """List the shards that are waited for without a connection, and the workers that they last had one from.

        A shard that has no connection because it is done is not among them: nobody waits for it.
        """
        with self._changed:
            if not self._is_waiting:
                return []
            parts = self._early[self._n_calls]
            missing = [rank for rank in range(1, self.size) if rank not in self._lines and rank not in parts]
            return [(rank, self._names.get(rank, "")) for rank in missing]

    def _look_up(self) -> Frames | None:
        """Return the recorded result of this call, no frames for one that is not recorded; None for a new call."""
        self.check()
        if self._n_calls >= len(self.record):
            return None
        entry = self.record[self._n_calls]
        if entry.state is State.OPEN:
            return None
        with self._changed:
            self._wish = entry.words or self._wish
            self._count(entry.words)
        return entry.frames

    def _collect(self, part: Part) -> list[Any]:
        if self._watch is not None:
            self._watch()
        with self._changed:
            parts = self._early.setdefault(self._n_calls, {})
            self._is_waiting = True
            while len(parts) < self.size - 1:
                self.check()
                if not self._changed.wait(TICK):
                    self._count_silence(parts)
                    if self._watch is not None:
                        self._watch()
            self.check()
            self._is_waiting = False
            del self._early[self._n_calls]
        return [part, *(decode(parts[rank]) for rank in range(1, self.size))]

    def _count_silence(self, parts: dict[int, Frames]) -> None:
        # Ticks are counted, not seconds: those of a process that was stopped itself must not count.
        for rank in self._lines:
            self._n_ticks_silent[rank] += 1
            if rank not in parts and self._n_ticks_silent[rank] * TICK > self.max_silence:
                raise SilentShardError(
                    f"The worker {self._names[rank]} with shard {rank} does not answer: no sign of life for "
                    f"{self.max_silence:g} seconds."
                )

    def _note(self, entry: Entry) -> None:
        if self._n_calls < len(self.record):
            self.record[self._n_calls] = entry  # it was open
        else:
            self.record.append(entry)

    def _count(self, words: str) -> None:
        self._n_calls += 1
        self.stop_words = words


class Spoke(_Shards):
    """What a shard other than 0 sees of all shards.

    Parameters
    ----------
    rank : int
        The number of the shard.
    ranges : sequence of (int, int)
        The first row of each shard, and the row after its last.
    watch : callable or None
        Called now and then while the shard waits; it may raise an error to end it.
    max_silence : float
        Seconds without a message from shard 0 after which waiting for it fails.
    """

    def __init__(
        self,
        rank: int,
        ranges: Sequence[tuple[int, int]],
        watch: Callable[[], None] | None = None,
        max_silence: float = MAX_SILENCE,
    ):
        super().__init__(rank, ranges)
        self._watch, self.max_silence = watch, max_silence
        self._line: Line | None = None
        self._n_recorded: int | None = None
        self._n_asked = 0
        self._entries: dict[int, Entry] = {}
        self._n_ticks_silent = 0
        self._kept: Record | None = None

    def connect(self, line: Line) -> None:
        """Take the line to shard 0."""
        self._line = line

    def close(self) -> None:
        """Close the line to shard 0."""
        if self._line is not None:
            self._line.close()

    def keep(self, record: Record) -> None:
        """Put all results from now on into a record as well: it survives if shard 0 does not."""
        self._kept = record

    def receive(self, header: dict[str, Any], frames: Frames) -> None:
        """Take a message of shard 0."""
        with self._changed:
            self._n_ticks_silent = 0
            kind = header["kind"]
            if kind == "result":
                self._entries[header["call"]] = Entry(State.RESULT, header["words"], frames)
            elif kind == "welcome":
                self._n_recorded = header["n_recorded"]
            elif kind == "entries":
                self._entries.update(Record.unpack(header, frames))
                self._n_asked = header["first"] + len(header["states"])
            elif kind == "end":
                self._error = self._error or ShardsEndedError(header["words"])
            else:
                return
            self._changed.notify_all()

    def exchange(self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Result]) -> Result:
        """Contribute a part; return what shard 0 made of all parts."""
        entry = self._call(make_part)
        if self._kept is not None:
            self._kept.append(Entry.of_exchange(freeze(entry.frames), entry.words))
        return decode(entry.frames)

    def deal(
        self, make_part: Callable[[], Part], join: Callable[[Sequence[Part]], Sequence[Result]], *, keeps: bool = False
    ) -> Result | None:
        """Contribute a part; return what shard 0 made for this shard."""
        entry = self._call(make_part)
        if self._kept is not None:
            self._kept.append(Entry(State.OPEN if keeps else State.NOTHING, entry.words))
        return None if entry.state is State.NOTHING else decode(entry.frames)

    def _call(self, make_part: Callable[[], Any]) -> Entry:
        call, self._n_calls = self._n_calls, self._n_calls + 1
        self.check()
        assert self._line is not None, "a spoke needs a line"
        if self._n_recorded is None:
            self._wait_for(lambda: self._n_recorded is not None)
        entry = self._wait_for_recorded(call) if call < (self._n_recorded or 0) else None
        if entry is None or entry.state is State.OPEN:
            self._line.send({"kind": "part", "call": call}, encode(make_part()))
            self._wait_for(lambda: call in self._entries)
            entry = self._entries.pop(call)
        self.stop_words = self.stop_words or entry.words
        return entry

    def _wait_for_recorded(self, call: int) -> Entry:
        if call >= self._n_asked:
            assert self._line is not None
            self._line.send({"kind": "more", "first": call})
            self._wait_for(lambda: call in self._entries)
        return self._entries.pop(call)

    def _wait_for(self, is_there: Callable[[], bool]) -> None:
        with self._changed:
            while not is_there():
                self.check()
                if not self._changed.wait(TICK):
                    self._n_ticks_silent += 1
                    if self._n_ticks_silent * TICK > self.max_silence:
                        raise LineLostError(f"shard 0 gave no sign of life for {self.max_silence:g} seconds.")
                    if self._watch is not None:
                        self._watch()
