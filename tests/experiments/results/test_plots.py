"""Figures show what was run, say how many trials it was, and can be read without colour."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from experiments_helpers import made_up, small_plan
from hostile_names import HOSTILE
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.model import METHODS, Dataset, Method, Network, Setting
from ybar.experiments.results import plots as figures
from ybar.experiments.results import tables
from ybar.experiments.results.choose import Runs
from ybar.experiments.results.tables import Cell, Table
from ybar.experiments.runs import transfer


def loss_curves(runs, base, dataset):
    (part,) = (part for part in runs.plan.parts if part.base.name == base)
    (data,) = (each for each in part.datasets if each.name == dataset)
    return figures.loss_curves(runs, part, data)


@pytest.fixture(scope="module")
def plan():
    methods = tuple(METHODS[name] for name in ("fwd", "cpe-i", "cpe-f", "cpe-t"))
    settings = plan_file.read("paper").parts[0].settings
    return small_plan(methods=methods, settings=settings)


@pytest.fixture(scope="module")
def entries(plan):
    return made_up(plan, epochs=30)


@pytest.fixture(scope="module")
def built(plan, entries):
    return tables.build(Runs(entries, plan))


@pytest.fixture(scope="module")
def paper():
    paper = plan_file.read("paper")
    return tables.build(Runs(made_up(paper), paper))


def drawn(figure):
    """Whatever cannot be drawn fails here, and warnings are errors."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=40)
    assert buffer.getvalue().startswith(b"\x89PNG")
    return figure


def pixels(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=300)
    return buffer.getvalue()


def said(figure):
    axes = [ax.get_title() for ax in figure.axes]
    return " ".join(
        [figure.get_suptitle(), *axes, *(t.get_text() for t in figure.findobj(is_text))]
    )


def is_text(artist):
    return isinstance(artist, mpl.text.Text)


def entries_where(entries, **names):
    return [e for e in entries if all(e.config[name] == names[name] for name in names)]


def test_figures_of_a_ledger_and_of_its_export_are_the_same(plan, entries, tmp_path):
    runs, file = Runs(entries, plan), tmp_path / "runs.csv"
    transfer.export(runs.entries, file, figures.drawn_from(runs))
    of_export = Runs(transfer.read(file), plan)
    assert pixels(loss_curves(of_export, "mlp", "mnist")) == pixels(
        loss_curves(runs, "mlp", "mnist")
    )


def test_an_export_has_the_losses_of_runs_that_may_be_chosen_later(plan, entries, tmp_path):
    last = entries_where(
        entries, dataset="mnist", learning_rate=entries[-1].config["learning_rate"]
    )
    first = Runs([entry for entry in entries if entry not in last], plan)
    transfer.export(first.entries, tmp_path / "runs.csv", figures.drawn_from(first))
    whole = Runs([*transfer.read(tmp_path / "runs.csv"), *last], plan)
    assert pixels(loss_curves(whole, "mlp", "mnist")) == pixels(
        loss_curves(Runs(entries, plan), "mlp", "mnist")
    )


# Figures of a user's own plan


@pytest.fixture(scope="module")
def own():
    """A plan without a figure of the paper: a user's loss, CPE-N, and two that were not run."""
    mine = Method("mine", "Mine", loss="json:loads", criterion="ure")
    methods = (mine, METHODS["cpe-n"], METHODS["cpe-t"], METHODS["dm"])
    settings = (Setting("strong", "strong"), Setting("noise-0.3", "strong", 0.3))
    plan = small_plan(base=Network("small", (9,)), methods=methods, settings=settings)
    ran = [e for e in made_up(plan, epochs=9) if e.config["method"] in ("mine", "cpe-n")]
    return Runs(ran, plan)


def legend_of(figure):
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def test_figures_of_a_plan_of_ones_own_show_its_methods_and_speak_of_no_paper(own):
    losses = drawn(loss_curves(own, "small", "mnist"))
    assert legend_of(losses)[:2] == ["Mine", "CPE-N"]
    assert "CPE-T" not in said(losses)
    assert [len(ax.lines) for ax in losses.axes] == [4, 4]
    noise = drawn(figures.accuracy_by_noise(tables.build(own)))
    assert set(legend_of(noise)) == {"Mine", "CPE-N"}
    assert "paper" not in said(noise)
    assert figures.agreement_map(tables.build(own)) is None


# Losses


def test_loss_curves_are_means_of_the_runs_that_scel_chose(plan, entries):
    figure = drawn(loss_curves(Runs(entries, plan), "mlp", "mnist"))
    assert len(figure.axes) == 6
    for ax, setting in zip(figure.axes, plan.parts[0].settings, strict=True):
        assert ax.get_title() == f"{setting.name} (3/3 trials)"
        assert len(ax.lines) == 6
        for i, method in enumerate(("cpe-i", "cpe-f", "cpe-t")):
            chosen = []
            for trial in range(3):
                names = {"dataset": "mnist", "setting": setting.name, "method": method}
                runs = entries_where(entries, trial=trial, **names)
                chosen.append(min(runs, key=lambda e: e.curves["scel"][-1]))
            for line, curve in zip(ax.lines[2 * i :], ("loss", "scel"), strict=False):
                values = np.array([e.curves[curve].round(4) for e in chosen])
                np.testing.assert_allclose(line.get_ydata(), values.mean(axis=0))
                assert line.get_xdata().tolist() == list(range(1, 31))
                band = ax.collections[ax.lines.index(line)].get_paths()[0].vertices
                spread = (
                    values.mean(axis=0)[-1] + np.array([-1, 1]) * values.std(axis=0, ddof=1)[-1]
                )
                at_the_end = band[band[:, 0] == 30, 1]
                assert [at_the_end.min(), at_the_end.max()] == pytest.approx(list(spread))


def test_loss_curves_differ_without_colour(plan, entries):
    ax = loss_curves(Runs(entries, plan), "mlp", "kmnist").axes[0]
    looks = {(line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert len(looks) == len(ax.lines) == 6
    starts = {line.get_markevery()[0] for line in ax.lines}
    assert len(starts) == 3  # markers take turns where lines lie on one another


def test_loss_curves_say_how_many_trials_there_are(plan, entries):
    some = [
        e
        for e in entries
        if e.config["setting"] != "weak"
        and not (e.config["method"] == "cpe-i" and e.config["trial"] > 0)
        and not (e.config["setting"] == "strong" and e.config["trial"] > 0)
    ]
    figure = drawn(loss_curves(Runs(some, plan), "mlp", "mnist"))
    titles = [ax.get_title() for ax in figure.axes[:3]]
    assert titles == [
        "uniform (CPE-I 1, CPE-F 3, CPE-T 3 of 3)",
        "weak (0/3 trials)",
        "strong (1/3 trials)",
    ]
    assert len(figure.axes[1].lines) == 0
    assert "no trial yet" in said(figure)
    assert len(figure.axes[2].collections) == 0  # one trial has no deviation


@pytest.mark.parametrize("n_settings", [1, 2, 4])
def test_any_number_of_settings_has_its_panels(plan, entries, n_settings):
    (part,) = plan.parts
    fewer = replace(plan, parts=(replace(part, settings=part.settings[:n_settings]),))
    figure = drawn(loss_curves(Runs(entries, fewer), "mlp", "mnist"))
    assert len(figure.axes) == n_settings
    assert sum(ax.get_xlabel() == "epoch" for ax in figure.axes) == min(3, n_settings)


# Accuracy by noise


def test_accuracy_by_noise_holds_ours_and_the_papers(built):
    figure = drawn(figures.accuracy_by_noise(built))
    assert [ax.get_title() for ax in figure.axes] == ["mnist, main", "kmnist, main"]
    cells = {tuple(names): cell for *names, cell in built[0].cells()}
    ax = figure.axes[1]
    settings = ["strong", "noise-0.1", "noise-0.2", "noise-0.5"]
    for label, container in zip(["Fwd", "CPE-I", "CPE-F", "CPE-T"], ax.containers, strict=True):
        line = container.lines[0]
        expected = [cells[label, "kmnist", s] for s in settings]
        assert list(line.get_ydata()) == pytest.approx([c.mean for c in expected])
        assert list(line.get_xdata()) == [0, 0.1, 0.2, 0.5]
        dashed = next(
            other
            for other in ax.lines
            if other.get_linestyle() == "--" and other.get_color() == line.get_color()
        )
        assert list(dashed.get_ydata()) == pytest.approx([c.paper[0] for c in expected])
        assert dashed.get_alpha() < 1
    legend = figure.axes[-1].get_legend()
    assert [t.get_text() for t in legend.get_texts()] == ["Fwd", "CPE-I", "CPE-F", "CPE-T"]
    assert len({c.lines[0].get_marker() for c in ax.containers}) == 4


def test_the_halves_of_the_linear_table_are_one_row_of_panels(paper):
    figure = drawn(figures.accuracy_by_noise(paper))
    titles = [ax.get_title() for ax in figure.axes]
    datasets = ("mnist", "fashion-mnist", "kmnist")
    assert titles == [f"{d}, {t}" for t in ("main", "linear", "traditional") for d in datasets]
    for container in figure.axes[3].containers:
        assert list(container.lines[0].get_xdata()) == [0, 0.1, 0.2, 0.5]


def test_levels_that_were_not_run_are_left_out(plan, entries):
    some = [e for e in entries if e.config["setting"] != "noise-0.2"]
    figure = drawn(figures.accuracy_by_noise(tables.build(Runs(some, plan))))
    line = figure.axes[0].containers[0].lines[0]
    assert list(line.get_xdata()) == [0, 0.1, 0.5]


# Agreement


def test_the_map_has_a_number_for_each_cell_run(paper):
    ax = drawn(figures.agreement_map(paper)).axes[0]
    off = np.asarray(ax.images[0].get_array())
    assert off.shape == (26, 18)
    numbers = [t.get_text() for t in ax.texts if t.get_text()[0] in "+-"]
    assert len(numbers) == 468
    row = [t.get_text() for t in ax.get_yticklabels()].index("decoders: MAX")
    cell = paper[3].rows[0][1][4]
    assert off[row, 4] == pytest.approx(cell.mean - cell.paper[0])
    low, high = ax.images[0].get_clim()
    assert low == -high


def test_the_columns_of_a_data_set_stand_together(paper):
    linear = [t for t in paper if t.name.startswith("linear")]
    ax = drawn(figures.agreement_map(linear)).axes[0]
    settings = ["uniform", "weak", "strong", "noise-0.1", "noise-0.2", "noise-0.5"]
    assert [t.get_text() for t in ax.get_xticklabels()] == settings * 3
    assert len(ax.get_yticklabels()) == 7


def test_the_map_frames_what_differs_and_leaves_empty_what_was_not_run():
    cells = (
        Cell((80.0, 80.0), 2, (75.0, 1.0), (None,) * 2),
        Cell((75.5,), 2, (75.0, 1.0), (None,)),
        Cell((), 2, (75.0, 1.0), ()),
        Cell((75.0,), 2, None, (None,)),
    )
    columns = tuple(("mnist", str(i)) for i in range(4))
    table = Table("main", "T", "C", columns, (("A", cells),))
    ax = drawn(figures.agreement_map([table])).axes[0]
    texts = {t.get_text(): t for t in ax.texts if t.get_text() != "mnist"}
    assert list(texts) == ["+5.0", "+0.5"]
    assert texts["+5.0"].get_weight() == "bold"
    assert [t.get_style() for t in texts.values()] == ["normal", "italic"]
    (frame,) = (p for p in ax.patches if not p.get_fill())
    assert frame.get_x() < 0 < frame.get_x() + frame.get_width() < 1


# All of them


def test_nothing_run_is_nothing_to_draw(plan, entries):
    nothing = tables.build(Runs([], plan))
    assert loss_curves(Runs([], plan), "mlp", "mnist") is None
    without = [replace(e, curves={}) for e in entries]
    assert loss_curves(Runs(without, plan), "mlp", "mnist") is None
    for draw in (figures.accuracy_by_noise, figures.agreement_map):
        assert draw([]) is None
        assert draw(nothing) is None


def test_without_noise_there_is_nothing_to_draw_against_it(plan, entries):
    clean = [e for e in entries if not e.config["noise"]]
    assert figures.accuracy_by_noise(tables.build(Runs(clean, plan))) is None


def test_global_settings_stay_and_pyplot_is_not_used(plan, entries, built):
    mpl.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    before = mpl.rcParams.copy()
    for figure in (
        loss_curves(Runs(entries, plan), "mlp", "mnist"),
        figures.accuracy_by_noise(built),
        figures.agreement_map(built),
    ):
        drawn(figure)
    assert mpl.rcParams == before
    assert pyplot.get_fignums() == []


NAMES = [name for name in HOSTILE if 0 < len(name) < 100]


def test_hostile_names_are_drawn_as_they_are():
    cell = Cell((75.0, 76.0), 2, (75.3, 2.6), (None, None))
    columns = tuple((name, s) for name in NAMES[:3] for s in ("strong", "noise-0.1"))
    rows = tuple((name, (cell,) * 6) for name in [*NAMES, "_hidden", "$\\frac{$", "a$b$"])
    table = Table("\\input{x}$$", "T", "C", columns, rows)
    noise = drawn(figures.accuracy_by_noise([table]))
    labels = [t.get_text() for t in noise.axes[-1].get_legend().get_texts()]
    assert len(labels) == len(rows)
    assert "[red]rich[/red]" in labels
    assert "a\\$b\\$" in labels
    drawn(figures.agreement_map([table]))


@pytest.mark.parametrize("name", ["$x$", "_x", "日本", "\x1b[31m", "\u202eabc", "a" * 90])
def test_hostile_plans_have_their_curves_drawn(name):
    plan = small_plan(
        base=Network(name),
        datasets=(Dataset(name),),
        settings=(Setting(name, "uniform"),),
        methods=(METHODS["cpe-f"],),
    )
    drawn(loss_curves(Runs(made_up(plan), plan), name, name))


def test_missing_matplotlib_is_named_with_its_pip_line(monkeypatch, built):
    for name in ("matplotlib.figure", "matplotlib.lines"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "ybar\[report\]"'):
        figures.agreement_map(built)
