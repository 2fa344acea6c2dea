"""Work on a cluster that Ray runs, here or on other machines. Results come in the order of the tasks, as from processes.

Each core of the cluster has an actor with a job of its own, and a task at a time. An actor that dies, alone or with its node, costs
the task that it had, which is done again elsewhere.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from unseen.arguments import checked
from unseen.errors import UnseenError, how_to_get

TRIES = 3
"""A task that dies with its worker is done so often."""
AHEAD = 4
"""Results for each actor that may wait for the one before them."""
ANSWER_SECONDS = 5.0
LOCAL, LOOPBACK = "local", "127.0.0.1"


class Cluster:
    """Where work may run instead of in processes here: a cluster of Ray.

    `address`: host and port of its head, such as `"10.0.0.1:6379"`; `"auto"`, the one that this machine belongs to; `"local"`
    starts one here, which listens to this machine only.
    """

    @checked
    def __init__(self, address: str = LOCAL) -> None:
        self.address = address
        try:
            import ray  # noqa: F401
        except ImportError:
            raise UnseenError(f"a cluster needs Ray, which is not installed: {how_to_get('ray')}.") from None
        if address not in (LOCAL, "auto"):
            check_address(address)

    def __repr__(self) -> str:
        return f"Cluster({self.address!r})"

    @contextmanager
    def joined(self, cores: int) -> Iterator[Any]:
        """Ray, connected; afterwards not any more, if it was not before. One that is started here has so many `cores`."""
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        if ray.is_initialized():
            yield ray
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
        try:
            if self.address == LOCAL:
                with _loopback_only():
                    ray.init(address=LOCAL, num_cpus=cores, include_dashboard=False, _node_ip_address=LOOPBACK, **quiet)
                check_loopback(ray)
            else:
                ray.init(address=self.address, **quiet)
        except Exception as error:  # Ray raises many kinds
            raise UnseenError(f"cluster {self.address!r}: it cannot be joined: {str(error).strip().splitlines()[0]}") from error
        try:
            yield ray
        finally:
            ray.shutdown()

    @contextmanager
    def crew(
        self, make: Callable[..., Any], args: tuple[Any, ...], cores: int
    ) -> Iterator[Callable[[Iterable[Any]], Iterator[Any]]]:  # fmt: skip
        """Actors, each with a job that is `make` called with `args`; what does tasks, giving the results in their order.

        A cluster that is started here has so many `cores`.
        """
        with self.joined(cores) as ray:
            crew = _Crew(ray, make, args)
            try:
                yield lambda tasks: crew.results(iter(tasks))
            finally:
                crew.dismiss()


@contextmanager
def _loopback_only() -> Iterator[None]:
    """A cluster that starts meanwhile listens to this machine only: whoever reaches Ray's ports can run code.

    Ray puts the machine's address in place of the one that it is given, unless it takes the system for one that has no clusters.
    """
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def check_loopback(ray: Any) -> None:
    """Raise, and end the cluster, if it was started at another address than this machine's own."""
    address = ray.util.get_node_ip_address()
    if address != LOOPBACK:
        ray.shutdown()
        raise UnseenError(f"this version of Ray listens at {address} for a cluster of one machine, where others can reach it.")


def check_address(address: str) -> None:
    """Raise if nothing answers there."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UnseenError(f"cluster is {address!r}, but must be host and port of its head, such as 10.0.0.1:6379, or {LOCAL}.")
    try:
        socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UnseenError(f"cluster {address!r}: nothing answers there ({error}).") from error


class _Worker:
    """A job, made where it is done when it is first needed."""

    def __init__(self, make: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.make, self.args = make, args
        self.job: Any = None

    def ready(self) -> bool:
        return True

    def do(self, task: Any) -> tuple[Any, UnseenError | None]:
        """The result of a task, or the error that there is to be told."""
        try:
            self.job = self.job or self.make(*self.args)
            return self.job(task), None
        except UnseenError as error:
            return None, error


class _Crew:
    """Actors and what they are doing."""

    def __init__(self, ray: Any, make: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.ray, self.job = ray, (ray.put(make), ray.put(args))
        self.actor = ray.remote(num_cpus=1, max_restarts=0)(_Worker)
        self.starting: dict[Any, Any] = {}
        self.working: dict[Any, tuple[Any, int]] = {}
        self.idle: deque[Any] = deque()
        self.size = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.failures = 0
        """Actors that have not started, since the last that has."""
        for _ in range(self.size):
            self.hire()

    def hire(self) -> None:
        """One more actor, once there is room for it."""
        actor = self.actor.remote(*self.job)
        self.starting[actor.ready.remote()] = actor

    def results(self, tasks: Iterator[Any]) -> Iterator[Any]:
        todo: deque[int] = deque()
        held: dict[int, Any] = {}
        """Tasks that were begun, by number."""
        tries: dict[int, int] = {}
        done: dict[int, tuple[Any, BaseException | None]] = {}
        issued = given = 0
        is_over = False
        while True:
            while not is_over and issued - given < AHEAD * self.size and len(todo) < len(self.idle):
                try:
                    held[issued] = next(tasks)
                except StopIteration:
                    is_over = True
                    break
                todo.append(issued)
                issued += 1
            while todo and self.idle:
                number, actor = todo.popleft(), self.idle.popleft()
                self.working[actor.do.remote(held[number])] = actor, number
            while given in done:
                result, error = done.pop(given)
                if error is not None:
                    raise error
                yield result
                held.pop(given)
                given += 1
            if is_over and given == issued:
                return
            ready, _ = self.ray.wait([*self.working, *self.starting], num_returns=1, timeout=1.0)
            for answer in ready:
                if answer in self.starting:
                    self.begin(answer)
                    continue
                actor, number = self.working.pop(answer)
                try:
                    done[number] = self.ray.get(answer)
                except self.ray.exceptions.RayTaskError as fault:
                    fault.cause.__cause__ = fault  # it tells where
                    done[number] = None, fault.cause
                except self.ray.exceptions.RayError:
                    tries[number] = tries.get(number, 0) + 1
                    if tries[number] == TRIES:
                        raise UnseenError(
                            f"a worker of the cluster ended before its work was done, {TRIES} times; was there too little memory?"
                        ) from None
                    todo.appendleft(number)
                    self.hire()
                    continue
                self.idle.append(actor)

    def begin(self, answer: Any) -> None:
        """An actor has started, or will not."""
        actor = self.starting.pop(answer)
        try:
            self.ray.get(answer)
            self.idle.append(actor)
            self.failures = 0
        except self.ray.exceptions.RayError as error:
            self.failures += 1
            if self.failures == TRIES:
                last = str(error).strip().splitlines()[-1].strip()
                raise UnseenError(f"the workers of the cluster do not start: {last}") from error
            self.hire()

    def dismiss(self) -> None:
        for actor in (*self.idle, *self.starting.values(), *(actor for actor, _ in self.working.values())):
            self.ray.kill(actor)
