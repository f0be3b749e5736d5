"""Finding the resource that a path leads to. The hot calls are found by one look-up."""

from collections.abc import Iterable

from qirsh.metrics.meters import Layout
from qirsh.web.http.route import Route

Arguments = dict[str, str]


class Resource:
    """An address: what can be done there, and whether people go there."""

    __slots__ = ("is_page", "parameters", "routes")

    def __init__(self, parameters: tuple[str, ...]) -> None:
        self.parameters = parameters
        self.routes: dict[str, tuple[Route, int]] = {}  # By method, each with where it is counted.
        self.is_page = False


class _Node:
    """One segment of paths: what follows it, by name or as a parameter."""

    __slots__ = ("children", "parameter", "resource")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.resource: Resource | None = None


class RouteTree:
    """All paths. Where a name and a parameter fit, the name is meant; nothing at all is no parameter."""

    def __init__(self, routes: Iterable[Route], layout: Layout | None = None) -> None:
        self._by_path: dict[str, Resource] = {}  # As the routes write it.
        self._plain: dict[str, Resource] = {}
        # Paths whose one parameter stands at the end, by what stands before it; or one segment before the end, by both.
        self._by_parent: dict[str, Resource] = {}
        self._by_ends: dict[tuple[str, str], Resource] = {}
        self._root = _Node()
        for route in routes:
            resource = self._by_path.get(route.path) or self._resource(route.path)
            meter = 0 if layout is None else layout.route(f"{route.method} {route.path}")
            resource.routes[route.method] = route, meter
            resource.is_page |= route.is_page

    def find(self, path: str) -> tuple[Resource, Arguments] | None:
        """Where the path leads, and what it names on the way; None if nowhere."""
        resource = self._plain.get(path)
        if resource is not None:
            return resource, {}
        parent, _, last = path.rpartition("/")
        resource = self._by_parent.get(parent)
        if resource is not None and last:
            return resource, {resource.parameters[0]: last}
        parent, _, argument = parent.rpartition("/")
        resource = self._by_ends.get((parent, last))
        if resource is not None and argument:
            return resource, {resource.parameters[0]: argument}
        values: list[str] = []
        resource = _walk(self._root, path.split("/"), values)
        return None if resource is None else (resource, dict(zip(resource.parameters, values, strict=True)))

    def _resource(self, path: str) -> Resource:
        segments = path.split("/")
        parameters = tuple(segment[1:-1] for segment in segments if segment.startswith("{"))
        node = self._root
        for segment in segments:
            if segment.startswith("{"):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                child = node.children.get(segment)
                if child is None:
                    child = node.children[segment] = _Node()
                node = child
        if node.resource is None:
            node.resource = self._by_path[path] = Resource(parameters)
            if not parameters:
                self._plain[path] = node.resource
            elif len(parameters) == 1 and segments[-1].startswith("{"):
                self._by_parent["/".join(segments[:-1])] = node.resource
            elif len(parameters) == 1 and segments[-2].startswith("{"):
                self._by_ends["/".join(segments[:-2]), segments[-1]] = node.resource
        assert node.resource.parameters == parameters, f"{path}: its parameters have other names elsewhere"
        return node.resource


def _walk(node: _Node, segments: list[str], values: list[str]) -> Resource | None:
    if not segments:
        return node.resource
    first, rest = segments[0], segments[1:]
    child = node.children.get(first)
    found = None if child is None else _walk(child, rest, values)
    if found is None and node.parameter is not None and first:
        values.append(first)
        found = _walk(node.parameter, rest, values)
        if found is None:
            values.pop()
    return found
