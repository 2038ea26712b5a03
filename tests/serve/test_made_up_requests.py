"""Requests made up from OpenAPI by schemathesis: no server error, and answers are as described."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.service
@pytest.mark.parametrize("with_a_model", [True, False])
def test_made_up_requests_lead_to_no_server_error(serve, saved, with_a_model):
    words = ("--model", saved / "loans.model.joblib", "--trust-model") if with_a_model else ()
    _, url, log = serve(*words, "--max-rows", "20")
    program = Path(sys.executable).with_name("schemathesis")
    command = [program, "run", f"{url}/openapi.json", "--checks", CHECKS, "--max-examples", "300"]
    command += ["--seed", "1", "--workers", "1", "--continue-on-failure", "--suppress-health-check", "all"]
    answer = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout[-6000:]
    statuses = re.findall(r'"status":(\d+)', log.read_text())
    assert len(statuses) > 1000
    assert {"200", "422"} <= set(statuses) <= {"200", "401", "404", "405", "409", "413", "422"}
