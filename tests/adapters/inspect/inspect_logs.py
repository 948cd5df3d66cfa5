"""Logs written by the real inspect_ai."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripted import actions, tool_calls


def evaluate(ten: list[Any], folder: Path) -> Path:
    """Run a solver that plays the scripts with Inspect's mock model; the log file."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessageUser,
        ContentImage,
        ContentText,
        ModelOutput,
        ModelUsage,
        get_model,
    )
    from inspect_ai.scorer import Score, accuracy, scorer
    from inspect_ai.solver import solver

    by_id = {script.id: script for script in ten}

    def turn(script: Any, glimpse: int) -> Any:
        return ChatMessageUser(content=[ContentText(text="look"), ContentImage(image=script.uri(glimpse))])

    @solver
    def play() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            script = by_id[state.sample_id]
            state.messages = [turn(script, 0)]
            for number in range(1, len(actions(script)) + 1):
                state = await generate(state)
                if number < len(script.windows):
                    state.messages.append(turn(script, number))
            return state

        return solve

    @scorer(metrics=[accuracy()])
    def verdict() -> Any:
        async def score(state: Any, target: Any) -> Any:
            return Score(value="C" if str(by_id[state.sample_id].answer) == target.text else "I")

        return score

    def replies() -> Any:
        for text in (text for script in ten for text in actions(script)):
            output = ModelOutput.from_content("mockllm/model", text)
            # Without usage the mock model counts tokens, with a vocabulary that it would download.
            output.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
            yield output

    samples = [
        Sample(id=s.id, input="look", target=s.label, metadata={"digit_indices": [s.index]}) for s in ten
    ]
    task = Task(dataset=MemoryDataset(samples), solver=play(), scorer=verdict(), name="glimpses")
    model = get_model("mockllm/model", custom_outputs=replies())
    (log,) = eval(task, model=model, log_dir=str(folder), display="none", max_samples=1, log_images=True)
    assert log.status == "success", log.error
    return Path(log.location.removeprefix("file://"))


def tool_log(ten: list[Any]) -> Any:
    """An `EvalLog` of tool-using samples."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        ContentImage,
        ContentReasoning,
        ContentText,
    )
    from inspect_ai.scorer import Score
    from inspect_ai.tool import ToolCall

    def sample(script: Any) -> Any:
        messages: list[Any] = [
            ChatMessageUser(content=[ContentText(text="go"), ContentImage(image=script.uri(0))])
        ]
        for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
            call = ToolCall(id=f"c{number}", function=name, arguments=arguments)
            content = [ContentReasoning(reasoning=f"plan {number}"), ContentText(text="I go.")]
            messages.append(ChatMessageAssistant(content=content, tool_calls=[call]))
            shown = "ok" if glimpse is None else [ContentImage(image=script.uri(glimpse))]
            messages.append(ChatMessageTool(content=shown, tool_call_id=f"c{number}", function=name))
        return EvalSample(
            id=script.id,
            epoch=1,
            input="go",
            target=script.label,
            messages=messages,
            metadata={"digit_indices": [script.index]},
            scores={"match": Score(value="C" if script.episode.correct else "I")},
        )

    spec = EvalSpec(
        created=datetime(2026, 11, 29, tzinfo=UTC).isoformat(),
        task="tools",
        dataset=EvalDataset(),
        model="mockllm/model",
        config=EvalConfig(),
    )
    return EvalLog(status="success", eval=spec, samples=[sample(script) for script in ten])
