"""Recipes for CI, executed as far as a machine can: their shell steps, in a folder of its own, with what CI gives them."""

import os
import re
import shutil
import subprocess

import yaml

from tests.conftest import ROOT, environment

ACTION = ROOT / ".github/actions/maxpool-check/action.yml"


def _resolved(text, values):
    """A text of a workflow with the values of its expressions; one that is not set is empty."""
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: values.get(found[1], ""), str(text))


def _holds(condition, values, *, failed):
    """Whether a step runs by its condition: outputs, comparisons of two by ``!=``, and always(), joined by ``&&``."""
    parts = [each.strip() for each in condition.split("&&")]
    if failed and "always()" not in parts:
        return False
    pairs = (each.partition(" != ") for each in parts if each not in ("", "always()"))
    return all(values.get(left, "") != values.get(right, "") for left, _, right in pairs)


def github(text):
    """A workflow of GitHub, in whose YAML a key ``on`` is text."""
    return yaml.safe_load(text.replace("\non:", '\n"on":'))


class Runner:
    """A machine that executes jobs: ``programs`` is the folder of maxpool-check, ``work`` the one that the job has checked out."""

    def __init__(self, folder, programs, *, installs=False):
        self.work, self.temporary = folder / "work", folder / "temporary"
        self.programs, self.installs = programs, installs
        self.summary = folder / "summary.md"
        self.work.mkdir()
        self.temporary.mkdir()
        if not installs:
            # What the action would install.
            (self.temporary / "maxpool-check").symlink_to(programs.parent)

    def check_out(self, changed):
        """Make what is checked out the branch main of a remote, and check out a branch on which files are ``changed``, as CI does."""
        source = self.work.with_name("source")
        shutil.move(self.work, source)

        def git(*words, cwd=source):
            who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
            subprocess.run(["git", *who, *words], cwd=cwd, check=True, capture_output=True, env=environment())

        git("init", "-b", "main")
        for branch, files in (("main", {}), ("change", changed)):
            git("checkout", "-B", branch)
            for name, text in files.items():
                (source / name).write_text(text)
            git("add", ".")
            git("commit", "--allow-empty", "-m", branch)
        git("clone", "--depth", "1", "--branch", "change", f"file://{source}", self.work, cwd=source.parent)

    def shell(self, script, **variables):
        """Run a script as a step, and return what has ended and the outputs of the step."""
        outputs = self.temporary / "outputs"
        outputs.write_text("")
        given = {"GITHUB_OUTPUT": outputs, "GITHUB_STEP_SUMMARY": self.summary, "RUNNER_TEMP": self.temporary}
        given |= {"CI_PROJECT_DIR": self.work, "GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "main", **variables}
        given["PATH"] = f"{self.programs}{os.pathsep}/usr/local/bin:/usr/bin:/bin"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            capture_output=True, text=True, cwd=self.work, timeout=600, check=False,
            env=environment(**{name: str(value) for name, value in given.items()}),
        )  # fmt: skip
        return done, dict(line.split("=", 1) for line in outputs.read_text().splitlines())

    def action(self, **inputs):
        """Run the action with these inputs, and return its last step that ran, and its outputs."""
        action = yaml.safe_load(ACTION.read_text())
        assert inputs.keys() <= action["inputs"].keys()
        values = {f"inputs.{name}": each.get("default", "") for name, each in action["inputs"].items()}
        values |= {f"inputs.{name}": value for name, value in inputs.items()}
        values["github.action_path"] = str(ACTION.parent)
        for step in action["runs"]["steps"]:
            if "run" not in step or (step.get("id") == "install" and not self.installs):
                continue
            variables = {name: _resolved(text, values) for name, text in step["env"].items()}
            done, outputs = self.shell(step["run"], **variables)
            values |= {f"steps.{step['id']}.outputs.{name}": value for name, value in outputs.items()}
            if done.returncode:
                break
        return done, {name: _resolved(each["value"], values) for name, each in action["outputs"].items()}

    def job(self, job):
        """Run the steps of a job of GitHub, and return the scripts that failed and the files that it uploads.

        ``outputs`` are then those of its steps, and ``printed`` what they print.
        """
        failed, uploads, self.outputs, self.printed = [], [], {}, ""
        for step in job["steps"]:
            uses, done, own = step.get("uses", ""), None, {}
            inputs, variables = (
                {name: _resolved(text, self.outputs) for name, text in step.get(key, {}).items()}
                for key in ("with", "env")
            )
            if not _holds(step.get("if", ""), self.outputs, failed=failed):
                continue
            if "/.github/actions/maxpool-check@" in uses:
                done, own = self.action(**inputs)
            elif uses.partition("@")[0].endswith(("/upload-artifact", "/upload-sarif", "/upload-pages-artifact")):
                uploads += (inputs.get("path") or inputs["sarif_file"]).split()
            elif "run" in step and (self.installs or "pip install" not in step["run"]):
                done, own = self.shell(step["run"], **variables)
            self.outputs |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in own.items()}
            self.printed += done.stdout if done is not None else ""
            failed += [done] if done is not None and done.returncode else []
        return failed, [self.work / path for path in uploads]

    def gitlab_job(self, document, name):
        """Run a job of GitLab, and return it if it failed and the files that it keeps."""
        lines = [*document["default"]["before_script"], *document[name]["script"]]
        done, _ = self.shell("\n".join(line for line in lines if self.installs or "pip install" not in line))
        artifacts = document[name]["artifacts"]
        return [done] if done.returncode else [], [
            self.work / path for path in (*artifacts.get("paths", ()), artifacts["reports"]["junit"])
        ]
