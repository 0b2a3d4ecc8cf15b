"""The words that the last line of a command begins with."""

from maxpool_check.results.record import ExitCode
from maxpool_check.words import Term


class Result(Term):
    """The result of a run or of a model, beside the decisions of a gate.

    ``exit_code`` is the exit code of the command; ``of`` names the commands that end with the word, empty: all of them.
    """

    exit_code: ExitCode
    of: str

    def __new__(cls, word: str, exit_code: int = 0, of: str = "", sentence: str = "") -> "Result":
        """The member of a word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.exit_code, member.of, member.sentence = ExitCode(exit_code), of, sentence
        return member

    CONFORMS = "CONFORMS", 0, "run, model", "nothing is wrong"
    CONFORMS_ON_FINITE_VALUES = (
        "CONFORMS ON FINITE VALUES",
        0,
        "model",
        (
            "nodes are wrong on special values alone, or may be by a known defect, and by all that is known these can reach them"
        ),
    )
    DEVIATES_AS_KNOWN = "DEVIATES AS KNOWN", 0, "run", "every deviation is explained by a known defect"
    ACCEPTED = "ACCEPTED", 0, "model", "every deviation that would fail is accepted by a file of your own (`--known`)"
    REPAIRED = "REPAIRED", 0, "model --repair", "the file that was written is right in every session"
    FIXED = "FIXED", 0, "defects check ID", "nothing shows the defect, and its cases are not wrong for another reason"
    NOT_FIXED = (
        "NOT FIXED",
        1,
        "defects check ID",
        "the defect is still shown, or its cases are wrong for another reason",
    )
    UNEXPECTED = "UNEXPECTED", 1, "run", "a deviation is new or changed, or a known defect no longer occurs"
    WRONG = "WRONG", 1, "model", "a node is wrong on finite values, or on values that flow in the model"
    CRASHES = "CRASHES", 1, "model", "the process of the runtime dies or hangs on a node"
    REFUSED = "REFUSED", 1, "model", "the runtime refuses a node"
    EXCLUDED = "EXCLUDED", 1, "model", "the document of a node excludes the node"
    OUTSIDE_PROFILE = (
        "OUTSIDE PROFILE",
        1,
        "model --spec sonnx",
        ("a node is outside SONNX's profile, and no node fails otherwise"),
    )
    NEEDS_SESSION_OPTION = (
        "NEEDS A SESSION OPTION",
        1,
        "model --repair",
        ("only sessions that disable an optimizer are right, and no file was written; 0 with `--repair-by session`"),
    )
    INCOMPLETE = (
        "INCOMPLETE",
        3,
        "",
        (
            "a target could not be started or was given up, a record is cut off, a disk is full, or a node is not tested and no "
            "node fails"
        ),
    )
    NOTHING_COMPARED = "NOTHING COMPARED", 4, "", "nothing was compared with a document"
