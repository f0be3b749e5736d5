"""Who receives spans holds up neither a request nor the end, and what is not switched on costs nothing."""

import asyncio
import sys
import threading
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import qirsh
from qirsh.service import opened_tracer
from qirsh.settings import BadSetting, read_settings
from qirsh.tracing.otlp import OtlpTracer
from tests.live import InProcess, create, in_process, pay
from tests.tracing.collected import Collected

ROOT = Path(__file__).parents[2]
HOUSE = Path(qirsh.__file__).parent


class Stuck(SpanExporter):
    """Never done before it is told."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.may_end = threading.Event()

    def export(self, _spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.came.set()
        self.may_end.wait()
        return SpanExportResult.FAILURE


def test_a_receiver_that_never_answers_holds_up_neither_requests_nor_the_end() -> None:
    stuck = Stuck()

    class Patient(BatchSpanProcessor):
        def shutdown(self) -> None:
            stuck.may_end.wait()  # The library's own gives up after half a minute.
            super().shutdown()  # type: ignore[no-untyped-call]

    processor = Patient(stuck, max_queue_size=4, schedule_delay_millis=1, max_export_batch_size=1)
    tracer = OtlpTracer(processor)
    try:
        with in_process(shops=1, people=0, tracer=tracer) as world:
            for _ in range(20):
                assert world.send(create(world.merchants[0].key)).status_code == 201
            assert stuck.came.wait(60)
            assert world.send(create(world.merchants[0].key)).status_code == 201
        asyncio.run(tracer.close())
        assert not stuck.may_end.is_set()
    finally:
        stuck.may_end.set()


def test_what_was_not_sent_yet_is_sent_at_the_end() -> None:
    sent: list[str] = []

    class Slow(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            sent.extend(span.name for span in spans)
            return SpanExportResult.SUCCESS

    tracer = OtlpTracer(BatchSpanProcessor(Slow(), schedule_delay_millis=3_600_000))
    tracer.begin("one", "internal").end({})
    assert sent == []
    asyncio.run(tracer.close())
    assert sent == ["one"]


def test_what_a_sampler_leaves_out_is_answered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    collected = Collected()
    with in_process(shops=1, people=0, tracer=collected.tracer) as world:
        assert world.send(create(world.merchants[0].key)).status_code == 201
    assert collected.spans == ()


def test_the_environment_may_name_the_service_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "till")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=trial")
    collected = Collected()
    collected.tracer.begin("one", "internal").end({})
    told = collected.spans[0].resource.attributes
    assert (told["service.name"], told["deployment.environment.name"]) == ("till", "trial")
    assert told["service.version"] == qirsh.__version__


def called(world: InProcess) -> set[str]:
    """The files of ours in which a function is called while a payment is made and paid."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        payment = world.payment(world.merchants[0], amount=500)
        world.data(pay(world.customers[0], payment))
    finally:
        sys.setprofile(None)
    found = {Path(name).relative_to(HOUSE).as_posix() for name in files if name.startswith(f"{HOUSE}/")}
    assert {"engine/batcher.py", "web/server/router.py"} <= found
    return found & {"engine/traced_store.py", "web/server/traced_router.py", "tracing/otlp.py", "tracing/spans.py"}


def test_without_traces_nothing_is_called_for_them() -> None:
    with in_process(shops=1, people=1) as world:
        assert called(world) == set()
    with in_process(shops=1, people=1, tracer=Collected().tracer) as world:
        assert called(world) == {"engine/traced_store.py", "web/server/traced_router.py", "tracing/otlp.py"}


def test_the_lock_of_the_tests_has_the_ranges_of_the_extra() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["otel"]
    locked = (ROOT / "requirements-dev.in").read_text().splitlines()
    assert extra
    assert [line for line in extra if line not in locked] == []
    assert "opentelemetry" not in (ROOT / "requirements.txt").read_text(), "the service itself does without"


def test_traces_are_off_unless_otlp_is_asked_for() -> None:
    assert not read_settings({}).has_traces
    assert not read_settings({"QIRSH_TRACES": "off"}).has_traces
    assert read_settings({"QIRSH_TRACES": "otlp"}).has_traces
    with pytest.raises(BadSetting, match="QIRSH_TRACES: must be otlp or off"):
        read_settings({"QIRSH_TRACES": "on"})


def test_without_the_extra_traces_are_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "qirsh.tracing.otlp")
    for name in [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]:
        monkeypatch.setitem(sys.modules, name, None)

    async def play() -> None:
        async with opened_tracer(read_settings({"QIRSH_TRACES": "otlp"})):
            pass

    told = r"QIRSH_TRACES: otlp needs packages that are not installed .+: pip install 'qirsh\[otel\]'"
    with pytest.raises(BadSetting, match=told):
        asyncio.run(play())
