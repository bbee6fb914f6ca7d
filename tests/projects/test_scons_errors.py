"""What a user is told who made a mistake: at configure time, by name, with a remedy, without a trace."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.projects.scons_project import Project

Copy = Callable[..., Project]

CALL = "env.TVMModel('digits.toy')"


def told(firmware: Project, call: str) -> str:
    """What scons says when the SConstruct asks for `call`; nothing may have been built."""
    firmware.replace("SConstruct", CALL, call)
    before = firmware.files()
    output = firmware.fails()
    assert firmware.files() == before
    assert "done reading SConscript files" not in output
    assert f'File "{firmware.path}/SConstruct", line ' in output
    return output.partition("scons: *** ")[2]


def test_unknown_option(project: Copy) -> None:
    message = told(project("plain"), "env.TVMModel('digits.toy', optimise='size')")
    assert message.startswith(
        "digits.toy: there is no option 'optimise'\n  remedy: did you mean 'optimize'?\n"
    )


def test_mistyped_word_of_the_tool_itself(project: Copy) -> None:
    assert "did you mean 'sources'?" in told(project("plain"), "env.TVMModel('digits.toy', source=True)")


def test_bad_value(project: Copy) -> None:
    message = told(project("plain"), "env.TVMModel('digits.toy', optimize='sise')")
    assert "option 'optimize': 'sise' is not known" in message and "did you mean 'size'?" in message


def test_missing_model(project: Copy) -> None:
    firmware = project("plain")
    firmware.write("models/digits.onnx", "")
    message = told(firmware, "env.TVMModel('models/digit.onnx')")
    assert message.startswith(
        "models/digit.onnx: there is no such model file\n  remedy: did you mean 'digits.onnx'?\n"
    )


def test_missing_folder_of_the_model(project: Copy) -> None:
    assert "declare that step first" in told(project("plain"), "env.TVMModel('modles/digits.onnx')")


def test_not_one_model(project: Copy) -> None:
    assert "TVMModel was given 2 models" in told(project("plain"), "env.TVMModel(['a.onnx', 'b.onnx'])")


def test_two_models_with_one_name(project: Copy) -> None:
    firmware = project("plain")
    firmware.write("other/digits.toy", "scale 1\n")
    message = told(firmware, f"{CALL} + env.TVMModel('other/digits.toy')")
    assert message.startswith("other/digits.toy: two models of one build folder are called 'digits'\n")
    assert "expected: a name other than that of digits.toy\n" in message
    assert "name='digits_2'" in message


def test_one_model_with_two_sets_of_options(project: Copy) -> None:
    message = told(project("plain"), f"{CALL} + env.TVMModel('digits.toy', optimize='size')")
    assert "the same options wherever this model is used" in message


def test_name_that_is_no_identifier(project: Copy) -> None:
    assert "remedy: name='my_model'" in told(project("plain"), "env.TVMModel('digits.toy', name='my model')")


def test_interpreter_that_is_not_there(project: Copy) -> None:
    firmware = project("plain")
    firmware.replace("SConstruct", "CCCOMSTR", "TVM_PYTHON='/no/python', CCCOMSTR")
    message = told(firmware, CALL)
    assert message.startswith("TVM_PYTHON: the interpreter '/no/python' does not run: ")


def test_missing_kernel_file_names_the_remedy(project: Copy) -> None:
    firmware = project("plain")
    firmware.write("digits.toy", "kernels tvm_no_such_kernel.c\n")
    output = firmware.fails()
    assert "tvm_no_such_kernel.c: a model needs this kernel" in output and "one version of tvm-tool" in output


@pytest.mark.parametrize(
    "model", ["File('digits.toy')", "[File('digits.toy')]", "'#/digits.toy'", "'$HERE/digits.toy'"]
)
def test_forms_of_a_model(project: Copy, model: str) -> None:
    firmware = project("plain")
    firmware.replace("SConstruct", "'digits.toy'", model)
    firmware.replace("SConstruct", "CCCOMSTR", "HERE='.', CCCOMSTR")
    firmware.run()
    assert firmware.program() == "2 4 6 8\n"


def test_model_that_the_build_makes(project: Copy) -> None:
    firmware = project("plain")
    firmware.replace(
        "SConstruct", "'digits.toy'", "env.Command('made.toy', [], 'echo scale 7 > $TARGET'), name='digits'"
    )
    firmware.run()
    assert firmware.program() == "7 14 21 28\n"
    firmware.up_to_date()
