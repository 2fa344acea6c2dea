"""Commands of play: agents, matches, the measure of a searching player, and a game against a person."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from unseen import loading
from unseen.cli.common import (
    AsJson,
    ClusterAddress,
    Debug,
    Force,
    GameName,
    Seed,
    Workers,
    command,
    complete_agent,
    console,
    place,
    show,
    show_result,
)
from unseen.errors import UnseenError
from unseen.game import Game

AgentName = Annotated[
    str,
    typer.Argument(
        metavar="AGENT",
        help="random, 'oos(seconds=1)', a strategy file, or 'agents.py:Honest(p=0.5)'.",
        autocompletion=complete_agent,
    ),
]
Simulations = Annotated[int, typer.Option(min=0, help="Simulations for a move of agents that do not say; 0: 100,000.")]
Seconds = Annotated[float, typer.Option(min=0.0, help="Seconds for a move of agents that do not say, instead.")]
Limit = Annotated[float | None, typer.Option(min=0.0, help="Seconds that an agent may take for a move; more are a fault.")]
Forfeits = Annotated[
    bool, typer.Option("--forfeits", help="An agent at fault loses the game and it goes on; otherwise its fault ends all.")
]
MaybeSeed = Annotated[
    int | None, typer.Option(min=0, help="Seed of random choices; an exact result needs one only if an agent draws random numbers.")
]
METHOD_HELP = (
    "extraction: ask each different question once, for agents without random numbers; stitching: search "
    "at every information set; aggregate: along random games; root: once, at the start; depth: the same, "
    "followed for --depth moves, against exact values; convergence: how root falls with simulations; loss: what a game is expected "
    "to lose against optimal play. Default: extraction where that is possible, otherwise stitching."
)


@command
def agents(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the agents and their options."""
    from unseen.arena.names import AGENTS

    table = Table("agent", "what it is", "options")
    for name, kind in AGENTS.items():
        options = ", ".join(f"{key}={str(option.default).lower()}" for key, option in kind.options.items())
        table.add_row(name, kind.text, options or "none")
    table.caption = "The path of a strategy file is an agent, too, and so is path/to/file.py:ClassName(option=value)."
    listed = {
        name: {"text": kind.text, "source": kind.source, "options": {
            key: {"default": option.default, "allowed": option.allowed, "meaning": option.help}
            for key, option in kind.options.items()
        }}
        for name, kind in AGENTS.items()
    }  # fmt: skip
    show(as_json, {"agents": listed}, lambda: table)


@command
def match(
    game: GameName, first: AgentName, second: AgentName,
    games: Annotated[int, typer.Option(min=1, help="Games to play; the agents change seats after each.")] = 100,
    simulations: Simulations = 0, seconds: Seconds = 0.0,
    limit: Limit = None, forfeits: Forfeits = False,
    paired: Annotated[bool, typer.Option("--paired", help="Let both games of a pair have the same chance, seats changed.")] = False,
    sprt: Annotated[
        str | None, typer.Option(help="Two differences of ratings, such as 0,10: stop when it is decided which one fits better.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Add each game to this file, as a line of JSON.")] = None,
    force: Force = False, workers: Workers = None, cluster: ClusterAddress = None, seed: Seed = 0, as_json: AsJson = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Let two agents play against each other.

    Ctrl-C keeps the games played.
    """
    from unseen.arena import matches
    from unseen.arena.sprt import SPRT

    question = SPRT.parse(sprt) if sprt is not None else None
    found = matches.match(
        _with_ahead(game, second, first), first, second, games, seed=seed, workers=place(workers, cluster),
        budget=_budget(simulations, seconds), limit=limit,
        paired=paired, sprt=(question.least, question.most) if question else None, forfeits=forfeits, out=out, force=force,
    )  # fmt: skip
    if not found.games:
        raise KeyboardInterrupt
    show_result(as_json, found)


@command
def measure(
    game: GameName, agent: AgentName,
    method: Annotated[str | None, typer.Option(help=METHOD_HELP)] = None,
    games: Annotated[
        int, typer.Option("--games", "--matches", min=1, help="Games; of depth, searches at each start; of convergence, runs.")
    ] = 100,
    simulations: Simulations = 0, seconds: Seconds = 0.0,
    depth: Annotated[
        list[int] | None, typer.Option(help="For how many moves a plan is followed, of --method depth; may be given several times.")
    ] = None,
    values: Annotated[Path | None, typer.Option(help="The file of exact values for depth and loss; without, it solves.")] = None,
    every: Annotated[int | None, typer.Option(help="Simulations between the points of --method convergence: 1,000.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the curve of --method convergence to this file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the strategy to this file.")] = None,
    keep: Annotated[Path | None, typer.Option(help="Keep what has been found in this file, for --resume.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the file of --keep, if it is there.")] = False,
    force: Force = False, workers: Workers = None, cluster: ClusterAddress = None, seed: Seed = 0, as_json: AsJson = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Measure exactly how exploitable an agent is.

    Ctrl-C evaluates what there is.
    """
    from unseen.run import checkpoint
    from unseen.run.files import check_outputs
    from unseen.show.figures import PICTURE, check_picture, save_picture
    from unseen.tabular import strategy_file

    belongs = {
        "depth": (("depth",), depth), "values": (("depth", "loss"), values), "every": (("convergence",), every),
        "picture": (("convergence",), picture),
    }  # fmt: skip
    for name, (owners, given) in belongs.items():
        if given not in (None, []) and method not in owners:
            raise UnseenError(f"--{name} is for --method {' or '.join(owners)}, not for {method or 'extraction or stitching'}.")
    if out is not None and method in ("depth", "convergence", "loss"):
        raise UnseenError(f"--out saves a strategy, and --method {method} makes none.")
    _check_keep(keep, resume)
    if picture is not None:
        check_picture(picture, force)
    check_outputs([(out, strategy_file.KIND), (keep, checkpoint.KIND), (picture, PICTURE)], force)
    budget = _budget(simulations, seconds)
    work: dict[str, Any] = {"seed": seed, "workers": place(workers, cluster), "save": keep, "resume": resume}
    if method == "depth":
        from unseen.arena.plans import depth_limited

        if not depth:
            raise UnseenError("--method depth needs --depth: for how many moves a plan is followed.")
        show_result(as_json, depth_limited(game, agent, depth, searches=games, values=values, budget=budget, **work))
    elif method == "loss":
        from unseen.arena.losses import expected_loss

        show_result(as_json, expected_loss(game, agent, games=games, values=values, budget=budget, **work))
    elif method == "convergence":
        from unseen.arena.plans import convergence

        if seconds:
            raise UnseenError("--method convergence counts simulations: give --simulations, not --seconds.")
        curve = convergence(
            game, agent, runs=games, simulations=simulations or 100_000, every=1000 if every is None else every, **work
        )
        if picture is not None:
            save_picture(curve.figure(), picture, force)
        show_result(as_json, curve, the_picture_is_in=picture)
    else:
        from unseen.arena.measured import measure

        found = measure(_with_ahead(game, agent), agent, method, games=games, budget=budget, **work)
        if not found.searches and not found.is_complete:
            raise KeyboardInterrupt
        if out is not None:
            found.strategy.save(out, force)
        show_result(as_json, found, the_strategy_is_in=out)


@command
def extract(
    game: GameName, agent: AgentName,
    out: Annotated[Path, typer.Option(help="Save the strategy to this file.")],
    keep: Annotated[Path | None, typer.Option(help="Keep answers in this file, for --resume.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the file of --keep, if it is there.")] = False,
    force: Force = False, workers: Workers = None, cluster: ClusterAddress = None, seed: MaybeSeed = None, as_json: AsJson = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Save what an agent plays at every information set.

    Ctrl-C saves what there is.
    """
    from unseen.arena import extraction
    from unseen.run import checkpoint
    from unseen.run.files import check_outputs
    from unseen.tabular import strategy_file

    _check_keep(keep, resume)
    check_outputs([(out, strategy_file.KIND), (keep, checkpoint.KIND)], force)
    found = extraction.extract(game, agent, seed=seed, workers=place(workers, cluster), save=keep, resume=resume)
    found.strategy.save(out, force)
    show_result(as_json, found, the_strategy_is_in=out)


@command
def compare(
    game: GameName,
    agents: Annotated[
        list[str], typer.Argument(metavar="AGENT...", help="Agents, or files of strategies.", autocompletion=complete_agent)
    ],
    games: Annotated[int, typer.Option(min=0, help="Games to play for each pair; 0: what is expected, exactly.")] = 0,
    simulations: Simulations = 0, seconds: Seconds = 0.0,
    workers: Workers = None, cluster: ClusterAddress = None, seed: MaybeSeed = None, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Compare every pair of agents, exactly or by playing.

    The table has mean payoffs, wins, draws and losses.
    """
    from unseen.arena import comparison

    found = comparison.compare(
        _with_ahead(game, *agents),
        agents,
        games=games,
        seed=seed,
        workers=place(workers, cluster),
        budget=_budget(simulations, seconds),
    )
    show(as_json, found.as_dict(), found.table)


@command
def tournament(
    game: GameName,
    agents: Annotated[
        list[str], typer.Argument(metavar="AGENT...", help="At least two; or files of strategies.", autocompletion=complete_agent)
    ],
    games: Annotated[int, typer.Option(min=1, help="Games for any two agents: an even number, as seats change.")] = 100,
    others: Annotated[list[str] | None, typer.Option("--game", help="A further game; may be given several times.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for the record of all games and a page of results.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the tournament in the folder of --out.")] = False,
    gauntlet: Annotated[bool, typer.Option("--gauntlet", help="Only the first agent plays, against all others.")] = False,
    anchor: Annotated[str | None, typer.Option(help="An agent and its rating: 'random=0'; otherwise the mean is 0.")] = None,
    sprt: Annotated[str | None, typer.Option(help="For two agents: stop when one of two differences, such as 0,10, fits.")] = None,
    exploitability: Annotated[
        bool | None, typer.Option(help="What each agent can be exploited for, exactly; otherwise only where that is fast.")
    ] = None,
    simulations: Simulations = 0, seconds: Seconds = 0.0,
    limit: Limit = None, forfeits: Forfeits = False,
    workers: Workers = None, cluster: ClusterAddress = None, seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Let every agent play against every one, and rate them.

    Ctrl-C keeps the games played; --resume goes on.
    """
    from unseen.arena import tournament as arena
    from unseen.arena.sprt import SPRT

    if resume and out is None:
        raise UnseenError("--resume needs --out: the folder of the tournament.")
    question = SPRT.parse(sprt) if sprt is not None else None
    found = arena.tournament(
        [_with_ahead(game, *agents[1:], agents[0]), *(others or [])], agents, games, out=out, resume=resume, gauntlet=gauntlet,
        seed=seed,
        workers=place(workers, cluster), budget=_budget(simulations, seconds), limit=limit, forfeits=forfeits,
        anchor=_anchor(anchor), sprt=(question.least, question.most) if question else None,
        exploitability=exploitability,
    )  # fmt: skip
    if not found.record.games:
        raise KeyboardInterrupt
    show(as_json, found.as_dict(), found.table)


@command
def play(
    game: GameName,
    against: Annotated[str, typer.Option(help="The agent to play against.")] = "oos(targeting=public)",
    hints: Annotated[str, typer.Option(help="The agent to ask for hints; '': ppp, if players move in turn.")] = "",
    seat: Annotated[str, typer.Option(help="first, second, or both: in turn.")] = "both",
    simulations: Simulations = 0, seconds: Seconds = 0.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random choices; otherwise a new one each time.")] = None,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Play a game yourself, against an agent."""
    from unseen.arena.human import HumanAgent, Left, thoughts
    from unseen.arena.names import asked, make_agent
    from unseen.arena.referee import describe
    from unseen.arena.referee import play as play_one

    seats = {"first": (0,), "second": (1,), "both": (0, 1)}
    if seat not in seats:
        raise UnseenError(f"--seat is {seat!r}, but must be first, second or both.")
    loaded = _with_ahead(game, against)
    other = asked(against, loaded)
    adviser = make_agent(hints or "ppp", loaded) if hints or not loaded.simultaneous else None
    you = HumanAgent(
        say=lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True), adviser=adviser,
        show=lambda found: console.print(found.table()),
    )  # fmt: skip
    seed = secrets.randbelow(10**6) if seed is None else seed
    budget = _budget(simulations, seconds)
    you.say(f"You play against {other.name}{other.call('thinks', budget)}. The cards are those of --seed {seed}.")
    total, played = 0.0, 0
    try:
        while True:
            mine = seats[seat][played % len(seats[seat])]
            you.say(f"\nGame {played + 1}: you are player {mine + 1} of {loaded.spec}. ? helps.")
            pair: tuple[Any, Any] = (you, other) if mine == 0 else (other, you)
            result = play_one(loaded, pair, (seed, played), budget)
            played += 1
            total += result.payoffs[mine]
            you.say(f"\n{describe(loaded, result)}")
            you.say(f"You get {result.payoffs[mine]:+zg}; in all {total:+zg} in {played} {'game' if played == 1 else 'games'}.")
            while answer := you.ask("Enter: again; d: what the agent had in mind; q: leave> ").strip():
                if answer == "q":
                    raise Left
                for line in thoughts(loaded, result, 1 - mine) if answer == "d" else ():
                    you.say(line)
    except (Left, EOFError):
        you.say(f"\nYou leave with {total:+zg} after {played} {'game' if played == 1 else 'games'}.")


def _with_ahead(game: str, *agents: str) -> Game:
    """The game. What the agents need for it is compiled on idle cores, beside what the command does meanwhile."""
    from unseen.arena.names import AGENTS, make_agent
    from unseen.run.ahead import compile_ahead

    loaded = loading.load(game)
    known = [spec for spec in dict.fromkeys(agents) if spec.partition("(")[0].strip() in AGENTS]
    compile_ahead(*(lambda spec=spec: make_agent(spec, loaded).compile() for spec in known))
    return loaded


def _anchor(text: str | None) -> tuple[str, float] | None:
    """An agent and its rating."""
    if text is None:
        return None
    name, _, rating = text.rpartition("=")
    try:
        return name, float(rating)
    except ValueError:
        raise UnseenError(f"--anchor is {text!r}, but must be an agent and its rating, such as 'random=0'.") from None


def _check_keep(keep: Path | None, resume: bool) -> None:
    """Raise if work is to be resumed without the file in which it is kept."""
    if resume and keep is None:
        raise UnseenError("--resume needs --keep: the file in which the work is kept.")


def _budget(simulations: int, seconds: float) -> Any:
    """What the options say of a move; None if nothing."""
    from unseen.agents import Budget

    if simulations and seconds:
        raise UnseenError("give --simulations or --seconds, not both.")
    return Budget(simulations, seconds) or None
