def test_a_report_is_written_at_once_and_stdout_stays_empty(run, explainer, model, folder, tmp_path):
    out = tmp_path / "report.html"
    words = (
        "report",
        explainer,
        folder / "new.csv",
        "--model",
        model,
        "--trust-model",
        "--title",
        "Loans <1>",
    )
    answer = run(*words, "-o", out)
    assert (answer.exit_code, answer.stdout) == (0, ""), answer.stderr
    assert answer.stderr.splitlines()[-1].startswith(f"Report written to {out} (")
    assert "Loans &lt;1&gt;" in out.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_must_be_html(run, explainer, folder, tmp_path):
    answer = run(
        "report",
        explainer,
        folder / "new.csv",
        "--model",
        folder / "own.joblib",
        "-o",
        tmp_path / "report.pdf",
    )
    assert answer.exit_code == 2
    assert "must end in .html" in answer.stderr


def test_a_report_needs_the_model_and_names_it(run, explainer, model, folder, tmp_path):
    answer = run("report", explainer, folder / "new.csv", "-o", tmp_path / "report.html")
    assert answer.exit_code == 2
    assert f"give it with --model {model}" in answer.stderr
