"""The Dash app: shell, routing between pages, and the server."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, dcc, html
from flask import has_request_context, request

from ..replay.player_html import SCRIPTS
from .components.parts import aria, notice
from .pages import PAGES
from .routes import add_routes
from .source import Source

_INDEX = """<!doctype html>
<html lang="en">
<head>{%metas%}<title>{%title%}</title><link rel="icon" href="data:image/svg+xml,
%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 3 3'%3E%3Cpath fill='%2300224e' d='M0 0h3v3H0z'/%3E%3Cpath
fill='%23fee838' d='M1 1h2v2H1z'/%3E%3C/svg%3E">
<link rel="stylesheet" href="/player/player.css">{%css%}</head>
<body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>"""

_DARK = (
    "#e7eaef",
    "#c9d0da",
    "#a2acba",
    "#7c8797",
    "#556070",
    "#39414d",
    "#262c35",
    "#1c2027",
    "#171b21",
    "#14171c",
)
_THEME = {
    "primaryColor": "cyan",
    "primaryShade": {"light": 8, "dark": 5},
    "defaultRadius": "md",
    "colors": {"dark": list(_DARK)},
    "fontFamily": 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
    "headings": {"fontWeight": "650"},
}


def create_app(source: Source, pages: Sequence[Any] = PAGES) -> dash.Dash:
    """The dashboard over a store; `app.server` is its WSGI application.

    Args:
        source: what the pages draw from.
        pages: modules with `PATH`, `TITLE`, `layout` and `register`, in the order of the navigation.
    """
    app = dash.Dash(
        __name__,
        title="mnistpro-replay",
        update_title="",
        index_string=_INDEX,
        external_scripts=[f"/player/{name}" for name in SCRIPTS],
        suppress_callback_exceptions=True,
    )
    add_routes(app.server, source)
    app.layout = lambda: _shell(source, pages)
    _route(app, source, pages)
    for page in pages:
        page.register(app, source)
    return app


def _shell(source: Source, pages: Sequence[Any]) -> Any:
    """The whole screen; the page that the browser asked for is in it, which saves the first page a round trip."""
    asked = urlsplit(request.referrer or "") if has_request_context() else urlsplit("")
    begun = [asked.path, f"?{asked.query}" if asked.query else ""]
    links = [
        dcc.Link(page.TITLE, href=page.PATH, className="nav-link", id={"nav": page.PATH}) for page in pages
    ]
    header = dmc.Group(
        [
            dcc.Link([html.Span(className="brand-mark"), "mnistpro-replay"], href="/", className="brand"),
            html.Nav(links, className="nav", **aria("Pages")),
            dmc.Text(id="chosen-note", size="sm", c="dimmed", className="chosen-note"),
            dmc.ColorSchemeToggle(
                lightIcon="☀", darkIcon="☾", variant="default", size="md", **aria("Light or dark")
            ),
        ],
        h="100%",
        px="md",
        wrap="nowrap",
        gap="md",
    )
    return dmc.MantineProvider(
        [
            dcc.Location(id="location", refresh="callback-nav"),
            dcc.Store(id="chosen", storage_type="session"),
            dcc.Store(id="scheme"),
            dcc.Store(id="begun", data=begun),
            dmc.AppShell(
                [
                    dmc.AppShellHeader(header),
                    dmc.AppShellMain(
                        html.Main(id="page", children=_page(source, pages, *begun), tabIndex=-1)
                    ),
                ],
                header={"height": 52},
                padding=0,
            ),
        ],
        theme=_THEME,  # pyright: ignore[reportArgumentType]
        defaultColorScheme="auto",
    )


def _page(source: Source, pages: Sequence[Any], pathname: str, search: str) -> Any:
    page = {page.PATH: page for page in pages}.get(pathname or "/")
    if page is None:
        return notice("There is no such page", "The links above lead to all there are.")
    return page.layout(source, dict(parse_qsl(search.lstrip("?"))))


def _route(app: dash.Dash, source: Source, pages: Sequence[Any]) -> None:
    @app.callback(
        Output("page", "children"),
        Output("begun", "data"),
        Input("location", "pathname"),
        Input("location", "search"),
        State("begun", "data"),
    )
    def show(pathname: str | None, search: str | None, begun: list[str] | None) -> Any:
        if begun == [pathname, search or ""]:
            return dash.no_update, None
        return _page(source, pages, pathname or "/", search or ""), None

    app.clientside_callback(
        dash.ClientsideFunction("mnistpro", "markLink"),
        Output("location", "hash"),
        Input("location", "pathname"),
        State("location", "hash"),
    )
    app.clientside_callback(
        dash.ClientsideFunction("mnistpro", "chosenNote"),
        Output("chosen-note", "children"),
        Input("chosen", "data"),
    )


def serve(source: Source, host: str, port: int) -> None:
    """Serve until interrupted."""
    Thread(target=source.warm, daemon=True).start()
    create_app(source).run(host=host, port=port, debug=False)
