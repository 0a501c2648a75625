# The two commands of the README, and what CI calls.
UV := $(shell command -v uv 2>/dev/null || echo python3 -m uv)
PIP := python3 -m pip install --quiet --disable-pip-version-check
RUN := $(UV) run --frozen

.PHONY: demo test check environment graph

environment:
	@$(UV) --version >/dev/null 2>&1 || $(PIP) uv || $(PIP) --user uv || $(PIP) --user --break-system-packages uv
	@$(UV) sync --frozen --quiet --compile-bytecode

demo: environment  ## The whole assistant on this machine, with the demo organisation.
	@$(RUN) manta serve --demo

test: environment  ## All tests that this machine can run.
	@$(RUN) pytest -q

check: environment  ## Style, types and layers.
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) lint-imports

graph: environment  ## Print the graph of a turn, drawn from the compiled code.
	@$(RUN) python -m graph.turn
