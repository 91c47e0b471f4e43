"""The page of PUF302, and its fix."""
from collections.abc import Iterator, Mapping

from ....core.vocabulary import Finding, Proof, family
from ....fix import remedies
from ....fix.edits import Fix


def clear_one_hots(findings: list[Finding], texts: Mapping[str, str]) -> Iterator[Fix]:
    for finding in findings:
        match finding.remedy:
            case (int(first), int(last)):
                yield Fix.of([finding], "clear the one-hot before it is set",
                             remedies.clear_one_hot(texts, first, last))


@family("PUF302", "obs-stale", proof=Proof("written", "observations"), fix=clear_one_hots)
def obs_stale() -> None:
    """Some elements of the observation keep an old value: c_reset leaves them as they were,
    a one-hot is set and never cleared, or a step forgets to write a field that has changed.

    Why it ruins training: observations are not cleared between steps. The agent sees where
    its target was, not where it is; the first observation of an episode shows the last one
    of another. Everything runs, and the score stays lower than it could be.

    Bad:

        env->observations[OBS_KIND + env->kind] = 1.0f;

    Good:

        memset(&env->observations[OBS_KIND], 0, NUM_KINDS * sizeof(float));
        env->observations[OBS_KIND + env->kind] = 1.0f;

    Fix: write every element in one function that both c_reset and c_step call. A board may be kept
    in the observations as long as cells that become empty are cleared. It is a warning if a comment
    declares a grid or image, and each step clears some of its rows and never the others that show
    the same values.

    Not reported: what each step writes from the state, however long it stays the same. A step that
    begins with the row of c_reset then shows the same. Nor is a board whose cells a step sets
    together with those of an array that it never clears: stones that stay.
    """
