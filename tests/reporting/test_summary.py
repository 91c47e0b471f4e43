"""What a report's first rows say of trainings."""
from helpers.claims import claim

from puffer_sdk.reporting import summary


def rows_of(*claims: dict) -> dict[str, summary.Row]:
    """The rows on trainings that ended with these claims, by their labels."""
    training = {"goal": None, "registered": "perf >= 0.5", "metric": "perf",
                "least_is_best": False, "seeds": [
                    {"seed": 7, "why": ["only 7 updates"], "claim": each,
                     "final": each["trained"]["mean"]} for each in claims]}
    return {row.label: row for row in summary._training({
        "training": training, "evaluation": {}, "timings": {"training": []}})}


def test_a_registered_goal_and_an_end_far_below_the_best_are_rows():
    assert "kept" not in rows_of(claim(perf=0.9))
    assert rows_of(claim(perf=0.9))["why"].text == "seed 7: only 7 updates"
    fell = claim(perf=0.9)
    fell |= {"last": {**fell["trained"], "mean": {"perf": 0.1}}, "last_step": 999,
             "random": {**fell["random"], "mean": {"perf": 0.0}}}
    told = rows_of(claim(perf=0.9), fell, claim(perf=0.2))
    assert told["solved"].text == "2 of 3 seeds reach perf >= 0.5, as Gymnasium registers"
    assert told["kept"].text.startswith("of 1 of 3 seeds, the end is far below the best: perf 0.1")
    assert told["kept"].good is False
